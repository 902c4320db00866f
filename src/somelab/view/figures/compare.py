"""Figures over several runs: loss against tokens, perplexity against parameters, with intervals over random
seeds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from somelab.view.figures.style import COLUMN, MUTED, category_colour, figure, known, millions
from somelab.view.schema.page import Group, Page, Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DASHES = ("-", (0, (4, 1.5)), (0, (1, 1)))


def compare_figures(page: Page) -> Iterator[tuple[str, Figure]]:
    runs = {run.id: run for run in page.runs if run.curves.evaluation.step}
    groups = [group for group in page.groups if any(run_id in runs for run_id in group.run_ids)]
    if len(runs) > 1:
        yield "loss-against-tokens", loss_against_tokens(groups, runs)
        if any(run.parameters for run in runs.values()):
            yield "perplexity-against-parameters", perplexity_against_parameters(groups, runs)


def group_style(place: int) -> tuple[str, object]:
    """Colours repeat after seven groups, dashes change then."""
    return category_colour(place), DASHES[place // 7 % len(DASHES)]


def loss_against_tokens(groups: list[Group], runs: dict[str, Run]) -> Figure:
    """Bits per byte, which is comparable across tokenizers; a colour per group, a line per seed."""
    made, (axes,) = figure(COLUMN * 0.75, 3.0)
    for place, group in enumerate(groups):
        colour, dash = group_style(place)
        for number, run_id in enumerate(run_id for run_id in group.run_ids if run_id in runs):
            measured = runs[run_id].curves.evaluation
            label = f"{group.name} ({len(group.run_ids)})" if number == 0 else None
            xs, ys = known(measured.tokens, measured.bits_per_byte)
            axes.plot(
                xs, ys, color=colour, linestyle=dash, marker="o", markersize=2.5, linewidth=1.1, label=label
            )  # pyright: ignore[reportArgumentType]
    axes.set(xlabel="tokens trained on", ylabel="bits per byte", title="Validation against trained tokens")
    axes.set_xscale("log")
    millions(axes)
    axes.legend(title="group (seeds)", title_fontsize=7.5)
    return made


def perplexity_against_parameters(groups: list[Group], runs: dict[str, Run]) -> Figure:
    """val_ppl against all weights (filled) and trained ones (hollow); the bar is the 95 % interval over
    seeds."""
    made, (axes,) = figure(COLUMN * 0.75, 3.0)
    for place, group in enumerate(groups):
        found = group.figures.get("val_ppl")
        size = next(
            (
                runs[run_id].parameters
                for run_id in group.run_ids
                if run_id in runs and runs[run_id].parameters
            ),
            None,
        )
        if found is None or found.mean is None or size is None:
            continue
        colour, _ = group_style(place)
        error = None
        if found.low is not None and found.high is not None:
            error = [[found.mean - found.low], [found.high - found.mean]]
        axes.plot([size.trainable, size.total], [found.mean] * 2, color=colour, linewidth=0.8, linestyle=":")
        axes.errorbar(
            size.total,
            found.mean,
            yerr=error,
            fmt="o",
            color=colour,
            capsize=2.5,
            markersize=5,
            label=f"{group.name} ({found.num})",
        )
        axes.plot(size.trainable, found.mean, "o", color=colour, markerfacecolor="white", markersize=5)
    axes.set(xscale="log", yscale="log", xlabel="weights: all (filled), trained (hollow)", ylabel="val_ppl")
    axes.set_title("Perplexity against parameters")
    millions(axes)
    from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(ScalarFormatter())
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.legend(title="group (seeds)", title_fontsize=7.5)
    axes.text(
        1,
        -0.28,
        "perplexities are comparable only within one tokenizer",
        transform=axes.transAxes,
        ha="right",
        color=MUTED,
        fontsize=7,
    )
    return made
