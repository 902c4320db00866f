"""Takes the screenshots of the documentation, from the model that ships with somelab, in a real browser.

    python docs/images/shoot.py [RUN ...] [--only overview,galaxies]

Without a run: the shipped model. With several, `compare` is of all of them. Needs Chromium and playwright."""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HERE = Path(__file__).parent
# Most machines that draw documents have no graphics card: WebGL then runs on the processor.
FLAGS = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist", "--no-sandbox"]
DESKTOP, TALL, PHONE = (1440, 900), (1440, 1120), (390, 844)


@dataclass(frozen=True)
class Shot:
    """One picture: a view, the theme, the size of the window, and how far training has played."""

    name: str
    view: str
    dark: bool = False
    size: tuple[int, int] = DESKTOP
    time: float = 1.0
    """Share of training that the map has played; only galaxies have it."""


SHOTS = (
    *(
        Shot(f"{view}-{'dark' if dark else 'light'}", view, dark)
        for view in ("overview", "balance", "traces", "guilds", "compare")
        for dark in (False, True)
    ),
    Shot("galaxies-dark", "galaxies", dark=True, size=TALL),
    Shot("galaxies-training", "galaxies", dark=True, size=TALL, time=0.5),
    *(Shot(f"phone-{view}", view, size=PHONE) for view in ("overview", "balance", "galaxies", "traces")),
)


def write_page(runs: list[Path], folder: Path) -> str:
    """The report of the runs; returns its address."""
    from somelab.view.page.groups import page_of
    from somelab.view.page.heavy import Options
    from somelab.view.report import write_report

    path = folder / "report.html"
    write_report(page_of(runs, Options(maps=("pca", "tsne"))), path)
    return path.as_uri()


def shoot(browser: Browser, address: str, shot: Shot) -> None:
    """Open the page as a reader would, wait until it is drawn, and write the picture."""
    width, height = shot.size
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if shot.dark else "light",
        reduced_motion="reduce",
        device_scale_factor=2 if shot.size == PHONE else 1,
    )
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{address}#/{shot.view}")
    page.locator("[data-testid=lead]").wait_for(timeout=60_000)
    if shot.view == "galaxies":
        _pose(page, shot)
    page.wait_for_timeout(1500)
    page.screenshot(path=HERE / f"{shot.name}.png")
    context.close()
    print(shot.name, *complaints)


def _pose(page: Page, shot: Shot) -> None:
    """Training played so far, and at its end the card of an expert."""
    sky = page.locator("[data-testid=sky]")
    sky.wait_for(timeout=60_000)
    slider = page.locator("[data-testid=time]")
    last = float(slider.get_attribute("max") or 1)
    slider.fill(str(shot.time * last))
    if shot.time == 1 and shot.size == TALL:
        find = page.get_by_label("Find expert")
        find.fill("7")
        find.press("Enter")
        find.blur()
    page.mouse.wheel(0, -5000)


def main() -> None:
    from playwright.sync_api import sync_playwright

    from somelab.cli.models.play import shipped

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("runs", nargs="*", type=Path, help="run folders; without any, the shipped model")
    parser.add_argument("--only", default="", help="views to draw, separated by commas")
    arguments = parser.parse_args()
    views = set(arguments.only.split(",")) - {""}
    found = os.environ.get("SOMELAB_CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        address = write_page(arguments.runs or [shipped()], Path(folder))
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        for shot in SHOTS:
            if (shot.view in views) if views else (shot.view != "compare" or len(arguments.runs) > 1):
                shoot(browser, address, shot)
        browser.close()


if __name__ == "__main__":
    main()
