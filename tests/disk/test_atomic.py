"""Whatever fails while something is written: the old content stays, and what is left lying about can be swept
up."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from somelab.disk import atomic
from somelab.disk.atomic import WriteError


class Trouble:
    """Lets the n-th call of any of some functions of `os` fail, and counts all of them."""

    def __init__(
        self, patch: pytest.MonkeyPatch, names: tuple[str, ...], fails_at: int, number: int = errno.ENOSPC
    ) -> None:
        self.num_calls, self.fails_at, self.number = 0, fails_at, number
        for name in names:
            patch.setattr(os, name, self._troubled(getattr(os, name)))

    def _troubled(self, act: Callable[..., Any]) -> Callable[..., Any]:
        def troubled(*arguments: Any, **options: Any) -> Any:
            self.num_calls += 1
            if self.num_calls == self.fails_at:
                raise OSError(self.number, os.strerror(self.number))
            return act(*arguments, **options)

        return troubled


def inside(folder: Path) -> dict[str, bytes | str]:
    """Everything below a folder: content of files, targets of links."""
    return {
        str(path.relative_to(folder)): os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def fill_new(folder: Path) -> None:
    (folder / "a").write_text("new a")
    (folder / "b").write_text("new b")


def write_file(folder: Path) -> None:
    atomic.write_text(folder / "file", "new")


def write_folder(folder: Path) -> None:
    atomic.write_folder(folder / "inner", fill_new)


def point(folder: Path) -> None:
    atomic.point(folder / "link", "other")


# What is written, and everything that may be found afterwards: as it was, or as it should be.
BEFORE: dict[str, bytes | str] = {"file": b"old", "inner/a": b"old a", "link": "inner"}
WRITERS = {
    "file": (write_file, {**BEFORE, "file": b"new"}),
    "folder": (write_folder, {**BEFORE, "inner/a": b"new a", "inner/b": b"new b"}),
    "link": (point, {**BEFORE, "link": "other"}),
}
SYSTEM_CALLS = ("replace", "fsync", "symlink")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    (made / "inner").mkdir(parents=True)
    (made / "file").write_text("old")
    (made / "inner" / "a").write_text("old a")
    (made / "link").symlink_to("inner")
    assert inside(made) == BEFORE
    return made


@pytest.mark.parametrize("what", WRITERS)
def test_what_is_written_replaces_what_was_there(folder: Path, what: str) -> None:
    write, after = WRITERS[what]
    write(folder)
    assert inside(folder) == after


@pytest.mark.parametrize("what", ["file", "link"])
def test_a_failure_at_any_call_leaves_the_old_or_the_new(folder: Path, what: str) -> None:
    write, after = WRITERS[what]
    backup = folder.with_name("backup")
    shutil.copytree(folder, backup, symlinks=True)
    found: list[str] = []
    complaints: list[str] = []
    for fails_at in range(1, 20):
        shutil.rmtree(folder)
        shutil.copytree(backup, folder, symlinks=True)
        with pytest.MonkeyPatch.context() as patch:
            trouble = Trouble(patch, SYSTEM_CALLS, fails_at)
            try:
                write(folder)
            except WriteError as error:
                complaints.append(str(error))
        atomic.clear_leftovers(folder)
        assert inside(folder) in (BEFORE, after)
        found.append("old" if inside(folder) == BEFORE else "new")
        if trouble.num_calls < fails_at:
            break
    # The name changes in one call: what fails before it leaves the old, and what fails after it the new.
    assert found == sorted(found, reverse=True)
    assert (found[0], found[-1]) == ("old", "new")
    assert all("free some space" in complaint for complaint in complaints)


def test_a_new_folder_is_there_whole_or_not_at_all(folder: Path) -> None:
    """A folder of that name is replaced only if it is a leftover (see `checkpoint.save`); beside it nothing
    changes."""
    whole = {**BEFORE, "fresh/a": b"new a", "fresh/b": b"new b"}
    results: list[bool] = []
    complaints: list[str] = []
    for fails_at in range(1, 20):
        shutil.rmtree(folder / "fresh", ignore_errors=True)
        with pytest.MonkeyPatch.context() as patch:
            trouble = Trouble(patch, SYSTEM_CALLS, fails_at)
            try:
                atomic.write_folder(folder / "fresh", fill_new)
            except WriteError as error:
                complaints.append(str(error))
        atomic.clear_leftovers(folder)
        assert inside(folder) in (BEFORE, whole)
        results.append(inside(folder) == whole)
        if trouble.num_calls < fails_at:
            break
    assert results.count(False) == 3, "either file cannot be synced, or the folder cannot be renamed"
    assert results[-1]
    assert all("free some space" in complaint for complaint in complaints)


def test_a_folder_whose_filling_fails_does_not_appear(folder: Path) -> None:
    def half(inner: Path) -> None:
        (inner / "a").write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(WriteError, match=r"cannot write .*fresh: No space left on device; free some space"):
        atomic.write_folder(folder / "fresh", half)
    assert inside(folder) == BEFORE
    assert {path.name for path in folder.iterdir()} == {"file", "inner", "link"}


def test_leftovers_of_killed_writers_are_swept_up_and_nothing_else(folder: Path) -> None:
    (folder / ".writing-file~77-abc").write_text("half")
    (folder / ".writing-inner~77-abc" / "deep").mkdir(parents=True)
    (folder / ".writing-link~77-abc").symlink_to("nowhere")
    (folder / ".hidden").write_text("mine")
    atomic.clear_leftovers(folder)
    assert inside(folder) == {**BEFORE, ".hidden": b"mine"}
    assert not [path for path in folder.iterdir() if path.name.startswith(".writing")]


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, "free some space; what was written before is intact"),
        (errno.EDQUOT, "free some space; what was written before is intact"),
        (errno.EACCES, "allow writing there, or choose another folder with --out"),
        (errno.EROFS, "allow writing there, or choose another folder with --out"),
        (errno.ENOTDIR, "choose another folder with --out"),
    ],
)
def test_what_the_disk_refuses_has_a_remedy(
    folder: Path, monkeypatch: pytest.MonkeyPatch, number: int, remedy: str
) -> None:
    Trouble(monkeypatch, ("replace",), 1, number)
    with pytest.raises(WriteError) as caught:
        write_file(folder)
    assert str(caught.value) == f"cannot write {folder / 'file'}: {os.strerror(number)}; {remedy}"


def test_a_folder_that_cannot_be_synced_is_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not every file system can; the rename has happened all the same."""

    def refuse(*arguments: Any) -> int:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "open", refuse)
    atomic.sync_folder(folder)
