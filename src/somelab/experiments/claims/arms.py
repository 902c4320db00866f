"""The arms of the ledger by name: each is defined once, trained once, and serves every claim that names it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from somelab.config import Config
from somelab.config.presets import recipe
from somelab.experiments.claims.shell import (
    LedgerScale,
    Settings,
    active_width,
    dense_width,
    dense_width_of,
    gain_for,
    middle_band,
    resolved,
    shell,
    times,
)


@dataclass(frozen=True)
class ArmRecipe:
    """A preset in the ledger's shell and what is changed in it."""

    settings: Settings = field(default_factory=dict[str, Any])
    preset: str = "a1"
    builtin: bool = False
    """Trained on the built-in corpus, whose words have true labels."""
    probes: tuple[str, ...] = ()

    def config(self, scale: LedgerScale, source: str) -> Config:
        return resolved(shell(self.preset, scale, "builtin" if self.builtin else source), self.settings)


def _depth(layers: int, **more: Any) -> ArmRecipe:
    """The seeds' own number of layers at the scale's width: a scaled-down depth could not collapse. Their learning rate and its
    missing warm-up stay too, since both bear on whether a deep post-norm model learns."""
    changes = {name.replace("__", "."): value for name, value in more.items()}
    return ArmRecipe({"model.num_layers": layers, "train.learning_rate": 6e-4, "train.warmup_fraction": 0.0, **changes})


FIXED: Settings = {"gravity.keys": "fixed"}
HALF_BATCH: Settings = {**times(0.5, "train.batch_size"), **times(2, "train.steps", "gravity.warmup_steps", "train.eval_every")}
DOUBLE_BATCH: Settings = {**times(2, "train.batch_size"), **times(0.5, "train.steps", "gravity.warmup_steps", "train.eval_every")}
PADDED: Settings = {"data.layout": "pad", "data.padding_in_loss": True}
MORE_EXPERTS: Settings = times(8, "experts.num_experts")
# A run here has a fifth of the published steps: five times the decay carries an unused key as far.
FAST_DECAY: Settings = times(5, "gravity.delta")
# No query network: the token itself is the query, and only gravity can learn to route. A trained read-out over frozen features.
TOKENS: Settings = {
    "router.kind": "none",
    "router.temperature": 0.1,
    "router.learnable_temperature": True,
    "experts.init": "unit",
    "experts.trainability": "readout",
}
TAMED: Settings = {
    "router.centre_queries": True,
    "gravity.attraction_by": "winner",
    "gravity.peer_pull": False,
    "gravity.decay": False,
    "gravity.load_bias": 0.01,
}

# The recipe in a1's shell: experts half as wide, of which twice as many answer, so that a token costs the same.
RECIPE: Settings = {**recipe.PARTS, **times(2, "experts.top_k"), **times(0.5, "experts.d_ffn")}

PUBLISHED_GRAVITY: Settings = {
    "gravity.alpha": 0.01,
    "gravity.attraction_by": "all",
    "gravity.load_bias": 0.0,
    "gravity.peer_pull": True,
    "gravity.decay": True,
}
SOFT_GATES: Settings = {"router.temperature": 1.0, "router.learnable_temperature": False}
# The recipe with no gradient through the choice: many keys, that move fast enough to follow what is learned beside them.
BLIND: Settings = {**RECIPE, **times(4, "experts.num_experts"), "router.gradient": False, "gravity.alpha": 0.01}


def _many(factor: float, settings: Settings, probes: tuple[str, ...] = ()) -> ArmRecipe:
    """The recipe with so many times the frozen experts."""
    return ArmRecipe({**RECIPE, **times(factor, "experts.num_experts"), **settings}, probes=probes)


def _without(settings: Settings) -> ArmRecipe:
    """`credit-x4`, the recipe as it is in `some`, with one part changed."""
    return _many(4, {**recipe.CREDIT, **settings})


