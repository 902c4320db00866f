"""Training steps of this project's own presets, in the same decoder with a dense block of the same *trained*
size, and with none: what routing, experts and the movement of keys cost where models are small."""

from __future__ import annotations

from typing import NamedTuple

from somelab.bench.measuring import Contender, measure
from somelab.bench.results import OURS, Row, find, rows_of, with_ratios
from somelab.bench.settings import QUICK_BATCH, Settings
from somelab.bench.shares import rest, sentence, shares
from somelab.bench.suites.documents import batch_from, documents
from somelab.bench.suites.training import Stepper
from somelab.config import Config, override, preset, scaled
from somelab.model.count import equal_dense_width
from somelab.model.decoder import Decoder
from somelab.training.loop import micro_rows

PRESETS = ("some", "demo")
EQUAL, NONE = "dense, equal trained size", "no feed-forward block"
REPETITIONS = 15
BUDGET = 20.0
NOTES = (
    "some_dense_equal and demo_dense_equal are the time of a dense block of the same trained size / the time "
    "of the preset: below 1, the dense block is faster.",
    "some_rest and demo_rest are the shares of a profiled step that are neither a matrix product, a "
    "transform, attention nor a compiled kernel between them.",
)


class Part(NamedTuple):
    """What one preset adds to the result of `step`."""

    rows: list[Row]
    ratios: dict[str, float | str | None]
    figures: dict[str, float | None]
    notes: list[str]


def run(name: str, settings: Settings) -> Part:
    config = override(preset(name).config, {"train.precision": settings.compute_name})
    if settings.quick:
        config = override(scaled(config, "micro"), QUICK_BATCH)
    steppers = {
        name: Stepper(Decoder(config), config, settings),
        EQUAL: _without_experts(config, {"model.d_dense": equal_dense_width(config)}, settings),
        NONE: _without_experts(config, {"model.feed_forward": "none"}, settings),
    }
    text, _ = documents(config, None)
    batch = batch_from(text, config, micro_rows(config, 1), packed=True)
    settings.announce(f"step: {name}, {batch.tokens_BT.shape[0]} x {config.model.seq_len} tokens")
    contenders = [
        Contender(which, lambda stepper=stepper: stepper.step_([batch]), before=stepper.rewind_)
        for which, stepper in steppers.items()
    ]
    measured = measure(contenders, settings.times(REPETITIONS), BUDGET)
    profile = shares(contenders[0].run)
    case = f"a step of {name}"
    rows = with_ratios(rows_of(case, measured, {name: OURS, EQUAL: "dense", NONE: "other"}))
    equal = find(rows, case, EQUAL)
    return Part(
        rows,
        {f"{name}_dense_equal": equal.ratio if equal else None},
        {f"{name}_rest": rest(profile)},
        [sentence(case, profile)],
    )


def _without_experts(config: Config, changes: dict[str, object], settings: Settings) -> Stepper:
    changed = override(config, {"model.feed_forward": "dense", **changes})
    return Stepper(Decoder(changed), changed, settings)
