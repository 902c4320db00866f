"""The page as a report file, in a real browser: every view from a real run, its keys, its slider, its two
themes, its widths."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from somelab.view.report import inlined, static_page
from tests.browser import synthetic
from tests.browser.conftest import Opener, becomes, expect, until

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


FRAMES = "async () => { for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame); }"


def open_view(page: Page, name: str) -> None:
    page.locator(f"[data-testid=tab-{name}]").click()
    page.locator(MARKS[name]).first.wait_for()
    page.evaluate(FRAMES)  # what is drawn on canvases comes with the next frames


def scrolls_sideways(page: Page, name: str) -> str:
    """The name of a view that does; else nothing."""
    is_wide = page.evaluate("() => document.documentElement.scrollWidth > innerWidth")
    return f"{name} scrolls sideways" if is_wide else ""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_every_view_renders(visit: Opener, report: str, scheme: str, width: int) -> None:
    page = visit(report, width=width, scheme=scheme)
    expect(page.locator("html")).to_have_attribute("data-theme", scheme)
    for name in VIEWS:
        open_view(page, name)
        until(page, lambda: len(page.locator("[data-testid=lead]").inner_text()) > 20)
        becomes(page, lambda name=name: scrolls_sideways(page, name), "")
        expect(page.locator("figure:not(:has(h3))")).to_have_count(0)


def test_the_views_say_what_was_measured(visit: Opener, report: str) -> None:
    page = visit(report)
    open_view(page, "overview")
    expect(page.locator(".stat", has_text="val_ppl").locator("dd")).not_to_have_text("–")
    expect(page.locator(".plot").first).to_have_attribute("data-points", "24")
    open_view(page, "balance")
    expect(page.locator("#multiples .plot")).to_have_count(3)
    expect(page.locator(".usage canvas")).to_have_count(3)
    open_view(page, "traces")
    expect(page.locator(".trace-column")).to_have_count(3)
    first = page.locator(".trace-column select").first
    expect(first.locator("option:checked")).to_have_text("Layer 0 · Lexicon")


def settled(sky: Locator) -> bytes:
    """A picture of the map once it no longer changes: drawing takes its time on a busy machine."""
    sky.page.evaluate(FRAMES)
    picture = sky.screenshot()
    for _ in range(40):
        sky.page.wait_for_timeout(250)
        sky.page.evaluate(FRAMES)
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
    expect(slider).to_have_attribute("aria-valuetext", "step 0 of 24")
    assert len({end, before, start}) == 3
    slider.press("PageUp")
    slider.press("PageUp")
    expect(slider).to_have_attribute("aria-valuetext", "step 24 of 24")
    becomes(page, lambda: settled(sky) == end, True)


def test_space_plays_and_time_moves_between_snapshots(visit: Opener, report: str) -> None:
    page = visit(report)
    open_view(page, "galaxies")
    page.locator("main").press("Home")
    page.locator("main").press(" ")
    expect(page.locator("[data-testid=play]")).to_have_attribute("aria-label", "Pause")
    page.locator(".moment").filter(has_text=re.compile(r"step ([1-9]|1\d)$")).wait_for()
    page.locator("main").press(" ")
    expect(page.locator("[data-testid=play]")).to_have_attribute("aria-label", "Play training")


def test_keys_that_were_reborn_are_marked(visit: Opener, report: str) -> None:
    page = visit(report)
    open_view(page, "galaxies")
    until(page, lambda: page.locator(".births i").count() > 0)


def test_an_expert_shows_its_card(visit: Opener, report: str) -> None:
    page = visit(report)
    open_view(page, "galaxies")
    page.locator(".find input").fill("3")
    card = page.locator("[data-testid=expert-card]")
    expect(card.locator("h3")).to_have_text("Expert 3")
    names = {"use", "age", "key length"}
    until(page, lambda: {text.lower() for text in card.locator("dt").all_inner_texts()} >= names)
    neighbours = card.locator(".chip")
    expect(neighbours).to_have_count(6)
    other = neighbours.first.inner_text()
    neighbours.first.click()
    expect(card.locator("h3")).to_have_text(f"Expert {other}")
    expect(page.locator(".sky-lines circle")).to_have_count(7)


def test_pointing_at_a_key_shows_it(visit: Opener, report: str) -> None:
    page = visit(report, height=1400)
    open_view(page, "galaxies")
    sky = page.locator("[data-testid=sky]")
    page.locator(".find input").fill("0")
    ring, box = page.locator(".sky-lines > circle").bounding_box(), sky.bounding_box()
    page.locator(".find input").fill("")
    expect(page.locator("[data-testid=expert-card]")).to_have_count(0)
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
        label = page.locator(".galaxy-side label", has_text=choice).first
        label.click()
        expect(label).to_have_class(re.compile(r"\bon\b"))
        pictures.append(settled(sky))
    strip = page.locator(".strip button").nth(2)
    strip.click()
    expect(strip).to_have_attribute("aria-pressed", "true")
    pictures.append(settled(sky))
    assert len(set(pictures)) == 4
    expect(page.locator("input[value=umap]")).to_be_disabled()


def test_picking_an_expert_lights_its_tokens(visit: Opener, report: str) -> None:
    page = visit(report)
    open_view(page, "traces")
    column = page.locator(".trace-column").first
    chip = column.locator(".chips.most .chip").first
    number = int(chip.locator("small").inner_text())
    chip.click()
    expect(column.locator(".tokens .lit")).to_have_count(number)
    until(page, lambda: page.locator(".concordance li").count() >= number)
    chip.click()
    expect(page.locator(".tokens .lit")).to_have_count(0)


def test_number_keys_choose_views_and_t_the_theme(visit: Opener, report: str) -> None:
    page = visit(report)
    for number, name in enumerate(VIEWS, 1):
        page.keyboard.press(str(number))
        expect(page.locator(f"[data-testid=tab-{name}]")).to_have_attribute("aria-current", "page")
        becomes(page, lambda name=name: f"#/{name}/" in page.url, True)
    page.keyboard.press("t")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    page.locator("[data-testid=lead]").wait_for()
    expect(page.locator("[data-testid=tab-compare]")).to_have_attribute("aria-current", "page")


def test_a_key_pressed_as_soon_as_the_page_shows_counts(visit: Opener, report: str) -> None:
    """In the very turn of the browser's loop in which the view is put into the page, before it is painted."""
    page = visit("about:blank#", awaits=False)
    page.add_init_script(
        """new MutationObserver((_, observer) => {
            if (!document.querySelector("[data-testid=lead]")) return;
            observer.disconnect();
            document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "2", bubbles: true }));
        }).observe(document, { childList: true, subtree: true });"""
    )
    page.goto(report)
    expect(page.locator("[data-testid=tab-balance]")).to_have_attribute("aria-current", "page")


