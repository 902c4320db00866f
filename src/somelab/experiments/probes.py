"""What a claim asks of a trained model beyond its last evaluation: what gravity costs, what guilds mean, what adapts to new text.
Measured once, after training, and kept in the run folder, so that a verdict is computed from files alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from somelab.disk import atomic
from somelab.experiments import shift_probe
from somelab.experiments.plan import DEFAULT_SHIFT
from somelab.runs import RunFolder

FOLDER = "probes"
READING_TOKENS = 20_000
STEPS_TIMED = 25


def missing_probes(run: RunFolder, names: Sequence[str]) -> list[str]:
    """The probes among these that a run does not have yet."""
    return [name for name in names if not _path_exists(run, name)]


def probe_(run: RunFolder, names: Sequence[str], shift: str = DEFAULT_SHIFT) -> None:
    """Measure what is missing and keep it in the run folder. `shift`: text of another kind than the run's own."""
    for name in missing_probes(run, names):
        (run.path / FOLDER).mkdir(exist_ok=True)
        atomic.write_text(run.path / FOLDER / f"{name}.json", json.dumps(PROBES[name](run, shift), indent=1) + "\n")


def read_probes(run: RunFolder) -> dict[str, float]:
    """All figures that probes have left in a run. What else a probe keeps, such as which text it read, is no figure."""
    found: dict[str, float] = {}
    for path in sorted((run.path / FOLDER).glob("*.json")):
        kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        found.update({name: float(value) for name, value in kept.items() if isinstance(value, (int, float))})
    return found


def read_shift_digest(run: RunFolder) -> str | None:
    """Which other text a run has been read on; None where it has not."""
    if missing_probes(run, [shift_probe.NAME]):
        return None
    kept: dict[str, Any] = json.loads((run.path / FOLDER / f"{shift_probe.NAME}.json").read_text(encoding="utf-8"))
    return kept.get("text", {}).get("digest")


def _path_exists(run: RunFolder, name: str) -> bool:
    return (run.path / FOLDER / f"{name}.json").exists()


def gravity_cost(run: RunFolder) -> dict[str, float]:
    """Share of a training step's CPU time that gathering statistics and moving keys take, and what every other step would save.

    CPU time of this process, so that other work on the machine does not count; the two kinds of step take turns, and the fastest
    of each is compared, since whatever disturbs a step makes it slower."""
    from somelab.experiments.stepping import Stepper

    stepper = Stepper(run.config())
    with_gravity, without = list[float](), list[float]()
    for _ in range(STEPS_TIMED):
        with_gravity.append(stepper.cpu_seconds(gravity=True))
        without.append(stepper.cpu_seconds(gravity=False))
    share = 1 - min(without) / min(with_gravity)
    return {"gravity_share": share, "saving_every_other_step": share / 2}


def guild_meaning(run: RunFolder) -> dict[str, float]:
    """What a token's guild says about its word class, as NMI, mean over layers: beyond shuffled tokens (anything at all), and
    beyond classes shuffled among words of like frequency (classes, and not merely that words are told apart).

    A layer without guilds says nothing, and counts as 0."""
    from somelab.analysis.guilds import study_layer
    from somelab.analysis.reading import read_validation
    from somelab.runs.trained import load_trained

    reading = read_validation(load_trained(run), READING_TOKENS)
    studies = [study_layer(reading, index).guild_information for index in range(len(reading.layers))]
    found = [study for study in studies if study is not None]
    return {
        "guild_nmi": sum(study.value for study in found) / len(studies),
        "guild_nmi_beyond_shuffled": sum(study.value - study.shuffled_mean for study in found) / len(studies),
        "guild_nmi_beyond_words": sum(study.value - study.by_word_mean for study in found) / len(studies),
    }


PROBES: dict[str, Callable[[RunFolder, str], dict[str, Any]]] = {
    "gravity-cost": lambda run, _: gravity_cost(run),
    "guild-meaning": lambda run, _: guild_meaning(run),
    shift_probe.NAME: shift_probe.domain_shift,
}
"""Each by the run and the text of another kind; most need the run alone."""
