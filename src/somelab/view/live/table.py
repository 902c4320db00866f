"""The folders that the server shows: runs, and results over several. A request names one by an id that is
looked up here, never by a path. Whatever a symbolic link in a folder points to must lie in the runs folder
too, or the folder is not read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from somelab.errors import SomelabError
from somelab.view.page.groups import run_ids
from somelab.view.page.results import Kind, kind_of

DEPTH = 3  # levels below a named folder at which runs are looked for
MOST_FILES = 50_000
"""In one folder of a run or of results: they are all looked at whenever the list is."""
DEPTH_OF_RESULTS = 2  # levels below the folder of a sweep at which its runs lie: arm, then seed


class UnknownRun(SomelabError):
    """An id that the table does not hold."""


@dataclass(frozen=True)
class Entry:
    """One folder of the table."""

    id: str
    path: Path
    problem: str | None
    """Why it must not be read; None for a folder that may be."""
    root: Path
    """The named folder that it lies in: nothing outside of that is read."""
    kind: Kind | None = None
    """None for a run, and for what is neither a run nor results."""


class RunTable:
    """Folders of runs below the named ones, searched at every call. An id, once given, stays with its
    folder."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = [root.resolve() for root in roots]
        self._ids: dict[Path, str] = {}

    def look(self) -> tuple[list[Entry], list[str]]:
        """All folders as they are now, and a line for each named one that cannot be searched."""
        found: dict[Path, tuple[str | None, Path]] = {}
        unread: list[str] = []
        for root in self.roots:
            if not root.is_dir():
                unread.append(f"{root}: there is no such folder; `somelab train` makes one")
                continue
            for path in _folders(root):
                if path not in found:
                    found[path] = (why_not(path, root), root)
        fresh = [path for path in found if path not in self._ids]
        taken = set(self._ids.values())
        for path, wanted in zip(fresh, run_ids(fresh), strict=True):
            made, count = wanted, 2
            while made in taken:
                made, count = f"{wanted}-{count}", count + 1
            taken.add(made)
            self._ids[path] = made
        return [
            Entry(self._ids[path], path, problem, root, None if problem else kind_of(path))
            for path, (problem, root) in found.items()
        ], unread

    def entry(self, run_id: str) -> Entry:
        """The folder of an id, checked again: links may have changed since the list was made."""
        for path, known in list(self._ids.items()):  # a list: a look in another thread may add to it
            if known == run_id and path.is_dir():
                root = next(root for root in self.roots if path.is_relative_to(root))
                return Entry(run_id, path, why_not(path, root), root)
        raise UnknownRun(f"run {run_id!r}: is not among the runs that are served; reload the list")

    def id_of(self, path: Path) -> str | None:
        """The id of a folder that was found; None for any other."""
        return self._ids.get(path.resolve())

    def readable(self, run_id: str) -> Entry:
        """The entry of an id that may be read."""
        entry = self.entry(run_id)
        if entry.problem is not None:
            raise SomelabError(entry.problem)
        return entry

    def folder(self, run_id: str) -> Path:
        """Its folder."""
        return self.readable(run_id).path


def _folders(root: Path) -> Iterator[Path]:
    """The root itself if it is a run or results; every run and all results below it, and every child without
    any."""
    if (root / "run.json").exists() or kind_of(root) is not None:
        yield from _found_below(root, DEPTH)
        return
    for child in _children(root):
        yield from list(_found_below(child, DEPTH - 1)) or [child]


def _found_below(folder: Path, depth: int) -> Iterator[Path]:
    if os.path.lexists(folder / "run.json"):
        yield folder
    elif not folder.is_symlink():
        if kind_of(folder) is not None:
            yield folder
            depth = max(depth, DEPTH_OF_RESULTS)
        for child in _children(folder) if depth else ():
            yield from _found_below(child, depth - 1)


def _children(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if not entry.name.startswith(".") and entry.is_dir()]
    except OSError:
        return []
    return [folder / name for name in sorted(names)]


def why_not(folder: Path, root: Path) -> str | None:
    """Why a folder must not be read, in a line; None if it may be. A link could leave the runs folder, and
    opening a FIFO or a device could wait for ever."""
    try:
        if not folder.resolve().is_relative_to(root):
            return f"run {folder}: is a link that leaves the runs folder; name its target to serve it"
        for number, entry in enumerate(_entries_below(folder), 1):
            if problem := _entry_problem(entry, root):
                return f"run {folder}: {entry.name} {problem}; remove it"
            if number > MOST_FILES:
                return f"run {folder}: has more than {MOST_FILES:,} files, which no run has"
    except FileNotFoundError:
        return f"run {folder}: has vanished; reload the list"
    except OSError as error:
        return f"run {folder}: cannot be read ({error.strerror})"
    except RuntimeError:  # what pathlib makes of a loop of links
        return f"run {folder}: has a link that leads to itself; remove it"
    return None


def _entries_below(folder: Path) -> Iterator[os.DirEntry[str]]:
    waiting = [str(folder)]
    while waiting:
        place = waiting.pop()
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    yield entry
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except FileNotFoundError:
            if place == str(folder):
                raise
            # A folder of a checkpoint that was written or replaced meanwhile is no fault.


def _entry_problem(entry: os.DirEntry[str], root: Path) -> str | None:
    if entry.is_symlink():
        target = Path(entry.path).resolve()
        if not target.is_relative_to(root):
            return "is a link that leaves the runs folder"
        is_plain = target.is_file() or target.is_dir() or not target.exists()
        return None if is_plain else "is a link to what is not a regular file"
    if entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False):
        return None
    # One that was removed since the folder was listed is neither, and is no problem.
    return "is not a regular file" if os.path.lexists(entry.path) else None
