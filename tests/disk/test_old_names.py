"""Files of earlier versions: records with the old names of measures are read under the new ones."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from somelab.disk.old_names import with_new_names
from somelab.experiments.ledger import records
from somelab.runs import RunFolder
from somelab.view.live.journals import Tail
from somelab.view.page.results import read_json

OLD = {
    "kind": "final",
    "step": 3,
    "val_loss": 2.5,
    "seed_loss": 0.7,
    "seed_ppl": 2.01,
    "text": 'it says "seed_ppl" here',
}
NEW = {
    "kind": "final",
    "step": 3,
    "val_loss": 2.5,
    "loss_with_padding": 0.7,
    "ppl_with_padding": 2.01,
    "text": OLD["text"],
}


def test_an_old_journal_is_read_under_the_new_names(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(json.dumps(OLD) + "\n")
    assert RunFolder(tmp_path).records("metrics") == [NEW]
    assert Tail(tmp_path / "metrics.jsonl").read() == ([NEW], False)


def test_an_old_table_is_read_under_the_new_names(tmp_path: Path) -> None:
    table = {
        "measures": [{"name": "seed_ppl", "title": "seed_ppl"}],
        "arms": [{"published": {"seed_ppl": 1.11}}],
    }
    (tmp_path / "table.json").write_text(json.dumps(table))
    expected = {
        "measures": [{"name": "ppl_with_padding", "title": "ppl_with_padding"}],
        "arms": [{"published": {"ppl_with_padding": 1.11}}],
    }
    assert read_json(tmp_path / "table.json") == expected


def test_an_old_ledger_is_read_under_the_new_names_and_written_under_them(tmp_path: Path) -> None:
    run = records.RunRecord(
        "base", "micro", "short", 0, 1e-3, "d", "t", "", "", 1.0, {"loss_with_padding": 0.7}, {}
    )
    claim = {"claim": "x", "measured": "seed_loss: a - b"}
    old = {**asdict(run), "figures": {"seed_loss": 0.7}}
    file = tmp_path / "evidence.json"
    file.write_text(
        json.dumps({"format": records.FORMAT, "runs": [old], "curves": [], "claims": [claim], "times": {}})
    )
    found = records.read(file)
    assert found.runs == {run.key: run}
    assert found.claims == ({"claim": "x", "measured": "loss_with_padding: a - b"},)
    records.write(found, file)
    assert "seed_" not in file.read_text()


def test_other_text_is_left_as_it_is() -> None:
    text = json.dumps({"seed": 1, "seed_ppl_note": "seed_loss", "seeds": "the seed_ppl: x"})
    assert with_new_names(text) == text.replace('"seed_loss"', '"loss_with_padding"')
