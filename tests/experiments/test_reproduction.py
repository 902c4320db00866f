"""A published run trained again at a tiny size: it starts, stops and continues to the bit, its figures are
measured as the reports measure theirs, and the published ones stand beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from somelab.cli.main import main
from somelab.config import Config, override, preset
from somelab.core.measures import entropy_bits, gini
from somelab.errors import ConfigError, SomelabError
from somelab.experiments.reproduction import estimate
from somelab.experiments.reproduction.reproduce import Reproduction, prepared
from somelab.runs import RunFolder
from somelab.training.machine import memory
from somelab.training.session import start
from somelab.training.usage_with_padding import ENTROPY, ENTROPY_WITHOUT, GINI, GINI_WITHOUT
from tests.training.builders import SMALL, assert_same_run, flags_of, trainer_of, write_text

TINY: dict[str, Any] = {
    **SMALL,
    "train.micro_batch_size": 2,
    "data.train_subset_size": 250,
    "data.val_subset_size": 20,
}


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_text(tmp_path_factory.mktemp("reproduction") / "short.txt")


def made_of(text: Path, folder: Path, name: str = "a1", **changes: Any) -> Reproduction:
    one = preset(name)
    config = override(one.config, {**TINY, "data.source": str(text), **changes})
    return prepared(one, config, "full", folder)


@pytest.fixture(scope="module")
def whole(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    made = made_of(text, tmp_path_factory.mktemp("whole") / "run")
    assert made.train().reason == "finished"
    return made


def test_it_is_evaluated_at_the_end_of_each_epoch(whole: Reproduction) -> None:
    assert (whole.num_steps, whole.num_epochs) == (12, 4)
    evaluations = [one for one in whole.run.records("metrics") if one["kind"] in ("evaluation", "final")]
    assert [one["step"] for one in evaluations] == [3, 6, 9, 12]
    assert all("loss_with_padding" in one for one in evaluations)
    rows = whole.epochs()
    assert rows[1].published["loss_with_padding"] == 0.8054
    assert rows[3].published[GINI] == 0.791
    losses = [one["loss"] for one in whole.run.records("metrics") if one["kind"] == "train"]
    assert rows[1].ours["train_loss"] == pytest.approx(sum(losses[3:6]) / 3)
    assert rows[3].ours["loss_with_padding"] == evaluations[3]["loss_with_padding"]
    assert rows[3].ours[GINI] == evaluations[3]["layers"][1][GINI]


@pytest.mark.parametrize("stop", [2, 7])
def test_stopped_and_continued_it_ends_the_same_to_the_bit(
    stop: int, whole: Reproduction, text: Path, tmp_path: Path
) -> None:
    made = made_of(text, tmp_path / "run")
    _, outcome = start(
        made.config, made.folder, {"name": "run", "preset": "a1", "scale": "full"}, pause_at=stop
    )
    assert outcome.reason == "interrupted"
    rows = made.epochs()
    assert ["loss_with_padding" in row.ours for row in rows] == [3 * n <= stop for n in (1, 2, 3, 4)]
    assert [row.steps_done for row in rows] == [max(0, min(3, stop - 3 * n)) for n in range(4)]
    assert [row.is_partial for row in rows] == [n == stop // 3 for n in range(4)]
    begun = rows[stop // 3]
    assert begun.words == f"{stop // 3 + 1} ({stop % 3} of 3 steps)"
    assert {"train_loss", "train_loss_without_padding", GINI, ENTROPY} <= begun.ours.keys()
    made.write(page=False)
    table = (made.folder / "published.md").read_text()
    assert f"| {begun.words} | ours |" in table
    assert f"12 steps of which {stop} are done" in table
    shown = json.loads((made.folder / "published.json").read_text())
    assert (shown["left"]["steps_done"], shown["sample"]["step"]) == (stop, stop if stop < 3 else 6)
    assert shown["left"]["evaluation_seconds"] > 0
    again = made_of(text, tmp_path / "run")
    left = again.estimate()
    assert (left.steps_done, left.num_steps) == (stop, 12)
    assert again.train().reason == "finished"
    assert again.is_finished
    assert_same_run(again.folder, whole.folder)
    assert again.epochs() == whole.epochs()


@pytest.mark.parametrize("counted", [True, False])
def test_usage_counts_every_position_of_every_step(counted: bool, text: Path, tmp_path: Path) -> None:
    """By hand: the share of each expert in all routed positions, padding included, as a moving average.
    `counted`: whether the rules count padding."""
    changes = {**TINY, "data.source": str(text), "gravity.count_padding": counted}
    trainer = trainer_of(override(preset("a1").config, changes), tmp_path / "run")
    by_hand = torch.zeros(2, 8, dtype=torch.float64)
    seen: list[torch.Tensor] = []
    for number, layer in enumerate(trainer.model.some_layers()):
        layer.router.register_forward_hook(
            lambda _m, _i, routing, n=number: seen.append(torch.stack((routing.indices_TK + 8 * n,)))
        )
    trainer.model.train()
    assert trainer.usage is not None
    for _ in range(4):
        seen.clear()
        trainer._step_()
        counts = torch.bincount(torch.cat([one.reshape(-1) for one in seen]), minlength=16).double()
        assert int(counts.sum()) == 2 * 4 * 32 * 2  # layers x sequences x positions x K
        by_hand = 0.99 * by_hand + 0.01 * counts.view(2, 8)
    found = trainer.usage.measures()
    for layer in (0, 1):
        assert found[layer][GINI] == pytest.approx(gini(by_hand[layer]))
        assert found[layer][ENTROPY] == pytest.approx(entropy_bits(by_hand[layer]))
        usage_E = trainer.model.some_layers()[layer].keystore.usage_E.double()
        if counted:
            torch.testing.assert_close(usage_E, by_hand[layer], rtol=1e-5, atol=1e-5)
            without_E = trainer.usage.usage[1, layer]
            assert found[layer][GINI_WITHOUT] == pytest.approx(gini(without_E))
            assert found[layer][ENTROPY_WITHOUT] == pytest.approx(entropy_bits(without_E))
        else:
            without_E = usage_E
            assert GINI_WITHOUT not in found[layer]
        assert 0 < float(without_E.sum()) < 0.9 * float(by_hand[layer].sum())


def test_a_run_without_padding_in_its_loss_counts_none(text: Path, tmp_path: Path) -> None:
    trainer = trainer_of(override(preset("v7").config, {**TINY, "data.source": str(text)}), tmp_path / "run")
    assert trainer.usage is None


def test_the_command(text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = flags_of({**TINY, "train.steps": 4})
    argv = ["reproduce", "v7", "--data", str(text), "--out", str(tmp_path / "run"), "--no-page", *flags]
    assert main([*argv, "--estimate"]) == 0
    said = capsys.readouterr().out
    assert "v7, changed settings: 4 steps" in said
    assert "4 evaluations" in said
    assert not (tmp_path / "run").exists()
    assert main(argv) == 0
    said = capsys.readouterr().out
    assert "3.1531 / " in said  # the published validation loss of epoch 1, beside ours
    assert "Padding is left out everywhere" in said
    table = (tmp_path / "run" / "published.md").read_text()
    assert table.count("| published |") == table.count("| ours |") == 4
    assert main([*argv, "--json"]) == 0  # finished: shown again
    shown = json.loads(capsys.readouterr().out)
    assert (shown["finished"], shown["estimate"]) == (True, None)
    assert shown["epochs"][0]["published"]["val_loss"] == 3.1531
    assert RunFolder(tmp_path / "run").facts()["preset"] == "v7"
    assert main([*argv[:7], *flags_of({**TINY, "train.steps": 5})]) == 2
    assert "is a run of another configuration" in capsys.readouterr().err


def test_a_large_run_is_estimated_from_one_layer_and_two(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = made_of(text, tmp_path / "run", "a1", **{"model.num_layers": 6})
    timed: list[int] = []

    def seconds(config: Config, data: Any) -> tuple[float, float, float]:
        timed.append(config.model.num_layers)
        return 1.0 + 2.0 * config.model.num_layers, 10.0, 0.5

    monkeypatch.setattr(estimate, "_timed", seconds)
    assert made.estimate().step_seconds == 13.0
    monkeypatch.setattr(estimate, "WHOLE_UP_TO", 0)
    found = made.estimate()
    assert timed == [6, 1, 2]
    assert (found.step_seconds, found.evaluation_seconds, found.share) == (13.0, 30.0, 0.5)
    assert found.peak_bytes == pytest.approx(1e9, rel=0.01)


def test_what_cannot_be_reproduced_is_refused(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="has no published figures"):
        made_of(text, tmp_path / "run", "some")
    monkeypatch.setattr(memory, "total_memory", lambda: 16 * 2**30)
    one = preset("b3")
    with pytest.raises(SomelabError, match=r"needs about 22.6 GB of memory, and this machine has 17.2 GB"):
        prepared(one, one.config, "full", tmp_path / "run")
