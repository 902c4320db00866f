"""The committed page is the one that ui/ gives, is small, and its types are those of Python. Needs neither
Node nor a browser."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from somelab.view.report import PLAYGROUND, static_page

UI = Path(__file__).parents[2] / "ui"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"ui_{name}", UI / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["index.html", PLAYGROUND])
def test_the_build_is_of_these_sources(name: str) -> None:
    check = script("check")
    assert check.built_digest(check.BUILD / name) == check.source_digest(), "run `make ui`"


def test_the_docs_have_the_playground_that_is_installed() -> None:
    assert (UI.parent / "docs" / PLAYGROUND).read_text(encoding="utf-8") == static_page(PLAYGROUND), (
        "run `make ui`"
    )


def test_any_change_of_a_source_shows(tmp_path: Path) -> None:
    check = script("check")
    copy = shutil.copytree(UI, tmp_path / "ui", ignore=shutil.ignore_patterns("node_modules"))
    assert check.source_digest(copy) == check.source_digest()
    (copy / "src" / "format.ts").write_text((copy / "src" / "format.ts").read_text() + " ")
    changed = check.source_digest(copy)
    (copy / "src" / "more.ts").write_text("")
    assert len({check.source_digest(), changed, check.source_digest(copy)}) == 3


def test_the_types_are_those_of_python() -> None:
    schema = script("schema")
    assert schema.TARGET.read_text(encoding="utf-8") == schema.typescript(), "run `python ui/schema.py`"


def test_the_page_is_small_and_whole() -> None:
    page = static_page()
    assert len(page.encode()) < 600_000
    assert page.count('<script type="application/octet-stream" id="data"></script>') == 1
    _check_closed(page)


def test_the_playground_is_small_and_whole() -> None:
    page = static_page(PLAYGROUND)
    assert len(page.encode()) < 120_000
    _check_closed(page)


def _check_closed(page: str) -> None:
    """Runs only its own script, loads nothing."""
    assert "Content-Security-Policy" in page
    assert "'unsafe-inline'" not in page
    assert "'unsafe-eval'" not in page
    assert not [word for word in ('src="', "@import", "url(http") if word in page]


@pytest.mark.parametrize("library", ["uPlot", "Preact", "@preact/signals"])
def test_licences_go_with_the_page(library: str) -> None:
    notice = (UI / "public" / "NOTICE.txt").read_text(encoding="utf-8")
    assert library in notice
    assert "Permission is hereby granted" in static_page()
