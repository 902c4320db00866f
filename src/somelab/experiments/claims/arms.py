"""The arms of the ledger by name: each is defined once, trained once, and used by every claim that names
it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from somelab.config import Config
from somelab.config.presets import recipe
from somelab.config.scale import inverse_root
from somelab.experiments.claims.shell import (
    LedgerLength,
    LedgerScale,
    Settings,
    active_width,
    block_width,
    dense_width,
    dense_width_of,
    gain_for,
    middle_band,
    resolved,
    shell,
    times,
    widths,
)


@dataclass(frozen=True)
class ArmSettings:
    """A preset with the ledger's common settings and what is changed in it."""

    settings: Settings = field(default_factory=dict[str, Any])
    preset: str = "a1"
    builtin: bool = False
    """Trained on the built-in corpus, whose words have exact labels."""
    probes: tuple[str, ...] = ()
    tuned_as: str | None = None
    """The arm whose learning rate it takes: one that trains the same weights and differs from it in one kind
    of setting. None: it has a search of its own."""
    checked_by: tuple[str, str] | None = None
    """Two arms with a search of their own that differ in the same kind of setting, as far as any two arms
    here do: they have to find the same rate for this one to count as tuned."""
    width: float = 1.0
    """The model's width as a multiple of the scale's. Settings that follow from the width follow from this
    one."""
    first_rate: int = 0
    """Where its search begins, relative to the others, on the grid of rates: two indices are a factor of
    two. A guess from arms that are alike; it costs time where it is wrong, never the result."""

    def config(self, scale: LedgerScale, source: str, length: LedgerLength = "short") -> Config:
        common = shell(self.preset, scale, "builtin" if self.builtin else source, length)
        if self.width != 1:
            common = resolved(common, times(self.width, "model.d_model"))
        return resolved(common, self.settings)

    @property
    def kind(self) -> tuple[str, bool]:
        """Arms with the same backbone and text differ by their random seed about as much as one another."""
        return str(self.settings.get("model.backbone", "published")), self.builtin

    def like(self, arm: str, checked_by: tuple[str, str]) -> ArmSettings:
        """The same at the learning rate of another arm."""
        return replace(self, tuned_as=arm, checked_by=checked_by)


# Kinds of settings that do not change which weights are trained, each with the two arms that show whether the
# best learning rate depends on it.
RULES = ("base", "fixed-keys")
"""Rules of gravity, in the published layer."""
POOL = ("base", "experts-x8-top-x4")
"""Number, width and selection of frozen experts."""
DRAW = ("base", "init-orthogonal")
"""How frozen experts are drawn."""
GATES = ("base", "entropy-band")
"""What regularises selection and gates."""
RECIPE_RULES = ("credit-x4", "fixed-x4")
"""Rules of gravity, in the recipe."""
RECIPE_POOL = ("fixed-x4", "credit-x16")
"""Rules of gravity and the number of frozen experts, in the recipe."""
MODULATED_POOL = ("modern-modulated-fixed", "modern-modulated-more")
"""The same where experts share their units, in the modern backbone."""
RECIPE_DRAW = ("credit-x4", "hadamard-x4")
"""How frozen experts are drawn and stored, in the recipe."""
ONE_EXPERT: Settings = {"experts.num_experts": 1, "experts.top_k": 1}
"""All tokens to one frozen expert: no routing."""
HADAMARD: Settings = {"experts.family": "hadamard", "experts.d_ffn": block_width}
"""Experts without matrices, of one block each."""


def _depth(layers: int, **more: Any) -> ArmSettings:
    """The published number of layers at the scale's width: a scaled-down depth could not collapse. The
    missing warm-up stays too, since it bears on whether a deep post-norm model learns."""
    changes = {name.replace("__", "."): value for name, value in more.items()}
    return ArmSettings({"model.num_layers": layers, "train.warmup_fraction": 0.0, **changes}, first_rate=-6)


