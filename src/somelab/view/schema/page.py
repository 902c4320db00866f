"""The data of the page as one typed tree: the contract between Python and the page. `ui/src/schema.ts` is
generated from it. Numbers that are not finite are null in JSON.

Shape letters: L routed layers, E experts, K experts per token, F frames (key snapshots), N tokens."""

from __future__ import annotations

from typing import Literal

from somelab.view.schema.parts import Interval, Number, Packed, Part
from somelab.view.schema.results import Study, Sweep

FORMAT = 1

Status = Literal["running", "finished", "stopped", "foreign", "broken"]
MapMethod = Literal["pca", "tsne", "umap"]
Labels = Literal["builtin", "tagger", "lexicon", "none"]


class Setting(Part):
    """One setting of the run's configuration."""

    field: str
    """Dotted name."""
    value: str
    help: str
    usual: str
    """The value in the preset at that scale, or the default if the preset is unknown."""
    changed: bool
    """Whether the value differs from it."""


class Data(Part):
    """The data."""

    source: str
    digest: str
    vocab_size: int
    train_documents: int
    train_tokens: int
    train_bytes: int
    val_documents: int
    val_tokens: int
    val_bytes: int


class Parameters(Part):
    total: int
    trainable: int
    frozen: int
    active: int
    bytes: int
    flops_per_token: int


class Fact(Part):
    """One line of the environment, such as `torch 2.13.0`."""

    name: str
    value: str


class TrainCurve(Part):
    """Loss of the training batches. Long runs are thinned: a point is then the mean of `thinned` records."""

    thinned: int
    step: list[int]
    tokens: list[int]
    loss: list[Number]
    learning_rate: list[Number]
    grad_norm: list[Number]


class EvaluationCurve(Part):
    """Validation over time. The last point is the whole validation text where the run is finished, the others
    a part of it."""

    step: list[int]
    tokens: list[int]
    """Of training, read by then."""
    val_tokens: list[int | None] = []
    """Of validation text, that each evaluation counted over; null if not recorded."""
    val_loss: list[Number]
    val_ppl: list[Number]
    bits_per_byte: list[Number]
    ppl_with_padding: list[Number]
    """Padding included, as in v1-v4 of the reports; null if not measured. Not comparable with val_ppl."""


class TimingCurve(Part):
    thinned: int
    step: list[int]
    tokens_per_second: list[Number]


class Curves(Part):
    train: TrainCurve
    evaluation: EvaluationCurve
    timing: TimingCurve


class TrainingWarning(Part):
    """A failure that training noticed, at the step it was first seen."""

    step: int
    kind: str
    layer: int | None
    sentence: str


class MeasureInfo(Part):
    """What a measure is, for its axis and its tooltip."""

    name: str
    title: str
    unit: str
    help: str
    least: Number
    most: Number
    """Bounds of what it can be in this run; null where there is none."""
    training: str = ""
    """Over what the training record counts it."""
    evaluation: str = ""
    """Over what the last evaluation counted it; empty if evaluations do not measure it."""


class Line(Part):
    """A threshold beyond which a measure means collapse."""

    value: float
    side: Literal["above", "below"]
    """The bad side."""
    sentence: str


class Series(Part):
    """Measures over time: measures[name][layer][time]."""

    steps: list[int]
    measures: dict[str, list[list[Number]]]


class LayerUsage(Part):
    """Usage of each expert at the last snapshot: the moving average of selections per step, and of gate
    mass."""

    count: list[Number]
    mass: list[Number]


class Balance(Part):
    info: list[MeasureInfo]
    lines: dict[str, Line]
    training: Series
    """From the steps of training: gini, entropy_bits, coverage, dead_share, respawns, gate_entropy, crowding,
    drift ..."""
    evaluation: Series
    """From validation: the same without respawns and drift, with combination_entropy_bits and
    num_combinations."""
    usage: list[LayerUsage]
    usage_step: int | None = None
    """The step of the snapshot that `usage` is from."""
    usage_counted: str = ""
    """Over what that usage was counted."""


class WordUse(Part):
    """A distinctive word of an expert or a guild."""

    word: str
    count: int
    """Tokens of that word that were routed to it."""
    lift: float
    """How many times more often than chance."""
    word_class: str | None = None
    """Its commonest class; null where labels are not known."""


