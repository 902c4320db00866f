"""A real browser, a small run trained for the session, its report, and a watch over what the page says and
asks for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

from somelab.view.page.groups import page_of
from somelab.view.page.heavy import Options
from somelab.view.report import write_report
from tests.analysis.builders import train_run
from tests.browser.serving import Server, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, LocatorAssertions, Page

Read = TypeVar("Read")

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
# No graphics card in most test machines: WebGL then runs on the processor.
FLAGS = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium; SOMELAB_CHROMIUM names another."""
    api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install 'somelab[dev]'"
    )
    found = os.environ.get("SOMELAB_CHROMIUM") or next(
        (path for name in NAMES if (path := shutil.which(name))), None
    )
    if found is None:
        pytest.skip(f"no browser: install one of {', '.join(NAMES)}, or name it in SOMELAB_CHROMIUM")
    api.expect.set_options(timeout=30_000)
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield opened
        opened.close()


@dataclass
class Watch:
    """What the page complained of, and whom it asked."""

    complaints: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


# The page draws a moment after what a test does to it, on a busy machine a long moment. So every assertion
# that follows a key, a click, a text or a new address waits for its condition, by one of these three.


def expect(locator: Locator) -> LocatorAssertions:
    """playwright's assertions, which wait; imported here, since not every machine has playwright."""
    from playwright.sync_api import expect as waiting

    return waiting(locator)


def until(page: Page, ready: Callable[[], bool], seconds: float = 30) -> None:
    """Wait, without a script in the page: its policy forbids to evaluate any."""
    for _ in range(round(seconds / 0.05)):
        if ready():
            return
        page.wait_for_timeout(50)
    assert ready()


def becomes(page: Page, read: Callable[[], Read], wanted: Read) -> None:
    """Wait until what is read is what is wanted; where it never is, the failure shows both."""
    for _ in range(600):
        if read() == wanted:
            return
        page.wait_for_timeout(50)
    assert read() == wanted


class Opener:
    """Opens pages, and fails the test at its end if one of them complained or asked an outside host."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.watch = Watch()

    def __call__(
        self,
        url: str,
        *,
        width: int = 1280,
        height: int = 900,
        scheme: str = "light",
        moves: bool = False,
        awaits: bool = True,
    ) -> Page:
        """`moves`: as for a reader who has not asked for reduced motion; maps then play by themselves.
        `awaits`: return when the view is there."""
        context = self.browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,  # pyright: ignore[reportArgumentType]
            reduced_motion="no-preference" if moves else "reduce",
        )
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on(
            "console",
            lambda message: (
                self.watch.complaints.append(message.text) if message.type in ("error", "warning") else None
            ),
        )
        page.on("pageerror", lambda error: self.watch.complaints.append(str(error)))
        page.on("request", lambda request: self.watch.asked.append(request.url))
        page.goto(url)
        if awaits:
            page.locator("[data-testid=lead]").wait_for()
        return page


@pytest.fixture
def visit(browser: Browser) -> Iterator[Opener]:
    opener = Opener(browser)
    yield opener
    for context in browser.contexts:
        context.close()
    assert opener.watch.complaints == []
    outside = [
        url
        for url in opener.watch.asked
        if not url.startswith(("file://", "http://127.0.0.1:", "data:", "blob:"))
    ]
    assert outside == []


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory, cache: None) -> Path:
    """A small run in which keys shrink fast, so that some are respawned."""
    return train_run(
        tmp_path_factory.mktemp("runs") / "stories",
        gravity__norm="clamp", gravity__decay=True, gravity__delta=0.5, gravity__theta_percentile=0.5,
        gravity__warmup_steps=2, gravity__respawn=True, gravity__respawn_threshold=0.4,
    )  # fmt: skip


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory, trained: Path) -> str:
    """The address of its report."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(page_of([trained], Options(maps=("pca", "tsne"), tokens=600, num_permutations=20)), path)
    return path.as_uri()


@pytest.fixture(scope="module")
def server(trained: Path) -> Iterator[Server]:
    with serving([trained.parent]) as made:
        yield made
