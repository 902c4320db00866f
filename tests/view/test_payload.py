"""Run folders of every kind become a Run: sound, in progress, damaged anywhere, foreign. Never an exception,
never a write."""

from __future__ import annotations

import fcntl
import json
import math
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from somelab.core.collapse import UNIFORM_GATES
from somelab.view.page.curves import MOST_POINTS, curves, evaluations, final, warnings
from somelab.view.page.packing import number
from somelab.view.page.payload import layer_names, run_of
from tests.view.builders import append, synthetic_run


def test_a_real_run(some_run: Path) -> None:
    run = run_of(some_run)
    assert (run.id, run.name, run.status, run.problem) == ("stories", "stories", "finished", None)
    assert (run.preset, run.seed, run.num_layers, run.num_experts, run.top_k, run.num_steps) == (
        "demo",
        0,
        3,
        8,
        2,
        24,
    )
    assert run.layer_names == ["Lexicon", "Mind's Eye", "Storyteller"]
    assert run.curves.train.step == list(range(1, 25))
    assert run.curves.evaluation.step == [8, 16, 24]
    assert run.data is not None
    assert run.data.source == "builtin:story"
    assert run.parameters is not None
    assert run.parameters.total == run.parameters.trainable + run.parameters.frozen
    assert run.final is not None
    assert run.final.val_ppl == pytest.approx(math.exp(run.final.val_loss or 0), rel=1e-4)
    assert run.galaxies is run.guilds is run.traces is None
    changed = {setting.field for setting in run.config if setting.changed}
    assert {"model.d_model", "data.source", "train.steps"} <= changed
    assert "gravity.alpha" not in changed
    assert run.balance is not None
    assert len(run.balance.usage) == 3
    assert len(run.balance.training.measures["gini"]) == 3
    assert all(
        len(layer) == len(run.balance.training.steps) for layer in run.balance.training.measures["gini"]
    )
    assert run.balance.evaluation.steps == [8, 16, 24]
    assert run.balance.lines["gate_entropy"].value == pytest.approx(UNIFORM_GATES * math.log(2))
    assert run.balance.lines["num_combinations"].value == 4