class KeyMap(Part):
    """Places of all keys at all times in one projection. xy is int16 of shape F, E, 2; a place is xy *
    scale."""

    method: MapMethod
    xy: Packed
    scale: float
    note: str
    """How it was made, for the caption."""
    explained: Number = None
    """Share of the keys' variance in the plane, where the map is linear."""
    kept: Number = None
    """At the last frame, the mean share of a key's 5 nearest keys that are among its 5 nearest on the map."""


class LeftOut(Part):
    """A missing part, and why."""

    name: str
    reason: str


class Galaxy(Part):
    """The keys of one layer over training."""

    layer: int
    name: str | None
    """Lexicon, Mind's Eye, Storyteller: the first, middle and last layer."""
    num_experts: int
    """E here: the experts that are shown."""
    experts: list[int] = []
    """Their numbers where they are a sample of a large pool, ascending; empty: all are shown."""
    pool: int | None = None
    """The size of that pool."""
    steps: list[int]
    maps: list[KeyMap]
    left_out: list[LeftOut]
    """Map methods that are missing here."""
    usage: Packed
    """uint8 of shape F, E, log-quantised: use = expm1(value / 255 * log1p(usage_most))."""
    usage_most: float
    born: Packed
    """int32 of shape F, E: the step at which the key was last respawned. Age = steps[f] - born; a key was
    respawned in a frame where born is larger than in the frame before."""
    length: Packed
    """uint8 of shape F, E: length of the key, value / 255 * length_most."""
    length_most: float
    guild: list[int]
    """Of each expert, -1 for none; empty if guilds are not known."""
    word_class: list[str | None]
    """The class of at least half of the expert's `words`, null for none; empty if not known."""
    neighbours: Packed
    """uint16 of shape E, n <= 6: the nearest keys at the last frame, nearest first."""
    words: list[list[WordUse]]
    """The distinctive words of each expert, by count times log of lift; empty without text."""
    way: list[float] = []
    """At each frame the share of its whole path that the mean key has covered, from 0 to 1; respawns do not
    count."""


class Trace(Part):
    """A text, token by token, with the selected experts."""

    kind: Literal["sample", "validation", "prompt"]
    title: str
    step: int
    """When the text was generated (for validation text: the checkpoint's step)."""
    read_at_step: int
    """The checkpoint whose routing is shown: not the one that generated an older sample."""
    num_prompt_tokens: int
    tokens: list[str]
    """Each token's text. A token that is part of a character shows as U+FFFD."""
    word_class: list[str | None]
    """Of each token, where labels are known."""
    layers: list[int]
    """The layers in `experts` and `gates`: all that route."""
    experts: list[list[list[int]]]
    """[layer][token][K], strongest first."""
    gates: list[list[list[float]]]


class Guild(Part):
    id: int
    experts: list[int]
    """The most used first."""
    share: float
    """Of the layer's selections."""
    words: list[WordUse]
    word_class: str | None
    """Its most distinctive class (count times log of lift); null if its classes are distributed as in all
    tokens."""
    classes: dict[str, float]
    """Share of each word class among its labelled tokens."""


class MutualInformation(Part):
    """Normalised mutual information of a token's group and its word class, from 0 to 1, with its
    baselines."""

    value: float
    low: float
    high: float
    """95 % interval, from resampling whole documents."""
    shuffled_mean: float
    shuffled_low: float
    shuffled_high: float
    """The same for labels that were permuted: 95 % of the permutations lie in between."""
    p_value: float
    """Share of the permutations that reach the value: (1 + reached) / (1 + permutations)."""
    by_word_mean: float
    by_word_low: float
    by_word_high: float
    """The harder baseline: classes permuted among words of like frequency, each word keeping its tokens
    together. A grouping by word forms alone reaches this much; only a higher value is evidence for
    classes."""
    by_word_p_value: float
    num_permutations: int
    num_tokens: int
    num_documents: int


class LayerGuilds(Part):
    """Groups of experts that are selected together in one layer."""

    layer: int
    name: str | None
    method: str
    num_tokens: int
    modularity: float
    guilds: list[Guild]
    labels: Labels
    """The source of word classes: the built-in corpus itself, a tagger, the corpus' lexicon (partial),
    none."""
    labels_note: str
    """What that means for the numbers, or why there are none."""
    guild_nmi: MutualInformation | None
    """Guild of the token's strongest expert against its word class."""
    expert_nmi: MutualInformation | None
    """The strongest expert itself against the word class."""
    pair_matrix: Packed | None
    """uint8 of shape E, E, experts sorted by guild (see `pair_order`): co-activation as 255 * C_ij /
    sqrt(C_ii C_jj), 0 for experts selected for fewer than 10 tokens; null for more than 256 experts."""
    pair_order: list[int]