def test_focus_can_be_seen(visit: Opener, report: str) -> None:
    page = visit(report)
    page.locator("[data-testid=tab-balance]").focus()
    page.keyboard.press("Shift+Tab")
    style = (
        "() => { const s = getComputedStyle(document.activeElement); return [s.outlineStyle, "
        "s.outlineWidth]; }"
    )
    becomes(page, lambda: page.evaluate(style), ["solid", "2px"])


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
    expect(page.locator("[data-testid=lead]")).to_contain_text(HOSTILE[1])
    open_view(page, "traces")
    expect(page.locator(".tokens").first).to_contain_text(HOSTILE[0])
    for name in VIEWS:
        open_view(page, name)
        expect(page.locator("main script, main img")).to_have_count(0)
    assert "owned" not in page.title().replace(HOSTILE[0], "")


@pytest.mark.slow
def test_a_hundred_thousand_keys(visit: Opener, tmp_path: Path) -> None:
    """They are drawn, picked and moved. How fast is measured by hand (docs/guides/glass-box.md): no timed
    tests."""
    path = tmp_path / "large.html"
    path.write_text(inlined(synthetic.page(1, 100_000, 4, methods=("pca",)), static_page()), encoding="utf-8")
    page = visit(path.as_uri())
    open_view(page, "galaxies")
    sky = page.locator("[data-testid=sky]")
    end = settled(sky)
    page.locator(".find input").fill("99999")
    expect(page.locator("[data-testid=expert-card] h3")).to_have_text("Expert 99999")
    page.locator(".find input").fill("")
    expect(page.locator("[data-testid=expert-card]")).to_have_count(0)
    page.locator("main").press("Home")
    expect(page.locator("[data-testid=time]")).to_have_attribute("aria-valuetext", "step 0 of 1000")
    becomes(page, lambda: settled(sky) == end, False)


@pytest.mark.parametrize("status", ["foreign", "broken"])
def test_a_folder_that_is_no_run_is_told(visit: Opener, tmp_path: Path, status: str) -> None:
    from somelab.runs import RunFolder
    from somelab.view.page.groups import page_with
    from somelab.view.page.payload import not_a_run

    path = tmp_path / "report.html"
    run = not_a_run(RunFolder("runs/odd"), "odd", status, "run runs/odd: has no run.json")
    path.write_text(inlined(page_with([run]), static_page()), encoding="utf-8")
    page = visit(path.as_uri())
    expect(page.locator("[data-testid=lead]")).to_contain_text("cannot be read")
    expect(page.locator(".missing")).to_contain_text("has no run.json")


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
