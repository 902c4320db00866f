"""The parts of a run that need its model or its whole history: galaxies, guilds, traces. Each can be computed
alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from somelab.analysis.coactivation import similarity
from somelab.analysis.distinctive import Use
from somelab.analysis.drift import way_covered
from somelab.analysis.guilds import METHOD, MOST_EXPERTS, LayerStudy, classes_of_words, role_note, study_layer
from somelab.analysis.information import PERMUTATIONS, Information
from somelab.analysis.maps import (
    METHODS,
    KeyPlaces,
    MapError,
    available,
    kept_neighbours,
    key_map,
    nearest_keys,
)
from somelab.analysis.reading import Reading, read_validation
from somelab.analysis.snapshots import LayerHistory, read_history
from somelab.analysis.traces import TextTrace, sample_traces, validation_traces
from somelab.errors import SomelabError
from somelab.runs import RunFolder
from somelab.runs.trained import TrainedModel, load_trained
from somelab.view.page.files import config_of
from somelab.view.page.packing import log_quantised, number, packed, quantised
from somelab.view.page.payload import UNREADABLE, layer_names, one_line, run_of
from somelab.view.schema.page import (
    Galaxy,
    Guild,
    KeyMap,
    LayerGuilds,
    LeftOut,
    MutualInformation,
    Run,
    Trace,
    WordUse,
)

MOST_MATRIX = 256
NEIGHBOURS = 6
LEAST_USE = 10
LARGEST_SAMPLES = 32 << 20
"""Bytes of samples.jsonl: some thousand samples. Training writes a few dozen."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Options:
    """How much to compute."""

    maps: tuple[str, ...] = METHODS
    tokens: int = 20_000
    """Tokens of validation text to read; 0: none, and then there are no words, guilds or labels."""
    seed: int = 0
    num_permutations: int = PERMUTATIONS


@dataclass(frozen=True)
class Studied:
    """A run's model and the routing of its text."""

    trained: TrainedModel
    reading: Reading | None
    layers: list[LayerStudy]
    left_out: list[LeftOut]


def complete_run(
    path: Any, run_id: str | None = None, options: Options | None = None, progress: Progress | None = None
) -> Run:
    """A run with everything. What cannot be computed is left out, with the reason in `left_out`."""
    options, say = options or Options(), progress or _silent
    run = run_of(path, run_id)
    if run.status in ("foreign", "broken"):
        return run
    folder = RunFolder(path)
    left_out = list(run.left_out)
    studied: Studied | None = None
    galaxies: list[Galaxy] = []
    traces: list[Trace] = []
    if run.feed_forward in ("some", "moe"):
        try:
            studied = study(folder, options, say)
            left_out += studied.left_out
            traces = traces_of(studied)
        except UNREADABLE as error:
            left_out += [
                LeftOut(name=part, reason=one_line(error, f"{folder.path}: its model"))
                for part in ("guilds", "traces")
            ]
    if run.feed_forward == "some":
        try:
            galaxies = galaxies_of(folder, options.maps, studied, say, seed=options.seed)
        except UNREADABLE as error:
            left_out.append(LeftOut(name="galaxies", reason=one_line(error, f"{folder.path}: its snapshots")))
    guilds = guilds_of(studied) if studied else []
    return run.model_copy(
        update={"galaxies": galaxies, "traces": traces, "guilds": guilds, "left_out": left_out}
    )


def study(folder: RunFolder, options: Options, progress: Progress | None = None) -> Studied:
    """Load the last checkpoint, route the text, and find the guilds. Without text the model is still
    usable."""
    say = progress or _silent
    check_files(folder)
    say("loading the checkpoint")
    trained = load_trained(folder)
    if not options.tokens:
        return Studied(
            trained, None, [], [LeftOut(name="words", reason="no validation text was read (--tokens 0)")]
        )
    if trained.config.experts.num_experts > MOST_EXPERTS:
        reason = (
            f"{trained.config.experts.num_experts:,} experts a layer are more than the limit of "
            f"{MOST_EXPERTS:,}"
        )
        return Studied(trained, None, [], [LeftOut(name="words", reason=reason)])
    try:
        reading = read_validation(trained, options.tokens, say)
    except UNREADABLE as error:
        reason = one_line(error, "the validation text cannot be read")
        return Studied(trained, None, [], [LeftOut(name="words", reason=reason)])
    layers: list[LayerStudy] = []
    for index, layer in enumerate(reading.layers):
        say(f"guilds of layer {layer}")
        layers.append(
            study_layer(reading, index, seed=options.seed, num_permutations=options.num_permutations)
        )
    return Studied(trained, reading, layers, [])


