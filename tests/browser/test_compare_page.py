"""Comparisons in a real browser: only like runs are ranked, the page says what differs, and the selection is
in the address."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from somelab.view.report import write_report
from somelab.view.schema.page import Data, Page
from tests.browser import synthetic
from tests.browser.conftest import Opener, becomes, expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator


def data(source: str = "runs/stories.txt", digest: str = "a", documents: int = 100) -> Data:
    return Data(
        source=source, digest=digest, vocab_size=512, train_documents=documents, train_tokens=10_000,
        train_bytes=40_000, val_documents=10, val_tokens=1000, val_bytes=4000,
    )  # fmt: skip


@pytest.fixture
def three() -> Page:
    """Three random seeds on one text."""
    made = synthetic.page(1, 8, 2, num_runs=3, methods=("pca",))
    return made.model_copy(update={"runs": [run.model_copy(update={"data": data()}) for run in made.runs]})


def lead(visit: Opener, folder: Path, page: Page, address: str = "#/compare") -> Locator:
    """The headline of the page at an address."""
    path = folder / "report.html"
    write_report(page, path)
    return visit(path.as_uri() + address).get_by_test_id("lead")


def changed(page: Page, **fields: object) -> Page:
    """The page with other fields in its last run."""
    return page.model_copy(update={"runs": [*page.runs[:-1], page.runs[-1].model_copy(update=fields)]})


def test_like_runs_are_ranked(visit: Opener, tmp_path: Path, three: Page) -> None:
    expect(lead(visit, tmp_path, three)).to_contain_text("compresses best")


def test_another_text_scale_budget_or_state_is_not_ranked(visit: Opener, tmp_path: Path, three: Page) -> None:
    other = changed(three, data=data("other.txt", "b"))
    expect(lead(visit, tmp_path, other)).to_have_text(
        "3 runs, not ranked, because they differ in text (stories.txt and other.txt)."
    )
    more = changed(three, data=data(digest="b", documents=200), scale="small")
    said = lead(visit, tmp_path, more)
    expect(said).to_contain_text("text (2 preparations of stories.txt)")
    expect(said).to_contain_text("scale (mini and small)")
    curves = three.runs[-1].curves
    longer = curves.evaluation.model_copy(update={"tokens": [2 * t for t in curves.evaluation.tokens]})
    further = changed(three, curves=curves.model_copy(update={"evaluation": longer}))
    said = lead(visit, tmp_path, further)
    expect(said).to_contain_text("budget (4.1 M to 8.19 M training tokens)")
    said = lead(visit, tmp_path, changed(three, status="stopped"))
    expect(said).to_contain_text("state (synthetic-2 not finished)")


def test_the_selection_is_in_the_address(visit: Opener, tmp_path: Path, three: Page) -> None:
    path = tmp_path / "report.html"
    write_report(three, path)
    page = visit(path.as_uri() + "#/compare/synthetic-2,nosuch,synthetic-0")
    names = page.locator("table.numbers").first.locator("tbody th")
    expect(names).to_have_text(["synthetic-2", "synthetic-0"])
    page.get_by_role("button", name="synthetic-1").click()
    becomes(page, lambda: page.url.partition("#")[2], "/compare/synthetic-2,synthetic-0,synthetic-1")
    page.get_by_role("button", name="synthetic-2").first.click()
    becomes(page, lambda: page.url.partition("#")[2], "/compare/synthetic-0,synthetic-1")


def test_a_cut_address_is_harmless(visit: Opener, tmp_path: Path, three: Page) -> None:
    expect(lead(visit, tmp_path, three, "#/compare/%E0%A4%A")).to_contain_text("compresses best")
