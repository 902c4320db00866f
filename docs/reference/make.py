"""Generate the reference of settings from the field docstrings: `python docs/reference/make.py`. It writes
reference/config.md and the table in concepts/versions.md; a test compares both with the tree."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from somelab.config import VERSIONS
from somelab.config.fields import Field, fields, group_docs
from somelab.config.model import BACKBONES

DOCS = Path(__file__).parents[1]
INTRODUCTION = """\
# All settings

Written by `python docs/reference/make.py` from [the typed tree](../../src/somelab/config/tree.py); do not
edit it here. `somelab show --fields` prints the same. On the command line a setting is
`--group.name value`, in a file a line under its group. `null` (None in Python) is "not set". Unknown names,
values out of range and settings that contradict each other are errors, with a remedy.
"""
VERSION_COLUMNS = {
    "query network": "router.kind",
    "scoring": "router.scoring",
    "usage": "gravity.usage",
    "pair inertia": "gravity.inertia",
    "norm": "gravity.norm",
    "theta": "gravity.theta",
    "quantile": "gravity.theta_percentile",
    "respawn": "gravity.respawn",
    "padding in the loss": "data.padding_in_loss",
    "padding moves keys": "gravity.count_padding",
}


def config_page() -> str:
    """Every group as a table."""
    parts = [INTRODUCTION, _links()]
    for group, about in group_docs().items():
        rows = [_row(field) for field in fields().values() if field.group == group]
        table = "\n".join(["| setting | takes | default | meaning |", "|---|---|---|---|", *rows])
        parts.append(f"## {group}\n{about}\n\n{table}\n")
    parts.append(_backbones())
    return "\n".join(parts)


def versions_table() -> str:
    """One row a version; what a version leaves open is a dash."""
    head = f"| version | {' | '.join(VERSION_COLUMNS)} |\n|{'---|' * (len(VERSION_COLUMNS) + 1)}"
    rows: list[str] = []
    for version, settings in VERSIONS.items():
        cells = [plain(settings[name]) if name in settings else "-" for name in VERSION_COLUMNS.values()]
        rows.append(f"| {version} | {' | '.join(cells)} |")
    return "\n".join([head, *rows])


def versions_page() -> str:
    """concepts/versions.md with its table written anew."""
    page = (DOCS / "concepts/versions.md").read_text(encoding="utf-8")
    start, end = "<!-- versions: written by docs/reference/make.py -->", "<!-- end of versions -->"
    assert page.count(start) == page.count(end) == 1
    return re.sub(f"{start}.*?{end}", f"{start}\n{versions_table()}\n{end}", page, flags=re.DOTALL)


def plain(value: Any) -> str:
    """A value as people write it in YAML."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, tuple | list):
        return "[" + ", ".join(plain(part) for part in value) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _links() -> str:
    return "Groups: " + " · ".join(f"[{group}](#{group})" for group in group_docs()) + "\n"


def _row(field: Field) -> str:
    cells = (f"`{field.name}`", field.kind, f"`{plain(field.default)}`", field.doc)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _backbones() -> str:
    """What the parts of `model` are where they are left at null."""
    names = list(BACKBONES)
    rows = [
        f"| {part} | " + " | ".join(plain(BACKBONES[name][part]) for name in names) + " |"
        for part in BACKBONES[names[0]]
    ]
    head = [f"| part | {' | '.join(names)} |", f"|{'---|' * (len(names) + 1)}"]
    table = "\n".join([*head, *rows])
    return f"## Backbones\nWhat a part of `model` is where it is left at null.\n\n{table}\n"


if __name__ == "__main__":
    (DOCS / "reference/config.md").write_text(config_page(), encoding="utf-8")
    (DOCS / "concepts/versions.md").write_text(versions_page(), encoding="utf-8")
