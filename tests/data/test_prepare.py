"""Token files hold the documents, are found again by content, and are complete or absent whatever happens
meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from somelab.config import Config
from somelab.data import prepare as prepare_module
from somelab.data import token_files
from somelab.data.prepare import DamagedData, PreparedData, Split, open_prepared, prepare, prepare_with
from somelab.data.tokenizer import END_OF_TEXT_ID, Tokenizer
from somelab.errors import ConfigError, SomelabError
from tests.data.builders import byte_tokenizer, config_of, source_of, write, write_rows

TEXTS = [
    (f"Story {number}: the cat of house {number % 7} sat on the mat.\nÅll är väl 🙂 <|endoftext|>")
    for number in range(200)
]


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return config_of(source=str(write_rows(tmp_path / "texts.jsonl", TEXTS)), vocab_size=300)


def texts_of(split: Split, tokenizer: Tokenizer) -> list[str]:
    documents = [split.tokens[begin:end] for begin, end in zip(split.offsets[:-1], split.offsets[1:])]
    assert all(
        document[-1] == END_OF_TEXT_ID and END_OF_TEXT_ID not in document[:-1] for document in documents
    )
    return [tokenizer.decode(document[:-1]) for document in documents]


def same(left: PreparedData, right: PreparedData) -> bool:
    return left.digest == right.digest and all(
        np.array_equal(one.tokens, other.tokens)
        and np.array_equal(one.offsets, other.offsets)
        and one.num_bytes == other.num_bytes
        for one, other in ((left.train, right.train), (left.val, right.val))
    )


def folders(cache: Path) -> list[str]:
    """What stands in the cache beside lock files."""
    return [path.name for path in (cache / "prepared").iterdir() if path.suffix != ".lock"]


def test_files_hold_the_documents(config: Config, cache: Path) -> None:
    prepared = prepare(config, cache)
    source = source_of(config.data.source)
    for split, texts in ((prepared.train, list(source.train())), (prepared.val, list(source.val()))):
        assert texts_of(split, prepared.tokenizer) == texts
        assert split.num_documents == len(texts)
        assert split.num_bytes == sum(len(text.encode()) for text in texts)
        assert split.num_bytes == prepared.tokenizer.num_bytes_of_token[split.tokens].sum()
        assert split.tokens.dtype == np.uint16
    assert prepared.tokenizer.digest == Tokenizer.train(source.train(), 300).digest
    assert prepared.source == config.data.source


def test_large_vocabularies_take_four_bytes(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Tokenizer, "vocab_size", 65_537)
    config = config_of(source=str(write(tmp_path / "a.txt", "a\n\nb\n\nc")), vocab_size=258)
    assert prepare(config, cache).train.tokens.dtype == np.uint32


def test_blocks_change_nothing(config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = prepare(config, tmp_path / "one")
    monkeypatch.setattr(prepare_module, "BLOCK_BYTES", 300)
    assert same(whole, prepare(config, tmp_path / "two"))


def test_the_tokenizer_learns_from_the_first_documents_only(
    config: Config, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = list(source_of(config.data.source).train())
    monkeypatch.setattr(prepare_module, "TOKENIZER_BYTES", sum(len(text.encode()) for text in texts[:9]) + 1)
    prepared = prepare(config, cache)
    assert prepared.tokenizer.digest == Tokenizer.train(texts[:10], 300).digest
    assert texts_of(prepared.train, prepared.tokenizer) == texts


def test_prepared_once_for_all_layouts(config: Config, cache: Path) -> None:
    done: list[str] = []
    first = prepare(config, cache, lambda doing, number: done.append(doing))
    assert set(done) == {"training the tokenizer", "encoding train", "encoding val"}
    done.clear()
    other = config_of(
        source=config.data.source, vocab_size=300, layout="pad", seq_len=32, batch_size=4, seed=5
    )
    assert same(first, prepare(other, cache, lambda doing, number: done.append(doing)))
    assert not done
    assert len(folders(cache)) == 1


def test_other_settings_and_other_text_are_other_data(config: Config, cache: Path) -> None:
    source = config.data.source
    digests = [prepare(config, cache).digest]
    digests += [prepare(config_of(source=source, vocab_size=301), cache).digest]
    digests += [prepare(config_of(source=source, vocab_size=300, train_subset_size=50), cache).digest]
    digests += [prepare(config_of(source=source, vocab_size=300, val_subset_size=2), cache).digest]
    write_rows(Path(source), [*TEXTS, "another"])
    digests += [prepare(config, cache).digest]
    assert len(set(digests)) == len(folders(cache)) == 5


def test_the_same_text_under_another_name_is_found_again(config: Config, cache: Path, tmp_path: Path) -> None:
    first = prepare(config, cache)
    copy = write_rows(tmp_path / "copy.jsonl", TEXTS)
    again = prepare(config_of(source=str(copy), vocab_size=300), cache)
    assert same(first, again)
    assert again.source == str(copy)
    assert len(folders(cache)) == 1


def test_preparing_with_a_given_tokenizer(config: Config, cache: Path) -> None:
    own = prepare(config, cache)
    assert same(own, prepare_with(own.tokenizer, config, cache))
    other = prepare_with(byte_tokenizer(), config, cache)
    assert texts_of(other.val, byte_tokenizer()) == texts_of(own.val, own.tokenizer)
    assert other.train.num_tokens == own.train.num_bytes + own.train.num_documents


def test_a_text_as_a_whole_is_validation(config: Config, cache: Path) -> None:
    prepared = prepare_with(byte_tokenizer(), config, cache, whole=True)
    assert texts_of(prepared.val, byte_tokenizer()) == TEXTS
    assert (prepared.train.num_documents, prepared.train.num_tokens, prepared.train.num_bytes) == (0, 0, 0)


def test_the_whole_of_one_short_text_needs_no_held_out_part(tmp_path: Path, cache: Path) -> None:
    config = config_of(source=str(write(tmp_path / "a.txt", "One line.")))
    assert texts_of(prepare_with(byte_tokenizer(), config, cache, whole=True).val, byte_tokenizer()) == [
        "One line."
    ]


def test_too_small_a_vocabulary(tmp_path: Path, cache: Path) -> None:
    config = config_of(source=str(tmp_path / "the source is not looked at first.txt"), vocab_size=100)
    with pytest.raises(ConfigError, match=r"^model.vocab_size = 100: is too small for"):
        prepare(config, cache)


@pytest.mark.parametrize("failing_call", [0, 1, 2])
def test_a_failure_midway_leaves_nothing(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing_call: int
) -> None:
    cache, calls, encode = tmp_path / "cache", list[int](), Tokenizer.encode_batch
    monkeypatch.setattr(prepare_module, "BLOCK_BYTES", 9000)

    def failing(tokenizer: Tokenizer, texts: list[str]) -> list[list[int]]:
        calls.append(len(texts))
        if len(calls) > failing_call:
            raise KeyboardInterrupt
        return encode(tokenizer, texts)

    with monkeypatch.context() as patch:
        patch.setattr(Tokenizer, "encode_batch", failing)
        with pytest.raises(KeyboardInterrupt):
            prepare(config, cache)
    assert len(calls) == failing_call + 1
    assert folders(cache) == []
    assert same(prepare(config, cache), prepare(config, tmp_path / "other"))


PREPARE = """
import os, sys
from pathlib import Path
from somelab.config import Config, override
from somelab.data.prepare import prepare
source, cache, kill_at = sys.argv[1:]
def report(doing, number):
    print(doing, flush=True)
    if doing == kill_at:
        os.kill(os.getpid(), 9)
