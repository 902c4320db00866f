"""Galaxies in a real browser: how the map opens, what it says of itself, names, and the card of an expert."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from somelab.view.report import write_report
from somelab.view.schema.page import Galaxy, KeyMap, Page, WordUse
from tests.browser import synthetic
from tests.browser.conftest import Opener, until

if TYPE_CHECKING:
    from playwright.sync_api import Page as Shown

WORDS = [
    WordUse(word="dog", count=90, lift=2.0, word_class="noun"),
    WordUse(word="ran", count=9, lift=8.0, word_class="verb"),
    WordUse(word="cat", count=40, lift=4.0, word_class="noun"),
]


def made(**fields: Any) -> Page:
    """One layer of 16 experts, with other fields in its galaxy."""
    page = synthetic.page(1, 16, 4, methods=("pca", "tsne"))
    (run,) = page.runs
    assert run.galaxies is not None
    galaxy = run.galaxies[0].model_copy(update=fields)
    return page.model_copy(update={"runs": [run.model_copy(update={"galaxies": [galaxy]})]})


def galaxy_of(page: Page) -> Galaxy:
    galaxies = page.runs[0].galaxies
    assert galaxies
    return galaxies[0]


def with_kept(maps: Sequence[KeyMap], kept: Sequence[float], explained: float) -> list[KeyMap]:
    return [
        one.model_copy(update={"kept": share, "explained": explained if one.method == "pca" else None})
        for one, share in zip(maps, kept, strict=True)
    ]


def opened(visit: Opener, folder: Path, page: Page, *, moves: bool = False) -> Shown:
    path = folder / "report.html"
    write_report(page, path)
    shown = visit(path.as_uri() + "#/galaxies", moves=moves)
    shown.locator("[data-testid=sky]").wait_for()
    return shown


def on(page: Shown, label: str) -> str:
    return page.locator(".choice", has_text=label).locator("label.on").inner_text()


def test_it_opens_by_word_class_and_with_the_clearest_map(visit: Opener, tmp_path: Path) -> None:
    maps = with_kept(galaxy_of(made()).maps, (0.2, 0.6), 0.04)
    page = opened(visit, tmp_path, made(maps=maps, word_class=["noun", "verb"] * 8))
    assert on(page, "Colour by") == "word class"
    assert on(page, "Map") == "t-SNE"
    assert "60 % are among its 5 nearest on this map; by chance 33 %" in page.locator(".caption").inner_text()
    page.locator(".choice", has_text="Map").get_by_text("PCA").click()
    assert "holds 4 % of the variance" in page.locator(".clarity").inner_text()
    page.locator(".clarity button").click()
    assert on(page, "Map") == "t-SNE"


@pytest.mark.parametrize(("guild", "wanted"), [([0, 1] * 8, "guild"), ([], "use")])
def test_without_classes_it_opens_by_guild_or_use(
    visit: Opener, tmp_path: Path, guild: list[int], wanted: str
) -> None:
    assert on(opened(visit, tmp_path, made(word_class=[None] * 16, guild=guild)), "Colour by") == wanted


def test_it_plays_once(visit: Opener, tmp_path: Path) -> None:
    page = opened(visit, tmp_path, made(), moves=True)
    assert page.get_by_test_id("play").get_attribute("aria-label") == "Pause"
    page.keyboard.press("End")
    assert page.get_by_test_id("play").get_attribute("aria-label") == "Play training"
    page.keyboard.press("1")
    page.keyboard.press("3")
    page.locator("[data-testid=sky]").wait_for()
    assert page.get_by_test_id("play").get_attribute("aria-label") == "Play training"


def test_guilds_have_names_on_the_map(visit: Opener, tmp_path: Path) -> None:
    page = made(guild=[0, 1] * 8)
    (run,) = page.runs
    assert run.guilds
    named = run.guilds[0].guilds[0].model_copy(update={"words": WORDS, "experts": [0, 2]})
    guilds = [run.guilds[0].model_copy(update={"guilds": [named]})]
    page = page.model_copy(update={"runs": [run.model_copy(update={"guilds": guilds})]})
    assert opened(visit, tmp_path, page).locator(".guild-name").all_text_contents() == ["noun: dog, ran"]


def test_the_card_has_the_class_of_its_words_in_the_order_of_its_bars(visit: Opener, tmp_path: Path) -> None:
    page = opened(visit, tmp_path, made(words=[WORDS] * 16))
    page.get_by_label("Find expert").fill("3")
    card = page.get_by_test_id("expert-card")
    assert card.locator(".words span").all_inner_texts() == ["ran", "cat", "dog"]
    assert "noun" in card.inner_text()
    assert "2 of the 3 words below" in card.inner_text()


def test_a_number_without_an_expert_is_reported(visit: Opener, tmp_path: Path) -> None:
    page = opened(visit, tmp_path, made())
    page.get_by_label("Find expert").fill("99")
    assert page.locator(".no-such").inner_text() == "No such expert: 99. They are 0 to 15."
    page.get_by_label("Find expert").fill("15")
    assert page.locator(".no-such").inner_text() == ""


def test_keys_work_after_a_click_on_a_control(visit: Opener, tmp_path: Path) -> None:
    page = opened(visit, tmp_path, made(guild=[0, 1] * 8))
    page.locator(".choice", has_text="Colour by").get_by_text("use", exact=True).click()
    # The focus leaves the control a moment after the click, and the page draws a moment after a key.
    until(page, lambda: page.evaluate("document.activeElement === document.body"))
    page.keyboard.press("ArrowLeft")
    until(page, lambda: page.get_by_test_id("time").get_attribute("aria-valuetext") == "step 667 of 1000")
    page.keyboard.press("Space")
    until(page, lambda: page.get_by_test_id("play").get_attribute("aria-label") == "Pause")
    page.keyboard.press("2")
    until(page, lambda: "#/balance" in page.url)
