"""The report: the built page with a run's data in it, one file that works from disk, offline, by mail.

The data are gzip and then base64, in an element that no browser executes. Base64 has no `<`, so that no text
in the data can end the element early or become markup."""

from __future__ import annotations

import base64
import gzip
import html
import os
import re
import tempfile
from importlib.resources import files
from pathlib import Path

from somelab.disk import atomic
from somelab.errors import SomelabError
from somelab.view.schema.page import Page

DATA = re.compile(r'(<script\b[^>]*\bid="data"[^>]*>)[^<]*(</script>)')
TITLE = re.compile(r"<title>[^<]*</title>")


class ReportError(SomelabError):
    """A report that cannot be written."""


PLAYGROUND = "playground.html"
"""The playground of the rules, beside the front end: a page of its own that needs no run and no server."""


def static_page(name: str = "index.html") -> str:
    """A built page: the front end, or `PLAYGROUND`."""
    path = files("somelab.view") / "static" / name
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        raise ReportError(
            "the built page is missing from this installation; reinstall somelab, or run `make ui` in its "
            "source"
        ) from None


def json_of(page: Page) -> str:
    """The page's data as JSON; a number that is not finite becomes null."""
    return page.model_dump_json()


def inlined(page: Page, template: str) -> str:
    """The template with the data in their place."""
    packed = base64.b64encode(gzip.compress(json_of(page).encode(), compresslevel=9, mtime=0)).decode("ascii")
    found = DATA.findall(template)
    if len(found) != 1:
        raise ReportError(
            f"the built page has {len(found)} places for data, one is needed; build it again with `make ui`"
        )
    filled = DATA.sub(lambda match: f"{match[1]}{packed}{match[2]}", template)
    title = f"<title>{html.escape(page.title)} · somelab</title>"
    return TITLE.sub(lambda match: title, filled, count=1)


def data_of(report: str) -> Page:
    """The data back out of a report."""
    found = re.search(r'<script\b[^>]*\bid="data"[^>]*>([^<]*)</script>', report)
    if found is None or not found[1].strip():
        raise ReportError("this file holds no data of a report")
    return Page.model_validate_json(gzip.decompress(base64.b64decode(found[1])))


def write_report(page: Page, path: Path) -> int:
    """Write the report atomically, and return its size in bytes."""
    content = inlined(page, static_page()).encode()
    return write_file(path, content)


def write_file(path: Path, content: bytes) -> int:
    check_file(path)
    with atomic.explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_bytes(path, content)
    return len(content)


def check_file(path: Path, flag: str = "-o") -> None:
    """Raise if a file cannot be written there. Asked before the work, which takes minutes. Missing folders on
    the way are made later."""
    if path.is_dir():
        raise ReportError(f"{flag} {path}: is a folder; name a file in it, such as {path / 'report.html'}")
    if path.exists() and not path.is_file():  # replacing a device would remove it
        raise ReportError(f"{flag} {path}: is not a regular file; choose another name")
    _check_writable(path.parent, path, flag)


def check_folder(path: Path, flag: str) -> None:
    """The same for a folder of files."""
    if os.path.lexists(path) and not path.is_dir():
        raise ReportError(f"{flag} {path}: is not a folder; choose another name")
    _check_writable(path, path, flag)


def _check_writable(folder: Path, path: Path, flag: str) -> None:
    there = folder.absolute()
    while not os.path.lexists(there):
        there = there.parent
    if not there.is_dir():
        raise ReportError(f"{flag} {path}: {there} is not a folder; choose another place")
    if not (os.access(there, os.W_OK | os.X_OK) and _takes_a_file(there)):
        raise ReportError(f"{flag} {path}: {there} cannot be written; choose another place, or allow it")


def _takes_a_file(folder: Path) -> bool:
    """Tried, since permissions are not all: to root, /proc looks as if it could be written."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
