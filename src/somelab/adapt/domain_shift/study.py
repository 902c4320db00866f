"""The domain-shift study: a run reads other text and then its own again, frozen, active, with noise and by
gradient. One run is one random seed; `summarise` combines several into means with 95 % intervals, paired by
seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from somelab.adapt.domain_shift.noise import KeyNoise, Step, step_of
from somelab.adapt.domain_shift.reading import NUM_WINDOWS, Stream, frozen, with_source
from somelab.adapt.domain_shift.tuning import PARTS, Tuning
from somelab.adapt.reading.mode import Adaptation
from somelab.adapt.reading.score import Score, total, windows
from somelab.adapt.settings import AdaptationSettings
from somelab.analysis.intervals import Interval, interval, paired
from somelab.data.batch import Batch
from somelab.data.prepare import prepare, prepare_with
from somelab.model import Decoder
from somelab.runs.trained import TrainedModel
from somelab.training.evaluate import validation

METHODS = ("frozen", "active", "noise", "load_bias", "memory", "cache", "bigram", "router", "all")
"""frozen; active: the given rules; noise: keys rotated as far in random directions; load_bias, memory, cache
and bigram: that rule alone; router: one gradient step per interval on the router; all: the same on everything
that training trains. `all@2e-3`: at that learning rate."""
DENSE_METHODS = ("frozen", "cache", "bigram", "all")
"""The methods for a model without SoME layers."""


@dataclass(frozen=True)
class Text:
    """The texts: another one, the run's own, and how much of each."""

    stream: Stream
    home: Stream
    max_tokens: int | None = None
    home_tokens: int | None = None
    back_tokens: int | None = None
    """Tokens of the run's own text read as a stream at the end, with adaptation still on. None: all; 0:
    none."""

    def back(self) -> Iterable[Batch]:
        return () if self.back_tokens == 0 else self.home()


def text_for(
    trained: TrainedModel,
    source: str,
    *,
    max_tokens: int | None,
    home_tokens: int | None,
    back_tokens: int | None,
) -> Text:
    """All of another text, encoded by the run's tokenizer, and the run's validation text."""
    own, other = trained.config, with_source(trained.config, source)
    home, new = prepare(own), prepare_with(trained.tokenizer, other, whole=True)
    return Text(
        lambda: validation(new, other), lambda: validation(home, own), max_tokens, home_tokens, back_tokens
    )


def study_run(
    model: Decoder,
    text: Text,
    settings: AdaptationSettings,
    methods: Sequence[str] = METHODS,
    *,
    learning_rates: dict[str, float] | None = None,
    progress: Callable[[str], None] | None = None,
) -> dict[str, dict[str, Any]]:
    """Every method on one model, from the same checkpoint and over the same text; the model is not
    changed."""
    found: dict[str, dict[str, Any]] = {}
    path: list[Step] = []
    with Adaptation(model, frozen(settings)) as adaptation:
        # Once for all: every method starts from the checkpoint.
        before = adaptation.measure(text.home(), text.home_tokens)
    for method in methods:
        if progress is not None:
            progress(method)
        part, rate = tuned_part(method)
        if part in PARTS:
            found[method] = _tuned(
                model, text, settings, before, part, rate or (learning_rates or {}).get(part)
            )
        elif method == "noise":
            if not path:
                raise ValueError("noise repeats the distances of active: name active before it")
            found[method] = _noisy(model, text, settings, before, path)
        elif method == "active":
            found[method] = _adapted(model, text, settings, before, path)
        else:
            alone = frozen(settings) if method == "frozen" else replace(settings, rules=(method,))
            found[method] = _adapted(model, text, alone, before, [])
    return found


def tuned_part(method: str) -> tuple[str, float | None]:
    """What a method tunes, and its learning rate if its name gives one.

    >>> tuned_part("all@2e-3"), tuned_part("all"), tuned_part("cache")
    (('all', 0.002), ('all', None), ('cache', None))
    """
    part, _, rate = method.partition("@")
    return part, float(rate) if rate else None


def at_rates(methods: Sequence[str], part: str, rates: Sequence[str]) -> list[str]:
    """The methods with one for each of several learning rates; a single rate is not part of the name."""
    several = [f"{part}@{rate}" for rate in rates] if len(rates) > 1 else [part]
    return [name for method in methods for name in (several if method == part else [method])]


