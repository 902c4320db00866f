"""Results over several runs as the page shows them: a sweep with its arms, a study of continual learning with its learners.
Part of the contract of `schema.py`; `ui/src/schema.ts` is generated from it as well."""

from __future__ import annotations

from somelab.view.schema_parts import Interval, Number, Part


class ResultMeasure(Part):
    """A column of a table of results."""

    name: str
    title: str
    digits: int
    """Behind the point, for means and intervals alike."""
    meaning: str
    published: str | None = None
    """The name of the seeds' own figure that it may be held against."""


class Band(Part):
    """A curve over several seeds: at each place their mean, the least and the most of them."""

    tokens: list[float]
    mean: list[Number]
    low: list[Number]
    high: list[Number]


class SweepRun(Part):
    """One arm with one seed."""

    seed: int
    run_id: str | None
    """Its run on this page or server; null where its folder is gone or was never made."""
    failure: str | None
    """One line, where it failed."""


class Arm(Part):
    """One way to train, over its seeds."""

    name: str
    title: str
    base: str | None
    """The arm that it is compared with."""
    preset: str | None
    sizes: dict[str, int]
    """d_model, num_layers, num_experts, d_ffn, top_k."""
    seeds: list[int]
    """Those that finished."""
    figures: dict[str, Interval]
    """By measure; `values` in the order of `seeds`."""
    differences: dict[str, Interval]
    """Arm minus base, by measure, seed by seed, over the seeds that both have."""
    published: dict[str, float]
    """The seeds' own figures, by their names; of the full size, whatever size this sweep has."""
    runs: list[SweepRun]
    curves: dict[str, Band]
    """`loss` of training, `val_loss` and `bits_per_byte`, over the runs that have any."""


class Sweep(Part):
    """The folder of a sweep. Of one that cannot be read only the first fields say anything."""

    id: str
    name: str
    path: str
    problem: str | None
    """One line: why there is nothing more."""
    title: str
    scale: str
    seeds: list[int]
    settings: dict[str, str]
    """What was set for all arms."""
    remarks: list[str]
    """What a reader has to know beside the figures."""
    measures: list[ResultMeasure]
    arms: list[Arm]


class StudyLearner(Part):
    """One way to learn a stream, over its seeds."""

    name: str
    about: str
    num_trainable: int
    """Parameters that a gradient moves."""
    seeds: list[int]
    figures: dict[str, Interval]
    matrix: list[list[float]]
    """R[i][j], mean over seeds: loss on experience j after row i."""
    online: Band
    """Loss of each stretch of the stream before it was learned from; a place is the middle of its stretch."""


class Study(Part):
    """The folder of a study of continual learning. Of one that cannot be read only the first fields say anything."""

    id: str
    name: str
    path: str
    problem: str | None
    scale: str | None
    unit: str
    experiences: list[str]
    rows: list[str]
    """What the rows of every matrix come after: the base, or an experience."""
    tokens_per_experience: int
    learned: list[str]
    """The experiences of the stream itself: with a base, all but the first. Each takes up `tokens_per_experience`."""
    measures: list[ResultMeasure]
    learners: list[StudyLearner]
