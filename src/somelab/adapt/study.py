"""The domain-shift study: a run reads other text and then its own again, frozen, active, with noise and by gradient.
One run is one seed; `summarise` puts several of them into means with 95 % intervals, paired by seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from somelab.adapt.mode import Adaptation
from somelab.adapt.noise import KeyNoise, Step, step_of
from somelab.adapt.score import Score, total, windows
from somelab.adapt.settings import AdaptationSettings
from somelab.adapt.shift import NUM_WINDOWS, Stream, frozen
from somelab.adapt.tuning import Tuning
from somelab.analysis.intervals import Interval, interval, paired
from somelab.model import Decoder

METHODS = ("frozen", "active", "noise", "load_bias", "memory", "cache", "router", "all")
"""frozen; active: the rules asked for; noise: keys turned as far, anywhere; load_bias, memory, cache: that rule alone; router: one
gradient step per interval on the router; all: the same on everything that training trains."""


@dataclass(frozen=True)
class Text:
    """What is read: other text, the run's own, and how much of each."""

    stream: Stream
    home: Stream
    max_tokens: int | None = None
    home_tokens: int | None = None
    back_tokens: int | None = None
    """Tokens of the run's own text read as a stream at the end, with everything still moving. None: all."""


def study_run(
    model: Decoder,
    text: Text,
    settings: AdaptationSettings,
    methods: Sequence[str] = METHODS,
    *,
    learning_rates: dict[str, float] | None = None,
    progress: Callable[[str], None] | None = None,
) -> dict[str, dict[str, Any]]:
    """Every method on one model, from the same checkpoint and over the same text; the model is left as it was."""
    found: dict[str, dict[str, Any]] = {}
    path: list[Step] = []
    for method in methods:
        if progress is not None:
            progress(method)
        if method in ("router", "all"):
            found[method] = _tuned(model, text, settings, method, (learning_rates or {}).get(method))
        elif method == "noise":
            if not path:
                raise ValueError("noise repeats how far active reading went: name active before it")
            found[method] = _noisy(model, text, settings, path)
        elif method == "active":
            found[method] = _adapted(model, text, settings, path)
        else:
            alone = frozen(settings) if method == "frozen" else replace(settings, rules=(method,))
            found[method] = _adapted(model, text, alone, [])
    return found


def _adapted(model: Decoder, text: Text, settings: AdaptationSettings, path: list[Step]) -> dict[str, Any]:
    with Adaptation(model, settings) as adaptation:
        before = adaptation.measure(text.home(), text.home_tokens)
        scores: list[Score] = []
        for reading in adaptation.read(text.stream(), text.max_tokens):
            scores.append(reading.score)
            path.append(step_of(adaptation))
        after, moved = adaptation.measure(text.home(), text.home_tokens), adaptation.movement()
        back = [reading.score for reading in adaptation.read(text.home(), text.back_tokens)]
    return _report(before, scores, after, back) | {"movement": moved, "rules": list(adaptation.rules)}


def _noisy(model: Decoder, text: Text, settings: AdaptationSettings, path: list[Step]) -> dict[str, Any]:
    with Adaptation(model, frozen(settings)) as adaptation:
        noise = KeyNoise(adaptation, model.seed)
        before = adaptation.measure(text.home(), text.home_tokens)
        scores: list[Score] = []
        for step, reading in zip(path, adaptation.read(text.stream(), text.max_tokens), strict=True):
            scores.append(reading.score)
            noise.apply_(step)
        after, moved = adaptation.measure(text.home(), text.home_tokens), adaptation.movement()
        back = [reading.score for reading in adaptation.read(text.home(), text.back_tokens)]
    return _report(before, scores, after, back) | {"movement": moved}


def _tuned(model: Decoder, text: Text, settings: AdaptationSettings, part: str, rate: float | None) -> dict[str, Any]:
    with Tuning(model, part, rate, settings.every) as tuning:
        before = tuning.measure(text.home(), text.home_tokens)
        scores = list(tuning.read(text.stream(), text.max_tokens))
        after = tuning.measure(text.home(), text.home_tokens)
        back = list(tuning.read(text.home(), text.back_tokens))
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
    """Per method: loss on the new text, gain over frozen and forgetting, each with its interval over the runs."""
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
