"""A loss that is not a number, a gradient that is none, a loss that explodes: the run stops with exit code 2,
says what happened, and what it had learnt before is on disk."""

from __future__ import annotations

import math
from collections.abc import Callable
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
from tests.training.builders import LIVELY, SMALL, assert_same_run, flags_of, losses_of, state_of

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


def test_a_loss_that_explodes(capsys: pytest.CaptureFixture[str], text: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    settings = {
        **SMALL,
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
