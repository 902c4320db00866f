"""Settings that the documentation names exist, and defaults that it states are the tree's; the reference is
current."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from somelab.config.fields import fields

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
GROUPS = "model|experts|router|gravity|data|train"
NAMED = re.compile(rf"`((?:{GROUPS})\.[a-z_.]+)(?: = ([^`]+))?`")
FLAG = re.compile(rf"--((?:{GROUPS})\.[a-z_-]+)")


def named(page: Path) -> Iterator[tuple[str, str | None]]:
    """Dotted names in backticks or as flags, and the default that is stated with them (None: none is)."""
    text = page.read_text(encoding="utf-8")
    for match in NAMED.finditer(text):
        yield match[1], match[2]
    for match in FLAG.finditer(text):
        yield match[1].replace("-", "_"), None


def plain(value: Any) -> Any:
    """A default in the types that YAML reads."""
    return [plain(part) for part in value] if isinstance(value, tuple) else value


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_named_settings_exist_with_the_stated_defaults(page: Path) -> None:
    for name, stated in named(page):
        assert name in fields(), f"{page.name} names {name}"
        if stated is not None:
            assert yaml.safe_load(stated) == plain(fields()[name].default), (
                f"{page.name} states {name} = {stated}"
            )


def test_every_setting_of_the_core_is_explained_on_some_concept_page() -> None:
    explained = {
        name
        for page in PAGES
        if page.parent.name == "concepts"
        for name, stated in named(page)
        if stated is not None
    }
    wanted = {name for name, field in fields().items() if field.group in ("experts", "router", "gravity")}
    assert explained >= wanted


def test_the_reference_is_current() -> None:
    make = runpy.run_path(str(DOCS / "reference/make.py"))
    assert (DOCS / "reference/config.md").read_text(encoding="utf-8") == make["config_page"]()
    assert (DOCS / "concepts/versions.md").read_text(encoding="utf-8") == make["versions_page"]()


def test_the_reference_has_every_setting_once() -> None:
    rows = re.findall(
        r"^\| `([a-z_.]+)` \|", (DOCS / "reference/config.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert rows == list(fields())
