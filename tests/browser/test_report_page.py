"""The page as a report file, in a real browser: every view from a real run, its keys, its slider, its two
themes, its widths."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from somelab.view.report import inlined, static_page
from tests.browser import synthetic
from tests.browser.conftest import Opener

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

VIEWS = ("overview", "balance", "galaxies", "traces", "guilds", "compare")
# What must be there for a view to have drawn what it is for.
MARKS = {
    "overview": ".plot canvas",
    "balance": ".heat canvas",
    "galaxies": "[data-testid=sky]",
    "traces": ".trace-column .tokens span",
    "guilds": ".guild",
    "compare": "table.numbers",
}


def open_view(page: Page, name: str) -> None:
    page.locator(f"[data-testid=tab-{name}]").click()
    page.locator(MARKS[name]).first.wait_for()
    page.wait_for_timeout(200)  # what is drawn on canvases comes with the next frames


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_every_view_renders(visit: Opener, report: str, scheme: str, width: int) -> None:
    page = visit(report, width=width, scheme=scheme)
    assert page.evaluate("() => document.documentElement.dataset.theme") == scheme
    for name in VIEWS:
        open_view(page, name)
        assert len(page.locator("[data-testid=lead]").inner_text()) > 20
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), (
            f"{name} scrolls sideways at {width}"
        )
        assert page.locator("figure:not(:has(h3))").count() == 0


def test_the_views_say_what_was_measured(visit: Opener, report: str) -> None:
    page = visit(report)
    open_view(page, "overview")
    assert page.locator(".stat", has_text="val_ppl").locator("dd").inner_text() != "–"
    assert page.locator(".plot").first.get_attribute("data-points") == "24"
    open_view(page, "balance")
    assert page.locator("#multiples .plot").count() == 3
    assert page.locator(".usage canvas").count() == 3
    open_view(page, "traces")
    assert page.locator(".trace-column").count() == 3
    assert (
        page.locator(".trace-column select").first.locator("option:checked").inner_text()
        == "Layer 0 · Lexicon"
    )


def settled(sky: Locator) -> bytes:
    """A picture of the map once it no longer changes: drawing takes its time on a busy machine."""
    picture = sky.screenshot()
    for _ in range(40):
        sky.page.wait_for_timeout(250)
        following = sky.screenshot()
        if following == picture:
            break
        picture = following
    return picture


# A browser dithers a gradient and smooths a round corner by the tile that it paints them in, so that both may
# differ by a shade from one painting to the next. On a plain ground what is drawn on it is the same to the
# pixel.
PLAIN_GROUND = "sky => Object.assign(sky.parentElement.style, { background: '#000', borderRadius: '0' })"


def test_the_slider_moves_points(visit: Opener, report: str) -> None:
    page = visit(report)
    open_view(page, "galaxies")
    sky, slider = page.locator("[data-testid=sky]"), page.locator("[data-testid=time]")
    sky.evaluate(PLAIN_GROUND)
    slider.focus()
    slider.press("ArrowLeft")
    before = settled(sky)
    slider.press("ArrowRight")
    # After a first move: labels and the frame of the focus come a little behind the first picture.
    end = settled(sky)
    slider.press("ArrowLeft")
    for _ in range(9):
        slider.press("ArrowLeft")
    start = settled(sky)
    assert slider.get_attribute("aria-valuetext") == "step 0 of 24"
    assert len({end, before, start}) == 3
    slider.press("PageUp")
    slider.press("PageUp")
    assert slider.get_attribute("aria-valuetext") == "step 24 of 24"
    assert settled(sky) == end


def test_space_plays_and_time_moves_between_snapshots(visit: Opener, report: str) -> None:
    page = visit(report)
    open_view(page, "galaxies")
    page.locator("main").press("Home")
    page.locator("main").press(" ")
    assert page.locator("[data-testid=play]").get_attribute("aria-label") == "Pause"
    page.locator(".moment").filter(has_text=re.compile(r"step ([1-9]|1\d)$")).wait_for()
    page.locator("main").press(" ")
    assert page.locator("[data-testid=play]").get_attribute("aria-label") == "Play training"


def test_keys_that_were_reborn_are_marked(visit: Opener, report: str) -> None:
    page = visit(report)
    open_view(page, "galaxies")
    assert page.locator(".births i").count() > 0


def test_an_expert_shows_its_card(visit: Opener, report: str) -> None:
    page = visit(report)
    open_view(page, "galaxies")
    page.locator(".find input").fill("3")
    card = page.locator("[data-testid=expert-card]")
    assert card.locator("h3").inner_text() == "Expert 3"
    assert {text.lower() for text in card.locator("dt").all_inner_texts()} >= {"use", "age", "key length"}
    neighbours = card.locator(".chip")
    assert neighbours.count() == 6
    other = neighbours.first.inner_text()
    neighbours.first.click()
    assert card.locator("h3").inner_text() == f"Expert {other}"
    assert page.locator(".sky-lines circle").count() == 7


def test_pointing_at_a_key_shows_it(visit: Opener, report: str) -> None:
    page = visit(report, height=1400)
    open_view(page, "galaxies")
    sky = page.locator("[data-testid=sky]")
    page.locator(".find input").fill("0")
    ring, box = page.locator(".sky-lines > circle").bounding_box(), sky.bounding_box()
    page.locator(".find input").fill("")
    assert page.locator("[data-testid=expert-card]").count() == 0
    assert ring is not None
    assert box is not None
    sky.hover(
        position={
            "x": ring["x"] + ring["width"] / 2 - box["x"],
            "y": ring["y"] + ring["height"] / 2 - box["y"],
        }
    )
    page.locator("[data-testid=expert-card]").wait_for()


def test_layers_and_methods_and_colours_can_be_chosen(visit: Opener, report: str) -> None:
    page = visit(report)
    open_view(page, "galaxies")
    sky, pictures = page.locator("[data-testid=sky]"), []
    for choice in ("t-SNE", "guild", "age"):
        page.locator(".galaxy-side label", has_text=choice).first.click()
        page.wait_for_timeout(200)
        pictures.append(sky.screenshot())
    page.locator(".strip button").nth(2).click()
    page.wait_for_timeout(200)
    pictures.append(sky.screenshot())
    assert len(set(pictures)) == 4
    assert page.locator("input[value=umap]").is_disabled()


def test_picking_an_expert_lights_its_tokens(visit: Opener, report: str) -> None:
    page = visit(report)
    open_view(page, "traces")
    column = page.locator(".trace-column").first
    chip = column.locator(".chips.most .chip").first
    number = int(chip.locator("small").inner_text())
    chip.click()
    assert column.locator(".tokens .lit").count() == number
    assert page.locator(".concordance li").count() >= number
    chip.click()
    assert page.locator(".tokens .lit").count() == 0


def test_number_keys_choose_views_and_t_the_theme(visit: Opener, report: str) -> None:
    page = visit(report)
    for number, name in enumerate(VIEWS, 1):
        page.keyboard.press(str(number))
        assert page.locator(f"[data-testid=tab-{name}]").get_attribute("aria-current") == "page"
        assert f"#/{name}/" in page.url
    page.keyboard.press("t")
    assert page.evaluate("() => document.documentElement.dataset.theme") == "dark"
    page.reload()
    page.locator("[data-testid=lead]").wait_for()
    assert page.locator("[data-testid=tab-compare]").get_attribute("aria-current") == "page"


def test_focus_can_be_seen(visit: Opener, report: str) -> None:
    page = visit(report)
    page.locator("[data-testid=tab-balance]").focus()
    page.keyboard.press("Shift+Tab")
    style = page.evaluate(
        "() => { const s = getComputedStyle(document.activeElement); return [s.outlineStyle, "
        "s.outlineWidth]; }"
    )
    assert style == ["solid", "2px"]


HOSTILE = [
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "&lt;b&gt;",
    "</script>",
    "\n",
    "ok",
]


def test_markup_in_a_story_is_shown_as_text(visit: Opener, tmp_path: Path) -> None:
    made = synthetic.page(3, 16, 3, words=HOSTILE * 2)
    run = made.runs[0]
    assert run.galaxies is not None
    hostile = run.model_copy(update={"name": HOSTILE[0], "verdict": HOSTILE[1], "command": HOSTILE[3]})
    path = tmp_path / "report.html"
    path.write_text(
        inlined(made.model_copy(update={"runs": [hostile], "title": HOSTILE[3]}), static_page()),
        encoding="utf-8",
    )
    page = visit(path.as_uri())
    assert HOSTILE[1] in page.locator("[data-testid=lead]").inner_text()
    open_view(page, "traces")
    assert HOSTILE[0] in page.locator(".tokens").first.inner_text()
    for name in VIEWS:
        open_view(page, name)
    assert "owned" not in page.title().replace(HOSTILE[0], "")
    assert page.locator("main script, main img").count() == 0


def test_a_hundred_thousand_keys(visit: Opener, tmp_path: Path) -> None:
    """They are drawn, picked and moved. How fast is measured by hand (docs/guides/glass-box.md): no timed
    tests."""
    path = tmp_path / "large.html"
    path.write_text(inlined(synthetic.page(1, 100_000, 4, methods=("pca",)), static_page()), encoding="utf-8")
    page = visit(path.as_uri())
    open_view(page, "galaxies")
    sky = page.locator("[data-testid=sky]")
    end = sky.screenshot()
    page.locator(".find input").fill("99999")
    assert page.locator("[data-testid=expert-card] h3").inner_text() == "Expert 99999"
    page.locator(".find input").fill("")
    page.locator("main").press("Home")
    page.wait_for_timeout(300)
    assert sky.screenshot() != end


@pytest.mark.parametrize("status", ["foreign", "broken"])
def test_a_folder_that_is_no_run_is_told(visit: Opener, tmp_path: Path, status: str) -> None:
    from somelab.runs import RunFolder
    from somelab.view.page.groups import page_with
    from somelab.view.page.payload import not_a_run

    path = tmp_path / "report.html"
    run = not_a_run(RunFolder("runs/odd"), "odd", status, "run runs/odd: has no run.json")
    path.write_text(inlined(page_with([run]), static_page()), encoding="utf-8")
    page = visit(path.as_uri())
    assert "cannot be read" in page.locator("[data-testid=lead]").inner_text()
    assert "has no run.json" in page.locator(".missing").inner_text()


def test_a_report_from_disk_runs_its_own_script_alone(visit: Opener, report: str) -> None:
    """Its policy is in the file, since no server sends one."""
    page = visit(report)
    policy = page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
    assert policy is not None
    for part in ("default-src 'none'", "script-src 'sha256-", "style-src 'sha256-", "base-uri 'none'"):
        assert part in policy
    assert "unsafe" not in policy
    ran = page.evaluate(
        """async () => {
            const script = document.createElement("script");
            script.textContent = "window.ran = true";
            document.body.append(script);
            await new Promise((done) => setTimeout(done, 200));
            return window.ran ?? false;
        }"""
    )
    assert ran is False
    page.close()
    assert all("Content Security Policy" in line for line in visit.watch.complaints)
    visit.watch.complaints.clear()
