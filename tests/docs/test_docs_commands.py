"""Every `somelab` command on the pages can be typed: verb, flags and values are those that it takes."""

from __future__ import annotations

import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest

from somelab.cli.arguments import parse_arguments
from somelab.cli.main import VERBS

DOCS = Path(__file__).parents[2] / "docs"
WRITTEN_BY_SOMELAB = ("evidence.md", "frontier.md")
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if page.name not in WRITTEN_BY_SOMELAB]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBERS = {"S": "0", "N": "1"}
"""Letters that stand for a number on the pages."""


def commands(page: Path) -> list[list[str]]:
    """Commands in blocks of shell and in code spans, without `somelab` itself and without comments."""
    text = page.read_text(encoding="utf-8")
    blocks = [body for kind, body in FENCE.findall(text) if kind in ("", "sh", "bash")]
    lines = [line for body in blocks for line in re.sub(r"\\\n\s*", " ", body).splitlines()]
    spans = re.findall(r"`([^`]+)`", FENCE.sub("", text))
    typed = [one for one in [*lines, *spans] if re.match(r"somelab [a-z]", one)]
    found = [shlex.split(one, comments=True) for one in typed]
    return [[NUMBERS.get(word, word) for word in words[1:]] for words in found if "..." not in words]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_the_commands_of_a_page_can_be_typed(page: Path) -> None:
    for verb, *rest in commands(page):
        assert verb in VERBS, f"{page.name}: somelab {verb}"
        if rest:
            assert parse_arguments(import_module(VERBS[verb].module).Arguments, rest, verb) is not None


def test_there_are_commands_to_check() -> None:
    assert sum(len(commands(page)) for page in PAGES) > 60
