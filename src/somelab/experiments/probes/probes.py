"""Measurements for claims beyond the last evaluation: the cost of gravity, the meaning of guilds, adaptation
to new text. Made once, after training, and kept in the run folder, so that verdicts are computed from
files."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from somelab.disk import atomic
from somelab.disk.checked_json import sealed
from somelab.experiments.probes import shift_probe
from somelab.experiments.probes.router_precision import router_precision
from somelab.experiments.probes.shift_probe import Reading
from somelab.experiments.runner.plan import DEFAULT_SHIFT
from somelab.runs import RunFolder

if TYPE_CHECKING:
    from somelab.analysis.information import Information

FOLDER = "probes"
READING_TOKENS = 20_000
STEPS_TIMED = 25


def missing_probes(run: RunFolder, names: Sequence[str]) -> list[str]:
    """The probes among these that a run does not have yet, or not with every method."""
    return [name for name in names if not _is_there(run, name)]


def probe_(
    run: RunFolder, names: Sequence[str], shift: str = DEFAULT_SHIFT, reading: Reading | None = None
) -> None:
    """Measure what is missing and keep it in the run folder. `shift`: text of another kind than the run's
    own; `reading`: how much of it is read."""
    reading = reading or Reading()
    for name in missing_probes(run, names):
        (run.path / FOLDER).mkdir(exist_ok=True)
        run.check_folder(run.path / FOLDER)
        content = sealed(PROBES[name](run, shift, reading))
        atomic.write_text(_path(run, name), json.dumps(content, indent=1) + "\n")


def read_probes(run: RunFolder) -> dict[str, float]:
    """All figures of a run's probes, without their other fields, such as the text."""
    found: dict[str, float] = {}
    for path in sorted((run.path / FOLDER).glob("*.json")):
        kept = run.read_json(f"{FOLDER}/{path.name}")
        found.update({name: float(value) for name, value in kept.items() if isinstance(value, (int, float))})
    return found


def read_shift_digest(run: RunFolder) -> str | None:
    """The digest of the other text that a run has read, or None."""
    kept = _kept(run, shift_probe.NAME)
    return None if kept is None else kept.get("text", {}).get("digest")


def _is_there(run: RunFolder, name: str) -> bool:
    if name != shift_probe.NAME:
        return _path(run, name).exists()
    kept = _kept(run, name)
    return kept is not None and shift_probe.is_complete(kept)


def _kept(run: RunFolder, name: str) -> dict[str, Any] | None:
    """A probe as the run folder has it, or None."""
    return run.read_json(f"{FOLDER}/{name}.json") if _path(run, name).exists() else None


def _path(run: RunFolder, name: str) -> Path:
    return run.path / FOLDER / f"{name}.json"


def gravity_cost(run: RunFolder) -> dict[str, float]:
    """Share of a training step's CPU time that gathering statistics and moving keys take, and the saving of
    an update every other step.

    CPU time of this process, so that other work on the machine does not count; the two kinds of step are
    interleaved, and the fastest of each is compared, since disturbances only slow a step."""
    from somelab.experiments.runner.stepping import Stepper

    stepper = Stepper(run.config())
    with_gravity, without = list[float](), list[float]()
    for _ in range(STEPS_TIMED):
        with_gravity.append(stepper.cpu_seconds(gravity=True))
        without.append(stepper.cpu_seconds(gravity=False))
    share = 1 - min(without) / min(with_gravity)
    return {"gravity_share": share, "saving_every_other_step": share / 2}


def guild_meaning(run: RunFolder) -> dict[str, float]:
    """The information of a token's guild about its word class, as NMI, mean over layers: beyond shuffled
    tokens, and beyond classes shuffled among words of similar frequency (which keeps the information about
    word forms). On the built-in corpus also the same for the role of nouns, names and pronouns, which word
    forms do not determine.

    A layer without guilds counts as 0."""
    from somelab.analysis.guilds import study_layer
    from somelab.analysis.reading import read_validation
    from somelab.runs.trained import load_trained

    reading = read_validation(load_trained(run), READING_TOKENS)
    studies = [study_layer(reading, index) for index in range(len(reading.layers))]
    figures = _mean_information("guild_nmi", [study.guild_information for study in studies])
    if reading.labels == "builtin":
        figures |= _mean_information("guild_role_nmi", [study.guild_role_information for study in studies])
    return figures


def _mean_information(name: str, layers: Sequence[Information | None]) -> dict[str, float]:
    found = [layer for layer in layers if layer is not None]
    return {
        name: sum(layer.value for layer in found) / len(layers),
        f"{name}_beyond_shuffled": sum(layer.value - layer.shuffled_mean for layer in found) / len(layers),
        f"{name}_beyond_words": sum(layer.value - layer.by_word_mean for layer in found) / len(layers),
    }


PROBES: dict[str, Callable[[RunFolder, str, Reading], dict[str, Any]]] = {
    "gravity-cost": lambda run, _text, _reading: gravity_cost(run),
    "guild-meaning": lambda run, _text, _reading: guild_meaning(run),
    "router-precision": lambda run, _text, _reading: router_precision(run),
    shift_probe.NAME: shift_probe.domain_shift,
}
"""Each by the run, the text of another kind, and how much of it is read; most need the run alone."""
