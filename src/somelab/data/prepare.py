"""Documents to token files, once: the tokenizer is trained, every document encoded, and both are cached by
content. The cache does not depend on layout, sequence length or batch size, so that runs which differ in
these share it."""

from __future__ import annotations

import errno
import hashlib
import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from somelab.config import Config
from somelab.data.sources import Source, open_source
from somelab.data.token_files import check_meta, data_digest, open_tokens, tokens_digest
from somelab.data.tokenizer import END_OF_TEXT_ID, Tokenizer, check_vocab_size
from somelab.disk import guarded
from somelab.disk.built_once import build_again, build_once, cache_root
from somelab.disk.checked_json import loads
from somelab.errors import SomelabError, notice

FORMAT = 1
# The tokenizer learns from the first documents up to this size: more text hardly changes which pairs are
# frequent, and these documents are kept in memory until they are encoded, so that the source is read once.
TOKENIZER_BYTES = 50_000_000
BLOCK_BYTES = 2_000_000

SplitName = Literal["train", "val"]
Progress = Callable[[str, int], None]
"""Called at intervals with the current activity and the number of documents processed."""


@dataclass(frozen=True)
class Split:
    """The tokens of many documents end to end, each ended by `<|endoftext|>`, mapped from a file."""

    tokens: NDArray[Any]
    offsets: NDArray[np.int64]
    """Document i is tokens[offsets[i] : offsets[i + 1]], its end included."""
    num_bytes: int
    """UTF-8 bytes of the text."""

    @property
    def num_documents(self) -> int:
        return len(self.offsets) - 1

    @property
    def num_tokens(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True)
class PreparedData:
    """Text that is ready for a loader."""

    source: str
    digest: str
    """Identifies tokenizer and tokens, independent of path and name."""
    tokenizer: Tokenizer
    train: Split
    val: Split

    def split(self, name: SplitName) -> Split:
        return self.train if name == "train" else self.val


def prepare(config: Config, cache_dir: Path | None = None, progress: Progress | None = None) -> PreparedData:
    """The data of a run, with a tokenizer of `model.vocab_size` trained on its training text; from the cache
    if present."""
    check_vocab_size(config.model.vocab_size)
    source = open_source(config.data)
    report = progress or _silent

    def build(folder: Path) -> None:
        documents = source.train()
        head = _head(documents, report)
        report("training the tokenizer", len(head))
        tokenizer = Tokenizer.train(head, config.model.vocab_size)
        _write(folder, source, tokenizer, {"train": chain(head, documents), "val": source.val()}, report)

    settings = {"vocab_size": config.model.vocab_size, "tokenizer_bytes": TOKENIZER_BYTES}
    return _built_once(source, settings, build, cache_dir)


def prepare_with(
    tokenizer: Tokenizer,
    config: Config,
    cache_dir: Path | None = None,
    progress: Progress | None = None,
    whole: bool = False,
) -> PreparedData:
    """The data that `config` names in the tokens of an existing tokenizer.

    `whole`: to measure a model on a text, all of it is validation (of a source with a validation part of its
    own, that part), and training is empty."""
    source = open_source(config.data)

    def build(folder: Path) -> None:
        documents = (
            {"train": iter(()), "val": source.whole()}
            if whole
            else {"train": source.train(), "val": source.val()}
        )
        _write(folder, source, tokenizer, documents, progress or _silent)

    return _built_once(source, {"tokenizer": tokenizer.digest, "whole": whole}, build, cache_dir)


class DamagedData(SomelabError):
    """Prepared data that are not what was written. Their folder may be removed: they can be prepared
    again."""

    def __init__(self, folder: Path, reason: str) -> None:
        self.what = f"the prepared data in {folder} are damaged ({reason})"
        super().__init__(f"{self.what}; remove that folder, and try again")


