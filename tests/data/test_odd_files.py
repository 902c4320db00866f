"""What is given as data and is none: pipes, devices, endless lines and folders, files that vanish. Each
ends in one line, or is read in bounded memory."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from somelab.data import sources, text_files
from somelab.data.prepare import open_prepared, prepare
from somelab.data.text_files import read_documents
from somelab.data.tokenizer import Tokenizer
from somelab.errors import ConfigError, SomelabError
from tests.data.builders import config_of, source_of, write, write_rows


def refusal(path: Path | str) -> str:
    with pytest.raises(ConfigError) as caught:
        list(source_of(Path(path)).train())
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("suffix", [".txt", ".jsonl"])
def test_pipes_and_devices_are_refused_and_not_waited_for(tmp_path: Path, suffix: str) -> None:
    os.mkfifo(tmp_path / f"fifo{suffix}")
    (tmp_path / f"zero{suffix}").symlink_to("/dev/zero")
    (tmp_path / f"loop{suffix}").symlink_to(f"loop{suffix}")
    assert "is not a regular file, and is not opened; give a file of text" in refusal(
        tmp_path / f"fifo{suffix}"
    )
    assert "is not a regular file, and is not opened" in refusal(tmp_path / f"zero{suffix}")
    assert "there is no such file or folder" in refusal(tmp_path / f"loop{suffix}")


def test_a_pipe_in_a_folder_is_no_text(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.txt")
    assert "is a folder without" in refusal(tmp_path)
    write_rows(tmp_path / "a.jsonl", ["x", "y"])
    assert sorted(source_of(tmp_path).whole()) == ["x", "y"]


def test_a_folder_with_too_much_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        (tmp_path / f"{number}.md").touch()
    monkeypatch.setattr(sources, "MOST_FILES", 4)
    assert "is a folder of more than 4 files; give the folder that holds the text" in refusal(tmp_path)


@pytest.mark.parametrize("path", ["x" * 300 + ".txt", "x/" * 3000 + "a.txt", "~nouser/a.txt", "a\0b.txt"])
def test_paths_that_cannot_be(path: str) -> None:
    with pytest.raises(ConfigError, match="there is no such file or folder"):
        sources.open_source(config_of(source=path).data)


def test_a_file_that_vanishes_while_it_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "one\n<|endoftext|>\ntwo\n<|endoftext|>\nthree\n")
    documents = read_documents(path, "text")
    assert next(documents) == "one"
    path.unlink()
    assert list(documents) == ["two", "three"], "an open file stays readable"
    source = source_of(write(tmp_path / "b.txt", "one\n<|endoftext|>\ntwo\n"))
    (tmp_path / "b.txt").unlink()
    with pytest.raises(ConfigError, match="there is no such file"):
        list(source.train())
    empty = source_of(write(tmp_path / "c.txt", " "))
    assert "holds no documents" in refusal(tmp_path / "c.txt")
    (tmp_path / "c.txt").unlink()
    with pytest.raises(ConfigError):
        list(empty.train())


def test_a_file_that_is_cut_while_it_is_read_ends_there(tmp_path: Path) -> None:
    """Mapped into memory, it would end the process (SIGBUS)."""
    path = write(tmp_path / "a.txt", "word " * 200_000 + "\n<|endoftext|>\n" + "word " * 200_000)
    documents = read_documents(path, "text")
    assert next(documents)
    os.truncate(path, 10)
    list(documents)


def test_one_endless_line_is_read_in_bounded_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "LARGEST_DOCUMENT", 1 << 20)
    path = tmp_path / "a.txt"
    with path.open("wb") as file:
        for _ in range(24):
            file.write("été 🙂 ".encode() * 100_000)
    tracemalloc.start()
    total, letters = 0, 0
    for text in read_documents(path, "text"):
        total += len(text.encode())
        letters += text.count("🙂")
        assert len(text.encode()) <= 1 << 20
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert total == path.stat().st_size
    assert letters == 24 * 100_000
    assert peak < 12 << 20


@given(
    st.lists(st.one_of(st.text(alphabet="aé日🙂 \r", max_size=12), st.just("<|endoftext|>")), max_size=12),
    st.integers(4, 20),
)
def test_dividing_long_documents_loses_nothing(lines: list[str], largest: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = write(Path(folder) / "a.txt", "\n".join(lines))
        whole = "".join("".join(read_documents(path, "text")).split())
        patch.setattr(text_files, "LARGEST_DOCUMENT", len("<|endoftext|>\r\n") + largest)
        pieces = list(read_documents(path, "text"))
        assert "".join("".join(pieces).split()) == whole


def test_the_end_of_a_long_line_is_no_separator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "LARGEST_DOCUMENT", 20)
    path = write(tmp_path / "a.txt", "x" * 20 + "<|endoftext|>\n" + "y" * 5)
    assert "".join(read_documents(path, "text")).count("<|endoftext|>") == 1


def test_a_line_of_json_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "LARGEST_ROW", 100)
    path = write(tmp_path / "a.jsonl", '{"text": "a"}\n{"text": "' + "x" * 200 + '"}\n')
    assert "line 2 has more than 100 bytes; write one document per line" in refusal(path)


def test_a_row_of_a_thousand_columns_is_not_listed(tmp_path: Path) -> None:
    row = ", ".join(f'"column {number}": 1' for number in range(1000))
    line = refusal(write(tmp_path / "a.jsonl", f"{{{row}}}\n"))
    assert "has no such column" in line
    assert len(line) < 2000


@pytest.mark.parametrize("content", [b"a\0b\n", b"\0" * 5000 + b"\n\nx\n"])
def test_zeros_are_text(tmp_path: Path, content: bytes) -> None:
    path = write(tmp_path / "a.txt", content)
    assert "".join(read_documents(path, "text")).count("\0") == content.count(b"\0")


def test_too_many_open_files_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The advice to remove the prepared data would cost them."""
    path = write_rows(tmp_path / "a.jsonl", [f"text {number}" for number in range(40)])
    prepare(config_of(source=str(path), vocab_size=300), tmp_path / "cache")
    (folder,) = [one for one in (tmp_path / "cache" / "prepared").iterdir() if one.is_dir()]

    def none_left(*arguments: object, **more: object) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", none_left)
        with pytest.raises(OSError, match="Too many open files"):
            open_prepared(folder)
    (folder / "train.bin").write_bytes(b"")
    with pytest.raises(SomelabError, match="are damaged"):
        open_prepared(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes by name")
def test_a_tokenizer_that_is_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "tokenizer.json")
    with pytest.raises(SomelabError, match="is not a regular file"):
        Tokenizer.load(tmp_path / "tokenizer.json")
