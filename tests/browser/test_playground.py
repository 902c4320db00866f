"""The playground in a real browser, from a file: presets, sliders, address, keyboard, dragging, phone."""

from __future__ import annotations

import math
import re
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest

from somelab.view.report import PLAYGROUND
from tests.browser.conftest import Opener, becomes, expect, until

if TYPE_CHECKING:
    from playwright.sync_api import Page

ADDRESS = "file://" + str(files("somelab.view") / "static" / PLAYGROUND)


def step_of(page: Page) -> int:
    """The step in the sentence below the disc, once it is written."""
    line = page.get_by_test_id("happening")
    until(page, lambda: line.inner_text() != "")
    found = re.match(r"Step ([0-9,]+):", line.inner_text())
    assert found is not None
    return int(found[1].replace(",", ""))


FRAMES = "async number => { for (; number; number--) await new Promise(requestAnimationFrame); }"


def paused_step(page: Page) -> int:
    """The step at which a page that does not play stays: all that was pressed is drawn after two frames."""
    page.evaluate(FRAMES, 2)
    step = step_of(page)
    page.evaluate(FRAMES, 20)
    assert step_of(page) == step
    return step


def await_label(page: Page, label: str) -> None:
    """The page draws a moment after a key is pressed."""
    expect(page.get_by_test_id("play")).to_have_attribute("aria-label", label)


def await_hash(page: Page, expected: str) -> None:
    """The address follows the settings after a moment."""
    becomes(page, lambda: page.url.partition("#")[2], expected)


def test_it_plays_and_stops(visit: Opener) -> None:
    page = visit(ADDRESS, moves=True)
    until(page, lambda: step_of(page) >= 10)
    page.keyboard.press("Space")
    await_label(page, "Play")
    stopped = paused_step(page)
    assert stopped >= 10
    page.keyboard.press("s")
    assert paused_step(page) == stopped + 1
    page.keyboard.press("r")
    assert paused_step(page) == 0
    page.keyboard.press("s")
    assert paused_step(page) == 1


def test_settings_are_in_the_address(visit: Opener) -> None:
    page = visit(ADDRESS, moves=True)
    page.keyboard.press("3")
    await_hash(page, "preset=credit")
    page.get_by_test_id("num_experts").fill("200")
    page.get_by_test_id("top_k").fill("3")
    await_hash(page, "preset=credit&num_experts=200&top_k=3")
    shared = page.url
    again = visit(shared)
    expect(again.get_by_test_id("num_experts")).to_have_value("200")
    expect(again.get_by_test_id("preset-credit")).to_have_attribute("aria-pressed", "true")


def test_a_wrong_address_is_harmless(visit: Opener) -> None:
    page = visit(ADDRESS + "#preset=nosuch&num_experts=1e9&alpha=x&beta=-3&norm=<b>&seed=1.5&at=1,2&top_k=99")
    expect(page.get_by_test_id("num_experts")).to_have_value("300")
    expect(page.get_by_test_id("top_k")).to_have_value("12")
    until(page, lambda: step_of(page) >= 1)


def test_the_same_link_shows_the_same(visit: Opener) -> None:
    """Paused after the same number of steps, two pages have the same measures."""
    seen: list[str] = []
    for _ in range(2):
        page = visit(ADDRESS + "#preset=v7&seed=7&speed=5", moves=True)
        page.keyboard.press("Space")
        await_label(page, "Play")
        page.keyboard.press("r")
        for _ in range(9):
            page.keyboard.press("s")
        assert paused_step(page) == 9
        seen.append(" ".join(page.locator(".chart b").all_inner_texts()))
    assert seen[0] == seen[1]


def test_the_keyboard_works_after_a_slider(visit: Opener) -> None:
    page = visit(ADDRESS, moves=True)
    page.get_by_test_id("alpha").click()
    becomes(page, lambda: page.evaluate("document.activeElement.tagName"), "BODY")
    page.keyboard.press("Space")
    await_label(page, "Play")
    page.keyboard.press("2")
    expect(page.get_by_test_id("preset-v7")).to_have_attribute("aria-pressed", "true")


def test_clusters_are_dragged(visit: Opener) -> None:
    page = visit(ADDRESS + "#preset=v7", moves=True)
    page.keyboard.press("Space")
    await_label(page, "Play")
    box = page.get_by_test_id("sky").bounding_box()
    assert box is not None
    x, y, rim = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, 0.385 * 1.2 * box["width"]
    page.mouse.move(x, y - rim)
    page.mouse.down()
    page.mouse.move(x + rim * math.cos(math.pi / 4), y - rim * math.sin(math.pi / 4), steps=4)
    page.mouse.up()
    await_hash(page, "preset=v7&at=45,180,270,0")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_it_without_scrolling_sideways(visit: Opener, scheme: str) -> None:
    page = visit(ADDRESS, width=390, height=844, scheme=scheme)
    until(page, lambda: page.evaluate("document.documentElement.scrollWidth") <= 390)
    box = page.get_by_test_id("sky").bounding_box()
    assert box is not None
    assert box["width"] > 340
    page.get_by_label("What is Crowding?").click()
    expect(page.locator(".meaning")).to_contain_text("Mean cosine of each key")


def test_measures_show_what_the_presets_claim(visit: Opener) -> None:
    """v4 fuses: after some hundred steps, crowding is above that of evenly spread keys."""
    page = visit(ADDRESS + "#preset=v4", moves=True)
    page.keyboard.press("Space")
    await_label(page, "Play")
    steps = paused_step(page)
    for _ in range(240):
        page.keyboard.press("s")
    assert paused_step(page) == steps + 240
    until(page, lambda: page.locator("[data-measure=crowding] b").inner_text() >= "0.999")
    expect(page.locator("[data-measure=dead] b")).to_have_text("0 %")


def test_reduced_motion_starts_paused(visit: Opener) -> None:
    await_label(visit(ADDRESS), "Play")
