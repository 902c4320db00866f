"""The folder of a study of continual learning as the page shows it: measures, matrices and the loss along the
stream. The result is always a Study: a problem is one of its fields."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from somelab.disk import guarded
from somelab.errors import SomelabError
from somelab.view.page.packing import number, numbers
from somelab.view.page.payload import UNREADABLE, one_line
from somelab.view.page.results import MOST_BYTES, band_of, exact, interval_of, read_json
from somelab.view.page.tuning import arm_tuning, value_chart
from somelab.view.schema.results import ArmTuning, Band, Born, ResultMeasure, Study, StudyLearner, ValueChart

MEANINGS = {
    "average_loss": "over all experiences, after the last; lower is better",
    "forgetting": "an experience's largest later rise above its best, mean over experiences; lower is better",
    "final_forgetting": "what of that rise is left at the end; lower is better",
    "backward_transfer": "gain on earlier experiences by later ones; below 0: loss",
    "forward_transfer": "gain on experiences not yet learned; below 0: loss",
    "online_loss": "along the stream, every batch before it is learned from; lower is better",
}
MEASURES = tuple(
    ResultMeasure(name=name, title=name.replace("_", " "), digits=4, meaning=meaning)
    for name, meaning in MEANINGS.items()
)


def study_of(folder: Path, study_id: str) -> Study:
    """A study with everything."""
    try:
        return _study(folder, study_id, summary_of(folder))
    except UNREADABLE as error:
        return not_a_study(folder, study_id, one_line(error, f"study {folder}: its summary cannot be read"))


def not_a_study(folder: Path, study_id: str, problem: str) -> Study:
    return Study(
        id=study_id, name=folder.name, path=str(folder), problem=problem,
        scale=None, unit="", experiences=[], rows=[], tokens_per_experience=0, learned=[], measures=[],
        learners=[],
    )  # fmt: skip


def summary_of(folder: Path) -> dict[str, Any]:
    """summary.json, if it exists."""
    if not (folder / "summary.json").is_file():
        raise SomelabError(
            f"study {folder}: has no summary yet; `somelab continual` writes it when all learners are through"
        )
    return read_json(folder / "summary.json")


def _study(folder: Path, study_id: str, summary: dict[str, Any]) -> Study:
    experiences = [str(name) for name in summary["experiences"]]
    results: list[dict[str, Any]] = summary["results"]
    learned = experiences[len(experiences) - len(results[0]["online"]) :]
    has_base = len(learned) < len(experiences)
    # Earlier versions kept the scale beside the summary.
    settings = read_json(folder / "study.json") if (folder / "study.json").is_file() else summary
    tokens = int(summary["tokens_per_experience"])
    seconds = _seconds(folder)
    return Study(
        id=study_id,
        name=folder.resolve().name,
        path=str(folder),
        problem=None,
        scale=settings.get("scale"),
        unit=str(summary["unit"]),
        experiences=experiences,
        rows=[f"base: {experiences[0]}", *learned] if has_base else learned,
        tokens_per_experience=tokens,
        learned=learned,
        measures=list(MEASURES),
        learners=[
            _learner(
                str(name),
                found,
                [result for result in results if result["learner"] == name],
                tokens,
                seconds.get(name),
            )
            for name, found in summary["learners"].items()
        ],
        tuning=_tuning(summary["learners"]),
        bases={str(name): _base(found) for name, found in summary.get("bases", {}).items()},
    )


def _tuning(learners: dict[str, Any]) -> ValueChart | None:
    """Average loss against the learning rate, a line for each learner that has a search."""
    arms = [
        {"name": name, "tuning": found["tuning"]} for name, found in learners.items() if found.get("tuning")
    ]
    chart = value_chart(
        {"tuning": {"setting": "learning rate", "values": None}, "arms": arms} if arms else {}
    )
    return None if chart is None else chart.model_copy(update={"y_label": "average loss, nats"})


def _base(found: dict[str, Any]) -> ArmTuning:
    return ArmTuning(
        chosen="" if found.get("chosen") is None else f"{found['chosen']:g}",
        standing=str(found["standing"]),
        num_runs=float(found.get("runs", 0)),
        problem="",
    )


def _seconds(folder: Path) -> dict[str, float]:
    """Mean processor time of a run by learner, by the file of times; empty where it cannot be read."""
    try:
        times = json.loads(guarded.read_text(folder / "times.json", limit=MOST_BYTES, inside=folder))
        found: dict[str, list[float]] = {}
        for one in times:
            if one["status"] == "finished" and number(one["cpu_seconds"]) is not None:
                found.setdefault(str(one["arm"]), []).append(float(one["cpu_seconds"]))
        return {arm: fmean(seconds) for arm, seconds in found.items()}
    except (OSError, ValueError, KeyError, TypeError, RecursionError, guarded.GuardError):
        return {}


def _learner(
    name: str, found: dict[str, Any], results: Sequence[dict[str, Any]], tokens: int, seconds: float | None
) -> StudyLearner:
    figures = {
        measure.name: interval_of(found[measure.name], [result[measure.name] for result in results])
        for measure in MEASURES
    }
    return StudyLearner(
        name=name,
        about=str(found.get("about", "")),
        num_trainable=int(found["num_trainable"]),
        seeds=[int(seed) for seed in found["seeds"]],
        figures=figures,
        matrix=[[float(loss) for loss in row] for row in found["matrix"]],
        online=_online([result["online"] for result in results], tokens),
        learning_rate=exact(found.get("learning_rate")) if found["num_trainable"] else None,
        tuning=arm_tuning(found),
        parameters_added=_count(found.get("parameters_added")),
        bytes_added=_count(found.get("bytes_added")),
        cpu_seconds=seconds,
        generations=[_born(one) for one in found.get("generations", [])],
        served_by=[str(name) for name in found.get("served_by", [])],
        served=[[float(share) for share in row] for row in found.get("served", [])],
    )


def _count(value: Any) -> int | None:
    return None if value is None else int(value)


def _born(one: dict[str, Any]) -> Born:
    names = ("at_experience", "at_token", "parameters", "bytes")
    return Born(
        name=str(one["name"]),
        start_from=str(one.get("start_from", "")),
        **{name: int(one.get(name, 0)) for name in names},
    )


def _online(seeds: Sequence[Sequence[Sequence[float]]], tokens: int) -> Band:
    """Experiences behind each other, each cut into stretches of about equal length."""
    places = [
        (number + (window + 0.5) / len(windows)) * tokens
        for number, windows in enumerate(seeds[0])
        for window in range(len(windows))
    ]
    return band_of(
        places, [numbers(loss for windows in experiences for loss in windows) for experiences in seeds]
    )
