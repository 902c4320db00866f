"""One checkpoint, one stream of other text: read with keys frozen and with keys adapting, then the run's own
text again. `somelab adapt` reports this. All is measured in the same passes, so that the two differ only in
the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from somelab.adapt.reading.mode import Adaptation
from somelab.adapt.reading.score import Score, total, windows
from somelab.adapt.settings import AdaptationSettings
from somelab.config import Config
from somelab.data.batch import Batch
from somelab.model import Decoder

NUM_WINDOWS = 20
REVERSION_SHARE, REVERSION_TIMES = 0.1, 60
"""The reversion at the end: 0.9^60 = 0.2 % of every displacement is left."""

Stream = Callable[[], Iterable[Batch]]
"""Opens the text from its beginning."""


def with_source(config: Config, source: str) -> Config:
    """The run's configuration for reading another source, all of it."""
    data = config.data.model_copy(
        update={"source": source, "train_subset_size": None, "val_subset_size": None}
    )
    return config.model_copy(update={"data": data})


def frozen(settings: AdaptationSettings) -> AdaptationSettings:
    """The same stream without adaptation."""
    return replace(settings, rules=(), reversion=0.0)


def read_shift(
    model: Decoder,
    stream: Stream,
    home: Stream,
    settings: AdaptationSettings,
    *,
    max_tokens: int | None = None,
    home_tokens: int | None = None,
    on_end: Callable[[Adaptation], None] | None = None,
) -> dict[str, Any]:
    """Read the stream and report: over time, in all, the second half; and the run's own text before, after,
    after reversion.

    `on_end` is called before reversion, with the model adapted to the stream."""
    with Adaptation(model, settings) as adaptation:
        before = adaptation.measure(home(), home_tokens)
        scores = [reading.score for reading in adaptation.read(stream(), max_tokens)]
        moved, levers = adaptation.movement(), adaptation.levers()
        after = adaptation.measure(home(), home_tokens)
        if on_end is not None:
            on_end(adaptation)
        report: dict[str, Any] = {
            "rules": list(adaptation.rules),
            **total(scores).record(),
            "second_half": total(scores[len(scores) // 2 :]).record(),
            "windows": [score.record() for score in windows(scores, NUM_WINDOWS)],
            "home": {"before": before.record(), "after": after.record()},
            "movement": moved,
            "levers": levers,
            "num_updates": adaptation.num_updates,
            "num_rejected": adaptation.num_rejected,
        }
        if adaptation.rules and not adaptation.kept:
            adaptation.revert_(REVERSION_SHARE, REVERSION_TIMES)
            report["home"]["after_reversion"] = adaptation.measure(home(), home_tokens).record()
            report["movement"]["mean_angle_after_reversion"] = adaptation.movement()["mean_angle"]
    report["home"]["forgetting"] = forgetting(before, after)
    return report


def forgetting(before: Score, after: Score) -> float:
    """Rise of the loss on the run's own text, in nats per token."""
    return after.loss - before.loss
