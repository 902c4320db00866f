"""Results over several runs as the page shows them: a sweep with its arms, a study of continual learning with
its learners. Part of the contract of `schema.py`; `ui/src/schema.ts` is generated from it as well."""

from __future__ import annotations

from somelab.view.schema.parts import Interval, Number, Part


class ResultMeasure(Part):
    """A column of a table of results."""

    name: str
    title: str
    digits: int
    """Decimal places, for means and intervals."""
    meaning: str
    published: str | None = None
    """The name of the published figure that it can be compared with."""


class Band(Part):
    """A curve over several seeds: at each place their mean, the least and the most of them."""

    tokens: list[float]
    mean: list[Number]
    low: list[Number]
    high: list[Number]


class PublishedCurve(Part):
    """A figure of a published run, at the end of each epoch that a report gives."""

    share: list[float]
    """Of the run that is over there."""
    value: list[Number]


class ValuePoint(Part):
    """One value of a setting, as far as a run with it was trained."""

    x: float
    """The value itself, or its place among the labels of the chart."""
    y: Number
    """The last loss; null where the run diverged."""
    ended: bool
    """False for a run that was stopped early: its loss is not one of a whole run."""
    note: str
    """A short note."""


class ValueLine(Part):
    """Loss against the value of a setting, for one arm."""

    name: str
    points: list[ValuePoint]
    """By x."""
    chosen: Number
    """The x of the chosen value; null before there is one."""


class ValueChart(Part):
    """Loss against the value of one setting, a line for each arm."""

    x_label: str
    y_label: str
    log: bool
    """Whether x is drawn on a logarithmic axis: values are then factors apart."""
    labels: list[str]
    """The values in words, at x = 0, 1, 2 ...; empty where they are numbers."""
    lines: list[ValueLine]


class ArmTuning(Part):
    """The result of the search for an arm's setting."""

    chosen: str
    """The chosen value; empty before there is one."""
    standing: str
    """tuned | at the edge | unfinished | failed. Only a tuned arm is compared at its best."""
    num_runs: float
    """Tuning runs, in whole runs."""
    problem: str
    """Why the search failed; empty where it did not."""


class SweepRun(Part):
    """One arm with one seed."""

    seed: int
    run_id: str | None
    """Its run on this page or server; null where its folder is gone or was never made."""
    failure: str | None
    """One line, where it failed."""


class Arm(Part):
    """One way to train, over its random seeds."""

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
    """Arm minus base, by measure, paired by seed, over the seeds that both have."""
    published: dict[str, float]
    """The published figures, by name; at full size, whatever the size of this sweep."""
    runs: list[SweepRun]
    curves: dict[str, Band]
    """`loss` of training, `val_loss`, `bits_per_byte` and `loss_with_padding`, over the runs that have any;
    where there is a published run also Gini and entropy of the middle layer's usage in training."""
    published_curves: dict[str, PublishedCurve] = {}
    """By the curve of ours that is measured alike; at full size, whatever the size of this sweep."""
    tuning: ArmTuning | None = None
    """null in a sweep that tunes nothing."""


class Sweep(Part):
    """The folder of a sweep. Of one that cannot be read only the first fields are filled."""

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
    """Remarks on the figures."""
    measures: list[ResultMeasure]
    arms: list[Arm]
    tuning: ValueChart | None = None
    """Loss against the tuned setting; null in a sweep that tunes nothing."""


class Born(Part):
    """A generation of experts that a learner has added."""

    name: str
    at_experience: int
    """The number of the experience that was read then."""
    at_token: int
    """How many tokens of it were read before."""
    parameters: int
    bytes: int
    start_from: str
    """The expert that it began as a copy of; `base`: new parts."""


class StudyLearner(Part):
    """One way to learn a stream, over its random seeds."""

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
    learning_rate: Number = None
    """null in studies of earlier versions, and where nothing is trained by gradient."""
    tuning: ArmTuning | None = None
    """null in a study that tunes nothing."""
    parameters_added: int | None = None
    """Beyond those of the base."""
    bytes_added: int | None = None
    """What has to be stored after the stream beyond the base."""
    cpu_seconds: Number = None
    """Of one run, mean over seeds."""
    generations: list[Born] = []
    """Of a learner that grows, with the first seed."""
    served_by: list[str] = []
    """The experts at the end, the base first."""
    served: list[list[float]] = []
    """Share of the tokens of each experience by expert, at the end, mean over seeds."""


class Study(Part):
    """The folder of a study of continual learning. Of one that cannot be read only the first fields are
    filled."""

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
    """The experiences of the stream itself: with a base, all but the first. Each takes up
    `tokens_per_experience`."""
    measures: list[ResultMeasure]
    learners: list[StudyLearner]
    tuning: ValueChart | None = None
    """Average loss against the learning rate; null in a study that tunes nothing."""
    bases: dict[str, ArmTuning] = {}
    """The learning rate of each base."""
