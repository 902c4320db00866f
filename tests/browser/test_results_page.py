"""Sweeps and continual studies in a real browser: tables and plots show the numbers of the files, in both
themes, at all widths."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from somelab.view.page.groups import page_of, page_with
from somelab.view.page.heavy import Options
from somelab.view.page.studies import study_of
from somelab.view.page.sweeps import not_a_sweep
from somelab.view.report import write_report
from tests.browser.conftest import Opener, becomes, expect, until
from tests.browser.serving import serving
from tests.browser.test_report_page import scrolls_sideways
from tests.view.result_builders import CURVES, WORDS, write_results, write_study, write_sweep

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sweep and a study, of which every figure can be worked out by hand."""
    return write_results(tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="module")
def report(results: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(
        page_of([results / "sweeps" / "widths", results / "kinds"], Options(maps=("pca",), tokens=0)), path
    )
    return path.as_uri()


def cells(table: Locator) -> dict[str, dict[str, list[str]]]:
    """A table by the names of its rows and columns; columns of one name are listed."""
    table.locator("tbody tr").first.wait_for()
    heads = [text.strip() for text in table.locator("thead th").all_inner_texts()][1:]
    found: dict[str, dict[str, list[str]]] = {}
    for row in table.locator("tbody tr").all():
        named: dict[str, list[str]] = {}
        for head, text in zip(heads, row.locator("td").all_inner_texts(), strict=True):
            named.setdefault(head, []).append(words(text))
        found[row.locator("th").inner_text().strip()] = named
    return found


def words(text: str | None) -> str:
    """Text with plain spaces: figures are kept on one line by others."""
    return " ".join((text or "").split())


def holds(text: str) -> re.Pattern[str]:
    return re.compile(re.escape(text))


def values(page: Page) -> list[str]:
    return [
        words(text)
        for text in page.locator("[data-testid=forest] .range:not(.axis) .range-value").all_inner_texts()
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 800, 390])
def test_both_views_render(visit: Opener, report: str, scheme: str, width: int) -> None:
    page = visit(report, width=width, scheme=scheme)
    expect(page.locator("html")).to_have_attribute("data-theme", scheme)
    for number, name in enumerate(("sweep", "continual"), 1):
        page.keyboard.press(str(number))
        expect(page.locator(f"[data-testid=tab-{name}]")).to_have_attribute("aria-current", "page")
        page.locator(".plot canvas").first.wait_for()
        becomes(page, lambda name=name: scrolls_sideways(page, name), "")
        expect(page.locator("table:not(:has(caption))")).to_have_count(0)


def test_the_table_of_arms_shows_the_figures_of_the_file(visit: Opener, report: str) -> None:
    page = visit(report)
    expect(page.locator("[data-testid=lead]")).to_contain_text(
        "Of 3 arms y has the lowest bits/byte: 1.9500 over 3 seeds"
    )
    table = cells(page.locator("[data-testid=arms]"))
    assert table.keys() == {"x", "y", "z"}
    assert table["x"]["val_loss"] == ["4.1000 ± 0.2484"]
    assert table["y"]["val_loss"] == ["3.9000"]
    assert table["x"]["bits/byte"] == ["2.0500 ± 0.1242"]
    assert table["x"]["D/L/E/F/K"] == ["256/4/8/1024/2"]
    # Published Gini and entropy count padding, and these runs have no figures that do.
    assert table["x"]["published"] == ["2.140"]
    assert table["z"]["published"] == ["–"]
    expect(page.locator(".fault")).to_have_text("z seed 0 failed: training diverged: loss nan")
    assert cells(page.locator("[data-testid=differences]"))["y − x"]["val_loss"] == ["−0.2000 ± 0.2484"]


