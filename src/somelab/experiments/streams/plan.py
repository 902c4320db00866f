"""A continual study as a plan: an arm for each learner, which starts from a base. A base is an ordinary run
on the first experience, trained once per random seed and shared by its learners: a SoME model, and a dense
one with equally many trained parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from somelab.adapt.continual.learners import LEARNERS
from somelab.adapt.continual.stream import names_of
from somelab.config import Config, override, preset, scaled
from somelab.config.presets import recipe
from somelab.errors import ConfigError, nearest
from somelab.experiments.runner.measures import Measure, Measures
from somelab.experiments.runner.plan import Arm, Job, Plan, seeds_of, with_seed
from somelab.experiments.streams.task import FollowStream, steps_of
from somelab.model.count import equal_dense_width

SETTINGS: dict[str, Any] = {
    **recipe.PARTS,
    "data.layout": "pack",
    "data.padding_in_loss": False,
    "data.train_subset_size": 2000,
    "data.val_subset_size": 200,
    "train.warmup_fraction": 0.2,
    "train.precision": "fp32",
    "train.batch_size": 4,
}
"""The recipe without credit, with the other settings of a1. Small batches: an experience has few tokens, and
with 16 sequences a step 50,000 of them are only 24 steps."""

BASE_RATES = {"some": 0.0226, "dense": 0.016}
"""Learning rates of the bases where nothing is tuned, and where the search begins: those of such models in
the ledger, at micro scale."""

COMPARED_WITH = "dense"
"""Fine-tuning: the learner that the others are compared with."""

MEASURES = Measures(
    (
        Measure("num_trainable", "trained", ",.0f", "parameters that a gradient may change"),
        Measure("average_loss", "average loss", ".4f", "nats per token, over all experiences at the end"),
        Measure("forgetting", "forgetting", ".4f", "the largest rise of an experience above its best"),
        Measure("final_forgetting", "final forgetting", ".4f", "what of that rise is left at the end"),
        Measure("backward_transfer", "backward transfer", ".4f", "gain on earlier experiences by later ones"),
        Measure("forward_transfer", "forward transfer", ".4f", "gain on experiences not yet learned"),
        Measure("online_loss", "online loss", ".4f", "of each batch before it is learned from"),
        Measure("parameters_added", "added", ",.0f", "parameters beyond those of the base"),
        Measure(
            "bytes_added",
            "bytes to store",
            ",.0f",
            "beyond the base: changed and new weights, kept text, importance of weights",
        ),
    ),
    main="average_loss",
    differences=("average_loss", "forgetting", "final_forgetting", "online_loss"),
    glance=("average_loss", "final_forgetting", "forward_transfer", "online_loss"),
)


@dataclass(frozen=True)
class StreamSettings:
    """The settings of a study: changing any of them makes another study."""

    stream: tuple[str, ...]
    learners: tuple[str, ...] = tuple(LEARNERS)
    scale: str = "micro"
    num_seeds: int = 1
    first_seed: int = 0
    tokens: int = 100_000
    """Training tokens of each experience."""
    base_factor: int = 4
    """The base is trained on this many times the tokens, of the first experience."""
    from_scratch: bool = False
    eval_tokens: int = 16_384
    rate_factor: float = 0.25
    """Learning rate of the learners, as a share of the base's peak: where nothing is tuned, and where the
    search begins."""
    tune: bool = False
    """Search the best learning rate of each base and each learner first."""
    rates: dict[str, float] = field(default_factory=dict[str, float])
    """Learning rates of learners and bases (`base-dense`), where a search has found them before."""
    changes: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        for learner in self.learners:
            if learner not in LEARNERS:
                raise ConfigError("--learners", learner, "is not a learner", nearest(learner, LEARNERS))
            if self.from_scratch and LEARNERS[learner].needs_base:
                problem = "needs a trained base"
                raise ConfigError("--learners", learner, problem, "leave out --from-scratch, or this learner")
        if self.first_seed < 0:
            raise ConfigError("--first-seed", self.first_seed, "is negative", "choose 0 or more")
        if self.rates and self.tune:
            raise ConfigError("--tune", True, "searches rates that are on record", "leave one of the two out")
        for name in ("tokens", "eval_tokens"):
            if getattr(self, name) < 1:
                raise ConfigError(name, getattr(self, name), "leaves nothing to do", "choose 1 or more")

    def conditions(self) -> dict[str, Any]:
        """What results must share to be in one table: everything but the learners, their rates and the
        seeds."""
        own = ("learners", "num_seeds", "first_seed", "rates")
        shared = {k: v for k, v in json.loads(json.dumps(asdict(self))).items() if k not in own}
        bases = {name: rate for name, rate in self.rates.items() if name.startswith("base-")}
        return {**shared, "base_rates": bases} if bases else shared


def some_config(scale: str, changes: dict[str, Any]) -> Config:
    """The SoME model of a continual study."""
    return override(override(scaled(preset("a1").config, scale), SETTINGS), changes)


def dense_config(config: Config) -> Config:
    """The same with a dense block of as many trained parameters as the SoME layer has, to the nearest unit of
    width."""
    return override(config, {"model.feed_forward": "dense", "model.d_dense": equal_dense_width(config)})


def stream_plan(settings: StreamSettings) -> Plan:
    """Learners times random seeds. Every arm has the configuration of its base, and its own learning rate."""
    configs = base_configs(settings)
    named = names_of(settings.stream)

    def arm(name: str) -> Arm:
        kind = LEARNERS[name].feed_forward
        compared = name != COMPARED_WITH and COMPARED_WITH in settings.learners
        task = follow(settings, name, base_name(kind))
        own = {"train.learning_rate": settings.rates.get(name, first_rate(settings, kind))}
        config = override(configs[kind], own)
        return Arm(name, config, base=COMPARED_WITH if compared else None, task=task)

    return Plan(
        "continual",
        tuple(arm(name) for name in settings.learners),
        tuple(settings.first_seed + seed for seed in seeds_of(settings.num_seeds)),
        " > ".join(name for name, _ in named),
        settings.scale,
        {"tokens per experience": str(settings.tokens)},
        MEASURES,
        kind="continual",
    )


def base_configs(settings: StreamSettings) -> dict[str, Config]:
    """The configuration of each kind of base."""
    some = some_config(settings.scale, settings.changes)
    steps = settings.base_factor * steps_of(settings.tokens, some)
    first = {"train.steps": steps, "data.source": names_of(settings.stream)[0][1]}
    given = settings.changes.get("train.learning_rate")
    rates = {
        kind: settings.rates.get(base_name(kind), rate if given is None else given)
        for kind, rate in BASE_RATES.items()
    }
    return {
        "some": override(some, {**first, "train.learning_rate": rates["some"]}),
        "dense": override(dense_config(some), {**first, "train.learning_rate": rates["dense"]}),
    }


def follow(settings: StreamSettings, learner: str, base: str) -> FollowStream:
    """The task of one learner. `base`: the folder of its base, without the seed, relative to the study's."""
    return FollowStream(
        learner,
        tuple(names_of(settings.stream)),
        base,
        settings.tokens,
        settings.eval_tokens,
        settings.from_scratch,
        json.dumps(settings.conditions()),
    )


