"""What leads the eye, in a real browser: which measures matter and why, colours of few guilds, explanations,
headings, and keys that work wherever the focus is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from somelab.view.report import write_report
from somelab.view.schema.page import Line, MeasureInfo, Page, Series
from tests.browser import synthetic
from tests.browser.conftest import Opener, becomes, expect, until

LINES = {
    "crowding": Line(value=0.95, side="above", sentence="keys have fused"),
    "dead_share": Line(value=0.5, side="above", sentence="most are never selected"),
}


def info(name: str, least: float = 0, most: float = 1) -> MeasureInfo:
    return MeasureInfo(
        name=name, title=name, unit="", help=f"the {name}", least=least, most=most,
        training="one training step", evaluation="100 tokens of validation text",
    )  # fmt: skip


def balanced(folder: Path, **rows: list[list[float]]) -> str:
    """The address of a report whose only run has these measures: layers x times."""
    page = synthetic.page(2, 16, 2, methods=("pca",))
    (run,) = page.runs
    assert run.balance is not None
    series = Series(steps=[0, 10], measures={name: list(values) for name, values in rows.items()})
    changes: dict[str, Any] = {
        "info": [info(name) for name in rows],
        "lines": {name: line for name, line in LINES.items() if name in rows},
        "training": series,
        "evaluation": Series(steps=[], measures={}),
    }
    run = run.model_copy(update={"balance": run.balance.model_copy(update=changes)})
    return written(folder, page.model_copy(update={"runs": [run]})) + "#/balance"


def written(folder: Path, page: Page) -> str:
    path = folder / "report.html"
    write_report(page, path)
    return path.as_uri()


def test_the_measures_that_matter_come_first_with_a_reason(visit: Opener, tmp_path: Path) -> None:
    address = balanced(
        tmp_path,
        gini=[[0.2, 0.21], [0.2, 0.2]],
        entropy_bits=[[0.1, 0.1], [0.1, 0.9]],
        dead_share=[[0.0, 0.4], [0.0, 0.0]],
        crowding=[[0.2, 0.99], [0.2, 0.3]],
        drift=[[0.5, 0.5], [0.5, 0.5]],
    )
    page = visit(address)
    reasons = [
        "In layer 0 beyond 0.95: keys have fused.",
        "Near its threshold of 0.5, with 0.400 in layer 0; beyond it, most are never selected.",
        "Layers differ: 0.100 in layer 0, 0.900 in layer 1.",
    ]
    expect(page.locator(".matters .why")).to_have_text(reasons)
    expect(page.locator(".select select").first).to_have_value("crowding")
    expect(page.locator(".rest")).not_to_have_attribute("open")
    expect(page.locator(".rest summary")).to_have_text("The other 2 measures")


def test_where_nothing_stands_out_all_are_shown(visit: Opener, tmp_path: Path) -> None:
    page = visit(balanced(tmp_path, gini=[[0.2, 0.2], [0.2, 0.2]], drift=[[0.1, 0.1], [0.1, 0.1]]))
    expect(page.locator(".rest .glance-one")).to_have_count(2)
    expect(page.locator(".matters")).to_have_count(0)


def test_terms_are_explained_on_demand(visit: Opener, tmp_path: Path) -> None:
    page = visit(balanced(tmp_path, gini=[[0.2, 0.9], [0.2, 0.2]]))
    expect(page.locator(".explained")).to_have_count(0)
    page.get_by_label("What is Gini of usage?").click()
    expect(page.locator(".explained")).to_contain_text("Inequality of usage")
    expect(page.locator(".explained")).to_contain_text("over one training step")
    page.keyboard.press("5")
    page.get_by_label("What is NMI?").click()
    expect(page.locator(".explained").first).to_contain_text("mutual information")


def test_every_view_has_one_first_heading(visit: Opener, tmp_path: Path) -> None:
    page = visit(written(tmp_path, synthetic.page(2, 16, 2, methods=("pca",))))
    for number, name in enumerate(("overview", "balance", "galaxies", "traces", "guilds", "compare"), 1):
        page.keyboard.press(str(number))
        expect(page.get_by_test_id(f"tab-{name}")).to_have_attribute("aria-current", "page")
        expect(page.locator("h1")).to_have_count(1)


def test_traces_have_few_colours_and_arrows_walk_from_anywhere(visit: Opener, tmp_path: Path) -> None:
    page = visit(written(tmp_path, synthetic.page(3, 64, 2, methods=("pca",))) + "#/traces")
    column = page.locator(".trace-column").first
    expect(page.locator(".choice", has_text="Colour by").locator("label.on")).to_have_text("guild")
    colours = "spans => new Set(spans.map(span => span.style.backgroundColor)).size"
    until(page, lambda: 1 < column.locator(".tokens span").evaluate_all(colours) <= 8)
    page.locator(".choice", has_text="Colour by").get_by_text("experts", exact=True).click()
    becomes(page, lambda: page.evaluate("document.activeElement.tagName"), "BODY")
    following = int(column.locator(".tokens .at").get_attribute("data-token") or -1) + 1
    page.keyboard.press("ArrowRight")
    expect(column.locator(".tokens .at")).to_have_attribute("data-token", str(following))


def test_a_phone_shows_one_layer_of_a_trace(visit: Opener, tmp_path: Path) -> None:
    page = visit(written(tmp_path, synthetic.page(3, 16, 2, methods=("pca",))) + "#/traces", width=390)
    expect(page.locator(".trace-column")).to_have_count(1)
    expect(page.locator(".trace-column select option")).to_have_count(3)
