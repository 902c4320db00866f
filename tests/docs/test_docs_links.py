"""Every relative link and picture in the documentation leads somewhere, and every page can be reached from
the first."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+\.md(?:#\S+)?) \"", re.MULTILINE)


def targets(page: Path) -> list[tuple[Path, str]]:
    """What a page links to: the file, and the heading within it. A link inside the page leads to the page."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    links = [inline or defined for inline, defined in LINK.findall(text)]
    relative = [link.partition("#") for link in links if not re.match(r"[a-z]+:", link)]
    return [((page.parent / path).resolve() if path else page, anchor) for path, _, anchor in relative]


def anchors(page: Path) -> set[str]:
    """Headings in the form that Git hosts link to."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in targets(page):
        assert target.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in anchors(target), f"{page.name} links to a heading {anchor} of {target.name}"


def test_every_page_can_be_reached_from_the_first() -> None:
    reached: set[Path] = set()
    waiting = [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached and page.suffix == ".md" and DOCS in page.parents:
            reached.add(page)
            waiting += [target for target, _ in targets(page)]
    assert reached == set(PAGES)


def test_every_picture_is_shown_on_some_page() -> None:
    shown = {target for page in PAGES for target, _ in targets(page) if target.parent == DOCS / "pictures"}
    assert shown == set((DOCS / "pictures").glob("*.svg"))


@pytest.mark.parametrize("page", sorted((DOCS / "concepts").glob("*.md")), ids=lambda page: page.stem)
def test_a_concept_has_a_picture_and_its_code(page: Path) -> None:
    found = [target for target, _ in targets(page)]
    if page.stem != "versions":  # a table says it better
        assert any(target.suffix == ".svg" for target in found)
    assert any("src" in target.parts and target.suffix == ".py" for target in found)
    assert "## Settings" in page.read_text(encoding="utf-8") or page.stem == "measures"
    assert "## What to watch for" in page.read_text(encoding="utf-8")
