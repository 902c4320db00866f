"""What a run has grown, on its page: the generations of the manifest, and one line where it is damaged."""

from __future__ import annotations

import json
from pathlib import Path

from somelab.disk.checked_json import sealed
from somelab.runs import RunFolder
from somelab.view.page.growth import MANIFEST, growth_of
from tests.view.builders import synthetic_run

GENERATION = {
    "name": "verse",
    "text": "/somewhere/verse.txt",
    "num_experts": 1,
    "num_parameters": 1000,
    "num_bytes": 4000,
    "num_tokens": 5000,
    "start_from": "base",
    "losses": {"new_before": 6.5, "new_after": 4.5, "old_before": 3.0, "old_after": 3.01},
}


def grown_run(folder: Path, content: str) -> RunFolder:
    run = synthetic_run(folder, records=0)
    (run.path / MANIFEST).parent.mkdir()
    (run.path / MANIFEST).write_text(content)
    return run


def test_a_run_without_growth_has_none(tmp_path: Path) -> None:
    assert growth_of(synthetic_run(tmp_path / "plain", records=0)) == ([], "")


def test_generations_are_those_of_the_manifest(tmp_path: Path) -> None:
    later = {"name": "next", "losses": {}}
    content = json.dumps(sealed({"format": 1, "generations": [GENERATION, later]}))
    (verse, following), problem = growth_of(grown_run(tmp_path / "grown", content))
    assert problem == ""
    assert (verse.name, verse.text, verse.num_parameters) == ("verse", "/somewhere/verse.txt", 1000)
    assert (verse.new_before, verse.new_after, verse.old_before, verse.old_after) == (6.5, 4.5, 3.0, 3.01)
    assert (following.name, following.new_before) == ("next", None)


def test_a_damaged_manifest_is_one_line(tmp_path: Path) -> None:
    content = json.dumps({**sealed({"format": 1, "generations": [GENERATION]}), "format": 2})
    assert growth_of(grown_run(tmp_path / "changed", content)) == (
        [],
        "growth/growth.json cannot be read (ValueError)",
    )
    assert growth_of(grown_run(tmp_path / "cut", "{"))[1].startswith("growth/growth.json cannot be read")
    odd = json.dumps(sealed({"generations": [{}]}))
    assert growth_of(grown_run(tmp_path / "odd", odd))[1].endswith("(KeyError)")
