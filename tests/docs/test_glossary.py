"""The glossary explains each term once and leads on to the page that has more."""

from __future__ import annotations

import re
from pathlib import Path

TEXT = (Path(__file__).parents[2] / "docs/glossary.md").read_text(encoding="utf-8")
ENTRIES = re.findall(r"^- (\*\*.*?)(?=^- |^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
TERMS = [term for entry in ENTRIES for term in re.findall(r"\*\*(.+?)\*\*", entry)]


def test_every_term_is_explained_once() -> None:
    assert len(TERMS) > 50
    assert len(set(TERMS)) == len(TERMS)


def test_every_entry_leads_on() -> None:
    assert [entry for entry in ENTRIES if not re.search(r"\]\([^)]+\)", entry)] == []


def test_the_words_of_the_lab_are_there() -> None:
    wanted = {"SoME", "expert", "key", "query", "gate", "credit", "guild", "arm", "claim", "verdict", "tuned"}
    assert wanted <= set(TERMS)
