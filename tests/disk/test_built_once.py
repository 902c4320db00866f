"""Folders that are built once: whoever comes second waits and reads, and a lost race does no harm."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from somelab.disk import atomic
from somelab.disk.built_once import build_again, build_once
from somelab.disk.guarded import GuardError

WAIT = 60.0


def fill(folder: Path) -> None:
    (folder / "content").write_text("complete")


def test_the_second_waits_for_the_first(tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()
    built_by: list[str] = []

    def slow(folder: Path) -> None:
        built_by.append("first")
        begun.set()
        assert go_on.wait(WAIT)
        fill(folder)

    def second(folder: Path) -> None:
        built_by.append("second")
        fill(folder)

    threads = [threading.Thread(target=build_once, args=(tmp_path, "x", build)) for build in (slow, second)]
    threads[0].start()
    assert begun.wait(WAIT)
    threads[1].start()
    threads[1].join(0.3)  # without the lock it would be done by now
    assert not (tmp_path / "prepared" / "x").exists()
    go_on.set()
    for thread in threads:
        thread.join(WAIT)
    assert built_by == ["first"]
    assert (tmp_path / "prepared" / "x" / "content").read_text() == "complete"


def test_where_nothing_locks_the_first_folder_stays(tmp_path: Path) -> None:
    place = tmp_path / "prepared" / "x"

    def overtaken(folder: Path) -> None:
        fill(folder)
        place.mkdir()
        (place / "content").write_text("by another")

    assert build_once(tmp_path, "x", overtaken) == place
    assert (place / "content").read_text() == "by another"
    assert [path.name for path in place.parent.iterdir() if path.suffix != ".lock"] == ["x"]


def test_what_a_killed_build_left_goes_and_another_build_is_left_alone(tmp_path: Path) -> None:
    mine, others = (tmp_path / "prepared" / f".writing-{name}~1-abc" for name in ("x", "x-y"))
    for left_over in (mine, others):
        left_over.mkdir(parents=True)
    build_once(tmp_path, "x", fill)
    assert not mine.exists()
    assert others.exists()


def test_content_is_on_disk_before_the_folder_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forced: list[tuple[str, bool]] = []
    place = tmp_path / "prepared" / "x"

    def force(path: Path) -> None:
        forced.append((path.name, place.exists()))

    for name in ("sync_file", "sync_folder"):
        monkeypatch.setattr(atomic, name, force)
    build_once(tmp_path, "x", fill)
    assert [(name, there) for name, there in forced if not name.startswith(".")] == [
        ("content", False),
        ("prepared", True),
    ]


def test_a_lock_that_is_a_link_is_not_opened(tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("my notes")
    (tmp_path / "prepared").mkdir()
    (tmp_path / "prepared" / ".x.lock").symlink_to(mine)
    with pytest.raises(GuardError, match=r"\.x\.lock: is a link"):
        build_once(tmp_path, "x", fill)
    assert mine.read_text() == "my notes"


def test_a_damaged_folder_is_replaced_once(tmp_path: Path) -> None:
    folder = build_once(tmp_path, "x", fill)
    (folder / "content").write_text("damaged")

    def is_sound(folder: Path) -> bool:
        return (folder / "content").read_text() == "complete"

    assert build_again(tmp_path, "x", fill, is_sound) == folder
    assert (folder / "content").read_text() == "complete"
    build_again(tmp_path, "x", lambda folder: pytest.fail("it is sound already"), is_sound)
