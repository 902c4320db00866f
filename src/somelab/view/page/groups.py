"""Several folders on one page: runs, and the results of sweeps and studies; names that do not clash, groups
over random seeds, and the published figures of the presets that occur."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from somelab import __version__
from somelab.analysis.compare import likeness_of, spread
from somelab.runs import RunFolder
from somelab.view.page.heavy import Options, Progress, complete_run
from somelab.view.page.packing import number
from somelab.view.page.payload import UNREADABLE, run_of
from somelab.view.page.results import kind_of
from somelab.view.page.studies import study_of
from somelab.view.page.sweeps import LIGHT, run_folders, sweep_of, table_of
from somelab.view.schema.page import FORMAT, Final, Group, LeftOut, Page, Published, Run
from somelab.view.schema.parts import Interval
from somelab.view.schema.results import Study, Sweep

NOT_FIGURES = ("step", "tokens")
SEED = re.compile(r"seed-\d+")


def page_of(
    paths: Sequence[Path], options: Options | None = None, progress: Progress | None = None, title: str = ""
) -> Page:
    """Everything about some folders. The runs of a sweep are included without the parts that need their
    models, unless they are named too."""
    kinds = {path: kind_of(path) for path in paths}
    sweeps = [path for path in paths if kinds[path] == "sweep"]
    studies = [path for path in paths if kinds[path] == "continual"]
    named = list(dict.fromkeys(path.resolve() for path in paths if kinds[path] is None))
    inside = list(dict.fromkeys(path.resolve() for sweep in sweeps for path in _runs_of(sweep)))
    light = [path for path in inside if path not in named]
    ids = dict(zip([*named, *light], run_ids([*named, *light]), strict=True))
    shown = {path.resolve(): path for path in reversed(paths)}  # as they were named
    runs = [complete_run(shown[path], ids[path], options, progress) for path in named]
    runs += [_light(run_of(path, ids[path])) for path in light]
    return page_with(
        runs,
        title,
        [
            sweep_of(path, name, lambda run: ids.get(run.resolve()))
            for path, name in zip(sweeps, run_ids(sweeps), strict=True)
        ],
        [study_of(path, name) for path, name in zip(studies, run_ids(studies), strict=True)],
    )


def page_with(
    runs: Sequence[Run], title: str = "", sweeps: Sequence[Sweep] = (), studies: Sequence[Study] = ()
) -> Page:
    """A page around what is already read."""
    names = [*(one.name for one in (*sweeps, *studies)), *(run.name for run in runs if not is_light(run))]
    return Page(
        format=FORMAT,
        made_by_version=__version__,
        made_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        title=title or ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else ""),
        runs=list(runs),
        groups=groups_of(runs),
        published=published_of(runs),
        sweeps=list(sweeps),
        studies=list(studies),
    )


def _runs_of(sweep: Path) -> list[Path]:
    try:
        return run_folders(sweep, table_of(sweep))
    except UNREADABLE:
        return []  # its own entry reports the problem


def _light(run: Run) -> Run:
    left_out = [
        *run.left_out,
        *(LeftOut(name=part, reason=LIGHT) for part in ("galaxies", "guilds", "traces")),
    ]
    return run.model_copy(update={"galaxies": [], "guilds": [], "traces": [], "left_out": left_out})


def is_light(run: Run) -> bool:
    """Whether a run is there only as part of a sweep."""
    return any(part.reason == LIGHT for part in run.left_out)


def run_ids(paths: Sequence[Path]) -> list[str]:
    """A name for each folder, safe in an address; those that clash are numbered. Runs of a sweep are named by
    arm and seed."""
    taken: set[str] = set()
    ids: list[str] = []
    for path in paths:
        place = path.resolve()
        own = f"{place.parent.name}-{place.name}" if SEED.fullmatch(place.name) else place.name
        name = re.sub(r"[^\w.-]+", "-", own).strip(".-") or "run"
        made, count = name, 2
        while made in taken:
            made, count = f"{name}-{count}", count + 1
        taken.add(made)
        ids.append(made)
    return ids


def groups_of(runs: Sequence[Run]) -> list[Group]:
    """Runs that are equal but for the random seed, by their present folders; a run alone is a group of
    one."""
    members: dict[str, list[Run]] = {}
    for run in runs:
        if run.status in ("foreign", "broken"):
            continue
        try:
            members.setdefault(likeness_of(RunFolder(run.path)), []).append(run)
        except UNREADABLE:
            continue  # its own entry reports the problem
    return [_group(place, alike) for place, alike in enumerate(members.values())]


def _counted(runs: Sequence[Run]) -> tuple[list[Run], bool]:
    """The runs for an interval over seeds: finished, and each seed once, since a repeated run is not
    independent.

    Where none is finished: all of them, and False."""
    by_seed: dict[int | None, Run] = {}
    for run in runs:
        if run.status == "finished":
            by_seed.setdefault(run.seed, run)
    return (list(by_seed.values()), True) if by_seed else (list(runs), False)


def _group(place: int, runs: Sequence[Run]) -> Group:
    first = runs[0]
    counted, comparable = _counted(runs)
    label = first.preset or first.feed_forward or "run"
    name = label if first.scale in (None, "full") else f"{label} {first.scale}"
    figures: dict[str, Interval] = {}
    for field in Final.model_fields:
        values = [number(getattr(run.final, field)) if run.final else None for run in counted]
        if field not in NOT_FIGURES and any(value is not None for value in values):
            found = spread(values)
            known = sum(value is not None for value in values)
            mean, low, high = (number(value) for value in (found.mean, found.low, found.high))
            low, high = (low, high) if comparable else (None, None)
            figures[field] = Interval(mean=mean, low=low, high=high, num=known, values=found.values)
    seeds = [run.seed for run in runs if run.seed is not None]
    ids = [run.id for run in runs]
    return Group(
        id=f"group-{place}",
        name=name,
        run_ids=ids,
        seeds=seeds,
        preset=first.preset,
        scale=first.scale,
        figures=figures,
    )


def published_of(runs: Sequence[Run]) -> list[Published]:
    """The published figures of the presets that occur, each once."""
    by_preset = {run.preset: run.published for run in runs if run.published is not None}
    return list(by_preset.values())
