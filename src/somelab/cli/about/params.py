"""`somelab params`: how large a model is, counted without allocating it, beside the published figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import tyro

from somelab.cli.choice import Choice, Chosen
from somelab.cli.terminal import console, print_json, say, table
from somelab.config import PRESETS, Config
from somelab.config.counts import ParameterCount, recorded
from somelab.errors import SomelabError


@dataclass(frozen=True)
class Arguments(Choice):
    """Count a model's parameters without allocating them, and compare with the published figures. total: all
    weights; trained: those that the optimizer updates; active: those that one token uses."""

    presets: Annotated[
        tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[PRESET ...]", help_behavior_hint="")
    ] = ()
    """Which presets, one or several; `somelab presets` lists them."""
    all: bool = False
    """Every preset."""
    json: bool = False
    """Print a list for programs."""


def run(arguments: Arguments) -> None:
    if arguments.all and (arguments.presets or arguments.config):
        raise SomelabError("--all already means every preset; leave out the name, or --all")
    names: tuple[str | None, ...] = tuple(PRESETS) if arguments.all else arguments.presets or (None,)
    every = [arguments.resolve(name) for name in names]
    entries = [_entry(chosen, _counted(chosen.config)) for chosen in every]
    if arguments.json:
        print_json(entries)
        return
    _print_table(entries)
    say(f"\n{_summary(entries)}")


def _counted(config: Config) -> ParameterCount:
    """From the record where it is there; counting imports torch."""
    if found := recorded(config):
        return found
    from somelab.model.count import count_parameters

    return count_parameters(config)


def _entry(chosen: Chosen, count: ParameterCount) -> dict[str, Any]:
    figures = chosen.preset.published if chosen.preset else None
    total, trainable = (figures.total, figures.trainable) if figures else (None, None)
    comparable = chosen.is_preset and total is not None and trainable is not None
    return {
        "preset": chosen.name,
        "total": count.total,
        "trainable": count.trainable,
        "frozen": count.frozen,
        "active": count.active,
        "bytes": count.bytes,
        "flops_per_token": count.flops_per_token,
        "published_total": total,
        "published_trainable": trainable,
        "agrees": (_agrees(count.total, total) and _agrees(count.trainable, trainable))
        if comparable
        else None,
        "note": chosen.preset.note or None if chosen.preset else None,
    }


def _agrees(count: int, millions: float | None) -> bool:
    """Whether a count is the published one, which has two decimals of a million."""
    return millions is not None and round(count / 1e6, 2) == millions


def _print_table(entries: list[dict[str, Any]]) -> None:
    compared = any(entry["published_total"] is not None for entry in entries)
    columns = ["preset", "total", "trained", "share", "active", "memory", "MFLOP"]
    columns += ["in the report", "agrees"] if compared else []
    listing = table(*columns, numbers=tuple(columns[1:8]))
    for entry in entries:
        row = [
            entry["preset"],
            _millions(entry["total"]),
            _millions(entry["trainable"]),
            f"{entry['trainable'] / entry['total']:.1%}",
            _millions(entry["active"]),
            _memory(entry["bytes"]),
            f"{entry['flops_per_token'] / 1e6:.1f}",
        ]
        if compared:
            row += [_published(entry), {True: "yes", False: "no", None: ""}[entry["agrees"]]]
        listing.add_row(*row)
    console().print(listing)


def _summary(entries: list[dict[str, Any]]) -> str:
    lines = [
        (
            "total, trained, active: millions of weights; memory: weights and buffers; MFLOP: forward pass "
            "of one token."
        )
    ]
    compared = [entry for entry in entries if entry["agrees"] is not None]
    if compared:
        agreeing = sum(entry["agrees"] for entry in compared)
        lines.append(
            f"{agreeing} of {len(compared)} compared with the reports agree to 0.01 M, in total and trained."
        )
    noted = [entry for entry in entries if entry["note"]]
    contradicting = [entry for entry in noted if entry["agrees"] is False]
    lines += [f"{entry['preset']} contradicts itself: {entry['note']}" for entry in contradicting]
    lines += [f"{entry['preset']}: {entry['note']}" for entry in noted if entry["agrees"] is not False]
    return "\n".join(lines)


def _millions(count: int) -> str:
    return f"{count / 1e6:.2f}"


def _published(entry: dict[str, Any]) -> str:
    total, trainable = entry["published_total"], entry["published_trainable"]
    return "" if total is None or trainable is None else f"{total:.2f} / {trainable:.2f}"


def _memory(size: int) -> str:
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"
