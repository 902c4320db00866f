"""A loss that is not a number, a gradient that is none, a loss that explodes: the run stops with exit code 2,
says what happened, and what it had learnt before is on disk."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from somelab.cli.main import main
from somelab.model.loss import LossSum
from somelab.runs import RunFolder
from somelab.runs.trained import load_trained
from somelab.training import loop
from somelab.training.evaluate import Evaluation
from somelab.training.session import start
from tests.training.builders import (
    LIVELY,
    SMALL,
    assert_same_run,
    config_of,
    flags_of,
    losses_of,
    state_of,
    tensors_of,
)

BAD_STEP = 7
MICRO_BATCHES = 2


def spoil_loss(nats: Tensor) -> Tensor:
    return nats * math.nan


def spoil_gradient(nats: Tensor) -> Tensor:
    nats.register_hook(lambda gradient: gradient * math.inf)
    return nats


def argv_of(text: Path, out: Path, settings: dict[str, Any]) -> list[str]:
    return ["train", "demo", "--out", str(out), *flags_of({"data.source": text, **settings})]


@pytest.mark.parametrize(
    ("spoil", "words"), [(spoil_loss, "loss nan"), (spoil_gradient, "gradient norm nan")]
)
def test_what_is_no_number(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    text: Path,
    tmp_path: Path,
    spoil: Callable[[Tensor], Tensor],
    words: str,
) -> None:
    settings = {**LIVELY, "train.steps": 12, "train.checkpoint_every": 5}
    assert main(argv_of(text, tmp_path / "calm", settings)) == 0
    sound, num_calls = loop.next_token_loss, 0

    def spoilt(*arguments: Any, **options: Any) -> LossSum:
        nonlocal num_calls
        num_calls += 1
        result = sound(*arguments, **options)
        return (
            result._replace(nats=spoil(result.nats))
            if num_calls == (BAD_STEP - 1) * MICRO_BATCHES + 1
            else result
        )

    capsys.readouterr()
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(loop, "next_token_loss", spoilt)
        assert main(argv_of(text, out, settings)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("somelab: training diverged: ")
    assert words in line
    assert f"at step {BAD_STEP}; {out / 'checkpoints' / 'last'} keeps step 5; " in line
    assert "lower train.learning_rate" in line
    assert state_of(out)["state"]["step"] == 5
    assert all(
        torch.isfinite(value).all() for value in load_trained(RunFolder(out)).model.state_dict().values()
    )
    # From the checkpoint on, the run ends like one that never saw the bad step.
    assert main(["resume", str(out)]) == 0
    assert_same_run(out, tmp_path / "calm")


def changed_rate(run: Path, rate: str) -> None:
    """Edit config.yaml as a person would."""
    path = run / "config.yaml"
    text, num = re.subn(r"(?m)^  learning_rate: \S+", f"  learning_rate: {rate}", path.read_text())
    assert num == 1
    path.write_text(text)


@pytest.mark.parametrize("checkpoint_every", [1, 100])
def test_a_rate_that_blows_the_weights_up_costs_no_checkpoint(
    capsys: pytest.CaptureFixture[str], text: Path, tmp_path: Path, checkpoint_every: int
) -> None:
    """Whether a checkpoint would be due right after the step that spoilt the weights, or none: the weights of
    1e30 are finite, and only the next loss is not."""
    out = tmp_path / "run"
    settings = {**SMALL, "train.checkpoint_every": checkpoint_every, "train.eval_every": 100}
    start(config_of(text, settings), out, {}, pause_at=6)
    before = {name: tensor.clone() for name, tensor in tensors_of(out).items()}
    changed_rate(out, "1.0e+30")
    capsys.readouterr()
    assert main(["resume", str(out), "--accept-config"]) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    last = out / "checkpoints" / "last"
    at = "after step 7" if checkpoint_every == 1 else "at step 8"
    assert re.search(rf"training diverged: .* {at}; {last} keeps step 6; lower train.learning_rate", line)
    assert os.readlink(last) == "step-00000006"
    after = tensors_of(out)
    assert all(torch.equal(after[name], tensor) for name, tensor in before.items())
    assert len(losses_of(out)) == 7, "the step itself was made, and is in the journal"
    changed_rate(out, "1.0e-4")
    assert main(["resume", str(out), "--accept-config"]) == 0
    assert len(losses_of(out)) == 12
    changes = RunFolder(out).facts()["config_changes"]
    assert [(one["step"], one["changes"]["train.learning_rate"][1]) for one in changes] == [
        (6, 1e30),
        (6, 1e-4),
    ]


def test_a_checkpoint_whose_next_loss_is_no_number_gives_way_to_the_one_before(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, text: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    settings = {**SMALL, "train.checkpoint_every": 3, "train.eval_every": 100}
    start(config_of(text, settings), out, {}, pause_at=6)
    with monkeypatch.context() as patch:
        sound = loop.next_token_loss

        def spoilt(*arguments: Any, **options: Any) -> LossSum:
            result = sound(*arguments, **options)
            return result._replace(nats=result.nats * math.nan)

        patch.setattr(loop, "next_token_loss", spoilt)
        for kept in (3, 3):
            assert main(["resume", str(out)]) == 2
            line = capsys.readouterr().err.splitlines()[-1]
            assert f"checkpoints/last keeps step {kept};" in line
            assert load_trained(RunFolder(out)).state.step == kept
    assert main(["resume", str(out)]) == 0


@pytest.mark.parametrize("kind", ["evaluation", "final"])
def test_a_validation_loss_that_is_no_number(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, text: Path, tmp_path: Path, kind: str
) -> None:
    out = tmp_path / "run"
    sound, num_calls = loop.evaluate, 0

    def spoilt(*arguments: Any, **options: Any) -> Evaluation:
        nonlocal num_calls
        num_calls += 1
        result = sound(*arguments, **options)
        return (
            replace(result, val_loss=math.nan) if num_calls == (2 if kind == "evaluation" else 3) else result
        )

    monkeypatch.setattr(loop, "evaluate", spoilt)
    settings = {**SMALL, "train.eval_every": 5, "train.checkpoint_every": 100}
    assert main(argv_of(text, out, settings)) == 2
    step, kept = (10, 5) if kind == "evaluation" else (12, 10)
    line = capsys.readouterr().err.splitlines()[-1]
    assert f"training diverged: validation loss nan after step {step}; " in line
    assert f"keeps step {kept};" in line
    assert state_of(out)["state"]["finished"] is False


def test_a_loss_that_explodes(capsys: pytest.CaptureFixture[str], text: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    settings = {
        **SMALL,
        "model.backbone": "published",
        "model.embedding_std": 1.0,
        "experts.family": "dense",
        "experts.top_k": 2,
        "train.steps": 40,
        "train.learning_rate": 30.0,
        "train.warmup_fraction": 0.3,
        "train.checkpoint_every": 1,
    }
    assert main(argv_of(text, out, settings)) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    losses = losses_of(out)
    assert max(losses) < 2 * max(losses[0], math.log(512)), "what exploded is not in the journal"
    assert f"loss rose to {line.partition('rose to ')[2].split()[0]} at step {len(losses) + 1};" in line
    assert f"{out / 'checkpoints' / 'last'} keeps step {len(losses)};" in line
    assert load_trained(RunFolder(out)).state.step == len(losses)


def test_an_explosion_before_any_checkpoint_promises_none(
    capsys: pytest.CaptureFixture[str], text: Path, tmp_path: Path
) -> None:
    settings = {
        **SMALL,
        "train.steps": 40,
        "train.learning_rate": 30.0,
        "train.warmup_fraction": 0.3,
        "train.eval_every": 40,
    }
    assert main(argv_of(text, tmp_path / "run", settings)) == 2
    assert "no checkpoint had been written yet" in capsys.readouterr().err.splitlines()[-1]
    assert not list((tmp_path / "run" / "checkpoints").iterdir())
