"""Which folders the server finds, and that nothing outside them is read: links, traversal, ids."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from somelab.errors import SomelabError
from somelab.view.live.listing import LiveList
from somelab.view.live.table import RunTable, UnknownRun, why_not


def make_run(folder: Path, content: str = '{"format": 1}') -> Path:
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "run.json").write_text(content)
    return folder


def test_runs_are_found_at_any_depth_up_to_three(tmp_path: Path) -> None:
    for name in ("a", "sweep/b", "sweep/deep/c", "sweep/deep/deeper/d"):
        make_run(tmp_path / name)
    entries, unread = RunTable([tmp_path]).look()
    assert [entry.path.relative_to(tmp_path).as_posix() for entry in entries] == [
        "a",
        "sweep/b",
        "sweep/deep/c",
    ]
    assert unread == []


def test_a_run_can_be_named_itself(tmp_path: Path) -> None:
    make_run(tmp_path / "one" / "inner")
    (entry,), _ = RunTable([make_run(tmp_path / "one" / "other")]).look()
    assert entry.path == tmp_path / "one" / "other"


def test_ids_are_unique_and_stay(tmp_path: Path) -> None:
    make_run(tmp_path / "x" / "same")
    table = RunTable([tmp_path])
    (first,), _ = table.look()
    make_run(tmp_path / "a" / "same")  # sorted before the first one, and yet the first keeps its id
    entries, _ = table.look()
    assert {entry.path.parent.name: entry.id for entry in entries} == {"x": first.id, "a": f"{first.id}-2"}
    assert table.folder(first.id) == tmp_path / "x" / "same"


def test_a_named_folder_that_is_missing_is_told(tmp_path: Path) -> None:
    entries, unread = RunTable([tmp_path / "nothing"]).look()
    assert entries == []
    assert len(unread) == 1
    assert "no such folder" in unread[0]


@pytest.mark.parametrize("run_id", ["..", "../secret", "/etc", "%2e%2e", "a/../../b", "", ".", "a\x00b"])
def test_only_known_ids_lead_to_folders(tmp_path: Path, run_id: str) -> None:
    make_run(tmp_path / "runs" / "a")
    make_run(tmp_path / "secret")
    table = RunTable([tmp_path / "runs"])
    table.look()
    with pytest.raises(UnknownRun):
        table.folder(run_id)


def test_a_folder_that_is_a_link_out_is_refused(tmp_path: Path) -> None:
    secret = make_run(tmp_path / "secret")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "leak").symlink_to(secret)
    table = RunTable([tmp_path / "runs"])
    (entry,), _ = table.look()
    assert entry.problem is not None
    assert "leaves the runs folder" in entry.problem
    with pytest.raises(SomelabError, match="leaves the runs folder"):
        table.folder(entry.id)


@pytest.mark.parametrize("name", ["metrics.jsonl", "checkpoints/last", "run.json", "keys"])
def test_a_link_inside_a_run_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    run = make_run(tmp_path / "runs" / "a")
    table = RunTable([tmp_path / "runs"])
    (entry,), _ = table.look()
    assert entry.problem is None
    secret = tmp_path / "secret"
    secret.mkdir()
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(secret)
    with pytest.raises(SomelabError, match="leaves the runs folder"):
        table.folder(entry.id)  # looked at anew: the link came after the list


def test_links_that_stay_inside_are_fine(tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs" / "a")
    (run / "checkpoints" / "step-1").mkdir()
    (run / "checkpoints" / "last").symlink_to("step-1")
    assert why_not(run, tmp_path / "runs") is None


def test_the_list_shows_foreign_and_corrupt_folders_as_such(tmp_path: Path, some_run: Path) -> None:
    shutil.copytree(some_run, tmp_path / "good", symlinks=True)
    make_run(tmp_path / "garbage", "{not json")
    make_run(tmp_path / "future", '{"format": 99}')
    make_run(tmp_path / "hollow")  # no config.yaml
    (tmp_path / "notes").mkdir()
    damaged = shutil.copytree(some_run, tmp_path / "damaged", symlinks=True)
    (damaged / "config.yaml").write_text("model: [")
    found = {run.name: run for run in LiveList(RunTable([tmp_path])).look().runs if run.path != str(damaged)}
    assert {name: run.status for name, run in found.items() if name != some_run.name} == {
        "garbage": "broken", "future": "foreign", "hollow": "broken", "notes": "foreign"
    }  # fmt: skip
    assert all(
        run.problem and "\n" not in run.problem for name, run in found.items() if name != some_run.name
    )
    assert found[some_run.name].status == "finished"
    assert found[some_run.name].step > 0
    assert found[some_run.name].val_ppl is not None
    (broken,) = (run for run in LiveList(RunTable([tmp_path])).look().runs if run.path == str(damaged))
    assert broken.status == "broken"


def test_the_list_follows_a_journal(tmp_path: Path, some_run: Path) -> None:
    run = shutil.copytree(some_run, tmp_path / "a", symlinks=True)
    lines = (run / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    (run / "metrics.jsonl").write_bytes(b"".join(lines[:5]))
    live = LiveList(RunTable([tmp_path]))
    before = live.look().runs[0]
    (run / "metrics.jsonl").write_bytes(b"".join(lines))
    after = live.look().runs[0]
    (run / "metrics.jsonl").write_bytes(b"".join(lines[:5]))  # a resumed run goes back
    again = live.look().runs[0]
    assert before.status == "stopped"
    assert before.step < after.step
    assert after.status == "finished"
    assert again == before
