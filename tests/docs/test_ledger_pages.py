"""The ledger and the frontier in the documentation are what the package's record gives, without any run on
disk. If this fails after a change of either, `somelab evidence --report` writes both again."""

from __future__ import annotations

from pathlib import Path

import pytest

from somelab.cli.main import main
from somelab.experiments.ledger import records

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(("more", "page"), [([], "evidence.md"), (["--frontier"], "frontier.md")])
def test_a_page_follows_from_the_record(
    more: list[str], page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written = tmp_path / "docs" / "evidence.md"
    assert (
        main(["evidence", "--report", *more, "--out", str(tmp_path / "store"), "--write", str(written)]) == 0
    )
    assert written.with_name(page).read_text(encoding="utf-8") == (DOCS / page).read_text(encoding="utf-8")


def test_runs_on_another_text_are_kept_out_of_the_record_of_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(DOCS.parent)
    before = records.FILE.read_bytes()
    argv = ["evidence", "wider-is-better", "--data", "other.txt", "--out", str(tmp_path / "store")]
    assert main(argv) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "data = 'other.txt'" in line
    assert f"the package's record is of {records.read().texts['data']}" in line
    assert "--write FILE" in line
    assert records.FILE.read_bytes() == before
    assert not (tmp_path / "store").exists()
