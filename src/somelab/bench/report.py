"""Results as a page of Markdown: the machine, the bars, and for each benchmark its table and a chart of bars
made of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from somelab.bench.results import Result, Row

CHART_WIDTH = 40
FULL, PARTS = "█", " ▏▎▍▌▋▊▉"


def markdown(run: dict[str, Any], results: Sequence[Result]) -> str:
    """The whole page. `run`: command, version, machine, load, bars."""
    lines = [
        "# Benchmarks",
        "",
        f"Made by `{run['command']}` on {run['date']}, somelab {run['somelab']}.",
        "",
    ]
    lines += [
        (
            "Every contender runs in each repetition, within one process and one run. Numbers are medians, "
            "with the"
        ),
        "quartiles after them. A ratio is the contender's time / our time: above 1, ours is faster.",
        "",
    ]
    if run["load"]["warning"]:
        lines += [f"> **Disturbed run:** {run['load']['warning']}.", ""]
    lines += ["## Bars", "", *_bars(run), "", "## The machine", "", *_machine(run), ""]
    for result in results:
        lines += section(result)
    return "\n".join(lines).rstrip() + "\n"


def section(result: Result) -> list[str]:
    """One benchmark: settings, table, chart, ratios, notes."""
    settings = ", ".join(f"{name} {_plain(value)}" for name, value in result.settings.items())
    lines = [f"## {result.title} (`bench {result.bench}`)", "", f"{settings}.", ""]
    lines += table(
        ["case", "contender", "median", "quartiles", "ratio", "what differs"],
        [
            [row.case, row.contender, shown(row), spread(row), times(row.ratio), remark(row)]
            for row in result.rows
        ],
    )
    lines += ["", "```text", *chart(result.rows), "```", ""]
    measured = {**result.ratios, **result.figures}
    lines += [f"- `{name}`: {_plain(value)}" for name, value in measured.items()]
    lines += ["", *(f"{note}  " for note in result.notes), ""]
    return lines


def chart(rows: Sequence[Row]) -> list[str]:
    """A group of bars for each case, all to the scale of its longest."""
    lines = list[str]()
    for case in dict.fromkeys(row.case for row in rows):
        drawn = [row for row in rows if row.case == case and row.median is not None]
        if not drawn:
            continue
        longest, width = max(row.median or 0.0 for row in drawn), max(len(row.contender) for row in drawn)
        lines += ["", case] if lines else [case]
        lines += [
            f"  {row.contender:<{width}}  {bar(row.median or 0.0, longest)} {shown(row)}" for row in drawn
        ]
    return lines


def bar(value: float, longest: float) -> str:
    """A bar to an eighth of a character; never empty."""
    eighths = max(1, round(value / longest * CHART_WIDTH * 8)) if longest > 0 else 1
    return FULL * (eighths // 8) + PARTS[eighths % 8].strip()


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    def line(cells: list[str]) -> str:
        return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"

    return [line(header), f"|{'---|' * len(header)}", *(line(row) for row in rows)]


def shown(row: Row) -> str:
    """The median with its unit."""
    return "-" if row.median is None else quantity(row.median, row.unit)


def spread(row: Row) -> str:
    """The quartiles, where there is more than one repetition."""
    if row.low is None or row.high is None or row.repetitions < 2:
        return "-"
    return f"{quantity(row.low, row.unit)} to {quantity(row.high, row.unit)} ({row.repetitions})"


def quantity(value: float, unit: str) -> str:
    if unit == "bytes":
        return f"{value / 1e9:.2f} GB"
    if unit == "GFLOP/s":
        return f"{value:.0f} GFLOP/s"
    assert unit == "s"
    if value >= 10:
        return f"{value:.1f} s"
    return f"{value * 1e3:.0f} ms" if value >= 0.1 else f"{value * 1e3:.3g} ms"


def times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}x"


def remark(row: Row) -> str:
    """Differences, tokens per second, or why there is no number."""
    if row.problem is not None:
        return row.problem
    parts = [row.note] if row.note else []
    parts += [
        f"{row.details[key]:,.0f} {name}"
        for key, name in (
            ("tokens_per_second", "tokens/s"),
            ("meaningful_tokens_per_second", "meaningful tokens/s"),
        )
        if key in row.details
    ]
    if "difference" in row.details:
        parts.append(f"outputs differ by {row.details['difference']:.0e} at most")
    return "; ".join(parts)


def _bars(run: dict[str, Any]) -> list[str]:
    cells = [
        [bar["measure"], bar["bar"], bar["stretch"], bar["shown"], bar["verdict"]] for bar in run["bars"]
    ]
    lines = table(["measure", "bar", "stretch", "here", ""], cells)
    if run["dtype"] == "fp32":
        lines += [
            "",
            "The bars are stated for bf16 on hardware that multiplies it; this run computes in fp32.",
        ]
    return lines


def _machine(run: dict[str, Any]) -> list[str]:
    machine, load = run["machine"], run["load"]
    features = machine["features"]
    known = (
        ", ".join(f"{name} {'yes' if has else 'no'}" for name, has in features.items())
        if features
        else "not known"
    )
    rows = [
        ["processor", machine["processor"]],
        ["features", known],
        ["cores", f"{machine['cores']}, torch uses {machine['threads']} threads"],
        ["memory", f"{machine['memory'] / 1e9:.1f} GB" if machine["memory"] else "not known"],
        ["Python, torch", f"{machine['python']}, {machine['torch']}"],
        [
            "peers",
            ", ".join(f"{name} {version or 'not installed'}" for name, version in machine["peers"].items()),
        ],
        ["load average before", _load(load["before"])],
        ["load average after", _load(load["after"])],
        [
            "other processes used",
            "not known" if load["other_cores"] is None else f"{load['other_cores']:.2f} cores on average",
        ],
        ["took", f"{load['seconds']:.0f} s"],
    ]
    return table(["", ""], rows)


def _load(load: Sequence[float] | None) -> str:
    return "not known" if load is None else ", ".join(f"{value:.2f}" for value in load)


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.4g}"
    if isinstance(value, list):
        return " ".join(str(entry) for entry in value)  # pyright: ignore[reportUnknownArgumentType]
    return f"{value:,}" if isinstance(value, int) else str(value)