def open_prepared(folder: Path) -> PreparedData:
    """What `prepare` has written to a folder, verified."""
    try:
        meta = loads(guarded.read_bytes(folder / "meta.json", inside=folder))
        splits = {
            name: Split(*open_tokens(folder, name, meta), meta["splits"][name]["num_bytes"])
            for name in ("train", "val")
        }
        tokenizer_json = guarded.read_text(folder / "tokenizer.json", inside=folder).replace("\r\n", "\n")
        tokenizer = Tokenizer.load(folder / "tokenizer.json")
        check_meta(meta, tokenizer_json)
        return PreparedData(meta["source"], meta["digest"], tokenizer, splits["train"], splits["val"])
    # np.load of an empty file is an EOFError; a meta.json of another shape gives the others.
    except (OSError, EOFError, ValueError, TypeError, LookupError, SomelabError) as error:
        for known in (error, error.__context__):  # no file is damaged if none can be opened
            if isinstance(known, OSError) and known.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM):
                raise known from None
        raise DamagedData(folder, (str(error).splitlines() or [type(error).__name__])[0]) from None


def _built_once(
    source: Source, settings: Mapping[str, object], build: Callable[[Path], None], cache_dir: Path | None
) -> PreparedData:
    key = json.dumps({"format": FORMAT, "source": source.identity, **settings}, sort_keys=True)
    root, name = cache_root(cache_dir), hashlib.blake2b(key.encode(), digest_size=10).hexdigest()
    folder = build_once(root, name, build)
    try:
        prepared = open_prepared(folder)
    except DamagedData as damage:
        notice(f"{damage.what}; preparing them again")
        try:
            build_again(root, name, build, _is_sound)
        except SomelabError as error:
            raise SomelabError(f"{damage.what}, and cannot be prepared again: {error}") from None
        prepared = open_prepared(folder)
    # The same content may be cached under another name.
    return replace(prepared, source=source.name)


def _is_sound(folder: Path) -> bool:
    try:
        open_prepared(folder)
    except DamagedData:
        return False
    return True


def _head(documents: Iterator[str], report: Progress) -> list[str]:
    """The first documents, removed from the iterator."""
    head: list[str] = []
    num_bytes = 0
    while num_bytes < TOKENIZER_BYTES and (text := next(documents, None)) is not None:
        head.append(text)
        num_bytes += len(text.encode())
        if len(head) % 1000 == 0:
            report("reading text", len(head))
    return head


def _write(
    folder: Path, source: Source, tokenizer: Tokenizer, splits: Mapping[str, Iterable[str]], report: Progress
) -> None:
    tokenizer.save(folder / "tokenizer.json")
    dtype = np.dtype(np.uint16 if tokenizer.vocab_size <= 1 << 16 else np.uint32)
    facts = {
        name: _write_split(folder, name, documents, tokenizer, dtype, report)
        for name, documents in splits.items()
    }
    digest = data_digest(tokenizer.digest, facts)
    meta = {"format": FORMAT, "source": source.name, "digest": digest, "dtype": dtype.name, "splits": facts}
    (folder / "meta.json").write_text(json.dumps(meta, indent=1), encoding="utf-8")


def _write_split(
    folder: Path,
    name: str,
    documents: Iterable[str],
    tokenizer: Tokenizer,
    dtype: np.dtype[Any],
    report: Progress,
) -> dict[str, int | str]:
    ends = array("q", [0])
    num_bytes = 0
    digest = tokens_digest()
    with (folder / f"{name}.bin").open("wb") as file:
        for texts, size in _blocks(documents):
            encoded = tokenizer.encode_batch(texts)
            for ids in encoded:
                ids.append(END_OF_TEXT_ID)
                ends.append(ends[-1] + len(ids))
            tokens = np.fromiter(chain.from_iterable(encoded), dtype).tobytes()
            file.write(tokens)
            digest.update(tokens)
            num_bytes += size
            report(f"encoding {name}", len(ends) - 1)
    # For earlier versions, which may share the cache; here, offsets are read from the tokens.
    np.save(folder / f"{name}-offsets.npy", np.array(ends, dtype=np.int64))
    return {
        "num_documents": len(ends) - 1,
        "num_tokens": ends[-1],
        "num_bytes": num_bytes,
        "digest": digest.hexdigest(),
    }


def _blocks(documents: Iterable[str]) -> Iterator[tuple[list[str], int]]:
    """Documents in blocks of a few megabytes, each with its size; one block is in memory at a time."""
    texts: list[str] = []
    size = 0
    for text in documents:
        texts.append(text)
        size += len(text.encode())
        if size >= BLOCK_BYTES:
            yield texts, size
            texts, size = [], 0
    if texts:
        yield texts, size


def _silent(doing: str, num_documents: int) -> None:
    pass
