"""Journals: whole lines, cut back to a length, and readable up to where a kill has torn them."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from somelab.disk.atomic import WriteError
from somelab.errors import SomelabError
from somelab.runs.journal import Journal, JournalError, LineReader, read


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "metrics.jsonl"


def test_records_come_back_in_order(path: Path) -> None:
    journal = Journal(path)
    records = [
        {"step": 1, "loss": 0.1},
        {"step": 2, "text": "Käse\n<|endoftext|>"},
        {"step": 3, "loss": None},
    ]
    for record in records:
        journal.append(record)
        assert path.read_bytes().endswith(b"\n"), "each record reaches the file at once"
    assert list(read(path)) == records
    assert journal.length() == path.stat().st_size


def test_numbers_that_are_none_survive(path: Path) -> None:
    Journal(path).append({"loss": math.inf})
    assert list(read(path)) == [{"loss": math.inf}]


def test_a_journal_is_continued(path: Path) -> None:
    """By another object in the same bytes as by one."""
    Journal(path).append({"step": 1})
    later = Journal(path)
    assert later.length() == path.stat().st_size
    later.append({"step": 2})
    one = Journal(path.with_name("one.jsonl"))
    for step in (1, 2):
        one.append({"step": step})
    assert path.read_bytes() == one.path.read_bytes()
    assert list(read(path)) == [{"step": 1}, {"step": 2}]


def test_a_journal_of_an_earlier_version_is_continued_without_sums(path: Path) -> None:
    path.write_bytes(b'{"step":1}\n')
    Journal(path).append({"step": 2})
    assert path.read_bytes() == b'{"step":1}\n{"step":2}\n'
    assert list(read(path)) == [{"step": 1}, {"step": 2}]
    with pytest.raises(JournalError, match="line 1 is damaged"):
        list(read(path, has_sums=True))


def test_the_sums_worked_out_by_hand(path: Path) -> None:
    journal = Journal(path)
    for record in ({"step": 1}, {}, {"sum": "mine"}):
        journal.append(record)

    def digest(text: str) -> str:
        return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()

    first = digest('{"step":1}')
    second = digest(first + "{}")
    third = digest(second + '{"sum":"mine"}')
    assert path.read_text().splitlines() == [
        f'{{"step":1,"sum":"{first}"}}',
        f'{{"sum":"{second}"}}',
        f'{{"sum":"mine","sum":"{third}"}}',
    ]
    assert list(read(path)) == [{"step": 1}, {}, {"sum": "mine"}]


DAMAGES: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "a digit": lambda lines: [lines[0], lines[1].replace(b"0.5", b"0.6"), *lines[2:]],
    "a line without its sum": lambda lines: [lines[0], b'{"step":2,"loss":0.5}\n', *lines[2:]],
    "a first line without its sum": lambda lines: [b'{"step":1,"loss":0.5}\n', *lines[1:]],
    "a line lost": lambda lines: [lines[0], *lines[2:]],
    "the first line lost": lambda lines: lines[1:],
    "a line twice": lambda lines: [lines[0], lines[1], *lines[1:]],
    "two lines swapped": lambda lines: [lines[1], lines[0], *lines[2:]],
    "two lines joined": lambda lines: [lines[0].rstrip(b"\n") + b" ", *lines[1:]],
    "deep brackets": lambda lines: [lines[0], b"[" * 100_000 + b"\n", *lines[1:]],
    "a list": lambda lines: [b"[1]\n"],
    "another end": lambda lines: [*lines, b'{"step":5}\n'],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_noticed_by_the_sums(path: Path, damage: str) -> None:
    journal = Journal(path)
    for step in range(1, 5):
        journal.append({"step": step, "loss": 0.5})
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(DAMAGES[damage](lines)))
    with pytest.raises(JournalError, match=r"metrics\.jsonl: line \d is damaged; restore the file"):
        list(read(path))
    before = path.read_bytes()
    with pytest.raises(JournalError, match="damaged"):
        Journal(path).append({"step": 9})
    assert path.read_bytes() == before, "nothing is added to a damaged journal"


def test_records_that_were_written_may_not_be_missing(path: Path) -> None:
    """Also where the end of the last line was lost: it is not a torn line then."""
    journal = Journal(path)
    for step in range(1, 4):
        journal.append({"step": step})
    content = path.read_bytes()
    assert len(list(read(path, at_least=len(content)))) == 3
    for damaged in (content[:-1], content[: content.index(b"\n") + 1], content[:-1] + b" ", b""):
        path.write_bytes(damaged)
        with pytest.raises(JournalError, match=f"of the {len(content)} bytes that were written"):
            list(read(path, at_least=len(content)))


def test_the_chain_goes_on_from_the_last_kept_line(path: Path) -> None:
    journal = Journal(path)
    lengths = [0]
    for step in range(1, 6):
        journal.append({"step": step})
        lengths.append(journal.length())
    whole = path.read_bytes()
    with path.open("ab") as file:
        file.write(b'{"step":6,"lo')
    again = Journal(path)
    again.cut(lengths[2])
    for step in range(3, 6):
        again.append({"step": step})
    assert path.read_bytes() == whole
    with pytest.raises(JournalError, match="line 2 is damaged"):
        again.cut(lengths[2] - 1)
    assert path.read_bytes() == whole, "what is not verified is not cut"


def test_lines_are_verified_as_they_come(path: Path) -> None:
    journal, reader = Journal(path), LineReader(path, has_sums=True)
    seen = 0
    for step in range(1, 4):
        journal.append({"step": step})
        line = path.read_bytes()[seen:]
        seen += len(line)
        assert reader.record(line) == {"step": step}
    with pytest.raises(JournalError, match="line 4 is damaged"):
        reader.record(line)


def test_a_journal_is_not_opened_through_links(path: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("my notes\n")
    inside = tmp_path / "run"
    inside.mkdir()
    for make in (lambda: os.symlink(mine, inside / "a.jsonl"), lambda: os.link(mine, inside / "a.jsonl")):
        make()
        with pytest.raises(SomelabError, match=r"a\.jsonl: (is a link|has a second name)"):
            Journal(inside / "a.jsonl")
        (inside / "a.jsonl").unlink()
    os.symlink(mine, inside / "a.jsonl")
    with pytest.raises(SomelabError, match="leads out of"):
        list(read(inside / "a.jsonl"))
    assert mine.read_text() == "my notes\n"


def test_a_torn_last_line_is_passed_over_and_cut_away(path: Path) -> None:
    path.write_bytes(b'{"step":1}\n{"step":2}\n{"st')
    assert list(read(path)) == [{"step": 1}, {"step": 2}]
    journal = Journal(path)
    journal.cut(11)
    assert journal.length() == 11
    journal.append({"step": 9})
    assert path.read_bytes() == b'{"step":1}\n{"step":9}\n'


def test_a_journal_that_has_lost_records_is_not_filled_up(path: Path) -> None:
    path.write_bytes(b'{"step":1}\n')
    with pytest.raises(JournalError, match="has 11 of the 1,200 bytes that were written"):
        Journal(path).cut(1200)
    assert path.read_bytes() == b'{"step":1}\n'


def test_a_damaged_line_is_named(path: Path) -> None:
    path.write_bytes(b'{"step":1}\n{"st\x00p":2}\n{"step":3}\n')
    with pytest.raises(JournalError, match=r"metrics\.jsonl: line 2 is damaged"):
        list(read(path))


def test_without_a_file_there_are_no_records(path: Path) -> None:
    assert list(read(path)) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_told_in_a_line(path: Path) -> None:
    journal = Journal(path)
    with Path("/dev/full").open("ab", buffering=0) as full:
        journal._file = full  # pyright: ignore
        with pytest.raises(WriteError, match=r"metrics\.jsonl: No space left on device; free some space"):
            journal.append({"step": 1})


def test_a_journal_without_its_folder_is_told_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="No such file or directory"):
        Journal(tmp_path / "gone" / "metrics.jsonl")