def test_the_forest_follows_its_menu(visit: Opener, report: str) -> None:
    page = visit(report)
    becomes(page, lambda: values(page), ["2.0500 ± 0.1242", "1.9500", "2.5000"])
    # Three of x, three of y; z has one, which is its mean.
    expect(page.locator("[data-testid=forest] .seed")).to_have_count(6)
    page.locator(".select select").select_option("val_loss")
    becomes(page, lambda: values(page), ["4.1000 ± 0.2484", "3.9000", "5.0000"])
    row = page.locator("[data-testid=forest] [role=listitem]").first
    becomes(
        page,
        lambda: words(row.get_attribute("aria-label")),
        "x: 4.1000 ± 0.2484, 95 % interval 3.8516 to 4.3484; seed 0: 4.0000, seed 1: 4.1000, seed 2: 4.2000",
    )
    page.locator(".choice label", has_text="difference from base").click()
    becomes(page, lambda: values(page), ["−0.2000 ± 0.2484", "+0.9000"])
    expect(page.locator("[data-testid=forest] .zero")).to_have_count(2)
    # On one axis from -0.4484 to 0.9: seeds of y at -0.1, -0.2 and -0.3 lie left of zero, in that order from
    # the right.
    places = [
        float(dot.evaluate("dot => parseFloat(dot.style.left)"))
        for dot in page.locator("[data-testid=forest] .seed").all()
    ]
    zero = page.locator("[data-testid=forest] .zero").first.evaluate("line => parseFloat(line.style.left)")
    assert zero > places[0] > places[1] > places[2]
    assert places[0] - places[1] == pytest.approx(places[1] - places[2], abs=1e-6)


