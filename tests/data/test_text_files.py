"""Documents out of .txt, .jsonl and .parquet files, and the one line that each mistake in them ends in."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from somelab.data.text_files import read_documents
from somelab.disk import guarded
from somelab.errors import ConfigError, SomelabError
from tests.data.builders import source_of, write, write_rows


def texts_of(path: Path) -> list[str]:
    return list(read_documents(path, "text"))


def test_text_is_divided_by_separator_lines(tmp_path: Path) -> None:
    content = (
        "one\n"
        "\n"
        "still one\n"
        "<|endoftext|>\n"
        "<|endoftext|>\r\n"
        "  two, indented\r\n"
        " <|endoftext|> \n"
        "three <|endoftext|> goes on"
    )
    path = write(tmp_path / "a.txt", content)
    assert texts_of(path) == ["one\n\nstill one", "  two, indented", "three <|endoftext|> goes on"]


def test_a_separator_within_a_line_is_text(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "a <|endoftext|> b\n\nc")
    assert "".join(texts_of(path)).count("<|endoftext|>") == 1


def test_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    assert texts_of(write(tmp_path / "a.txt", b"\xef\xbb\xbf<|endoftext|>\nx\n<|endoftext|>\n")) == ["x"]
    assert texts_of(write(tmp_path / "b.txt", b"\xef\xbb\xbfx\n")) == ["x"]


def test_text_without_separators_is_cut_at_blank_lines(tmp_path: Path) -> None:
    paragraph = "word " * 99 + "end\n"  # 499 bytes, 500 with the blank line behind it
    path = write(tmp_path / "a.txt", (paragraph + "\n") * 200)
    documents = texts_of(path)
    assert len(documents) == 50
    assert set(documents) == {"\n\n".join([paragraph.strip("\n")] * 4)}


def test_text_without_blank_lines_is_cut_at_line_ends(tmp_path: Path) -> None:
    line = "x" * 99
    documents = texts_of(write(tmp_path / "a.txt", f"{line}\n" * 2000))
    assert documents == ["\n".join([line] * 40)] * 50


def test_a_small_text_is_cut_finer(tmp_path: Path) -> None:
    documents = texts_of(
        write(tmp_path / "a.txt", "\n\n".join(f"paragraph {number}" for number in range(100)))
    )
    assert len(documents) >= 20
    assert "\n\n".join(documents) == "\n\n".join(f"paragraph {number}" for number in range(100))


@given(st.lists(st.text("ab \n\té🙂", max_size=30), max_size=20))
def test_nothing_but_line_ends_is_lost(lines: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "a.txt", "\n".join(lines))
        assert "".join("".join(texts_of(path)).split()) == "".join("".join(lines).split())


def test_jsonl_reads_the_text_column(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        '{"text": "one\\n\\ud83d\\ude42"}\n\n{"id": 3, "text": null}\n{"text": " "}\n{"text": "two"}',
    )
    assert texts_of(path) == ["one\n🙂", "two"]
    path = write_rows(tmp_path / "b.jsonl", ["x", "y"], column="body")
    assert sorted(
        [*source_of(path, text_column="body").train(), *source_of(path, text_column="body").val()]
    ) == ["x", "y"]


def test_parquet_reads_the_text_column(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"id": [1, 2, 3], "body": ["one", None, "two"]}), path)
    assert list(read_documents(path, "body")) == ["one", "two"]
    with pytest.raises(
        ConfigError, match=r"data.text_column = 'text': .*a.parquet has no such column; known: body, id"
    ):
        texts_of(path)
    with pytest.raises(
        ConfigError, match=r"data.text_column = 'id': .*a.parquet holds int64 in it, not text"
    ):
        list(read_documents(path, "id"))
    with pytest.raises(ConfigError, match="is not a valid Parquet file"):
        texts_of(write(tmp_path / "b.parquet", "no table"))


def test_parquet_without_pyarrow_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        SomelabError,
        match=r"^reading a.parquet needs pyarrow; run `pip install 'somelab\[data\]'`, or give a .jsonl",
    ):
        texts_of(write(tmp_path / "a.parquet", "x"))


MISTAKES: dict[str, tuple[str | bytes | None, str, str]] = {
    # file name: content, problem, remedy
    "missing.txt": (
        None,
        "there is no such file or folder",
        "give builtin, tinystories, the path of a .txt, .jsonl or .parquet file",
    ),
    "empty.txt": ("", "is empty", "give a file with text"),
    "blank.txt": ("\n \n<|endoftext|>\n", "holds no documents", "give a file with text"),
    "single.txt": (
        "only one",
        "has one document only, so none can be held out",
        "separate documents by lines <|endoftext|>",
    ),
    "latin.txt": (
        b"good\n<|endoftext|>\nna\xefve\n",
        "is not UTF-8 text (byte 21)",
        "save it as UTF-8, or remove that byte",
    ),
    "latin.jsonl": (b'{"text": "a"}\n{"text": "\xff"}\n', "is not UTF-8 text (byte 24)", "save it as UTF-8"),
    "notes.md": ("text", "is not a .txt, .jsonl or .parquet file", "convert it, or change its name"),
    "bad.jsonl": (
        '{"text": "a"}\n{"text": \n',
        "line 2 is not JSON (Expecting value: line 1 column 9",
        "correct or remove that line",
    ),
    "list.jsonl": ('{"text": "a"}\n\n[1]\n', "line 3 is not a JSON object", "correct or remove that line"),
    "number.jsonl": (
        '{"text": 7}\n',
        "line 1 has no text in column text, but int",
        "correct or remove that line",
    ),
    "half.jsonl": (
        '{"text": "\\ud83d"}\n',
        "line 1 holds half of a surrogate pair",
        "correct or remove that line",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_errors_of_files_in_one_line(tmp_path: Path, name: str) -> None:
    content, problem, remedy = MISTAKES[name]
    path = tmp_path / name
    if content is not None:
        write(path, content)
    with pytest.raises(ConfigError) as caught:
        list(source_of(path).train())
    line = str(caught.value)
    assert line.startswith(f"data.source = '{path}': {problem}")
    assert f"; {remedy}" in line
    assert "\n" not in line


def test_a_missing_column_names_the_nearest(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "a.jsonl", ["x"], column="texts")
    with pytest.raises(ConfigError) as caught:
        list(source_of(path).train())
    assert (
        str(caught.value)
        == f"data.text_column = 'text': line 1 of {path} has no such column; did you mean texts?"
    )


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.txt", "text")

    def refuse(*arguments: Any) -> Any:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(guarded.os, "open", refuse)
    with pytest.raises(ConfigError) as caught:
        source_of(path)
    assert str(caught.value) == (
        f"data.source = '{path}': cannot be read (Permission denied); give a file that exists and may be read"
    )
