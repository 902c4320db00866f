"""What each way of naming a source yields, and the one line that each mistake ends in."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from somelab.data import corpus
from somelab.data.corpus import document
from somelab.errors import ConfigError
from tests.data.builders import source_of, write, write_rows

# A folder with tinystories-train.txt, tinystories-valid.txt and wikitext2-valid-test.txt.
REAL_TEXT = os.environ.get("SOMELAB_REAL_TEXT")


def test_a_folder_is_read_in_the_order_of_paths(tmp_path: Path) -> None:
    write(tmp_path / "b.txt", "from b")
    write_rows(tmp_path / "a" / "z.jsonl", ["from a/z"])
    write(tmp_path / "a" / "y.txt", "from a/y")
    write(tmp_path / "notes.md", "not read")
    write(tmp_path / ".hidden" / "c.txt", "not read")
    source = source_of(tmp_path)
    assert list(source.whole()) == ["from a/y", "from a/z", "from b"]
    assert sorted([*source.train(), *source.val()]) == ["from a/y", "from a/z", "from b"]


def test_a_folder_with_named_splits(tmp_path: Path) -> None:
    for name in ("train-0", "train-1", "validation-0", "test-0"):
        write_rows(tmp_path / f"{name}.jsonl", [name])
    source = source_of(tmp_path)
    assert (list(source.train()), list(source.val())) == (["train-0", "train-1"], ["validation-0"])


def test_a_sibling_file_is_the_validation_text(tmp_path: Path) -> None:
    train = write(tmp_path / "my-train.txt", "a\n<|endoftext|>\nb\n<|endoftext|>\n")
    valid = write(tmp_path / "my-valid.txt", "c\n<|endoftext|>\n")
    source = source_of(train)
    assert (list(source.train()), list(source.val()), list(source.whole())) == (["a", "b"], ["c"], ["c"])
    before = source.identity
    write(valid, "d\n<|endoftext|>\n")
    assert source_of(train).identity != before


def test_subsets_are_the_first_documents(tmp_path: Path) -> None:
    texts = [f"document number {number}" for number in range(1000)]
    path = write_rows(tmp_path / "a.jsonl", texts)
    whole, part = source_of(path), source_of(path, train_subset_size=30, val_subset_size=5)
    assert list(part.train()) == list(whole.train())[:30]
    assert list(part.val()) == list(whole.val())[:5]
    assert list(part.whole()) == texts[:5]
    assert len({source.identity for source in (whole, part, source_of(path, train_subset_size=30))}) == 3


def test_identity_is_the_content_not_the_name(tmp_path: Path) -> None:
    first, second = write(tmp_path / "a.txt", "x\n\ny"), write(tmp_path / "other" / "b.txt", "x\n\ny")
    assert source_of(first).identity == source_of(second).identity
    assert source_of(first).identity == source_of(first, text_column="body").identity
    rows = write_rows(tmp_path / "a.jsonl", ["x", "y"])
    # Of tables the column is part of it.
    assert source_of(rows).identity != source_of(rows, text_column="id").identity
    write(second, "x\n\nz")
    assert source_of(first).identity != source_of(second).identity


def test_builtin_splits_have_their_own_documents() -> None:
    source = source_of("builtin", train_subset_size=40, val_subset_size=20)
    train, val = list(source.train()), list(source.val())
    assert (len(train), len(val)) == (40, 20)
    assert not set(train) & set(val)
    assert train[3] == document(0, 3).text
    assert list(source.train()) == train


def test_builtin_kinds() -> None:
    source = source_of("builtin:recipe, letter", train_subset_size=10)
    assert list(source.train()) == [document(0, number, ["letter", "recipe"]).text for number in range(10)]
    assert source.identity == source_of("builtin:letter,recipe", train_subset_size=10).identity
    assert source.identity != source_of("builtin:letter", train_subset_size=10).identity


def test_builtin_text_is_named_by_its_code_and_its_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = source_of("builtin").identity
    copy = shutil.copytree(Path(corpus.__file__).parent, tmp_path / "corpus")
    monkeypatch.setattr(corpus, "__file__", str(copy / "__init__.py"))
    assert source_of("builtin").identity == before
    for path in (copy / "page.py", copy / "grammar" / "story.txt", copy / "words" / "nouns.txt"):
        path.write_text(path.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
        assert source_of("builtin").identity != before
        before = source_of("builtin").identity


def test_builtin_has_stated_sizes() -> None:
    assert (
        source_of("builtin").identity
        == source_of("builtin", train_subset_size=20_000, val_subset_size=1_000).identity
    )
    assert source_of("builtin").identity != source_of("builtin", val_subset_size=999).identity


@pytest.mark.parametrize("make", [lambda folder: folder.mkdir(), lambda folder: write(folder / "a.md", "x")])
def test_a_folder_without_text(tmp_path: Path, make: Callable[[Path], Any]) -> None:
    folder = tmp_path / "folder"
    make(folder)
    with pytest.raises(
        ConfigError, match=r"is a folder without .txt, .jsonl or .parquet files to train on; give another$"
    ):
        source_of(folder)


def test_an_empty_sibling_is_named(tmp_path: Path) -> None:
    train = write(tmp_path / "x-train.txt", "a\n\nb")
    valid = write(tmp_path / "x-valid.txt", "")
    with pytest.raises(ConfigError, match=f"^data.source = '{valid}': is empty;"):
        list(source_of(train).val())


@pytest.mark.parametrize("word", ["", "shakespeare", "bultin", "tiny stories"])
def test_words_that_are_no_source(word: str) -> None:
    with pytest.raises(
        ConfigError,
        match=rf"^data.source = '{word}': is not a source of text; give builtin, tinystories, the path of",
    ):
        source_of(word)


@pytest.mark.parametrize(
    ("word", "remedy"), [("builtin:leter", "did you mean letter?"), ("builtin:", "known: ")]
)
def test_unknown_kinds(word: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as caught:
        source_of(word)
    assert "is no kind of built-in document; " + remedy in str(caught.value)


@pytest.mark.skipif(REAL_TEXT is None, reason="SOMELAB_REAL_TEXT names no folder")
def test_real_text() -> None:
    assert REAL_TEXT is not None
    folder = Path(REAL_TEXT)
    source = source_of(folder / "tinystories-train.txt", train_subset_size=500)
    assert (sum(1 for _ in source.train()), sum(1 for _ in source.val())) == (500, 2000)
    wiki = source_of(folder / "wikitext2-valid-test.txt")
    sizes = [len(text.encode()) for text in wiki.whole()]
    # All but the last document have 2,000 bytes, less the blank line behind them.
    assert sorted(sizes)[1] >= 1990
    assert sum(sizes) > 0.99 * os.path.getsize(folder / "wikitext2-valid-test.txt")