def first_rate(settings: StreamSettings, kind: str) -> float:
    """The learning rate of a learner before a search has found its own."""
    base = base_configs(settings)[kind].train.learning_rate
    return float(f"{settings.rate_factor * base:.3g}")


def kinds_of(settings: StreamSettings) -> list[str]:
    """The kinds of bases that the learners start from; none if they start from scratch."""
    if settings.from_scratch:
        return []
    return list(dict.fromkeys(LEARNERS[name].feed_forward for name in settings.learners))


def base_jobs(
    settings: StreamSettings, plan: Plan, out: Path, rates: Mapping[str, float] | None = None
) -> list[Job]:
    """The runs that the learners of a plan start from. `rates`: the tuned learning rates by kind; a kind that
    has none yet is left out."""
    configs = base_configs(settings)
    if rates is not None:
        configs = {
            kind: override(configs[kind], {"train.learning_rate": rate}) for kind, rate in rates.items()
        }
    kinds = [kind for kind in kinds_of(settings) if kind in configs]
    return [
        Job(
            base_name(kind),
            seed,
            with_seed(configs[kind], seed),
            out / base_name(kind) / f"seed-{seed}",
            scale=settings.scale,
        )
        for seed in plan.seeds
        for kind in kinds
    ]


def base_name(kind: str) -> str:
    return f"base-{kind}"