def best_tuned(losses: Mapping[str, float], part: str = "all") -> str | None:
    """The method that tunes this part and has the lowest loss on the new text, or None."""
    return min(
        (method for method in losses if tuned_part(method)[0] == part),
        key=lambda method: losses[method],
        default=None,
    )


def _adapted(
    model: Decoder, text: Text, settings: AdaptationSettings, before: Score, path: list[Step]
) -> dict[str, Any]:
    with Adaptation(model, settings) as adaptation:
        scores: list[Score] = []
        for reading in adaptation.read(text.stream(), text.max_tokens):
            scores.append(reading.score)
            path.append(step_of(adaptation))
        after, moved = adaptation.measure(text.home(), text.home_tokens), adaptation.movement()
        back = [reading.score for reading in adaptation.read(text.back(), text.back_tokens)]
    return _report(before, scores, after, back) | {"movement": moved, "rules": list(adaptation.rules)}


def _noisy(
    model: Decoder, text: Text, settings: AdaptationSettings, before: Score, path: list[Step]
) -> dict[str, Any]:
    with Adaptation(model, frozen(settings)) as adaptation:
        noise = KeyNoise(adaptation, model.seed)
        scores: list[Score] = []
        for step, reading in zip(path, adaptation.read(text.stream(), text.max_tokens), strict=True):
            scores.append(reading.score)
            noise.apply_(step)
        after, moved = adaptation.measure(text.home(), text.home_tokens), adaptation.movement()
        back = [reading.score for reading in adaptation.read(text.back(), text.back_tokens)]
    return _report(before, scores, after, back) | {"movement": moved}


def _tuned(
    model: Decoder, text: Text, settings: AdaptationSettings, before: Score, part: str, rate: float | None
) -> dict[str, Any]:
    with Tuning(model, part, rate, settings.every) as tuning:
        scores = list(tuning.read(text.stream(), text.max_tokens))
        after = tuning.measure(text.home(), text.home_tokens)
        back = list(tuning.read(text.back(), text.back_tokens))
        facts = {"learning_rate": tuning.learning_rate, "num_tuned": tuning.num_tuned}
    return _report(before, scores, after, back) | facts


def _report(before: Score, scores: list[Score], after: Score, back: list[Score]) -> dict[str, Any]:
    return {
        "new": total(scores).record(),
        "second_half": total(scores[len(scores) // 2 :]).record(),
        "windows": [score.record() for score in windows(scores, NUM_WINDOWS)],
        "home_before": before.record(),
        "home_after": after.record(),
        "forgetting": after.loss - before.loss,
        "back": total(back).record(),
        "back_windows": [score.record() for score in windows(back, NUM_WINDOWS)],
    }


def summarise(runs: Sequence[dict[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Per method: loss on the new text, gain over frozen and forgetting, each with its interval over the
    runs."""
    methods = [method for method in runs[0] if all(method in run for run in runs)]
    base = [run["frozen"]["new"]["val_loss"] for run in runs]
    summary: dict[str, dict[str, Any]] = {}
    for method in methods:
        losses = [run[method]["new"]["val_loss"] for run in runs]
        summary[method] = {
            "val_loss": described(interval(losses)),
            "gain": described(paired(base, losses)),
            "second_half": described(interval([run[method]["second_half"]["val_loss"] for run in runs])),
            "forgetting": described(interval([run[method]["forgetting"] for run in runs])),
            "back": described(interval([run[method]["back"]["val_loss"] for run in runs])),
            "curve": [described(interval(values)) for values in _columns(runs, method, "windows")],
            "back_curve": [described(interval(values)) for values in _columns(runs, method, "back_windows")],
        }
    return summary


def _columns(runs: Sequence[dict[str, dict[str, Any]]], method: str, name: str) -> list[list[float]]:
    rows = [[window["val_loss"] for window in run[method][name]] for run in runs]
    return [list(column) for column in zip(*rows, strict=False)]


def described(found: Interval) -> dict[str, Any]:
    """An interval for JSON, which has no infinity: one seed alone has no bounds."""
    alone = found.num < 2
    return {
        "mean": found.mean,
        "low": None if alone else found.low,
        "high": None if alone else found.high,
        "num_seeds": found.num,
        "excludes_zero": None if alone else found.excludes_zero,
    }
