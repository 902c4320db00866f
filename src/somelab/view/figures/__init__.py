"""Figures for papers: every plot of a page as SVG and PNG, every table as CSV. They show the same data as the
page."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from somelab.errors import SomelabError
from somelab.view.schema.page import Page

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_figures(page: Page, folder: Path) -> dict[str, int]:
    """Write everything into a folder, and return each file with its size in bytes."""
    from somelab.disk import atomic
    from somelab.view.figures.style import rendered, styled
    from somelab.view.figures.tables import page_tables

    check_installed()
    with atomic.explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
    written: dict[str, int] = {}

    def write(name: str, content: bytes) -> None:
        atomic.write_bytes(folder / name, content)
        written[str(folder / name)] = len(content)

    with styled():
        for name, made in every_figure(page):
            for kind in ("svg", "png"):
                write(f"{name}.{kind}", rendered(made, kind))
    for name, content in page_tables(page):
        write(f"{name}.csv", content.encode())
    return written


def check_installed() -> None:
    """Raise with what to install if figures cannot be drawn."""
    if find_spec("matplotlib") is None:
        raise SomelabError(
            "--figures needs matplotlib; run `pip install 'somelab[figures]'`, or leave it out"
        )


def every_figure(page: Page) -> Iterator[tuple[str, Figure]]:
    """All plots that the page has data for, with their names."""
    from somelab.view.figures.compare import compare_figures
    from somelab.view.figures.galaxies import galaxy_figures
    from somelab.view.figures.guilds import guild_figures
    from somelab.view.figures.runs import run_figures
    from somelab.view.figures.studies import study_figures
    from somelab.view.figures.sweeps import sweep_figures
    from somelab.view.page.groups import is_light

    for sweep in page.sweeps:
        yield from ((f"{sweep.id}-{name}", made) for name, made in sweep_figures(sweep))
    for study in page.studies:
        yield from ((f"{study.id}-{name}", made) for name, made in study_figures(study))
    named = [run for run in page.runs if not is_light(run)]  # runs of a sweep are drawn as its arms
    yield from compare_figures(page.model_copy(update={"runs": named}))
    for run in named:
        for figures_of in (run_figures, galaxy_figures, guild_figures):
            yield from ((f"{run.id}-{name}", made) for name, made in figures_of(run))
