"""Runs with product keys: trained, stopped, resumed to the bit, and shown; of a large pool, a sample of its
experts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from somelab.analysis.snapshots import SnapshotError, read_history, snapshot_files
from somelab.core.product import ProductKeyStore
from somelab.model.count import count_parameters
from somelab.runs import RunFolder
from somelab.runs.snapshot import packed
from somelab.training.callbacks import Pause, recorders
from somelab.training.callbacks.recorders import KeySnapshots, LayerJournal, Samples
from somelab.training.loop import Trainer
from somelab.training.machine.world import World
from somelab.view.page.heavy import galaxies_of
from tests.training.builders import LIVELY, assert_same_run, config_of, trainer_of

PRODUCT: dict[str, Any] = {
    **LIVELY,
    "experts.num_experts": 49,
    "router.keys": "product",
    "router.key_dim": 12,
    "train.steps": 12,
}


def recorded(text: Path, out: Path, pause_at: int | None = None) -> Trainer:
    callbacks = [LayerJournal(), KeySnapshots(), Samples(), *([Pause(pause_at)] if pause_at else [])]
    return trainer_of(config_of(text, PRODUCT), out, *callbacks)


@pytest.fixture(autouse=True)
def few_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorders, "ALL_UP_TO", 20)
    monkeypatch.setattr(recorders, "SAMPLE", 10)


def test_a_run_resumes_to_the_bit_and_its_page_shows_a_sample(text: Path, tmp_path: Path) -> None:
    whole = recorded(text, tmp_path / "whole")
    whole.fit()
    stores = [layer.keystore for layer in whole.model.some_layers()]
    assert all(isinstance(store, ProductKeyStore) and store.width == 12 for store in stores)
    paused = recorded(text, tmp_path / "paused", pause_at=7)
    paused.fit()
    again = Trainer(
        paused.run,
        paused.config,
        paused.data,
        World(0, 1, torch.device("cpu")),
        [LayerJournal(), KeySnapshots(), Samples()],
    )
    again.resume_()
    again.fit()
    assert_same_run(tmp_path / "paused", tmp_path / "whole")
    assert [one.digest() for one in stores] == [
        layer.keystore.digest() for layer in again.model.some_layers()
    ]

    run = RunFolder(tmp_path / "whole")
    (history, _) = read_history(run)
    assert history.pool == 49
    assert history.expert_E is not None
    assert len(history.expert_E) == history.num_experts == 10
    shown = torch.from_numpy(history.expert_E).long()
    torch.testing.assert_close(
        torch.from_numpy(history.keys_FED[-1]), stores[0].keys_of(shown).half().float()
    )
    (galaxy, _) = galaxies_of(run, ("pca",))
    assert (galaxy.num_experts, galaxy.pool, galaxy.experts) == (10, 49, shown.tolist())

    last = list(snapshot_files(run).values())[-1]
    last.write_bytes(packed({"0.keys": torch.zeros(10, 12), "0.experts": torch.zeros(10)}))
    with pytest.raises(SnapshotError, match="do not fit together"):
        read_history(run)


def test_scores_of_product_keys_are_counted(text: Path) -> None:
    flat, product = (config_of(text, PRODUCT, router__keys=keys) for keys in ("flat", "product"))
    # Two layers, keys 12 wide: 49 against 2 x 7 sub-keys of half the width.
    saved = count_parameters(flat).flops_per_token - count_parameters(product).flops_per_token
    assert saved == 2 * 2 * (49 * 12 - 2 * 7 * 6)
