"""Plans that train in a second, run folders by hand with only the files that figures are read from, and what
a terminal shows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from somelab.config import Config, override, to_yaml
from somelab.experiments.ledger.records import Records
from somelab.experiments.ledger.store import Ledger
from somelab.experiments.runner.plan import Arm, Job, Plan
from tests.training.builders import config_of


def arm_of(name: str, text: Path, base: str | None = None, **settings: Any) -> Arm:
    """A small arm; settings with `__` for the dot."""
    return Arm(name, config_of(text, **settings), base=base)


def plan_of(text: Path, *arms: Arm, seeds: tuple[int, ...] = (0, 1)) -> Plan:
    return Plan(
        "small",
        arms or (arm_of("plain", text), arm_of("no-beta", text, "plain", gravity__peer_pull=False)),
        seeds,
    )


def write_run(folder: Path, config: Config, figures: Mapping[str, float], *, finished: bool = True) -> None:
    """What a finished run leaves of itself as far as tables and verdicts read it; figures of routing go into
    one layer."""
    layer = dict.fromkeys(LAYER, 0.0) | {name: value for name, value in figures.items() if name in LAYER}
    final = {
        "kind": "final",
        "step": 4,
        **{name: value for name, value in figures.items() if name not in LAYER},
        "layers": [layer],
    }
    checkpoint = folder / "checkpoints" / "step-00000004"
    checkpoint.mkdir(parents=True)
    (folder / "config.yaml").write_text(to_yaml(config))
    parameters = {"trainable": 10, "total": 20, "active": 15}
    (folder / "run.json").write_text(
        json.dumps({"format": 1, "data": {"digest": "d"}, "parameters": parameters})
    )
    (folder / "metrics.jsonl").write_text(json.dumps(final) + "\n" if finished else "")
    content = {"state": {"step": 4, "finished": finished}, "pools": {}, "files": {}}
    (checkpoint / "state.json").write_text(json.dumps({**content, "digest": _digest(content)}))
    (folder / "checkpoints" / "last").symlink_to(checkpoint.name)


LAYER = (
    "gini",
    "entropy_bits",
    "effective_experts",
    "dead_share",
    "num_combinations",
    "combination_entropy_bits",
    "crowding",
    "gate_entropy",
)


def _digest(content: dict[str, Any]) -> str:
    from somelab.disk.checked_json import content_digest

    return content_digest(content)


def job_of(folder: Path, config: Config, seed: int = 0, **more: Any) -> Job:
    return Job(folder.parent.name, seed, override(config, {"train.seed": seed}), folder, **more)


def plain(said: str) -> str:
    """What a terminal was told, without its styles."""
    return re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", said)


def tuned(ledger: Ledger, best: int = 8, **others: int) -> Records:
    """Searches that have ended: every value of the grid was trained, and the loss rises on both sides of the
    best.

    `others`: the best index of some arms, with `_` for `-`."""
    curves: list[dict[str, Any]] = []
    for name, tuner in ledger.rates.tuners.items():
        top = others.get(name.replace("-", "_"), best)
        trials = [
            {
                "value": tuner.search.value(i),
                "losses": {"500": 4.0 + 0.1 * abs(i - top)},
                "ended": True,
                "repeats": {"1001": 4.0 + 0.1 * abs(i - top), "1002": 4.0 + 0.1 * abs(i - top)},
            }
            for i in range(-4, 15)
        ]
        curves.append(
            {
                "arm": name,
                "digest": tuner.digest,
                "scale": "micro",
                "length": ledger.length,
                "standing": "tuned",
                "best": tuner.search.value(top),
                "trials": trials,
            }
        )
    return Records().with_curves(curves)
