"""From the journals of a run to its curves, thinned so that a long run fits a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from somelab.view.page.packing import number, numbers
from somelab.view.page.records import Columns, Metrics
from somelab.view.page.tail import Record
from somelab.view.schema.page import Curves, EvaluationCurve, Final, TimingCurve, TrainCurve, TrainingWarning

MOST_POINTS = 1500
RECENT_STEPS = 50
"""Steps over which the last training loss is averaged."""
USUAL_STEPS = 500
"""The last steps, of which the median speed is shown: a pause of the machine does not count."""

Journal = Metrics | Sequence[Record]
"""Records as they were written, or in the compact form in which a whole journal is held."""

NO_CURVES = Curves(
    train=TrainCurve(thinned=1, step=[], tokens=[], loss=[], learning_rate=[], grad_norm=[]),
    evaluation=EvaluationCurve(
        step=[], tokens=[], val_tokens=[], val_loss=[], val_ppl=[], bits_per_byte=[], ppl_with_padding=[]
    ),
    timing=TimingCurve(thinned=1, step=[], tokens_per_second=[]),
)


def curves(metrics: Journal, timing: Sequence[Record]) -> Curves:
    """All curves of a run."""
    return Curves(
        train=_train(of_kind(metrics, "train")),
        evaluation=_evaluation(evaluations(metrics)),
        timing=_timing(timing),
    )


def of_kind(metrics: Journal, *kinds: str) -> Sequence[Record]:
    if isinstance(metrics, Metrics):
        return metrics.of_kind(*kinds)
    return [
        record for record in metrics if record.get("kind") in kinds and isinstance(record.get("step"), int)
    ]


def evaluations(metrics: Journal) -> list[Record]:
    """Evaluations in their order. The one at the end uses all of the text and replaces a partial one at that
    step."""
    by_step: dict[int, Record] = {}
    for record in of_kind(metrics, "evaluation", "final"):
        by_step[record["step"]] = record
    return [by_step[step] for step in sorted(by_step)]


def final(metrics: Journal, timing: Sequence[Record]) -> Final | None:
    """The main figures of a run; None before its first record."""
    train, measured = of_kind(metrics, "train"), evaluations(metrics)
    last = measured[-1] if measured else None
    if last is None and not train:
        return None
    at = last or train[-1]
    losses = [value for record in measured if (value := number(record.get("val_loss"))) is not None]
    return Final(
        step=at["step"],
        tokens=int(at.get("tokens") or 0),
        train_loss=_mean([record.get("loss") for record in train[-RECENT_STEPS:]]),
        val_loss=number((last or {}).get("val_loss")),
        val_ppl=number((last or {}).get("val_ppl")),
        bits_per_byte=number((last or {}).get("bits_per_byte")),
        ppl_with_padding=number((last or {}).get("ppl_with_padding")),
        best_val_loss=min(losses, default=None),
        tokens_per_second=_usual_speed(timing[-USUAL_STEPS:]),
        **{name: _layer_mean(last, name) for name in LAYER_MEANS},
    )


LAYER_MEANS = ("gini", "entropy_bits", "crowding", "combination_entropy_bits", "gate_entropy")


def _layer_mean(record: Record | None, name: str) -> float | None:
    return _mean([layer.get(name) for layer in (record or {}).get("layers", ())])


def warnings(metrics: Journal) -> list[TrainingWarning]:
    """The warnings of training. A key such as `key fusion/3` names the failure and the layer."""
    found: list[TrainingWarning] = []
    for record in of_kind(metrics, "warning"):
        kind, _, layer = str(record.get("key", "")).rpartition("/")
        sentence = str(record.get("sentence", ""))
        where = int(layer) if layer.isdecimal() else None
        found.append(TrainingWarning(step=record["step"], kind=kind or layer, layer=where, sentence=sentence))
    return found


def _train(records: Sequence[Record]) -> TrainCurve:
    steps: list[int] = []
    tokens: list[int] = []
    means: dict[str, list[float | None]] = {"loss": [], "learning_rate": [], "grad_norm": []}
    for block in _blocks(records):
        steps.append(block[-1]["step"])
        tokens.append(int(block[-1].get("tokens") or 0))
        for name, column in means.items():
            column.append(_mean([record.get(name) for record in block]))
    return TrainCurve(thinned=_block_size(len(records)), step=steps, tokens=tokens, **means)


def _evaluation(records: Sequence[Record]) -> EvaluationCurve:
    names = ("val_loss", "val_ppl", "bits_per_byte", "ppl_with_padding")
    measured = {name: numbers(record.get(name) for record in records) for name in names}
    steps, tokens = (
        [record["step"] for record in records],
        [int(record.get("tokens") or 0) for record in records],
    )
    read_over = (number(record.get("num_tokens")) for record in records)
    counted = [None if value is None else int(value) for value in read_over]
    return EvaluationCurve(step=steps, tokens=tokens, val_tokens=counted, **measured)


def _timing(records: Sequence[Record]) -> TimingCurve:
    if not isinstance(records, Columns):  # which hold none without a step
        records = [record for record in records if isinstance(record.get("step"), int)]
    ends = [(block[-1]["step"], _speed(block)) for block in _blocks(records)]
    return TimingCurve(
        thinned=_block_size(len(records)),
        step=[step for step, _ in ends],
        tokens_per_second=[speed for _, speed in ends],
    )


def _speed(records: Sequence[Record]) -> float | None:
    seconds = sum(number(record.get("step_seconds")) or 0.0 for record in records)
    tokens = sum(number(record.get("step_tokens")) or 0.0 for record in records)
    return number(tokens / seconds) if seconds else None


def _usual_speed(records: Sequence[Record]) -> float | None:
    """The median over steps: evaluations and a busy machine make dips, and the last step may be one."""
    speeds = [speed for record in records if (speed := _speed([record])) is not None]
    return median(speeds) if speeds else None


def _block_size(num_records: int) -> int:
    return max(1, -(-num_records // MOST_POINTS))


def _blocks(records: Sequence[Record]) -> Iterator[Sequence[Record]]:
    """One block at a time: a long journal is not turned into dictionaries as a whole."""
    size = _block_size(len(records))
    return (records[first : first + size] for first in range(0, len(records), size))


def _mean(values: Sequence[Any]) -> float | None:
    """The mean of what is finite. A block without any finite value has none: a diverged loss is a gap."""
    known = [value for value in numbers(values) if value is not None]
    return number(sum(known) / len(known)) if known else None