FIXED: Settings = {"gravity.keys": "fixed"}
HALF_BATCH: Settings = {
    **times(0.5, "train.batch_size"),
    **times(2, "train.steps", "gravity.warmup_steps", "train.eval_every"),
}
DOUBLE_BATCH: Settings = {
    **times(2, "train.batch_size"),
    **times(0.5, "train.steps", "gravity.warmup_steps", "train.eval_every"),
}
PADDED: Settings = {"data.layout": "pad", "data.padding_in_loss": True}
MORE_EXPERTS: Settings = times(8, "experts.num_experts")
# A run here has a fifth of the published steps: five times the decay shrinks an unused key as far.
FAST_DECAY: Settings = times(5, "gravity.delta")
# No query network: the token itself is the query, and only gravity can learn to route. A trained
# up-projection over frozen features.
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

# The recipe with the other settings of a1: experts half as wide, of which twice as many are selected, so that
# a token costs the same.
RECIPE: Settings = {**recipe.PARTS, **times(2, "experts.top_k"), **times(0.5, "experts.d_ffn")}

PUBLISHED_GRAVITY: Settings = {
    "gravity.alpha": 0.01,
    "gravity.attraction_by": "all",
    "gravity.load_bias": 0.0,
    "gravity.peer_pull": True,
    "gravity.decay": True,
}
RECIPE_RATE = -1
SOFT_GATES: Settings = {"router.temperature": 1.0, "router.learnable_temperature": False}
# The recipe without gradient through the selection: many keys, which move fast enough to follow the trained
# weights.
BLIND: Settings = {
    **RECIPE,
    **times(4, "experts.num_experts"),
    "router.gradient": False,
    "gravity.alpha": 0.01,
}


# The usual feed-forward blocks: dense blocks of the usual widths, and a mixture of eight trained experts with
# a learned router, of which two are selected: as wide in use as the usual dense block.
MIXTURE: Settings = {
    "model.feed_forward": "moe",
    "experts.num_experts": 8,
    "experts.top_k": 2,
    "experts.d_ffn": widths(2),
    "router.balance_loss": 0.01,
}
# As many times the steps as a step of `credit-x4` takes times that of `recipe-dense`
# (2.12 / 1.10, `somelab evidence --frontier --time`).
AS_LONG: Settings = times(1.9, "train.steps", "train.eval_every")
# The same of `modern-hadamard-x4` and `modern-dense-1d`; `modern-modulated` takes as long (1.27).
MODERN_AS_LONG: Settings = times(1.25, "train.steps", "train.eval_every")
# The same of `modern-modulated` and `modern-dense-1d-normed`: 1.19 then, 1.29 measured since.
NORMED_AS_LONG: Settings = times(1.2, "train.steps", "train.eval_every")
# The same at D 256, with credit from backward: 1.03 to 1.11 (lab/LOG.md).
WIDE_AS_LONG: Settings = times(1.1, "train.steps", "train.eval_every")


def _embedding_std(config: Config) -> float:
    return inverse_root(config.model.d_model)


MODERN: Settings = {
    "model.backbone": "modern",
    # At the backbone's own 0.02 blocks outweigh tokens, and seeds differ.
    "model.scale_embedding": True,
    "model.embedding_std": _embedding_std,
}
"""Pre-norm, RMSNorm, RoPE, tied head, no biases."""


# The SoME of the comparison with GPT-2, by what its settings are times those of a1; its decay does nothing.
GPT2_SOME: Settings = {
    **times(2, "experts.num_experts", "experts.top_k"),
    **times(1.5, "experts.d_ffn"),
    "experts.init": "sparse",
    "router.kind": "linear",
    "router.temperature": 1.0,
    "gravity.alpha": 0.015,
    "gravity.beta": 0.001,
    "gravity.ema_decay": 0.995,
    "gravity.decay": False,
}


MODULATED: Settings = {**MODERN, **HADAMARD, "experts.family": "modulated", **times(4, "experts.top_k")}
"""The same units for all experts, each expert a random half of them, in the modern backbone. A further expert
per token costs little here: twice as many as in the rest of the recipe."""


def _four_blocks(config: Config) -> int:
    return 4 * block_width(config)


def _dense(multiple: int, settings: Settings | None = None) -> ArmSettings:
    """A trained dense block, `multiple` times as wide as the model."""
    block = {"model.feed_forward": "dense", "model.d_dense": widths(multiple)}
    return ArmSettings({**block, **(settings or {})}, first_rate=-2)


