"""A continual study as a plan: an arm for each learner, which starts from a base. A base is an ordinary run
on the first experience, trained once per random seed and shared by its learners: a SoME model, and a dense
one with equally many trained parameters."""

from __future__ import annotations

import json
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
    "train.learning_rate": 0.002,
    "train.warmup_fraction": 0.04,
    "train.precision": "fp32",
}
"""The recipe without credit, with the other settings of a1."""

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
    tokens: int = 100_000
    """Training tokens of each experience."""
    base_factor: int = 4
    """The base is trained on this many times the tokens, of the first experience."""
    from_scratch: bool = False
    eval_tokens: int = 16_384
    rate_factor: float = 0.5
    """Learning rate of the learners, as a share of the base's peak."""
    changes: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        for learner in self.learners:
            if learner not in LEARNERS:
                raise ConfigError("--learners", learner, "is not a learner", nearest(learner, LEARNERS))
        for name in ("tokens", "eval_tokens"):
            if getattr(self, name) < 1:
                raise ConfigError(name, getattr(self, name), "leaves nothing to do", "choose 1 or more")

    def conditions(self) -> dict[str, Any]:
        """What results must share to be in one table: everything but the learners and the number of seeds."""
        return {
            name: value
            for name, value in json.loads(json.dumps(asdict(self))).items()
            if name not in ("learners", "num_seeds")
        }


def some_config(scale: str, changes: dict[str, Any]) -> Config:
    """The SoME model of a continual study."""
    return override(override(scaled(preset("a1").config, scale), SETTINGS), changes)


def dense_config(config: Config) -> Config:
    """The same with a dense block of as many trained parameters as the SoME layer has, to the nearest unit of
    width."""
    return override(config, {"model.feed_forward": "dense", "model.d_dense": equal_dense_width(config)})


def stream_plan(settings: StreamSettings) -> Plan:
    """Learners times random seeds. Every arm has the configuration of its base."""
    configs = base_configs(settings)
    named = names_of(settings.stream)

    def arm(name: str) -> Arm:
        kind = LEARNERS[name].feed_forward
        compared = name != COMPARED_WITH and COMPARED_WITH in settings.learners
        task = FollowStream(
            name,
            tuple(named),
            base_name(kind),
            settings.tokens,
            settings.eval_tokens,
            settings.from_scratch,
            settings.rate_factor,
            json.dumps(settings.conditions()),
        )
        return Arm(name, configs[kind], base=COMPARED_WITH if compared else None, task=task)

    return Plan(
        "continual",
        tuple(arm(name) for name in settings.learners),
        seeds_of(settings.num_seeds),
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
    return {"some": override(some, first), "dense": override(dense_config(some), first)}


def base_jobs(settings: StreamSettings, plan: Plan, out: Path) -> list[Job]:
    """The runs that the learners of a plan start from; none if they start from scratch."""
    if settings.from_scratch:
        return []
    kinds = dict.fromkeys(LEARNERS[name].feed_forward for name in settings.learners)
    configs = base_configs(settings)
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
