"""Files of a folder that someone else has prepared: links, FIFOs, devices and large files are refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from somelab.disk import guarded
from somelab.disk.guarded import GuardError

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs POSIX files")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "run"
    made.mkdir()
    (made / "inner").mkdir()
    (made / "inner" / "text").write_text("inside")
    (tmp_path / "outside").write_text("precious")
    return made


def test_reads_regular_files_and_links_that_stay_inside(folder: Path) -> None:
    (folder / "link").symlink_to("inner/text")
    (folder / "last").symlink_to("inner")
    for name in ("inner/text", "link", "last/text"):
        assert guarded.read_text(folder / name, inside=folder) == "inside"


@pytest.mark.parametrize("name", ["link", "last/outside"])
def test_refuses_links_that_leave_the_folder(folder: Path, name: str) -> None:
    (folder / "link").symlink_to(folder.parent / "outside")
    (folder / "last").symlink_to(folder.parent)
    with pytest.raises(GuardError, match="leads out of"):
        guarded.read_bytes(folder / name, inside=folder)
    assert guarded.read_text(folder / name) == "precious"


def test_refuses_what_would_block_or_never_end(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    for path in (folder / "pipe", Path("/dev/zero")):
        with pytest.raises(GuardError, match="not a regular file"):
            guarded.read_bytes(path)
    with pytest.raises(GuardError, match="not a regular file"):
        guarded.open_append(folder / "pipe", inside=folder)


def test_refuses_large_files_at_the_limit(folder: Path) -> None:
    assert guarded.read_bytes(folder / "inner" / "text", limit=6) == b"inside"
    with pytest.raises(GuardError, match="more than 5 bytes"):
        guarded.read_bytes(folder / "inner" / "text", limit=5)


def test_a_missing_file_and_a_folder_are_os_errors(folder: Path) -> None:
    with pytest.raises(FileNotFoundError):
        guarded.read_bytes(folder / "absent")
    with pytest.raises(IsADirectoryError):
        guarded.read_bytes(folder / "inner")


def test_appends_to_own_files_and_makes_them(folder: Path) -> None:
    for expected in ("a", "aa"):
        with guarded.open_append(folder / "journal", inside=folder) as file:
            file.write(b"a")
        assert (folder / "journal").read_text() == expected


@pytest.mark.parametrize("kind", ["symbolic", "dangling", "hard", "parent"])
def test_never_writes_through_a_link(folder: Path, kind: str) -> None:
    outside, name = folder.parent / "outside", "journal"
    if kind == "symbolic":
        (folder / name).symlink_to(outside)
    elif kind == "dangling":
        (folder / name).symlink_to(folder.parent / "new")
    elif kind == "hard":
        os.link(outside, folder / name)
    else:
        (folder / "sub").symlink_to(folder.parent)
        name = "sub/outside"
    with pytest.raises(GuardError):
        guarded.open_append(folder / name, inside=folder)
    assert outside.read_text() == "precious"
    assert not (folder.parent / "new").exists()