def _many(factor: float, settings: Settings, probes: tuple[str, ...] = ()) -> ArmSettings:
    """The recipe with `factor` times the frozen experts."""
    more = times(factor, "experts.num_experts")
    return ArmSettings({**RECIPE, **more, **settings}, probes=probes, first_rate=RECIPE_RATE)


def _without(settings: Settings) -> ArmSettings:
    """`credit-x4`, the recipe as it is in `some`, with one part changed."""
    return _many(4, {**recipe.CREDIT, **settings})


def _wide(arm: ArmSettings) -> ArmSettings:
    """At D 256. One learning rate for all weights holds the dense blocks back at this width, and SoME too:
    four times the rate for embedding and head is best for both (lab/LOG.md)."""
    settings = {**arm.settings, "train.embedding_rate": 4.0}
    return replace(arm, settings=settings, width=8 / 3, first_rate=-8)


ARMS: dict[str, ArmSettings] = {
    "base": ArmSettings(probes=("gravity-cost", "domain-shift")),
    # backbone
    "wide": ArmSettings(times(4 / 3, "model.d_model")),
    "depth-8": _depth(8),
    "depth-10": _depth(10),
    "depth-12": _depth(12),
    "depth-16": _depth(16),
    "depth-16-d1": _depth(16, gravity__beta_layers=(1.0, 0.5)).like("depth-16", RULES),
    "depth-16-d2": _depth(16, gravity__frozen_layers=(False, True)).like("depth-16", RULES),
    "depth-16-d3": _depth(16, router__grounding=0.1).like("depth-16", RULES),
    # pool
    "experts-x2": ArmSettings(times(2, "experts.num_experts")).like("base", POOL),
    "experts-x4": ArmSettings(times(4, "experts.num_experts")).like("base", POOL),
    "experts-x8": ArmSettings(MORE_EXPERTS).like("base", POOL),
    "top-x2": ArmSettings(times(2, "experts.top_k")).like("base", POOL),
    "top-x4": ArmSettings(times(4, "experts.top_k")).like("base", POOL),
    "experts-x8-top-x4": ArmSettings({**MORE_EXPERTS, **times(4, "experts.top_k")}),
    "experts-1.5-wide": ArmSettings(times(1.5, "experts.d_ffn")).like("base", POOL),
    "experts-2-wide": ArmSettings(times(2, "experts.d_ffn")).like("base", POOL),
    "init-sparse": ArmSettings({"experts.init": "sparse"}).like("base", DRAW),
    "init-orthogonal": ArmSettings({"experts.init": "orthogonal"}),
    "init-sparse-matched": ArmSettings(
        {"experts.init": "sparse", "experts.output_gain": gain_for("sparse")}
    ).like("base", DRAW),
    "init-orthogonal-matched": ArmSettings(
        {"experts.init": "orthogonal", "experts.output_gain": gain_for("orthogonal")}
    ).like("base", DRAW),
    "lora-4": ArmSettings({"experts.trainability": "lora", "experts.lora_rank": 4}),
    "lora-8": ArmSettings({"experts.trainability": "lora", "experts.lora_rank": 8}),
    "full-training": ArmSettings({"experts.trainability": "full"}),
    # router
    "experts-x8-linear": ArmSettings({**MORE_EXPERTS, "router.kind": "linear"}),
    "experts-x8-narrow-mlp": ArmSettings({**MORE_EXPERTS, "router.width": 0.5}),
    "top-k-warmup": ArmSettings({"router.top_k_warmup": 0.15, "router.top_k_ramp": 0.05}).like("base", GATES),
    "learned-temperature": ArmSettings({"router.learnable_temperature": True}).like("base", GATES),
    "entropy-band": ArmSettings({"router.learnable_temperature": True, "router.entropy_band": middle_band}),
    "balance-loss": ArmSettings({"router.balance_loss": 0.01}).like("base", GATES),
    "fixed-keys-balance-loss": ArmSettings({**FIXED, "router.balance_loss": 0.01}).like("base", GATES),
    # gravity
    "no-peer-pull": ArmSettings({"gravity.peer_pull": False}).like("base", RULES),
    "builtin": ArmSettings(builtin=True, probes=("guild-meaning",)),
    "builtin-no-peer-pull": ArmSettings(
        {"gravity.peer_pull": False}, builtin=True, probes=("guild-meaning",)
    ).like("builtin", RULES),
    "builtin-fixed-keys": ArmSettings(FIXED, builtin=True, probes=("guild-meaning",)).like("builtin", RULES),
    "beta-constant": ArmSettings({"gravity.beta": 3e-3}).like("base", RULES),
    "beta-annealed": ArmSettings({"gravity.beta": 3e-3, "gravity.beta_final": 5e-4}).like("base", RULES),
    "half-the-tokens": ArmSettings({"gravity.token_fraction": 0.5}).like("base", RULES),
    "every-other-step": ArmSettings({"gravity.every": 2}).like("base", RULES),
    "v3.5": ArmSettings(FAST_DECAY, preset="v3.5"),
    "v3.5-no-decay": ArmSettings({"gravity.decay": False}, preset="v3.5").like("v3.5", RULES),
    "v6": ArmSettings(FAST_DECAY, preset="v6"),
    "v6-no-decay": ArmSettings({"gravity.decay": False}, preset="v6").like("v6", RULES),
    "v7": ArmSettings(FAST_DECAY, preset="v7"),
    # v7 is published on a backbone that is wider than a1's by a third.
    "v7-narrow": ArmSettings(
        {**FAST_DECAY, **times(0.75, "model.d_model"), "model.num_heads": 4}, preset="v7"
    ),
    # data
    "padded": ArmSettings(PADDED),
    "padded-length-x4": ArmSettings(
        {**PADDED, **times(4, "model.seq_len"), **times(0.25, "train.batch_size")}
    ),
    "length-x4": ArmSettings({**times(4, "model.seq_len"), **times(0.25, "train.batch_size")}),
    "batch-half": ArmSettings(HALF_BATCH),
    "batch-double": ArmSettings(DOUBLE_BATCH),
    "batch-half-fixed-keys": ArmSettings({**HALF_BATCH, **FIXED}).like("batch-half", RULES),
    "batch-double-fixed-keys": ArmSettings({**DOUBLE_BATCH, **FIXED}).like("batch-double", RULES),
    # questions that the reports leave open
    "no-ffn": ArmSettings({"model.feed_forward": "none"}),
    "fixed-keys": ArmSettings(FIXED, probes=("domain-shift",)),
    "gradient-keys": ArmSettings({"gravity.keys": "gradient"}),
    "dense-equal": ArmSettings(
        {"model.feed_forward": "dense", "model.d_dense": dense_width}, probes=("domain-shift",)
    ),
    "tokens-fixed": ArmSettings({**TOKENS, **FIXED}, probes=("domain-shift",)),
    "tokens-published-gravity": ArmSettings(TOKENS).like("tokens-fixed", RULES),
    "tokens-tamed-gravity": ArmSettings({**TOKENS, **TAMED}, probes=("domain-shift",)),
    # the recipe, and without each of its parts
    "recipe": ArmSettings(RECIPE).like("credit-x4", RECIPE_POOL),
    "recipe-dense": ArmSettings({"model.feed_forward": "dense", "model.d_dense": dense_width_of(RECIPE)}),
    "recipe-dense-as-long": ArmSettings(
        {"model.feed_forward": "dense", "model.d_dense": dense_width_of(RECIPE), **AS_LONG}
    ),
    "recipe-fixed-keys": ArmSettings({**RECIPE, **FIXED}).like("credit-x4", RECIPE_POOL),
    "recipe-no-gravity": ArmSettings({**RECIPE, **FIXED, "gravity.load_bias": 0.0}).like(
        "credit-x4", RECIPE_POOL
    ),
    "recipe-fast-keys": ArmSettings({**RECIPE, "gravity.alpha": 0.01}).like("credit-x4", RECIPE_POOL),
    "recipe-published-gravity": ArmSettings({**RECIPE, **PUBLISHED_GRAVITY}).like("credit-x4", RECIPE_POOL),
    "recipe-uncentred": ArmSettings({**RECIPE, "router.centre_queries": False}).like(
        "credit-uncentred", RECIPE_POOL
    ),
    "recipe-reads-token": ArmSettings({**RECIPE, "experts.reads": "token"}).like(
        "credit-reads-token", RECIPE_POOL
    ),
    "recipe-no-mixer": ArmSettings({**RECIPE, "experts.mixer": False}).like("credit-no-mixer", RECIPE_POOL),
    "recipe-soft-gates": ArmSettings({**RECIPE, **SOFT_GATES}).like("credit-soft-gates", RECIPE_POOL),
    "recipe-default-init": ArmSettings({**RECIPE, "experts.init": "default"}).like(
        "credit-default-init", RECIPE_POOL
    ),
    "recipe-gains": ArmSettings({**RECIPE, "experts.trainability": "gains"}, first_rate=RECIPE_RATE),
    "recipe-one-expert": ArmSettings(
        {**RECIPE, **ONE_EXPERT, "experts.d_ffn": active_width}, first_rate=RECIPE_RATE
    ),
    "recipe-experts-x4": _many(4, {}).like("credit-x4", RECIPE_POOL),
    "credit": ArmSettings({**RECIPE, **recipe.CREDIT}).like("credit-x4", RECIPE_POOL),
    "credit-x4": _many(4, recipe.CREDIT, probes=("domain-shift",)),
    "credit-x16": _many(16, recipe.CREDIT),
    "credit-reads-token": _without({"experts.reads": "token"}),
    "credit-no-mixer": _without({"experts.mixer": False}),
    "credit-default-init": _without({"experts.init": "default"}),
    "credit-soft-gates": _without(SOFT_GATES),
    "credit-uncentred": _without({"router.centre_queries": False}),
    "credit-no-load-bias": _without({"gravity.load_bias": 0.0}).like("credit-x4", RECIPE_RULES),
    "credit-constant-step": _without({"gravity.credit_final": None}).like("credit-x4", RECIPE_RULES),
    "credit-attracted": _without({"gravity.attraction": True}).like("credit-x4", RECIPE_RULES),
    "credit-gains": _without({"experts.trainability": "gains"}),
    "fixed-x4": _many(4, FIXED),
    "fixed-x16": _many(16, FIXED).like("credit-x4", RECIPE_POOL),
    "gradient-x4": _many(4, {"gravity.keys": "gradient"}),
    # baselines, and the recipe at other K
    # (`recipe-dense` is one time as wide as the model, `dense-equal` two times)
    **{f"dense-{multiple}d": _dense(multiple) for multiple in (4, 8)},
    "moe": ArmSettings(MIXTURE),
    "credit-x4-half-k": _without(times(1, "experts.top_k")),
    "credit-x4-double-k": _without(times(4, "experts.top_k")),
    # the recipe with experts that cost less
    "credit-x4-int8": _without({"experts.storage": "int8"}).like("credit-x4", RECIPE_DRAW),
    "hadamard-x4": _without(HADAMARD),
    "hadamard-fixed-x4": _many(4, {**FIXED, **HADAMARD}).like("hadamard-x4", RECIPE_RULES),
    "hadamard-x16": _many(16, {**recipe.CREDIT, **HADAMARD}).like("hadamard-x4", RECIPE_POOL),
    "hadamard-x64": _many(64, {**recipe.CREDIT, **HADAMARD}).like("hadamard-x4", RECIPE_POOL),
    "hadamard-x4-double-k": _without({**HADAMARD, **times(4, "experts.top_k")}),
    "hadamard-x4-wide": _without({**HADAMARD, "experts.d_ffn": _four_blocks}),
    "modern-no-ffn": ArmSettings({**MODERN, "model.feed_forward": "none"}, first_rate=-2),
    **{f"modern-dense-{multiple}d": _dense(multiple, MODERN) for multiple in (1, 2, 4, 8)},
    "modern-moe": ArmSettings({**MODERN, **MIXTURE}, first_rate=-4),
    "modern-base": ArmSettings(MODERN, first_rate=-2),
    "modern-credit-x4": _without(MODERN),
    "modern-fixed-x4": _many(4, {**FIXED, **MODERN}),
    "modern-hadamard-x4": _without({**HADAMARD, **MODERN}),
    "modern-hadamard-fixed-x4": _many(4, {**FIXED, **HADAMARD, **MODERN}),
    "modern-hadamard-x16": _many(16, {**recipe.CREDIT, **HADAMARD, **MODERN}).like(
        "modern-hadamard-x4", RECIPE_POOL
    ),
    "modern-hadamard-x4-double-k": _without({**HADAMARD, **MODERN, **times(4, "experts.top_k")}),
    "modern-hadamard-one-expert": ArmSettings(
        {**RECIPE, **HADAMARD, **MODERN, **ONE_EXPERT, "experts.d_ffn": _four_blocks}, first_rate=RECIPE_RATE
    ),
    "modern-hadamard-one-block": ArmSettings(
        {**RECIPE, **HADAMARD, **MODERN, **ONE_EXPERT}, first_rate=RECIPE_RATE
    ),
    "modern-modulated": _without(MODULATED),
    "modern-modulated-fixed": _many(4, {**FIXED, **MODULATED}),
    "modern-modulated-fewer-fixed": _many(1, {**FIXED, **MODULATED}),
    "modern-modulated-gradient": _many(4, {**MODULATED, "gravity.keys": "gradient"}),
    "modern-modulated-backward": _without({**MODULATED, "gravity.credit_from": "backward"}).like(
        "modern-modulated", MODULATED_POOL
    ),
    "modern-modulated-fewer": _many(1, {**recipe.CREDIT, **MODULATED}).like(
        "modern-modulated", MODULATED_POOL
    ),
    "modern-modulated-more": _many(16, {**recipe.CREDIT, **MODULATED}),
    "modern-modulated-half-k": _without({**MODULATED, **times(2, "experts.top_k")}),
    "modern-dense-1d-normed": _dense(1, {**MODERN, "model.dense_norm": True}),
    "modern-dense-4d-normed": _dense(4, {**MODERN, "model.dense_norm": True}),
    "modern-swiglu": ArmSettings(
        {**MODERN, "model.feed_forward": "dense", "model.dense_gate": True, "model.d_dense": widths(2 / 3)},
        first_rate=-2,
    ),
    "modern-dense-1d-as-long": _dense(1, {**MODERN, **MODERN_AS_LONG}),
    "modern-dense-1d-normed-as-long": _dense(1, {**MODERN, "model.dense_norm": True, **NORMED_AS_LONG}),
    # D 256 at micro, where routing costs a smaller share of a step
    "modern-wide-modulated": _wide(_without({**MODULATED, "gravity.credit_from": "backward"})),
    "modern-wide-one-block": _wide(ArmSettings({**RECIPE, **HADAMARD, **MODERN, **ONE_EXPERT})),
    "modern-wide-dense-normed-as-long": _wide(
        _dense(1, {**MODERN, "model.dense_norm": True, **WIDE_AS_LONG})
    ),
    "modern-wide-dense-4d-normed": _wide(_dense(4, {**MODERN, "model.dense_norm": True})),
    # where no gradient reaches the selection
    "recipe-blind": ArmSettings(BLIND, first_rate=RECIPE_RATE),
    "recipe-blind-fast-keys": ArmSettings({**BLIND, "gravity.alpha": 0.03}).like(
        "recipe-blind", RECIPE_RULES
    ),
    "recipe-blind-fixed-keys": ArmSettings({**BLIND, **FIXED}).like("recipe-blind", RECIPE_RULES),
    # as the first notebooks: every token sees those that it is to predict
    "no-causal-mask": ArmSettings({"model.causal": False}),
    # further claims of the authors
    "gpt2-some": ArmSettings(GPT2_SOME),
    "cumulative-usage": ArmSettings({"gravity.usage": "cumulative"}, probes=("domain-shift",)).like(
        "base", RULES
    ),
    "base-linear": ArmSettings({"router.kind": "linear"}),
    "width-x2-linear": ArmSettings(
        {"router.kind": "linear", **times(2, "model.d_model"), "model.num_heads": 8}, first_rate=-2
    ),
    "falling-temperature": ArmSettings({"router.temperature_over_run": (2.0, 1.5, 1.0, 0.8)}),
    "v7-no-respawn": ArmSettings({**FAST_DECAY, "gravity.respawn": False}, preset="v7").like("v7", RULES),
    # five times v6's published delta, as the arm `v6`
    "v7-slow-decay": ArmSettings(preset="v7").like("v7", RULES),
    "v6-fast-decay": ArmSettings(times(25, "gravity.delta"), preset="v6").like("v6", RULES),
}
