"""The plan of an experiment: arms (a name and a whole configuration) times random seeds, and which arm each
is compared with. All arms of a plan have the same seeds, so that differences are paired."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from somelab.config import Config, digest_of_changes, override
from somelab.errors import ConfigError, nearest
from somelab.experiments.runner.measures import TRAINING_MEASURES, Measures
from somelab.experiments.runner.task import Task

if TYPE_CHECKING:
    from somelab.experiments.probes.shift_probe import Reading

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._,=+-]*")
TEXT_FILES = (".txt", ".jsonl", ".parquet")
MOST_SEEDS = 1000
DEFAULT_SHIFT = "builtin"
"""Text of another kind than the arms' own, for the probe that reads such."""


@dataclass(frozen=True)
class Arm:
    """One way to train. Its name is also the name of its folder."""

    name: str
    config: Config
    """Its seed is replaced by the plan's."""
    title: str = ""
    base: str | None = None
    """The arm that it is compared with."""
    preset: str | None = None
    """The preset whose published figures are shown beside it; None if its settings differ from the preset."""
    probes: tuple[str, ...] = ()
    """What is measured on the trained model beside its last evaluation: names of `probes.PROBES`."""
    task: Task | None = None
    """What its jobs do; None: train a run."""


@dataclass(frozen=True)
class Job:
    """One arm with one random seed, trained by one process."""

    arm: str
    seed: int
    config: Config
    folder: Path
    probes: tuple[str, ...] = ()
    preset: str | None = None
    scale: str = "full"
    shift: str = DEFAULT_SHIFT
    reading: Reading | None = None
    """How much of that text probes read; None: as the ledger does."""
    pause_at: int | None = None
    """The step after which the run pauses: a search then decides whether to continue it."""
    task: Task | None = None
    """What its process does; None: train a run with `config`, and probe it."""

    @property
    def key(self) -> tuple[str, int]:
        return self.arm, self.seed

    @property
    def label(self) -> str:
        return f"{self.arm} seed {self.seed}"

    @property
    def log(self) -> Path:
        """The log of the training. Beside the run folder, which must be new when a run begins."""
        return self.folder.with_name(f"{self.folder.name}.log")

    @property
    def outcome(self) -> Path:
        """How it ended, and how long it took."""
        return self.folder.with_name(f"{self.folder.name}.json")

    @property
    def lock(self) -> Path:
        """Held by the process that works on it: several calls may share a store."""
        return self.folder.with_name(f".{self.folder.name}.lock")


@dataclass(frozen=True)
class Plan:
    """Arms times seeds."""

    name: str
    arms: tuple[Arm, ...]
    seeds: tuple[int, ...] = (0, 1, 2)
    title: str = ""
    scale: str = "full"
    settings: dict[str, str] = field(default_factory=dict[str, str])
    """What was set for all arms on top of their scale, for the table's head."""
    measures: Measures = TRAINING_MEASURES
    """The columns of its table."""
    shift: str = DEFAULT_SHIFT
    """The text of another kind that probes read."""
    reading: Reading | None = None
    """How much of it; None: as the ledger does."""
    kind: Literal["sweep", "continual"] = "sweep"
    """What the page shows of its folder."""

    def __post_init__(self) -> None:
        names = [arm.name for arm in self.arms]
        if not names:
            raise ConfigError("plan", self.name, "has no arms", "give at least one under grid, list or pairs")
        if not self.seeds:
            raise ConfigError(
                "seeds", (), "a plan without seeds trains nothing", "give a number of 1 or more"
            )
        for arm in self.arms:
            if not NAME.fullmatch(arm.name):
                remedy = "use letters, digits and . _ , = + - and begin with a letter or digit"
                raise ConfigError("arm", arm.name, "cannot be the name of a folder", remedy)
            if names.count(arm.name) > 1:
                raise ConfigError("arm", arm.name, "is the name of two arms", "give each a name of its own")
            if arm.base is not None and arm.base not in names:
                raise ConfigError(
                    "base",
                    arm.base,
                    f"is not an arm, and {arm.name} is compared with it",
                    nearest(arm.base, names),
                )

    def jobs(self, out: Path) -> list[Job]:
        """Every arm with every seed; the first seed of all arms comes first, so that a partial table has all
        arms."""
        return [
            Job(
                arm.name,
                seed,
                with_seed(arm.config, seed),
                out / arm.name / f"seed-{seed}",
                arm.probes,
                arm.preset,
                self.scale,
                self.shift,
                self.reading,
                task=arm.task,
            )
            for seed in self.seeds
            for arm in self.arms
        ]

    def changed(self, settings: dict[str, str]) -> Plan:
        """The plan with settings put on top of every arm."""
        if not settings:
            return self
        arms = tuple(replace(arm, config=override(arm.config, settings)) for arm in self.arms)
        # The table gives the name of the text, not its path.
        shown = {
            name: Path(value).name if name == "data.source" else value for name, value in settings.items()
        }
        return replace(self, arms=arms, settings={**self.settings, **shown})


def with_seed(config: Config, seed: int) -> Config:
    return override(config, {"train.seed": seed})


def identity(config: Config) -> str:
    """Identifies what a run computes: its configuration without the path of the text file, whose content is
    compared separately."""
    name = text_name(config.data.source)
    return digest_of_changes(
        config if name == config.data.source else override(config, {"data.source": name})
    )


def text_name(source: str) -> str:
    """A text file by its name without the path; other sources unchanged."""
    path = Path(source)
    return path.name if path.suffix in TEXT_FILES or path.exists() else source


def seeds_of(number: int) -> tuple[int, ...]:
    """The first seeds: 0 to number - 1."""
    if number < 1:
        raise ConfigError(
            "seeds",
            number,
            "is less than 1",
            "give a number of 1 or more; three are the least for an interval",
        )
    if number > MOST_SEEDS:
        raise ConfigError("seeds", number, f"is more than {MOST_SEEDS:,}", "give fewer; 3 to 10 are usual")
    return tuple(range(number))