def test_reading_writes_nothing(some_run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(some_run, tmp_path / "copy", symlinks=True)
    before = {path: path.stat().st_mtime_ns for path in sorted(copy.rglob("*"))}
    run_of(copy)
    assert {path: path.stat().st_mtime_ns for path in sorted(copy.rglob("*"))} == before


def test_the_figures_of_the_end_replace_a_partial_look_at_the_same_step() -> None:
    metrics = [
        {"kind": "evaluation", "step": 5, "val_loss": 3.0},
        {"kind": "evaluation", "step": 9, "val_loss": 2.5},
        {
            "kind": "final",
            "step": 9,
            "val_loss": 2.6,
            "tokens": 90,
            "layers": [{"gini": 0.25}, {"gini": 0.75}],
        },
    ]
    assert [record["val_loss"] for record in evaluations(metrics)] == [3.0, 2.6]
    found = final(
        metrics, [{"step_seconds": 2.0, "step_tokens": 100}, {"step_seconds": 2.0, "step_tokens": 300}]
    )
    assert found is not None
    assert (found.val_loss, found.best_val_loss, found.tokens, found.gini, found.tokens_per_second) == (
        2.6,
        2.6,
        90,
        0.5,
        100.0,
    )
    assert found.crowding is None
    assert final([], []) is None


def test_long_curves_are_thinned_to_means_and_gaps_stay_gaps() -> None:
    losses = [float(i) for i in range(2 * MOST_POINTS)]
    losses[0] = losses[1] = math.nan
    records = [{"kind": "train", "step": i + 1, "loss": loss, "tokens": i} for i, loss in enumerate(losses)]
    found = curves(records, []).train
    assert (found.thinned, len(found.step)) == (2, MOST_POINTS)
    assert found.step[:3] == [2, 4, 6]
    assert found.loss[:3] == [None, 2.5, 4.5]
    assert found.grad_norm[0] is None


def test_numbers_that_json_cannot_write_are_none() -> None:
    assert [number(value) for value in (math.nan, math.inf, None, "1", True, 10**400, 3, 1.23456789)] == [
        None
    ] * 6 + [3.0, 1.23457]


def test_warnings_name_the_failure_and_the_layer() -> None:
    records = [
        {"kind": "warning", "step": 2, "sentence": "layer 1: keys have fused", "key": "key fusion/1"},
        {"kind": "warning", "step": 3, "sentence": "the loss is not finite", "key": "divergence"},
    ]
    assert [(found.step, found.kind, found.layer) for found in warnings(records)] == [
        (2, "key fusion", 1),
        (3, "divergence", None),
    ]


def test_names_of_layers() -> None:
    assert layer_names(4) == ["Lexicon", None, "Mind's Eye", "Storyteller"]
    assert layer_names(2) == ["Lexicon", "Storyteller"]
    assert layer_names(1) == ["Lexicon"]
    assert layer_names(0) == []


def test_the_verdict_says_which_failure_and_where(tmp_path: Path) -> None:
    run = synthetic_run(tmp_path / "fused", layers=3, experts=16)
    sound = {
        "crowding": 0.2,
        "gate_entropy": 0.3,
        "effective_experts": 12.0,
        "dead_share": 0.0,
        "num_combinations": 60,
    }
    layers = [sound, {**sound, "crowding": 0.99}, {**sound, "crowding": 0.97, "effective_experts": 2.1}]
    append(run, "metrics", [{"kind": "evaluation", "step": 4, "val_loss": 4.0, "layers": layers}])
    found = run_of(run.path)
    assert found.verdict == (
        "Failing: keys have fused, so that experts act in fixed guilds (layers 1, 2); "
        "the router has collapsed onto a few experts (layer 2)."
    )
    assert len(found.findings) == 3
    assert found.judged == "Judged by the evaluation at step 4: validation text."
    append(run, "metrics", [{"kind": "evaluation", "step": 5, "val_loss": 3.9, "layers": [sound] * 3}])
    assert run_of(run.path).verdict == "Healthy: no layer has passed a threshold of collapse."


def test_every_measure_says_over_what_it_was_counted(tmp_path: Path) -> None:
    """Unused experts are those of the evaluation, with its number of tokens: as the terminal says."""
    run = synthetic_run(tmp_path / "dead", layers=1, experts=16)
    measured = {"dead_share": 0.625, "gate_entropy": 0.3, "crowding": 0.2}
    final = {"kind": "final", "step": 9, "val_loss": 4.0, "num_tokens": 20480, "layers": [measured]}
    append(run, "metrics", [final])
    found = run_of(run.path)
    assert found.judged == "Judged by the final evaluation at step 9: 20,480 tokens of validation text."
    assert found.findings == [
        "layer 0: 62% of the experts were never selected in 20,480 tokens of validation text"
    ]
    assert found.curves.evaluation.val_tokens[-1] == 20480
    assert found.balance is not None
    by_name = {info.name: info for info in found.balance.info}
    assert by_name["dead_share"].evaluation == "20,480 tokens of validation text"
    assert by_name["dead_share"].training == "all training steps since the start or the key's last respawn"
    assert by_name["gini"].training == "a moving average over about the last 100 training steps"
    assert by_name["crowding"].training == by_name["crowding"].evaluation == "the keys at that step"
    assert by_name["drift"].evaluation == ""
    assert found.balance.usage_counted == by_name["gini"].training
    assert found.balance.usage_step is not None


def test_before_an_evaluation_training_judges(tmp_path: Path) -> None:
    run = synthetic_run(tmp_path / "early", layers=1)
    append(run, "layers", [{"step": 7, "layers": [{"dead_share": 0.75, "crowding": 0.2}]}])
    found = run_of(run.path)
    assert found.curves.evaluation.step == []
    assert found.judged.startswith("Not evaluated yet; judged by training at step 7: usage is a moving")
    assert found.findings == ["layer 0: 75% of the experts were never selected in training so far"]


def test_a_run_in_progress(tmp_path: Path) -> None:
    """Locked, its last line half written, its newest snapshot not yet there: it reads as far as it is
    whole."""
    run = synthetic_run(tmp_path / "live")
    (run.keys / ".writing-step-00000030.safetensors~77-abc").write_bytes(b"\x00" * 7)
    with (run.path / "metrics.jsonl").open("a") as file:
        file.write('{"kind":"train","step":5,"lo')
    assert run_of(run.path).status == "stopped"
    with (run.path / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        found = run_of(run.path)
    assert (found.status, found.problem) == ("running", None)
    assert found.curves.train.step == [1, 2, 3, 4]
    assert run_of(run.path).status == "stopped"


def test_a_run_that_has_just_begun(tmp_path: Path) -> None:
    run = synthetic_run(tmp_path / "new", frames=0, records=0)
    found = run_of(run.path)
    assert (found.status, found.problem, found.final) == ("stopped", None, None)
    assert found.verdict == "No layer has been measured yet."
    assert found.judged == ""
    assert found.curves.train.step == []


def replaced(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda run: (run / name).write_bytes(content)


DAMAGE: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "no run.json": (lambda run: (run / "run.json").unlink(), "foreign", "has no run.json"),
    "a later format": (replaced("run.json", b'{"format": 99}'), "foreign", "has format 99"),
    "run.json cut": (replaced("run.json", b'{"format": 1, "na'), "broken", "run.json cannot be read"),
    "run.json a list": (replaced("run.json", b"[1]"), "broken", "holds no object"),
    "run.json not text": (replaced("run.json", b"\xff\xfe\x00"), "broken", "run.json cannot be read"),
    "config gone": (lambda run: (run / "config.yaml").unlink(), "broken", "there is no such file"),
    "config foreign": (replaced("config.yaml", b"lightning:\n  epochs: 3\n"), "broken", "is not a setting"),
    "config a pickle": (replaced("config.yaml", pickle.dumps({"a": 1})), "broken", "config file"),
    "run.json nested": (replaced("run.json", b"[" * 200_000), "broken", "run.json cannot be read"),
    "config nested": (replaced("config.yaml", b"[" * 5_000), "broken", ""),
    "journal nested": (
        replaced("metrics.jsonl", b"[" * 200_000 + b"\n"),
        "broken",
        "metrics.jsonl cannot be read: line 1 is damaged",
    ),
    "numbers too large": (
        replaced("metrics.jsonl", b'{"kind":"train","step":1,"loss":1' + b"0" * 400 + b"}\n"),
        "stopped",
        "",
    ),
    "tokens without end": (
        replaced("metrics.jsonl", b'{"kind":"train","step":1,"loss":1,"tokens":1e999}\n'),
        "broken",
        "its records",
    ),
    "journal damaged": (
        replaced("metrics.jsonl", b'{"kind":"train"}\nnot json\n{}\n'),
        "broken",
        "line 2 is damaged",
    ),
    "journal of lists": (replaced("layers.jsonl", b"[1]\n[2]\n"), "broken", "line 1 is damaged"),
    "layers of numbers": (replaced("layers.jsonl", b'{"step":1,"layers":3}\n'), "broken", "cannot be read"),
    "snapshot a pickle": (
        replaced("keys/step-00000010.safetensors", pickle.dumps([1])),
        "broken",
        "is damaged",
    ),
    "snapshot of another run": (
        lambda run: shutil.copy(
            synthetic_run(run.parent / "odd", experts=9).keys / "step-00000010.safetensors",
            run / "keys/step-00000010.safetensors",
        ),
        "broken",
        "do not fit together",
    ),
    "keys a file": (lambda run: (shutil.rmtree(run / "keys"), (run / "keys").write_text("")), "stopped", ""),
    "environment odd": (replaced("environment.json", b'{"command": 3, "packages": []}'), "stopped", ""),
    "environment cut": (replaced("environment.json", b"{"), "broken", "environment.json: is damaged"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_folder_says_what_is_wrong(name: str, tmp_path: Path) -> None:
    run = synthetic_run(tmp_path / "run")
    damage, status, problem = DAMAGE[name]
    damage(run.path)
    found = run_of(run.path)
    assert found.status == status
    assert problem in (found.problem or "")
    assert "\n" not in (found.problem or "")
    json.loads(found.model_dump_json())


def test_what_is_sound_in_a_damaged_folder_is_still_shown(tmp_path: Path) -> None:
    run = synthetic_run(tmp_path / "run")
    (run.path / "layers.jsonl").write_bytes(b"\x00\n")
    found = run_of(run.path)
    assert found.status == "broken"
    assert found.curves.train.step == [1, 2, 3, 4]
    assert [part.name for part in found.left_out] == ["record"]


def test_no_run_at_all(tmp_path: Path) -> None:
    assert run_of(tmp_path / "nowhere").status == "foreign"
    (tmp_path / "file").write_text("")
    assert run_of(tmp_path / "file").status == "foreign"
    (tmp_path / "empty").mkdir()
    assert run_of(tmp_path / "empty").status == "foreign"


def test_the_published_run_comes_along(some_run: Path) -> None:
    """Every epoch at its share of the run, and whether its figures count padding."""
    from somelab.view.page.published import published_figures

    assert published_figures("demo") is None
    assert published_figures(None) is None
    found = published_figures("a1")
    assert found is not None
    assert found.with_padding
    assert [epoch.share for epoch in found.epochs] == [0.25, 0.5, 0.75, 1.0]
    assert [epoch.gini for epoch in found.epochs] == [0.841, 0.791, 0.807, 0.791]
    sparse = published_figures("v3-sparse")
    assert sparse is not None
    assert [epoch.share for epoch in sparse.epochs] == [0.25, 1.0]  # the report has the first and the last
    page = run_of(some_run)
    assert page.published == published_figures(page.preset)
