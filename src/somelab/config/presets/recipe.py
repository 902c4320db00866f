"""The recipe: frozen experts between a trained query network and a trained mixer, and keys that move by
credit. Not in the reports. lab/LOG.md has the search, failures included; docs/guides/recipe.md has the
results."""

from __future__ import annotations

from somelab.config.presets.preset import Preset, make, vary
from somelab.config.scale import inverse_root
from somelab.config.versions import Settings

SOURCE = "not in the reports; lab/LOG.md"
WIDTH = 256

# The recipe without sizes, data, length of a run, and credit, which is added to it.
PARTS: Settings = {
    # The query is the input of the experts: the query network is trained through their outputs, not only
    # through their gates.
    "router.kind": "linear",
    "experts.reads": "query",
    # One trained matrix per layer maps their outputs. Together these have as many weights as a dense block of
    # width D.
    "experts.mixer": True,
    # Expert outputs of rms 1, and sharp gates.
    "experts.init": "unit",
    "experts.trainability": "frozen",
    "router.scoring": "cosine",
    "router.centre_queries": True,
    "router.temperature": 0.1,
    "router.learnable_temperature": True,
    "router.eval_temperature": None,
    # Slow keys: only the best expert's key is attracted, and a bias keeps all experts in use. Faster keys
    # disturb the query network.
    "gravity.keys": "moved",
    "gravity.alpha": 0.001,
    "gravity.attraction_by": "winner",
    "gravity.load_bias": 0.001,
    "gravity.peer_pull": False,
    "gravity.decay": False,
    "gravity.respawn": False,
}

# Keys move towards queries for which their experts reduce the loss, instead of all that select them. The step
# is annealed to 0 with the learning rate.
CREDIT: Settings = {"gravity.attraction": False, "gravity.credit": 0.1, "gravity.credit_final": 0.0}

# Experts without matrices that share their units (docs/concepts/hadamard.md). `init` does not apply to them.
# A further expert per token costs little, so that eight are selected.
MODULATED: Settings = {"experts.family": "modulated", "experts.top_k": 8}


def modern(d_model: int) -> Settings:
    """Pre-norm, RMSNorm, RoPE, tied head, no biases. With embeddings of standard deviation 1/sqrt(D), times
    sqrt(D) at the input, tokens and logits start at size 1."""
    return {
        "model.backbone": "modern",
        "model.scale_embedding": True,
        "model.embedding_std": inverse_root(d_model),
    }


def some() -> Preset:
    """Laptop size: half as many trained weights as v7 at small scale, on built-in text, in five minutes."""
    return make(
        "some",
        "frozen experts, moved by credit",
        series="recipe",
        source=SOURCE,
        version="v7",
        filled={
            **PARTS,
            **CREDIT,
            **MODULATED,
            **modern(WIDTH),
            "model.d_model": WIDTH,
            "model.num_layers": 4,
            "model.num_heads": 8,
            "model.seq_len": 256,
            "model.vocab_size": 4096,
            "experts.num_experts": 128,
            "experts.d_ffn": WIDTH,
            "data.source": "builtin",
            "data.layout": "pack",
            "data.val_subset_size": 500,
            "train.batch_size": 16,
            "train.minutes": 5,
            # The best of 0.004, 0.008 and 0.016, with this warm-up (lab/studies/some-rate.yaml, lab/LOG.md).
            "train.learning_rate": 8e-3,
            "train.warmup_fraction": 0.2,
            "train.precision": "fp32",
        },
    )


def some_frozen() -> Preset:
    """No expert weight is trained. `some` has that today, too; this name guarantees it."""
    return vary(
        some(),
        "some-frozen",
        "some, experts strictly frozen",
        {"experts.trainability": "frozen"},
        stated=False,
    )