ARMS: dict[str, ArmRecipe] = {
    "base": ArmRecipe(probes=("gravity-cost", "domain-shift")),
    # backbone
    "wide": ArmRecipe(times(4 / 3, "model.d_model")),
    "depth-8": _depth(8),
    "depth-10": _depth(10),
    "depth-12": _depth(12),
    "depth-16": _depth(16),
    "depth-16-d1": _depth(16, gravity__beta_layers=(1.0, 0.5)),
    "depth-16-d2": _depth(16, gravity__frozen_layers=(False, True)),
    "depth-16-d3": _depth(16, router__grounding=0.1),
    # pool
    "experts-x2": ArmRecipe(times(2, "experts.num_experts")),
    "experts-x4": ArmRecipe(times(4, "experts.num_experts")),
    "experts-x8": ArmRecipe(MORE_EXPERTS),
    "top-x2": ArmRecipe(times(2, "experts.top_k")),
    "top-x4": ArmRecipe(times(4, "experts.top_k")),
    "experts-x8-top-x4": ArmRecipe({**MORE_EXPERTS, **times(4, "experts.top_k")}),
    "experts-1.5-wide": ArmRecipe(times(1.5, "experts.d_ffn")),
    "experts-2-wide": ArmRecipe(times(2, "experts.d_ffn")),
    "init-sparse": ArmRecipe({"experts.init": "sparse"}),
    "init-orthogonal": ArmRecipe({"experts.init": "orthogonal"}),
    "init-sparse-matched": ArmRecipe({"experts.init": "sparse", "experts.output_gain": gain_for("sparse")}),
    "init-orthogonal-matched": ArmRecipe({"experts.init": "orthogonal", "experts.output_gain": gain_for("orthogonal")}),
    "lora-4": ArmRecipe({"experts.trainability": "lora", "experts.lora_rank": 4}),
    "lora-8": ArmRecipe({"experts.trainability": "lora", "experts.lora_rank": 8}),
    "full-training": ArmRecipe({"experts.trainability": "full"}),
    # router
    "experts-x8-linear": ArmRecipe({**MORE_EXPERTS, "router.kind": "linear"}),
    "experts-x8-narrow-mlp": ArmRecipe({**MORE_EXPERTS, "router.width": 0.5}),
    "top-k-warmup": ArmRecipe({"router.top_k_warmup": 0.15, "router.top_k_ramp": 0.05}),
    "learned-temperature": ArmRecipe({"router.learnable_temperature": True}),
    "entropy-band": ArmRecipe({"router.learnable_temperature": True, "router.entropy_band": middle_band}),
    "balance-loss": ArmRecipe({"router.balance_loss": 0.01}),
    "fixed-keys-balance-loss": ArmRecipe({**FIXED, "router.balance_loss": 0.01}),
    # gravity
    "no-peer-pull": ArmRecipe({"gravity.peer_pull": False}),
    "builtin": ArmRecipe(builtin=True, probes=("guild-meaning",)),
    "builtin-no-peer-pull": ArmRecipe({"gravity.peer_pull": False}, builtin=True, probes=("guild-meaning",)),
    "builtin-fixed-keys": ArmRecipe(FIXED, builtin=True, probes=("guild-meaning",)),
    "beta-constant": ArmRecipe({"gravity.beta": 3e-3}),
    "beta-annealed": ArmRecipe({"gravity.beta": 3e-3, "gravity.beta_final": 5e-4}),
    "half-the-tokens": ArmRecipe({"gravity.token_fraction": 0.5}),
    "every-other-step": ArmRecipe({"gravity.every": 2}),
    "v3.5": ArmRecipe(FAST_DECAY, preset="v3.5"),
    "v3.5-no-decay": ArmRecipe({"gravity.decay": False}, preset="v3.5"),
    "v6": ArmRecipe(FAST_DECAY, preset="v6"),
    "v6-no-decay": ArmRecipe({"gravity.decay": False}, preset="v6"),
    "v7": ArmRecipe(FAST_DECAY, preset="v7"),
    # v7 is published on a backbone that is wider than a1's by a third.
    "v7-narrow": ArmRecipe({**FAST_DECAY, **times(0.75, "model.d_model"), "model.num_heads": 4}, preset="v7"),
    # data
    "padded": ArmRecipe(PADDED),
    "padded-length-x4": ArmRecipe({**PADDED, **times(4, "model.seq_len"), **times(0.25, "train.batch_size")}),
    "length-x4": ArmRecipe({**times(4, "model.seq_len"), **times(0.25, "train.batch_size")}),
    "batch-half": ArmRecipe(HALF_BATCH),
    "batch-double": ArmRecipe(DOUBLE_BATCH),
    "batch-half-fixed-keys": ArmRecipe({**HALF_BATCH, **FIXED}),
    "batch-double-fixed-keys": ArmRecipe({**DOUBLE_BATCH, **FIXED}),
    # what the seeds do not ask
    "no-ffn": ArmRecipe({"model.feed_forward": "none"}),
    "fixed-keys": ArmRecipe(FIXED, probes=("domain-shift",)),
    "gradient-keys": ArmRecipe({"gravity.keys": "gradient"}),
    "dense-equal": ArmRecipe({"model.feed_forward": "dense", "model.d_dense": dense_width}, probes=("domain-shift",)),
    "tokens-fixed": ArmRecipe({**TOKENS, **FIXED}, probes=("domain-shift",)),
    "tokens-published-gravity": ArmRecipe(TOKENS),
    "tokens-tamed-gravity": ArmRecipe({**TOKENS, **TAMED}, probes=("domain-shift",)),
    # the recipe, and what becomes of it without each of its parts
    "recipe": ArmRecipe(RECIPE),
    "recipe-dense": ArmRecipe({"model.feed_forward": "dense", "model.d_dense": dense_width_of(RECIPE)}),
    "recipe-fixed-keys": ArmRecipe({**RECIPE, **FIXED}),
    "recipe-no-gravity": ArmRecipe({**RECIPE, **FIXED, "gravity.load_bias": 0.0}),
    "recipe-fast-keys": ArmRecipe({**RECIPE, "gravity.alpha": 0.01}),
    "recipe-published-gravity": ArmRecipe({**RECIPE, **PUBLISHED_GRAVITY}),
    "recipe-uncentred": ArmRecipe({**RECIPE, "router.centre_queries": False}),
    "recipe-reads-token": ArmRecipe({**RECIPE, "experts.reads": "token"}),
    "recipe-no-mixer": ArmRecipe({**RECIPE, "experts.mixer": False}),
    "recipe-soft-gates": ArmRecipe({**RECIPE, **SOFT_GATES}),
    "recipe-default-init": ArmRecipe({**RECIPE, "experts.init": "default"}),
    "recipe-gains": ArmRecipe({**RECIPE, "experts.trainability": "gains"}),
    "recipe-one-expert": ArmRecipe({**RECIPE, "experts.num_experts": 1, "experts.top_k": 1, "experts.d_ffn": active_width}),
    "recipe-experts-x4": _many(4, {}),
    "credit": ArmRecipe({**RECIPE, **recipe.CREDIT}),
    "credit-x4": _many(4, recipe.CREDIT, probes=("domain-shift",)),
    "credit-x16": _many(16, recipe.CREDIT),
    "credit-reads-token": _without({"experts.reads": "token"}),
    "credit-no-mixer": _without({"experts.mixer": False}),
    "credit-default-init": _without({"experts.init": "default"}),
    "credit-soft-gates": _without(SOFT_GATES),
    "credit-uncentred": _without({"router.centre_queries": False}),
    "credit-no-load-bias": _without({"gravity.load_bias": 0.0}),
    "credit-constant-step": _without({"gravity.credit_final": None}),
    "credit-attracted": _without({"gravity.attraction": True}),
    "credit-gains": _without({"experts.trainability": "gains"}),
    "fixed-x4": _many(4, FIXED),
    "fixed-x16": _many(16, FIXED),
    "gradient-x4": _many(4, {"gravity.keys": "gradient"}),
    "recipe-blind": ArmRecipe(BLIND),
    "recipe-blind-fast-keys": ArmRecipe({**BLIND, "gravity.alpha": 0.03}),
    "recipe-blind-fixed-keys": ArmRecipe({**BLIND, **FIXED}),
}