def check_files(folder: RunFolder) -> None:
    """Raise for files that a model must not be loaded with. Samples are read as a whole, to choose some over
    the length of the run."""
    config_of(folder)
    path = folder.path / "samples.jsonl"
    if path.exists() and path.stat().st_size > LARGEST_SAMPLES:
        raise SomelabError(f"{path}: has more than {LARGEST_SAMPLES:,} bytes, and is not read")


def galaxies_of(
    folder: RunFolder,
    methods: Sequence[str],
    studied: Studied | None = None,
    progress: Progress | None = None,
    *,
    seed: int = 0,
) -> list[Galaxy]:
    """The key maps of every layer. While a run is in progress use pca alone: the others are recomputed at
    every snapshot."""
    history = read_history(folder)
    names = layer_names(len(history))
    by_layer = {layer.layer: layer for layer in studied.layers} if studied else {}
    class_of = classes_of_words(studied.reading) if studied and studied.reading else {}
    galaxies: list[Galaxy] = []
    for layer, past in enumerate(history):
        if progress is not None:
            progress(f"maps of layer {layer}")
        galaxies.append(_galaxy(layer, names[layer], past, methods, by_layer.get(layer), class_of, seed))
    return galaxies


def _galaxy(
    layer: int,
    name: str | None,
    history: LayerHistory,
    methods: Sequence[str],
    found: LayerStudy | None,
    class_of: Mapping[str, str],
    seed: int,
) -> Galaxy:
    maps, reasons = _maps(history.keys_FED, methods, seed)
    usage_FE, usage_most = log_quantised(history.usage_FE)
    length_FE, length_most = quantised(np.linalg.norm(history.keys_FED, axis=2))
    return Galaxy(
        layer=layer,
        name=name,
        num_experts=history.num_experts,
        experts=[] if history.expert_E is None else history.expert_E.tolist(),
        pool=history.pool,
        steps=history.steps,
        maps=maps,
        left_out=[LeftOut(name=method, reason=reason) for method, reason in reasons.items()],
        usage=packed(usage_FE),
        usage_most=usage_most,
        born=packed(history.born_FE),
        length=packed(length_FE),
        length_most=length_most,
        guild=found.guild_E.tolist() if found else [],
        word_class=found.expert_class if found else [],
        neighbours=packed(nearest_keys(history.keys_FED[-1], NEIGHBOURS).astype(np.uint16)),
        words=[_words(uses, class_of) for uses in found.expert_words] if found else [],
        way=[number(share) or 0.0 for share in way_covered(history)],
    )


def _maps(keys_FED: NDArray[Any], methods: Sequence[str], seed: int) -> tuple[list[KeyMap], dict[str, str]]:
    usable, reasons = available(methods)
    maps: list[KeyMap] = []
    for method in usable:
        try:
            maps.append(_key_map(key_map(keys_FED, method, seed=seed), keys_FED[-1]))
        except MapError as error:
            reasons[method] = str(error)
    return maps, reasons


def _key_map(places: KeyPlaces, keys_ED: NDArray[Any]) -> KeyMap:
    """Places relative to their centre, in 65,535 steps."""
    place_FE2 = places.place_FE2.astype(np.float64)
    flat = place_FE2.reshape(-1, 2)
    middle = (flat.max(axis=0) + flat.min(axis=0)) / 2
    centred = place_FE2 - middle
    scale = float(np.abs(centred).max()) / 32767 or 1.0
    xy = np.rint(centred / scale).astype(np.int16)
    kept = kept_neighbours(keys_ED, place_FE2[-1])
    return KeyMap(
        method=cast(Any, places.method),
        xy=packed(xy),
        scale=scale,
        note=places.note,
        explained=None if places.explained is None else round(places.explained, 4),
        kept=round(kept, 4),
    )


