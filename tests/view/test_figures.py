"""Figures and tables for papers: every plot in two forms, the same bytes each time, and numbers that are
those of the page."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from somelab.cli.main import main
from somelab.view import figures
from somelab.view.figures import write_figures
from somelab.view.figures.tables import page_tables
from somelab.view.page.groups import page_with
from somelab.view.page.heavy import Options, complete_run
from somelab.view.schema.page import Page
from tests.view.builders import synthetic_run

pytest.importorskip("matplotlib", reason="the extra `figures` is not installed")


@pytest.fixture(scope="module")
def page(some_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Page:
    other = synthetic_run(tmp_path_factory.mktemp("runs") / "other").path
    options = Options(maps=("pca",), tokens=300, num_permutations=20)
    return page_with([complete_run(some_run, options=options), complete_run(other, options=options)])


@pytest.fixture(scope="module")
def drawn(page: Page, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("figures")
    write_figures(page, folder)
    return folder


def test_every_plot_is_there_in_both_forms(drawn: Path) -> None:
    plots = {path.stem for path in drawn.glob("*.svg")}
    own = {"loss", "balance", "usage", "galaxy-pca", "word-classes", "coactivation"}
    assert {f"stories-{name}" for name in own} <= plots
    assert {"other-loss", "other-balance", "other-usage", "other-galaxy-pca"} <= plots
    assert "other-word-classes" not in plots  # it has no checkpoint, and nothing was read
    assert {path.stem for path in drawn.glob("*.png")} == plots
    for path in drawn.glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size > 5_000


def test_the_same_page_gives_the_same_bytes(page: Page, drawn: Path, tmp_path: Path) -> None:
    one = page.model_copy(update={"runs": page.runs[1:]})
    write_figures(one, tmp_path)
    for path in tmp_path.glob("other-*"):
        assert path.read_bytes() == (drawn / path.name).read_bytes(), path.name


def test_tables_hold_the_numbers_of_the_page(page: Page, drawn: Path) -> None:
    def rows(name: str) -> list[dict[str, str]]:
        with (drawn / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    run = page.runs[0]
    assert run.final is not None
    assert float(rows("runs")[0]["val_ppl"]) == run.final.val_ppl
    assert rows("runs")[1]["val_ppl"] == ""
    assert [row["layer"] for row in rows("stories-layers")] == ["0", "1", "2"]
    assert [float(row["val_loss"]) for row in rows("stories-evaluations")] == run.curves.evaluation.val_loss
    assert run.guilds is not None
    found = [row for row in rows("stories-word-classes") if row["grouping"] == "expert"]
    assert [float(row["value"]) for row in found] == [
        layer.expert_nmi.value for layer in run.guilds if layer.expert_nmi
    ]
    guilds = [(layer.layer, guild.id) for layer in run.guilds for guild in layer.guilds]
    assert [(int(row["layer"]), int(row["guild"])) for row in rows("stories-guilds")] == guilds


def test_text_that_a_spreadsheet_would_run_is_quoted(page: Page) -> None:
    evil = page.runs[1].model_copy(update={"name": "=cmd()", "id": "evil"})
    tables = dict(page_tables(page_with([evil])))
    assert "'=cmd()" in tables["runs"]


def test_a_run_with_one_record_can_be_drawn(tmp_path: Path) -> None:
    run = complete_run(
        synthetic_run(tmp_path / "tiny", layers=1, frames=1, records=1).path, options=Options(maps=("pca",))
    )
    written = write_figures(page_with([run]), tmp_path / "figures")
    assert str(tmp_path / "figures" / "tiny-galaxy-pca.svg") in written


def test_without_matplotlib_the_command_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(figures, "find_spec", lambda name: None)
    run = synthetic_run(tmp_path / "run")
    assert main(["report", str(run.path), "--maps", "pca", "--figures", str(tmp_path / "figures")]) == 2
    assert "pip install 'somelab[figures]'" in capsys.readouterr().err
    assert not (tmp_path / "figures").exists()
