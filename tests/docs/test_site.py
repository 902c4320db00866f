"""The documentation as a site: its navigation has every page, and it builds without a warning."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
HOOKS = runpy.run_path(str(DOCS / "site/hooks.py"))


class _Loader(yaml.SafeLoader):
    """Reads mkdocs.yml without making the Python objects that it names."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: suffix)
CONFIG = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), _Loader)


def pages_of(nav: object) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    parts = nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else []
    return [page for part in parts for page in pages_of(part)]


def test_the_navigation_has_every_page_and_no_other() -> None:
    listed = pages_of(CONFIG["nav"])
    assert len(listed) == len(set(listed))
    written = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    shown = {HOOKS["page_of"](file) for file in HOOKS["linked_files"](sorted(DOCS.rglob("*.md")))}
    assert {page for page in listed if page in written} == written
    assert set(listed) - written - {HOOKS["REFERENCE"]} <= shown


def test_links_lead_to_the_pages_that_show_their_targets() -> None:
    page = DOCS / "guides/trackers.md"
    text = HOOKS["rewritten"](page.read_text(encoding="utf-8"), page, "guides/trackers.md")
    assert "(../source/examples/callback.py.md)" in text
    assert "(../concepts/measures.md)" in text
    outside = ROOT / "examples/README.md"
    text = HOOKS["rewritten"](
        "[a](layer.py) [b](../docs/faq.md#x) `[c](d)`", outside, "project/examples/README.md"
    )
    assert text.startswith("[a](../../source/examples/layer.py.md) [b](../../faq.md#x)")


def test_a_notebook_shows_code_text_and_figures() -> None:
    page = HOOKS["shown"](DOCS / "notebooks/first_look.ipynb")
    assert "```python\n" in page
    assert "```text\n" in page
    assert "data:image/png;base64," in page


@pytest.mark.skipif(find_spec("mkdocs") is None, reason="the extra docs is not installed")
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    """Strict: a link or a heading that is missing fails. Nothing is loaded from elsewhere."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("index", "tutorial", "reviewers", "guides/gpus-and-clusters", "reference/python"):
        html = (tmp_path / f"{name}.html").read_text(encoding="utf-8")
        assert not re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=\"?https?:[^>]*>", html), name
    assert "SomeLayer" in (tmp_path / "reference/python.html").read_text(encoding="utf-8")
    assert list((tmp_path / "search").glob("search_index.json"))
