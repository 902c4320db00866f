"""Folders of a sweep and of a continual study with figures that can be worked out by hand, written as the
commands write them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from somelab.config import Config, override
from somelab.experiments.runner.plan import Arm, Plan
from somelab.experiments.streams.plan import StreamSettings, stream_plan
from somelab.experiments.streams.summary import summarise
from somelab.experiments.streams.task import measured
from somelab.experiments.sweeps.table import read_figures, rows_of, write_table
from somelab.experiments.tuning.curve import Curve
from somelab.experiments.tuning.halving import Halving
from somelab.experiments.tuning.search import Search, Trial, first_values
from tests.experiments.builders import LAYER
from tests.view.builders import append, synthetic_run

SMALL = override(Config(), {"experts.num_experts": 8, "experts.top_k": 2})
PLAN = Plan(
    "widths",
    (Arm("x", SMALL, "the base", preset="a1"), Arm("y", SMALL, base="x"), Arm("z", SMALL, base="x")),
    (0, 1, 2),
    title="a plan by hand",
    scale="micro",
    settings={"train.steps": "4"},
)
# y - x is -0.1, -0.2, -0.3: mean -0.2, deviation 0.1, half width 4.3027 * 0.1 / sqrt(3) = 0.2484. Of z one
# seed alone is there.
LOSSES = {
    ("x", 0): 4.0,
    ("x", 1): 4.1,
    ("x", 2): 4.2,
    ("y", 0): 3.9,
    ("y", 1): 3.9,
    ("y", 2): 3.9,
    ("z", 1): 5.0,
}
FAILURES = {("z", 0): "training diverged: loss nan; step 1 is saved; lower it"}


GRID = Search(0.008, first_values(0), 100, limits=(-4, 6))


def tuning_curve(
    arm: str, ended: dict[int, float], stopped: dict[int, float], diverged: tuple[int, ...] = ()
) -> Curve:
    """A search of 100 steps by index: final losses, losses after a quarter, and values that diverged."""
    value = GRID.value
    trials = {index: Trial(value(index), {25: loss + 1, 100: loss}, True) for index, loss in ended.items()}
    trials |= {index: Trial(value(index), {25: loss}) for index, loss in stopped.items()}
    trials |= {index: Trial(value(index), {}, True, "training diverged") for index in diverged}
    return Curve(arm, "train.learning_rate", GRID, trials, 1000, "digest")


# x is best at 0.004, inside; y at 0.064, the largest that is allowed here; z is unfinished.
CURVES = {
    "x": tuning_curve("x", {-4: 4.5, -2: 4.0, 0: 4.25}, {2: 5.6}),
    "y": tuning_curve("y", {0: 4.5, 2: 4.3, 4: 4.1, 6: 3.9}, {-4: 6.5, -2: 5.5}),
    "z": tuning_curve("z", {}, {-4: 4.9, -2: 4.8}, (2,)),
}
KEYS = Halving(("moved", "fixed", "gradient"), 100)
WORDS = {
    name: Curve(
        name,
        "gravity.keys",
        KEYS,
        {
            0: Trial("moved", {25: 5.0, 50: 4.5, 100: 4.0 + place}, True),
            1: Trial("fixed", {25: 5.2, 50: 4.8}),
            2: Trial("gradient", {25: 5.5}),
        },
        1000,
        "digest",
    )
    for place, name in enumerate(("x", "y", "z"))
}


def write_sweep(folder: Path, curves: dict[str, Curve] | None = None) -> Path:
    """Three arms, of which the last has one finished run, one that failed and one that was never begun.

    `curves`: their searches, where the sweep tunes."""
    for (arm, seed), loss in LOSSES.items():
        run = synthetic_run(folder / arm / f"seed-{seed}", records=0)
        train = [
            {"kind": "train", "step": step, "loss": loss + 1 / step, "tokens": 100 * step}
            for step in (1, 2, 3, 4)
        ]
        halfway = {
            "kind": "evaluation",
            "step": 2,
            "tokens": 200,
            "val_loss": loss + 0.5,
            "bits_per_byte": (loss + 0.5) / 2,
        }
        layer = {**dict.fromkeys(LAYER, 0.0), "gini": 0.25, "entropy_bits": 2.5}
        final = {
            "val_loss": loss,
            "val_ppl": math.exp(loss),
            "bits_per_byte": loss / 2,
            "ppl_with_padding": 3.0 + seed,
            "layers": [layer],
        }
        append(run, "metrics", [*train, halfway, {"kind": "final", "step": 4, "tokens": 400, **final}])
        facts = json.loads((run.path / "run.json").read_text())
        (run.path / "run.json").write_text(json.dumps({**facts, "name": f"{arm} seed {seed}"}))
    write_table(PLAN, rows_of(PLAN, read_figures(PLAN, folder), FAILURES, curves), folder)
    return folder


# R[i][j]: loss on experience j after row i. The first row is the base, and the reference.
MATRICES = {
    "some-keys": [[3.0, 6.0, 7.0], [3.1, 5.0, 6.9], [3.0, 5.0, 6.5]],
    "dense": [[3.0, 6.0, 7.0], [4.0, 3.0, 6.8], [5.0, 4.0, 2.0]],
}


def result_of(learner: str, seed: int) -> dict[str, Any]:
    """One result as the session writes it; the second seed lies a fifth of a nat above the first."""
    matrix = [[loss + 0.2 * seed for loss in row] for row in (MATRICES.get(learner) or GROWN_MATRIX)]
    return {
        "learner": learner,
        "seed": seed,
        "experiences": ["story", "recipe", "weather"],
        "matrix": matrix,
        "reference": matrix[0],
        **measured(matrix, matrix[0], 1),
        "online_loss": 5.0 + seed,
        "online": [[6.0 + seed, 5.0 + seed], [7.0 + seed, 6.5 + seed]],
        "tokens_per_experience": 1000,
        "num_trainable": {"some-keys": 0, "dense": 1234567, "some-grow": 2000}[learner],
        "learning_rate": 0.004,
        "parameters_added": 0,
        "bytes_added": {"some-keys": 0, "dense": 4938268, "some-grow": 8000}[learner],
        **(GROWTH if learner == "some-grow" else {}),
    }


GROWN_MATRIX = [[3.0, 6.0, 7.0], [3.0, 4.0, 7.0], [3.01, 4.0, 3.0]]
GROWTH: dict[str, Any] = {
    "generations": [
        {
            "name": "gen1",
            "at_experience": 1,
            "at_token": 128,
            "parameters": 1000,
            "bytes": 4000,
            "start_from": "base",
        },
        {
            "name": "gen2",
            "at_experience": 2,
            "at_token": 0,
            "parameters": 1000,
            "bytes": 4000,
            "start_from": "gen1",
        },
    ],
    "served_by": ["base", "gen1", "gen2"],
    "served": [[0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.0, 0.25, 0.75]],
}
STUDY_CURVES = {
    "dense": tuning_curve("dense", {-4: 4.5, -2: 4.0, 0: 4.25, 2: 5.0}, {}),
    "some-grow": tuning_curve("some-grow", {-2: 4.5, 0: 4.4, 2: 4.3, 4: 4.1, 6: 3.9}, {-4: 6.5}),
}
"""dense is best at 0.004, inside; some-grow at 0.064, the largest that is allowed here."""
BASES = {"base-dense": {"chosen": 0.016, "standing": "tuned", "runs": 3.25}}


def write_study(folder: Path, *, grows: bool = False) -> Path:
    """Two learners with two seeds, from a base. `grows`: a third that grows, and all with a search."""
    names = (*MATRICES, "some-grow") if grows else tuple(MATRICES)
    results = [result_of(learner, seed) for seed in (0, 1) for learner in names]
    plan = stream_plan(StreamSettings(("builtin:story,recipe,weather",), names, num_seeds=2))
    for result in results:
        own = folder / result["learner"] / f"seed-{result['seed']}"
        own.mkdir(parents=True)
        (own / "result.json").write_text(json.dumps(result))
    rows = rows_of(plan, read_figures(plan, folder), curves=STUDY_CURVES if grows else None)
    write_table(plan, rows, folder)
    summary = summarise(plan, rows, results, BASES if grows else {})
    (folder / "summary.json").write_text(json.dumps(summary, indent=1))
    if grows:
        times = [
            {"arm": "dense", "seed": seed, "status": "finished", "cpu_seconds": 40.0 + seed}
            for seed in (0, 1)
        ]
        (folder / "times.json").write_text(json.dumps(times))
    return folder


def write_results(folder: Path) -> Path:
    """A folder with a sweep and a study in it, of which every figure can be worked out by hand."""
    write_sweep(folder / "sweeps" / "widths")
    write_study(folder / "kinds")
    return folder
