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
        found: dict[Path, str | None] = {}
        unread: list[str] = []
        for root in self.roots:
            if not root.is_dir():
                unread.append(f"{root}: there is no such folder; `somelab train` makes one")
                continue
            for path in _folders(root):
                found.setdefault(path, link_outside(path, root))
        fresh = [path for path in found if path not in self._ids]
        taken = set(self._ids.values())
        for path, wanted in zip(fresh, run_ids(fresh), strict=True):
            made, count = wanted, 2
            while made in taken:
                made, count = f"{wanted}-{count}", count + 1
            taken.add(made)
            self._ids[path] = made
        return [
            Entry(self._ids[path], path, problem, None if problem else kind_of(path))
            for path, problem in found.items()
        ], unread

    def entry(self, run_id: str) -> Entry:
        """The folder of an id, checked again: links may have changed since the list was made."""
        for path, known in self._ids.items():
            if known == run_id and path.is_dir():
                root = next(root for root in self.roots if path.is_relative_to(root))
                return Entry(run_id, path, link_outside(path, root))
        raise UnknownRun(f"run {run_id!r}: is not among the runs that are served; reload the list")

    def id_of(self, path: Path) -> str | None:
        """The id of a folder that was found; None for any other."""
        return self._ids.get(path.resolve())

    def folder(self, run_id: str) -> Path:
        """The folder of an id that may be read."""
        entry = self.entry(run_id)
        if entry.problem is not None:
            raise SomelabError(entry.problem)
        return entry.path


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


def link_outside(folder: Path, root: Path) -> str | None:
    """The first link in a folder, or the folder itself, that leaves the runs folder: what is wrong, in a
    line."""
    if not folder.resolve().is_relative_to(root):
        return f"run {folder}: is a link that leaves the runs folder; name its target to serve it"
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_symlink():
                        if not Path(entry.path).resolve().is_relative_to(root):
                            return (
                                f"run {folder}: {entry.name} is a link that leaves the runs folder; remove it"
                            )
                    elif entry.is_dir():
                        waiting.append(Path(entry.path))
        except OSError as error:
            return f"run {folder}: cannot be read ({error.strerror})"
    return None
