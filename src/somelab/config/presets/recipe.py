"""The recipe that works: frozen experts between a trained view and a trained mixer, and keys that move by credit.
Found by measurement, and not in the seeds.
The search, losers included, is in lab/LOG.md; what each part is worth, in docs/guides/recipe.md."""

from __future__ import annotations

from somelab.config.presets.preset import Preset, make, vary
from somelab.config.versions import Settings

SOURCE = "not in the seeds; lab/LOG.md"

# What makes the recipe, apart from sizes, data and the length of a run, and from credit, which goes on top of it.
PARTS: Settings = {
    # Experts are asked the query: the query network is trained through what they answer, not through their gates alone.
    "router.kind": "linear",
    "experts.reads": "query",
    # Their answers are read by one trained matrix a layer. Both together train as much as a dense block of width D.
    "experts.mixer": True,
    # An expert that is heard, and gates that choose.
    "experts.init": "unit",
    "experts.trainability": "frozen",
    "router.scoring": "cosine",
    "router.centre_queries": True,
    "router.temperature": 0.1,
    "router.learnable_temperature": True,
    "router.eval_temperature": None,
    # Slow keys: the winner alone draws its expert, and a bias keeps all in use. Faster ones disturb the query network.
    "gravity.keys": "moved",
    "gravity.alpha": 0.001,
    "gravity.attraction_by": "winner",
    "gravity.load_bias": 0.001,
    "gravity.peer_pull": False,
    "gravity.decay": False,
    "gravity.respawn": False,
}

# Keys that go where their experts are of use, in place of where they are asked for. The step ends at 0 with the learning rate.
CREDIT: Settings = {"gravity.attraction": False, "gravity.credit": 0.1, "gravity.credit_final": 0.0}


def some() -> Preset:
    """Laptop size: half as many trained weights as v7 at small scale, on text that is always there, in five minutes."""
    return make(
        "some",
        "the recipe that works",
        series="recipe",
        source=SOURCE,
        version="v7",
        filled={
            **PARTS,
            **CREDIT,
            "model.d_model": 256,
            "model.num_layers": 4,
            "model.num_heads": 8,
            "model.seq_len": 256,
            "model.vocab_size": 4096,
            "experts.num_experts": 128,
            "experts.d_ffn": 256,
            "experts.top_k": 4,
            "data.source": "builtin",
            "data.layout": "pack",
            "data.val_subset_size": 500,
            "train.batch_size": 16,
            "train.minutes": 5,
            "train.learning_rate": 2e-3,
            "train.warmup_fraction": 0.04,
            "train.precision": "fp32",
        },
    )


def some_frozen() -> Preset:
    """Nothing is trained inside the pool. So it is in `some`, whose experts won that way; this name keeps it so."""
    return vary(some(), "some-frozen", "some, with strictly frozen experts", {"experts.trainability": "frozen"}, stated=False)