def test_curves_of_arms_can_be_switched(visit: Opener, report: str) -> None:
    page = visit(report)
    plot = page.locator(".plot")
    expect(plot).to_have_attribute("aria-label", holds("x ends at 4.100; y ends at 3.900; z ends at 5.000"))
    page.locator(".toggles .chip", has_text="x").click()
    expect(plot).to_have_attribute("aria-label", holds("nats over tokens read. y ends at 3.900; z ends"))
    page.locator(".choice label", has_text="training loss").click()
    expect(plot).to_have_attribute("data-points", "4")
    page.locator(".toggles .link").click()  # all of them again
    expect(page.locator(".toggles [aria-pressed=true]")).to_have_count(3)
    plot.locator(".u-over").hover(position={"x": 5, "y": 40})
    expect(page.locator(".plot-card")).to_contain_text("5.100 (5.000 to 5.200)")


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Reports of tuned sweeps: over a grid of learning rates, and among words."""
    folder, reports = tmp_path_factory.mktemp("tuned"), dict[str, str]()
    for name, curves in (("rates", CURVES), ("words", WORDS)):
        path = folder / f"{name}.html"
        write_report(page_of([write_sweep(folder / name, curves)], Options(maps=("pca",), tokens=0)), path)
        reports[name] = path.as_uri()
    return reports


def places(page: Page, kind: str, name: str = "cx") -> list[float]:
    marks = page.locator(f"[data-testid=value-chart] .{kind}").all()
    return [float(one.get_attribute(name) or "nan") for one in marks]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_loss_against_the_setting(visit: Opener, tuned: dict[str, str], scheme: str, width: int) -> None:
    page = visit(tuned["rates"], width=width, scheme=scheme)
    chart = page.locator("[data-testid=value-chart]")
    becomes(page, lambda: scrolls_sideways(page, "the search"), "")
    # Seven whole runs, two of them chosen. Of five stopped ones three lie beyond the axis; one of z diverged.
    # They are drawn once the chart knows how wide it is.
    kinds = {"ended": 7, "chosen": 2, "stopped": 2, "beyond": 3, "diverged": 1}
    becomes(page, lambda: {kind: chart.locator(f".{kind}").count() for kind in kinds}, kinds)
    label = chart.locator("svg").get_attribute("aria-label") or ""
    assert label.startswith("Loss against train.learning_rate. validation loss, nats over train")
    assert "x: chosen 0.004 with 4.000" in label
    assert "y: chosen 0.064 with 3.900" in label
    assert "z: nothing chosen yet; z at 0.002: 4.9000, stopped at step 25 of 100" in label
    ended = sorted(set(places(page, "ended")))
    steps = [right - left for left, right in pairwise(ended)]
    assert steps == pytest.approx([steps[0]] * 5, abs=1.0)  # factors of two are equal steps
    chosen_x, chosen_y = places(page, "chosen"), places(page, "chosen", "cy")
    assert chosen_x == [ended[1], ended[5]]
    assert chosen_y[1] == max(places(page, "ended", "cy"))  # the lowest loss lies lowest


def test_arms_of_a_search_can_be_switched_and_pointed_at(visit: Opener, tuned: dict[str, str]) -> None:
    page = visit(tuned["rates"])
    section = page.locator(".section:has([data-testid=value-chart])")
    section.locator(".chip", has_text="y").click()
    expect(section.locator(".ended")).to_have_count(3)
    expect(section.locator("svg")).not_to_have_attribute("aria-label", holds("y: chosen"))
    section.locator("circle.chosen").hover(force=True)
    expect(section.locator(".value-note")).to_have_text("x at 0.004: 4.0000")


def test_untuned_arms_are_marked_and_nothing_of_them_is_bold(visit: Opener, tuned: dict[str, str]) -> None:
    page = visit(tuned["rates"])
    expect(page.locator("[data-testid=lead]")).to_contain_text(
        "Untuned: y and z, whose best train.learning_rate is not known."
    )
    table = cells(page.locator("[data-testid=arms]"))
    assert [words(name) for name in table] == ["x", "y untuned", "z untuned"]
    assert table["x"]["learning_rate"] == ["0.004"]
    assert table["x"]["tuning"] == ["tuned, 3.25 runs"]
    expect(page.locator("[data-testid=differences] tbody th").first).to_contain_text("untuned")
    expect(page.locator("[data-testid=differences] .sure")).to_have_count(0)


def test_values_in_words_stand_side_by_side(visit: Opener, tuned: dict[str, str]) -> None:
    page = visit(tuned["words"])
    chart = page.locator("[data-testid=value-chart]")
    expect(chart.locator(".tick")).to_have_text(["moved", "fixed", "gradient"])
    expect(chart.locator("svg")).to_have_attribute("aria-label", holds("x: chosen moved with 4.000"))
    expect(page.locator("[data-testid=lead]")).not_to_contain_text("Untuned")


def test_a_sweep_that_tunes_nothing_has_no_chart_of_it(visit: Opener, report: str) -> None:
    page = visit(report)
    expect(page.locator("[data-testid=arms]")).to_be_visible()
    expect(page.locator("[data-testid=value-chart]")).to_have_count(0)


def test_the_runs_behind_the_figures_can_be_opened_and_compared(visit: Opener, report: str) -> None:
    page = visit(report)
    page.get_by_role("button", name="Open x seed 1").click()
    expect(page.locator(".eyebrow b")).to_have_text("x seed 1")
    expect(page.locator(".stat", has_text="val_ppl").locator("dd")).to_have_text("60.34")  # exp(4.1)
    page.locator("[data-testid=tab-galaxies]").click()
    expect(page.locator(".missing")).to_contain_text("name the run's own folder")
    page.locator("[data-testid=tab-sweep]").click()
    for arm in ("x", "z"):
        page.get_by_label(f"Compare the runs of {arm}").check()
    page.locator("[data-testid=compare-arms]").click()
    names = page.locator("table.numbers").first.locator("tbody th")
    expect(names).to_have_text(["x seed 0", "x seed 1", "x seed 2", "z seed 1"])


def test_learners_show_the_figures_of_the_file(visit: Opener, report: str) -> None:
    page = visit(f"{report}#/continual")
    lead = page.locator("[data-testid=lead]")
    expect(lead).to_contain_text("dense has the lowest loss, 3.767 ± 1.271 nats per token")
    expect(lead).to_contain_text("some-keys forgets least, 0.000")
    table = cells(page.locator("[data-testid=learners]"))
    assert table["dense"]["trained"] == ["1,234,567"]
    assert table["dense"]["average loss"] == ["3.7667 ± 1.2706"]
    assert table["dense"]["backward transfer"] == ["−1.5000"]
    assert table["some-keys"]["forgetting"] == ["0.0500"]
    page.locator(".select select").select_option("backward_transfer")
    becomes(page, lambda: values(page), ["0.0000", "−1.5000"])


def test_matrices_are_tables_with_numbers(visit: Opener, report: str) -> None:
    page = visit(f"{report}#/continual")
    expect(page.locator(".matrix")).to_have_count(2)
    dense = cells(page.locator(".matrix").nth(1))
    assert dense["base: story"] == {"story": ["3.10"], "recipe": ["6.10"], "weather": ["7.10"]}
    assert dense["weather"] == {"story": ["5.10"], "recipe": ["4.10"], "weather": ["2.10"]}
    expect(page.locator(".matrix .marked")).to_have_count(6)
    page.locator(".choice label", has_text="change since it was learned").click()
    changed = {"story": ["+2.000"], "recipe": ["+1.000"], "weather": ["·"]}
    becomes(page, lambda: cells(page.locator(".matrix").nth(1))["weather"], changed)
    dense = cells(page.locator(".matrix").nth(1))
    assert dense["recipe"]["story"] == ["+1.000"]


def test_the_stream_names_its_experiences_and_learners(visit: Opener, report: str) -> None:
    page = visit(f"{report}#/continual")
    plot = page.locator(".plot")
    expect(plot).to_have_attribute("aria-label", holds("In 2 stretches: recipe, weather."))
    expect(plot).to_have_attribute("aria-label", holds("some-keys ends at 7.000; dense ends at 7.000"))
    page.locator(".toggles .chip", has_text="dense").click()
    expect(plot).not_to_have_attribute("aria-label", holds("dense"))
    page.locator(".toggles .chip", has_text="dense").press("Enter")
    expect(plot).to_have_attribute("aria-label", holds("dense ends at 7.000"))


def test_a_page_of_results_alone_has_no_views_of_runs(visit: Opener, results: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report(page_with([], studies=[study_of(results / "kinds", "kinds")]), path)
    page = visit(path.as_uri())
    expect(page.locator(".tabs button")).to_have_text(["Continual"])
    until(page, lambda: page.title().startswith("kinds · Continual"))


def test_a_sweep_that_cannot_be_read_says_why(visit: Opener, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    hostile = "<img src=x onerror=\"document.title='owned'\">"
    write_report(page_with([], sweeps=[not_a_sweep(tmp_path / "odd", "odd", hostile)]), path)
    page = visit(path.as_uri())
    expect(page.locator(".missing p")).to_have_text(hostile)
    expect(page.locator("main img")).to_have_count(0)


def test_live_they_are_listed_and_opened(visit: Opener, results: Path) -> None:
    with serving([results]) as made:
        page = visit(made.url)
        lead = page.locator("[data-testid=lead]")
        expect(lead).to_have_text("7 runs, 1 sweep and 1 continual study.")
        expect(page.locator(".results .run-name b")).to_have_text(["kinds", "widths"])
        page.locator(".results .run-open", has_text="widths").click()
        page.locator("[data-testid=arms]").wait_for()
        assert cells(page.locator("[data-testid=arms]"))["x"]["val_loss"] == ["4.1000 ± 0.2484"]
        page.get_by_label("Compare the runs of x").check()
        page.locator("[data-testid=compare-arms]").click()
        expect(page.locator("table.numbers").first.locator("tbody tr")).to_have_count(3)
        page.locator("[data-testid=tab-continual]").click()
        page.locator(".matrix").first.wait_for()
        page.wait_for_timeout(500)  # in which the page might ask again and again, and must not
        asked = [url.removeprefix(made.url) for url in visit.watch.asked]
        assert sum(url.startswith("api/compare") for url in asked) == 1
        assert asked.count("api/sweeps/widths") == asked.count("api/studies/kinds") == 1
        page.reload()
        page.locator(".matrix").first.wait_for()
        page.close()


def test_a_growing_learner_shows_its_generations_and_searches(visit: Opener, tmp_path: Path) -> None:
    path = tmp_path / "grown.html"
    write_report(
        page_with([], studies=[study_of(write_study(tmp_path / "grown", grows=True), "grown")]), path
    )
    page = visit(f"{path.as_uri()}#/continual")
    expect(page.locator("[data-testid=lead]")).to_contain_text("Untuned: some-grow.")
    learners = cells(page.locator("[data-testid=learners]"))
    assert learners["dense"]["rate"] == ["0.004"]
    assert learners["some-grow"]["rate"] == ["0.004 (at the edge)"]
    assert learners["dense"]["CPU"] == ["41 s"]
    grown = page.locator("[data-testid=generations-some-grow]")
    expect(grown.locator(".birth")).to_have_count(2)
    born = cells(grown.locator("table.numbers"))
    assert born["2 gen2"]["for"] == ["weather"]
    assert born["2 gen2"]["began as"] == ["gen1"]
    assert cells(grown.locator("table.matrix"))["weather"] == {"base": ["0"], "1": ["25"], "2": ["75"]}
    expect(page.get_by_text("Average loss against learning rate").first).to_be_visible()
