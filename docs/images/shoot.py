"""Takes the screenshots of the documentation in a real browser: of the model that ships with somelab, of
small runs that it makes, or of folders given.

    python docs/images/shoot.py                              all; trains for about a quarter of an hour
    python docs/images/shoot.py --only overview,galaxies     pictures whose names begin so
    python docs/images/shoot.py --only continual-real --from real=studies/real
    python docs/images/shoot.py --to /tmp/look --everywhere  each in both themes, 1440 and 390 wide

Needs Chromium and playwright."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from sources import SOMELAB, draw_tutorial, folder_of  # noqa: E402

# Most machines that draw documents have no graphics card: WebGL then runs on the processor.
FLAGS = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist", "--no-sandbox"]
DESKTOP, TALL, PHONE = (1440, 900), (1440, 1120), (390, 844)
MOST_BYTES = 300_000
"""Larger pictures get a palette of 256 colours."""


@dataclass(frozen=True)
class Shot:
    """One picture: what it is of, the view, the theme and the size of the window."""

    name: str
    view: str
    source: str = "shipped"
    dark: bool = False
    size: tuple[int, int] = DESKTOP
    time: float = 1.0
    """Share of training that the map has played; only galaxies have it."""
    part: str = ""
    """Only this part of the page."""
    steps: int = 0
    """Of the playground."""


SHOTS = (
    *(
        Shot(f"{view}-{'dark' if dark else 'light'}", view, dark=dark)
        for view in ("overview", "balance", "traces", "guilds")
        for dark in (False, True)
    ),
    Shot("compare-light", "compare", "peers", size=TALL),
    Shot("compare-dark", "compare", "peers", dark=True, size=TALL),
    Shot("galaxies-dark", "galaxies", dark=True, size=TALL),
    Shot("galaxies-training", "galaxies", dark=True, size=TALL, time=0.5),
    Shot("galaxies-light", "galaxies", "fused", size=TALL),
    *(Shot(f"phone-{view}", view, size=PHONE) for view in ("overview", "balance", "galaxies", "traces")),
    Shot("sweep-light", "sweep", "sweep", size=TALL),
    Shot("sweep-tuning-light", "sweep", "rates", part=".section:has([data-testid=value-chart])"),
    Shot("continual-dark", "continual", "untuned", dark=True, size=TALL),
    Shot("continual-real-light", "continual", "real", size=TALL),
    Shot("runs-light", "runs", "live"),
    Shot("playground-light", "playground", "preset=v7", size=TALL, steps=400),
    Shot("playground-dark", "playground", "preset=credit", dark=True, size=TALL, steps=400),
    Shot("tutorial", "figure", "tutorial"),
)


def folders_of(source: str, work: Path, given: dict[str, Path]) -> list[Path]:
    """The run folders, or the sweep or the study, that a page shows."""
    from somelab.cli.models.play import shipped

    if source in given:
        return [given[source]]
    if source == "shipped":
        return [shipped()]
    if source in ("peers", "live"):
        # Two arms of the sweep, with all of their random seeds.
        sweep = given.get("sweep") or folder_of("sweep", work)
        return sorted(path.parent for arm in ("a1", "a4") for path in (sweep / arm).glob("*/run.json"))
    return [folder_of(source, work)]


def write_page(folders: Sequence[Path], path: Path) -> str:
    """The report; returns its address."""
    from somelab.view.page.groups import page_of
    from somelab.view.page.heavy import Options
    from somelab.view.report import write_report

    # Comparisons show no maps, and laying them out for many runs takes minutes.
    options = Options(maps=("pca", "tsne")) if len(folders) == 1 else Options(maps=("pca",), tokens=0)
    write_report(page_of(list(folders), options), path)
    return path.as_uri()


@contextlib.contextmanager
def served(runs: Sequence[Path], folder: Path) -> Iterator[str]:
    """A live server of copies of the runs, beside one that is training; gives its address."""
    for run in runs:
        shutil.copytree(run, folder / f"{run.parent.name}-{run.name}")
    training = subprocess.Popen(
        [
            *SOMELAB,
            "train",
            "some",
            "--scale",
            "micro",
            "--minutes",
            "10",
            "--out",
            folder / "some-in-progress",
        ],
        stdout=subprocess.DEVNULL,
    )
    serving = subprocess.Popen(
        [*SOMELAB, "serve", folder, "--port", "0", "--no-token"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert serving.stdout is not None
        found = next(at for line in serving.stdout if (at := re.search(r"http://\S+", line)))
        yield found[0]
    finally:
        for process in (training, serving):
            process.terminate()
            process.wait()


def shoot(browser: Browser, address: str, shot: Shot, to: Path) -> None:
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
    page.goto(address if shot.view == "playground" else f"{address}#/{shot.view}")
    page.locator("[data-testid=lead]").wait_for(timeout=60_000)
    if shot.view == "galaxies":
        _pose(page, shot)
    if shot.view == "runs":
        page.locator(".run .status.running").wait_for(timeout=120_000)
    for _ in range(shot.steps):
        page.keyboard.press("s")
    page.wait_for_timeout(1500)
    path = to / f"{shot.name}.png"
    if shot.part:
        page.locator(shot.part).screenshot(path=path)
    else:
        page.screenshot(path=path)
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    context.close()
    shrink(path)
    print(shot.name, f"scrolls sideways by {wide}" if wide > 0 else "", *complaints, flush=True)


def _pose(page: Page, shot: Shot) -> None:
    """Training played so far, and at its end the card of an expert."""
    sky = page.locator("[data-testid=sky]")
    sky.wait_for(timeout=60_000)
    slider = page.locator("[data-testid=time]")
    last = float(slider.get_attribute("max") or 1)
    slider.fill(str(shot.time * last))
    slider.blur()
    if shot.time == 1 and shot.size == TALL and shot.source == "shipped":
        find = page.get_by_label("Find expert")
        find.fill("7")
        find.press("Enter")
        find.blur()
    page.mouse.wheel(0, -5000)


def shrink(path: Path) -> None:
    """A palette for pictures that are large without one."""
    if path.stat().st_size <= MOST_BYTES:
        return
    from PIL import Image

    Image.open(path).convert("RGB").quantize(256, method=Image.Quantize.MEDIANCUT).save(path, optimize=True)


def everywhere(shots: Sequence[Shot]) -> list[Shot]:
    """Every page once in each theme and width, to look at."""
    pages = {(shot.view, shot.source, shot.time): shot for shot in shots if shot.view != "figure"}
    return [
        replace(shot, name=f"{shot.view}-{shot.source}-{size[0]}-{'dark' if dark else 'light'}", size=size,
                dark=dark, part="")
        for shot in pages.values()
        for size in (DESKTOP, PHONE)
        for dark in (False, True)
    ]  # fmt: skip


def draw(shots: Sequence[Shot], work: Path, to: Path, given: dict[str, Path]) -> None:
    from playwright.sync_api import sync_playwright

    found = os.environ.get("SOMELAB_CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        for source in dict.fromkeys(shot.source for shot in shots):
            of_it = [shot for shot in shots if shot.source == source]
            with contextlib.ExitStack() as open_meanwhile:
                if source == "tutorial":
                    draw_tutorial(to / "tutorial.png")
                    continue
                if of_it[0].view == "playground":
                    address = (HERE.parent / "playground.html").as_uri() + "#" + source
                elif source == "live":
                    runs = Path(folder) / "runs"
                    runs.mkdir()
                    address = open_meanwhile.enter_context(served(folders_of("peers", work, given), runs))
                else:
                    address = write_page(folders_of(source, work, given), Path(folder) / f"{source}.html")
                for shot in of_it:
                    shoot(browser, address, shot, to)
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="beginnings of names, separated by commas")
    parser.add_argument("--from", dest="given", action="append", default=[], metavar="SOURCE=FOLDER")
    parser.add_argument("--work", type=Path, default=Path("build/pictures"), help="where small runs are kept")
    parser.add_argument("--to", type=Path, default=HERE, help="where pictures are written")
    parser.add_argument("--everywhere", action="store_true", help="in both themes and widths")
    arguments = parser.parse_args()
    given = {name: Path(folder) for name, _, folder in (one.partition("=") for one in arguments.given)}
    names = tuple(name for name in arguments.only.split(",") if name)
    # Of studies whose figures stand beside the picture there is no small stand-in: it needs their folders.
    known = [shot for shot in SHOTS if shot.source not in ("real", "untuned") or shot.source in given]
    shots = [shot for shot in known if not names or shot.name.startswith(names)]
    arguments.to.mkdir(parents=True, exist_ok=True)
    draw(everywhere(shots) if arguments.everywhere else shots, arguments.work, arguments.to, given)


if __name__ == "__main__":
    main()