class Final(Part):
    """The main figures of a run: of its whole validation text if it is finished, else of its last
    evaluation."""

    step: int
    tokens: int
    train_loss: Number
    val_loss: Number
    val_ppl: Number
    bits_per_byte: Number
    ppl_with_padding: Number
    best_val_loss: Number
    tokens_per_second: Number
    gini: Number
    """Mean over the layers, as all below."""
    entropy_bits: Number
    crowding: Number
    combination_entropy_bits: Number
    gate_entropy: Number


class PublishedEpoch(Part):
    epoch: int
    share: float
    """Of the run that is over at its end."""
    train_loss: Number
    val_loss: Number
    val_ppl: Number
    ppl_with_padding: Number
    gini: Number
    entropy_bits: Number


class Published(Part):
    """The published figures of a preset, at full size: not directly comparable with a scaled run."""

    preset: str
    title: str
    source: str
    total_millions: Number
    trainable_millions: Number
    steps: int | None
    with_padding: bool
    """Losses count padding; Gini and entropy are of the usage in training, padding included."""
    epochs: list[PublishedEpoch]
    final: dict[str, float]
    note: str | None


class GrownGeneration(Part):
    """Experts that were added to a trained run, trained on one text, and frozen."""

    name: str
    text: str
    """What they were trained on."""
    num_experts: int
    num_parameters: int
    num_bytes: int
    num_tokens: int
    """Tokens that they were trained on."""
    start_from: str
    """The expert that they began as a copy of; `base`: new parts."""
    new_before: Number
    """Loss on the new text, in nats per token."""
    new_after: Number
    old_before: Number
    """Loss on the text of the run itself."""
    old_after: Number


class Run(Part):
    """One run folder. Of a broken or foreign one only the first fields are filled."""

    id: str
    """Unique in the page; safe in an address."""
    name: str
    path: str
    status: Status
    problem: str | None
    """One line: what is wrong with the folder."""
    verdict: str
    """One sentence: which failure it is, or that it is healthy."""
    judged: str = ""
    """By which record, and over what that was counted; empty if nothing was measured."""
    findings: list[str]
    """Every failure of the last evaluation, a sentence each."""
    preset: str | None
    scale: str | None
    seed: int | None
    feed_forward: str | None
    """some, moe, dense, frozen_dense or none."""
    num_layers: int
    """Blocks of the decoder."""
    num_experts: int
    top_k: int
    num_steps: int | None
    """Of the whole run where that is known."""
    layer_names: list[str | None]
    """Names of the first, middle and last layer, by layer."""
    config: list[Setting]
    data: Data | None
    parameters: Parameters | None
    environment: list[Fact]
    command: str
    started: str | None
    final: Final | None
    curves: Curves
    warnings: list[TrainingWarning]
    balance: Balance | None
    """null where nothing is routed by keys."""
    galaxies: list[Galaxy] | None
    """null: not included; empty: there are none."""
    traces: list[Trace] | None
    guilds: list[LayerGuilds] | None
    left_out: list[LeftOut]
    """Parts that are not there, and why: words (the data file is gone), traces (no checkpoint) ..."""
    published: Published | None = None
    """The published figures of its preset, drawn behind its own."""
    growth: list[GrownGeneration] = []
    """The generations of experts that were added after training, oldest first."""


class Group(Part):
    """Runs that are equal but for the random seed."""

    id: str
    name: str
    run_ids: list[str]
    seeds: list[int]
    preset: str | None
    scale: str | None
    figures: dict[str, Interval]
    """By the names of `Final`: of the finished runs, a seed counted once. Where none is finished, of all as
    they stand, without intervals."""


class Page(Part):
    """The whole page."""

    format: int
    made_by_version: str
    made_at: str
    title: str
    runs: list[Run]
    groups: list[Group]
    published: list[Published]
    """Of the presets that occur among the runs."""
    sweeps: list[Sweep] = []
    studies: list[Study] = []
