"""Journals: whole lines, cut back to a length, and readable up to where a kill has torn them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from somelab.disk.atomic import WriteError
from somelab.runs.journal import Journal, JournalError, read


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


def test_an_old_journal_is_continued(path: Path) -> None:
    Journal(path).append({"step": 1})
    later = Journal(path)
    assert later.length() == len(b'{"step":1}\n')
    later.append({"step": 2})
    assert path.read_bytes() == b'{"step":1}\n{"step":2}\n'


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
def test_a_full_disk_is_told_in_a_line() -> None:
    with pytest.raises(WriteError, match=r"cannot write /dev/full: No space left on device; free some space"):
        Journal(Path("/dev/full")).append({"step": 1})


def test_a_journal_without_its_folder_is_told_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="No such file or directory"):
        Journal(tmp_path / "gone" / "metrics.jsonl")
