"""Galaxies in a real browser: how the map opens, what it says of itself, names, and the card of an expert."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from somelab.view.report import write_report
from somelab.view.schema.page import Galaxy, KeyMap, Page, WordUse
from tests.browser import synthetic
from tests.browser.conftest import Opener, becomes, expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator
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


def on(page: Shown, label: str) -> Locator:
    return page.locator(".choice", has_text=label).locator("label.on")


def test_it_opens_by_word_class_and_with_the_clearest_map(visit: Opener, tmp_path: Path) -> None:
    maps = with_kept(galaxy_of(made()).maps, (0.2, 0.6), 0.04)
    page = opened(visit, tmp_path, made(maps=maps, word_class=["noun", "verb"] * 8))
    expect(on(page, "Colour by")).to_have_text("word class")
    expect(on(page, "Map")).to_have_text("t-SNE")
    expect(page.locator(".caption")).to_contain_text(
        "60 % are among its 5 nearest on this map; by chance 33 %"
    )
    page.locator(".choice", has_text="Map").get_by_text("PCA").click()
    expect(page.locator(".clarity")).to_contain_text("holds 4 % of the variance")
    page.locator(".clarity button").click()
    expect(on(page, "Map")).to_have_text("t-SNE")


@pytest.mark.parametrize(("guild", "wanted"), [([0, 1] * 8, "guild"), ([], "use")])
def test_without_classes_it_opens_by_guild_or_use(
    visit: Opener, tmp_path: Path, guild: list[int], wanted: str
) -> None:
    page = opened(visit, tmp_path, made(word_class=[None] * 16, guild=guild))
    expect(on(page, "Colour by")).to_have_text(wanted)


def test_it_plays_once(visit: Opener, tmp_path: Path) -> None:
    page = opened(visit, tmp_path, made(), moves=True)
    play = page.get_by_test_id("play")
    expect(play).to_have_attribute("aria-label", "Pause")
    page.keyboard.press("End")
    expect(play).to_have_attribute("aria-label", "Play training")
    page.keyboard.press("1")
    expect(play).to_have_count(0)
    page.keyboard.press("3")
    expect(play).to_have_attribute("aria-label", "Play training")
    # At the end of training, and not on the way there.
    expect(page.get_by_test_id("time")).to_have_attribute("aria-valuetext", "step 1000 of 1000")


def test_guilds_have_names_on_the_map(visit: Opener, tmp_path: Path) -> None:
    page = made(guild=[0, 1] * 8)
    (run,) = page.runs
    assert run.guilds
    named = run.guilds[0].guilds[0].model_copy(update={"words": WORDS, "experts": [0, 2]})
    guilds = [run.guilds[0].model_copy(update={"guilds": [named]})]
    page = page.model_copy(update={"runs": [run.model_copy(update={"guilds": guilds})]})
    expect(opened(visit, tmp_path, page).locator(".guild-name")).to_have_text(["noun: dog, ran"])


def test_the_card_has_the_class_of_its_words_in_the_order_of_its_bars(visit: Opener, tmp_path: Path) -> None:
    page = opened(visit, tmp_path, made(words=[WORDS] * 16))
    page.get_by_label("Find expert").fill("3")
    card = page.get_by_test_id("expert-card")
    expect(card.locator(".words span")).to_have_text(["ran", "cat", "dog"])
    expect(card).to_contain_text("noun")
    expect(card).to_contain_text("2 of the 3 words below")


def test_a_number_without_an_expert_is_reported(visit: Opener, tmp_path: Path) -> None:
    page = opened(visit, tmp_path, made())
    page.get_by_label("Find expert").fill("99")
    expect(page.locator(".no-such")).to_have_text("No such expert: 99. They are 0 to 15.")
    page.get_by_label("Find expert").fill("15")
    expect(page.locator(".no-such")).to_have_text("")
    expect(page.get_by_test_id("expert-card").locator("h3")).to_have_text("Expert 15")


def test_keys_work_after_a_click_on_a_control(visit: Opener, tmp_path: Path) -> None:
    page = opened(visit, tmp_path, made(guild=[0, 1] * 8))
    page.locator(".choice", has_text="Colour by").get_by_text("use", exact=True).click()
    # The focus leaves the control a moment after the click, and the page draws a moment after a key.
    becomes(page, lambda: page.evaluate("document.activeElement.tagName"), "BODY")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_test_id("time")).to_have_attribute("aria-valuetext", "step 667 of 1000")
    page.keyboard.press("Space")
    expect(page.get_by_test_id("play")).to_have_attribute("aria-label", "Pause")
    page.keyboard.press("2")
    becomes(page, lambda: "#/balance" in page.url, True)


def test_keys_pressed_between_two_drawings_all_count(visit: Opener, tmp_path: Path) -> None:
    page = opened(visit, tmp_path, made())
    page.locator("main").evaluate(
        "(main, keys) => keys.forEach(key => main.dispatchEvent("
        "new KeyboardEvent('keydown', { key, bubbles: true })))",
        ["Home", "ArrowRight", "ArrowRight", " ", " "],
    )
    expect(page.get_by_test_id("time")).to_have_attribute("aria-valuetext", "step 667 of 1000")
    expect(page.get_by_test_id("play")).to_have_attribute("aria-label", "Play training")