prepared = prepare(override(Config(), {"data.source": source, "model.vocab_size": 300}), Path(cache), report)
print("digest", prepared.digest, "torch" in sys.modules)
"""


def start(config: Config, cache: Path, kill_at: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PREPARE, config.data.source, str(cache), kill_at],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_killed_process_leaves_nothing_that_counts(config: Config, cache: Path) -> None:
    process = start(config, cache, kill_at="encoding val")
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    (left_over,) = folders(cache)
    name, _, writer = left_over.removeprefix(".writing-").partition("~")
    assert writer.startswith(f"{process.pid}-")
    prepared = prepare(config, cache)
    assert folders(cache) == [name]
    assert prepared.val.num_documents + prepared.train.num_documents == len(TEXTS)


def test_of_two_processes_one_builds_and_both_read(config: Config, cache: Path) -> None:
    outputs = [process.communicate(timeout=60)[0] for process in [start(config, cache), start(config, cache)]]
    lines = [output.splitlines() for output in outputs]
    assert sum("training the tokenizer" in output for output in lines) == 1
    expected = f"digest {prepare(config, cache).digest} False"
    assert [output[-1] for output in lines] == [expected, expected]
    assert len(folders(cache)) == 1


def test_the_cache_is_where_the_variable_says(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOMELAB_CACHE", str(tmp_path / "elsewhere"))
    prepare(config)
    assert len(folders(tmp_path / "elsewhere")) == 1
    monkeypatch.delenv("SOMELAB_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    prepare(config)
    assert len(folders(tmp_path / "home" / ".cache" / "somelab")) == 1


def test_a_cache_that_cannot_be_written(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOMELAB_CACHE", str(write(tmp_path / "file", "in the way")))
    with pytest.raises(ConfigError) as caught:
        prepare(config)
    assert str(caught.value) == (
        f"SOMELAB_CACHE = '{tmp_path / 'file'}': prepared data cannot be written there (Not a directory); "
        "set SOMELAB_CACHE to a folder that can be written and has space"
    )


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("train.bin", "train.bin does not hold"),
        ("meta.json", "Expecting value"),
        ("tokenizer.json", "is not a tokenizer"),
    ],
)
def test_damaged_files_are_told_in_one_line(config: Config, cache: Path, name: str, reason: str) -> None:
    prepare(config, cache)
    (folder,) = (cache / "prepared" / name for name in folders(cache))
    os.truncate(folder / name, 0)
    with pytest.raises(SomelabError) as caught:
        open_prepared(folder)
    line = str(caught.value)
    assert line.startswith(f"the prepared data in {folder} are damaged (")
    assert reason in line
    assert line.endswith("; remove that folder, and try again")


def damaged_places(folder: Path) -> Iterator[tuple[str, int]]:
    """Every file of prepared data, with places in it: at its start, within, and at its end."""
    for path in sorted(folder.iterdir()):
        size = path.stat().st_size
        yield from ((path.name, place) for place in {0, size // 3, size // 2, size - 1, size - 2})


def test_flipped_bits_are_noticed_and_the_data_prepared_again(
    config: Config, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sound = prepare(config, cache)
    tokens = sound.train.tokens.copy()
    (folder,) = (cache / "prepared" / name for name in folders(cache))
    assert {path.name for path in folder.iterdir()} == {
        "meta.json",
        "tokenizer.json",
        *(f"{split}{end}" for split in ("train", "val") for end in (".bin", "-offsets.npy")),
    }
    num_noticed = 0
    for name, place in damaged_places(folder):
        content = bytearray((folder / name).read_bytes())
        content[place] ^= 1
        (folder / name).write_bytes(content)
        again = prepare(config, cache)
        assert same(again, sound)
        assert np.array_equal(again.train.tokens, tokens)
        assert again.tokenizer.digest == sound.tokenizer.digest
        for line in capsys.readouterr().err.splitlines():
            num_noticed += 1
            assert line.startswith(f"note: the prepared data in {folder} are damaged (")
            assert line.endswith("); preparing them again")
    assert num_noticed >= 16, "all but white space, the name of the source, and offsets, which are not read"
    assert len(folders(cache)) == 1


def test_a_process_verifies_a_file_once_and_again_when_it_was_written(
    config: Config, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = prepare(config, cache)
    (folder,) = (cache / "prepared" / name for name in folders(cache))
    time.sleep(2 * token_files.SECONDS_TO_SETTLE)
    open_prepared(folder)
    with monkeypatch.context() as patch:
        patch.setattr(token_files, "END_OF_TEXT_ID", None)  # whoever reads the tokens finds no document
        again = open_prepared(folder)
    assert np.array_equal(again.train.offsets, first.train.offsets)
    with pytest.raises(ValueError, match="read-only"):
        again.train.offsets[0] = 1
    path, before = folder / "train.bin", (folder / "train.bin").stat()
    content = bytearray(path.read_bytes())
    content[7] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # as if it had not been written
    with pytest.raises(DamagedData, match=r"the digest of train\.bin differs"):
        open_prepared(folder)


def test_a_file_that_was_just_written_is_verified_again(config: Config, cache: Path) -> None:
    """The clock of a file system is too coarse to tell two writes apart that follow at once."""
    prepare(config, cache)
    (folder,) = (cache / "prepared" / name for name in folders(cache))
    path = folder / "train.bin"
    sound = path.read_bytes()
    damaged = bytes([sound[0] ^ 1]) + sound[1:]
    for _ in range(20):
        path.write_bytes(sound)
        open_prepared(folder)
        path.write_bytes(damaged)
        with pytest.raises(DamagedData):
            open_prepared(folder)


def test_data_that_cannot_be_prepared_again_are_told_with_the_remedy(
    config: Config, cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(config, cache)
    (folder,) = (cache / "prepared" / name for name in folders(cache))
    content = bytearray((folder / "train.bin").read_bytes())
    content[100] ^= 1
    (folder / "train.bin").write_bytes(content)

    def gone(*_: object) -> None:
        raise ConfigError("data.source", "far/away", "cannot be reached", "connect to the network")

    monkeypatch.setattr(prepare_module, "_head", gone)
    with pytest.raises(SomelabError) as caught:
        prepare(config, cache)
    assert str(caught.value) == (
        f"the prepared data in {folder} are damaged (the digest of train.bin differs), and cannot be "
        "prepared again: data.source = 'far/away': cannot be reached; connect to the network"
    )
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert (folder / "train.bin").read_bytes() == content, "nothing is removed before there is something new"
    assert folders(cache) == [folder.name]


def test_builtin_text_needs_no_file(cache: Path) -> None:
    prepared = prepare(config_of(train_subset_size=30, val_subset_size=10, vocab_size=400), cache)
    assert (prepared.train.num_documents, prepared.val.num_documents) == (30, 10)
    assert texts_of(prepared.val, prepared.tokenizer) == list(source_of("builtin", val_subset_size=10).val())