def guilds_of(studied: Studied) -> list[LayerGuilds]:
    """The guilds of every routed layer; none where no text was read."""
    if studied.reading is None:
        return []
    names = layer_names(studied.trained.config.model.num_layers)
    reading = studied.reading
    labelled = sum(name is not None for name in reading.classes) / max(1, reading.num_tokens)
    note = f"{reading.labels_note}; {labelled:.0%} of the {reading.num_tokens:,} tokens read have a class"
    class_of = classes_of_words(reading)
    guilds: list[LayerGuilds] = []
    for layer in studied.layers:
        full_note = "; ".join(part for part in (note, role_note(layer)) if part)
        guilds.append(_layer_guilds(layer, names[layer.layer], reading, full_note, class_of))
    return guilds


def _layer_guilds(
    layer: LayerStudy, name: str | None, reading: Reading, note: str, class_of: Mapping[str, str]
) -> LayerGuilds:
    num_experts = len(layer.guild_E)
    use_E = np.diag(layer.count_EE)
    group_E = np.where(layer.guild_E < 0, num_experts, layer.guild_E)  # those alone come last
    order = np.lexsort((-use_E, group_E)).tolist()
    matrix = None
    if num_experts <= MOST_MATRIX:
        often_E = use_E >= LEAST_USE  # rarely used experts give no reliable co-activation
        sorted_EE = (similarity(layer.count_EE) * np.outer(often_E, often_E))[np.ix_(order, order)]
        matrix = packed(np.rint(255 * np.clip(sorted_EE, 0, 1)).astype(np.uint8))
    return LayerGuilds(
        layer=layer.layer,
        name=name,
        method=METHOD,
        num_tokens=reading.num_tokens,
        modularity=layer.modularity,
        guilds=[
            Guild(
                id=number,
                experts=guild.experts,
                share=guild.share,
                words=_words(guild.words, class_of),
                word_class=guild.word_class,
                classes={name: round(share, 4) for name, share in guild.classes.items()},
            )
            for number, guild in enumerate(layer.guilds)
        ],
        labels=reading.labels,
        labels_note=note,
        guild_nmi=_information(layer.guild_information),
        expert_nmi=_information(layer.expert_information),
        pair_matrix=matrix,
        pair_order=order if matrix else [],
    )


def _information(found: Information | None) -> MutualInformation | None:
    if found is None:
        return None
    rounded: dict[str, Any] = {
        name: round(value, 6) if isinstance(value, float) else value for name, value in vars(found).items()
    }
    return MutualInformation(**rounded)


def _silent(doing: str) -> None:
    pass


def _words(uses: Sequence[Use], class_of: Mapping[str, str]) -> list[WordUse]:
    return [
        WordUse(word=use.word, count=use.count, lift=round(use.lift, 2), word_class=class_of.get(use.word))
        for use in uses
    ]


def traces_of(studied: Studied) -> list[Trace]:
    """Stored samples, the newest first, then validation text."""
    found = sample_traces(studied.trained)
    if studied.reading is not None:
        found += validation_traces(studied.trained, studied.reading)
    return [trace_of(trace) for trace in found]


def trace_of(trace: TextTrace) -> Trace:
    """A trace in the page's form."""
    return Trace(
        kind=cast(Any, trace.kind),
        title=trace.title,
        step=trace.step,
        read_at_step=trace.read_at_step,
        num_prompt_tokens=trace.num_prompt_tokens,
        tokens=trace.tokens,
        word_class=trace.classes,
        layers=trace.layers,
        experts=trace.experts_LNK.tolist(),
        gates=np.round(trace.gates_LNK.astype(np.float64), 4).tolist(),
    )
