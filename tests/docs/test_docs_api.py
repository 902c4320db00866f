"""The reference of the public names is what the docstrings say, and it has all of them."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import somelab
from somelab.cli.main import VERBS

REFERENCE = Path(__file__).parents[2] / "docs/reference"
PAGE = (REFERENCE / "api.md").read_text(encoding="utf-8")


def test_the_page_is_current() -> None:
    written = runpy.run_path(str(REFERENCE / "api.py"))["api_page"]()
    assert written == PAGE, "run python docs/reference/api.py"


def test_every_public_name_has_a_section_with_a_signature() -> None:
    for name in somelab.__all__:
        (section,) = re.findall(rf"^## {name}\n(.*?)(?=^## )", PAGE, re.MULTILINE | re.DOTALL)
        assert re.match(rf"```py\n(class )?somelab\.{name}\b", section)
        assert f"| [{name}](#{name.lower()}) |" in PAGE


def test_every_verb_is_there() -> None:
    assert re.findall(r"^\| `somelab (\w+)` \|", PAGE, re.MULTILINE) != []
    assert set(re.findall(r"^\| `somelab (\w+)` \|", PAGE, re.MULTILINE)) == set(VERBS)


def test_nothing_depends_on_the_place_or_the_moment() -> None:
    assert " at 0x" not in PAGE
    assert str(Path.home()) not in PAGE
