"""The folder of a study of continual learning as the page shows it: measures, matrices and the loss along the
stream. The result is always a Study: a problem is one of its fields."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from somelab.errors import SomelabError
from somelab.view.page.packing import numbers
from somelab.view.page.payload import UNREADABLE, one_line
from somelab.view.page.results import band_of, interval_of, read_json
from somelab.view.schema.results import Band, ResultMeasure, Study, StudyLearner

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
            _learner(str(name), found, [result for result in results if result["learner"] == name], tokens)
            for name, found in summary["learners"].items()
        ],
    )


def _learner(
    name: str, found: dict[str, Any], results: Sequence[dict[str, Any]], tokens: int
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
