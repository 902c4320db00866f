"""One step is one step, however its batch is cut: into micro-batches, with activations recomputed, compiled,
or over ranks."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._dynamo.utils import counters

from somelab.runs import RunFolder
from somelab.training.loop import micro_rows
from tests.training.builders import LIVELY, SMALL, config_of, flags_of, losses_of, tensors_of, trainer_of
from tests.training.lives import Life

# No dropout, whose draws follow the shape of what is dropped; everything else that depends on the batch is
# on.
STILL: dict[str, Any] = {
    **LIVELY,
    "model.dropout": 0.0,
    "router.dropout": 0.0,
    "train.steps": 12,
    "train.checkpoint_every": 50,
}


def train(text: Path, out: Path, settings: dict[str, Any] = STILL, **more: Any) -> list[float]:
    """The losses of all steps and of the last evaluation."""
    outcome = trainer_of(config_of(text, settings, **more), out).fit()
    assert outcome.evaluation is not None
    return [*losses_of(out), outcome.evaluation.val_loss]


def test_micro_batches_give_the_losses_of_the_whole_batch(text: Path, tmp_path: Path) -> None:
    whole = train(text, tmp_path / "whole", train__micro_batch_size=4)
    for size in (2, 1):
        assert train(text, tmp_path / str(size), train__micro_batch_size=size) == pytest.approx(
            whole, rel=1e-5
        )
    keys = [tensors_of(tmp_path / name)["blocks.1.feed_forward.keystore.keys_ED"] for name in ("whole", "1")]
    torch.testing.assert_close(keys[0], keys[1], rtol=0, atol=1e-4)
    tokens = [RunFolder(tmp_path / name).records("metrics")[-1]["tokens"] for name in ("whole", "1")]
    assert tokens[0] == tokens[1]


def test_auxiliary_losses_are_weighed_by_tokens(text: Path, tmp_path: Path) -> None:
    """The balancing loss is not linear in the batch, so parts differ from the whole, but not by their
    number."""
    settings = {**SMALL, "router.balance_loss": 0.1, "train.steps": 3}
    sizes = {}
    for size in (4, 1):
        train(text, tmp_path / str(size), settings, train__micro_batch_size=size)
        sizes[size] = [
            r["aux_loss"] for r in RunFolder(tmp_path / str(size)).records("metrics") if r["kind"] == "train"
        ]
    assert sizes[4][0] > 0.15, "two layers, each at least 1 x 0.1 when even, here a little less than even"
    assert sizes[1] == pytest.approx(sizes[4], rel=0.3)


@pytest.mark.parametrize(
    ("batch", "given", "seq_len", "ranks", "rows"),
    [
        (32, None, 256, 1, 32),  # 32 x 256 is just the 8,192 tokens of a pass
        (32, None, 512, 1, 16),
        (32, None, 256, 4, 8),
        (12, None, 2048, 1, 4),  # the largest divisor of 12 that fits
        (3, None, 16384, 1, 1),
        (32, 4, 256, 1, 4),
        (32, 16, 256, 4, 8),  # a rank has 8 rows only
    ],
)
def test_rows_of_one_pass(batch: int, given: int | None, seq_len: int, ranks: int, rows: int) -> None:
    settings = {"train.batch_size": batch, "train.micro_batch_size": given, "model.seq_len": seq_len}
    assert micro_rows(config_of(Path("none"), settings), ranks) == rows


def test_recomputing_activations_changes_no_loss(text: Path, tmp_path: Path) -> None:
    settings = {**LIVELY, "train.steps": 8}  # with dropout: the second pass must drop the same
    assert train(text, tmp_path / "again", settings, train__recompute=True) == train(
        text, tmp_path / "kept", settings
    )
    again, kept = tensors_of(tmp_path / "again"), tensors_of(tmp_path / "kept")
    assert [name for name, value in kept.items() if not torch.equal(again[name], value)] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "precision", "error"), [("auto", "fp32", 1e-4), ("grouped_mm", "bf16", 1e-2)]
)
def test_a_compiled_step_gives_the_same_losses(
    text: Path, tmp_path: Path, engine: str, precision: str, error: float
) -> None:
    settings = {**STILL, "model.num_layers": 1, "train.steps": 5, "train.compile_after": 2}
    settings |= {"experts.engine": engine, "train.precision": precision}
    plain = train(text, tmp_path / "plain", settings)
    counters.clear()
    assert train(text, tmp_path / "compiled", settings, train__compile=True) == pytest.approx(
        plain, rel=error
    )
    assert counters["stats"]["unique_graphs"] > 0, "something was compiled"


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def test_two_ranks_train_as_one_process(text: Path, tmp_path: Path) -> None:
    """The command as a launcher starts it on every rank; each has half of every batch."""
    alone = train(text, tmp_path / "alone")
    out, port = tmp_path / "ranks", free_port()
    flags = flags_of({"data.source": text, **STILL})
    ranks: list[Life] = []
    for rank in (0, 1):
        world = {"WORLD_SIZE": "2", "RANK": str(rank), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        ranks.append(
            Life(["train", "demo", "--out", str(out), *flags], tmp_path / f"log{rank}", world, traced=True)
        )
    assert [rank.end() for rank in ranks] == [0, 0], ranks[1].said()
    records = RunFolder(out).records("metrics")
    final = next(record for record in records if record["kind"] == "final")
    assert [*losses_of(out), final["val_loss"]] == pytest.approx(alone, rel=1e-4)
    assert [r["step"] for r in records if r["kind"] == "train"] == list(range(1, 13)), (
        "each step is told once"
    )
    assert "final val_loss" in ranks[0].said()
    assert ranks[1].said() == "", "only the first rank speaks"
    keys = [(tmp_path / f"log{rank}.digests").read_text() for rank in (0, 1)]
    assert keys[0] == keys[1]
    assert len(keys[0].split()) == 2, "both layers"
    writes = (tmp_path / "log1.writes").read_text()
    assert writes == "", "only the first rank writes"
    assert "run.json" in (tmp_path / "log0.writes").read_text()
    alone_keys, keys_ED = (
        tensors_of(run)["blocks.1.feed_forward.keystore.keys_ED"] for run in (tmp_path / "alone", out)
    )
    torch.testing.assert_close(keys_ED, alone_keys, rtol=0, atol=1e-3)
