"""From the value of `--data` to documents: the built-in corpus, users' files, a Hub dataset. Each has a
held-out part. A source is identified by a digest of its content, under which prepared data are cached."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from pathlib import Path

from somelab.config import DataConfig
from somelab.data.holdout import draw, find_cut
from somelab.data.hub import HubName, load_splits, read_split
from somelab.data.text_files import READERS, read_documents, readable
from somelab.errors import ConfigError, nearest

TINYSTORIES = "roneneldan/TinyStories"
# The corpus of a random seed is endless: each split has its own seed, so that their documents differ.
BUILTIN_SEEDS = {"train": 0, "val": 1}
BUILTIN_SIZES = {"train": 20_000, "val": 1_000}
HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w.-]+){1,2}(:\w+)?")
HELD_OUT_NAME = re.compile(r"(^|[-_.])(valid|validation)([-_.]|$)", re.IGNORECASE)
TRAIN_NAME = re.compile(r"(^|[-_.])train([-_.]|$)", re.IGNORECASE)
BYTES_PER_READ = 1 << 20
MOST_FILES = 100_000
"""Names below a folder that is given as data: `--data /` would otherwise walk through the whole disk."""

Documents = Callable[[], Iterator[str]]


@dataclass(frozen=True)
class Source:
    """A source of documents. Each of the three callables starts from the first document at every call."""

    name: str
    identity: str
    """Changes whenever the documents may have changed."""
    train: Documents
    val: Documents
    whole: Documents
    """What to measure a finished model on: the validation part where the source itself has one, else every
    document."""


def open_source(config: DataConfig) -> Source:
    """The source that `data.source` names, cut to the subset sizes: the first documents of each part, in
    their order."""
    word = config.source.strip()
    sizes = [config.train_subset_size, config.val_subset_size]
    if word.partition(":")[0] == "builtin":
        source = _builtin(word)
        sizes = [size or usual for size, usual in zip(sizes, BUILTIN_SIZES.values())]
    elif word == "tinystories":
        source = _hub(word, HubName.parse(TINYSTORIES), config.text_column)
    elif word and os.path.exists(path := Path(os.path.expanduser(word))):
        source = _files(path, config.text_column, reads_val=config.purpose == "judge")
    elif HUB_NAME.fullmatch(word) and Path(word).suffix.lower() not in READERS:
        source = _hub(word, HubName.parse(word), config.text_column)
    else:
        raise _unknown(word)
    if config.purpose == "tune":
        # A split of the training documents alone: `source.val` is not read.
        source = _split_by_hash(
            source.name, _digest(source.identity, config.purpose), source.train, config.purpose
        )
    num_train, num_val = sizes
    return Source(
        word,
        _digest(source.identity, num_train, num_val),
        lambda: _first(source.train(), num_train, word, "training"),
        lambda: _first(source.val(), num_val, word, "validation"),
        lambda: _first(source.whole(), num_val, word, "validation"),
    )


def _first(documents: Iterator[str], limit: int | None, name: str, part: str) -> Iterator[str]:
    found = False
    for text in islice(documents, limit):
        found = True
        yield text
    if not found:
        raise ConfigError("data.source", name, f"has no documents for {part}", "give more text")


def _builtin(word: str) -> Source:
    from somelab.data import corpus

    chosen = word.partition(":")[2]
    kinds = [kind.strip() for kind in chosen.split(",")] if ":" in word else None
    for kind in kinds or ():
        if kind not in corpus.KINDS:
            raise ConfigError(
                "data.source", word, f"{kind!r} is no kind of built-in document", nearest(kind, corpus.KINDS)
            )

    def reading(split: str) -> Documents:
        return lambda: (document.text for document in corpus.documents(BUILTIN_SEEDS[split], kinds))

    # The text is identified by the generator's code, grammar and word lists.
    files = sorted(path for path in Path(corpus.__file__).parent.rglob("*") if path.suffix in (".py", ".txt"))
    content = [path.read_bytes().decode() for path in files]
    identity = _digest("builtin", sorted(set(kinds or corpus.KINDS)), list(BUILTIN_SEEDS.values()), content)
    return Source(word, identity, reading("train"), reading("val"), reading("val"))


def _hub(word: str, name: HubName, column: str) -> Source:
    """The identity is the name alone: once prepared, the data are found without the network. To read the
    dataset again, empty the cache."""
    column = name.column or column
    identity = _digest("hub", name.dataset, name.configuration, column)

    @cache
    def source() -> Source:
        splits = load_splits(word, name)
        if "train" not in splits:
            raise ConfigError(
                "data.source",
                word,
                f"has no split named train (it has {', '.join(splits)})",
                "choose another dataset",
            )
        train = partial(read_split, splits, "train", word, column)
        val = partial(read_split, splits, "validation", word, column)
        if "validation" in splits:
            return Source(word, identity, train, val, val)
        return _split_by_hash(word, identity, train)

    return Source(word, identity, lambda: source().train(), lambda: source().val(), lambda: source().whole())


def _files(path: Path, column: str, *, reads_val: bool = True) -> Source:
    """A file or folder. Validation is X-valid.txt beside X-train.txt; in a folder, the files named so; else
    by hash.

    `reads_val`: False if the validation files must not be opened, not even for their digest."""
    if os.path.isdir(path):
        train, val = _files_of_folder(path)
    elif path.suffix.lower() in READERS:
        sibling = path.with_name(re.sub(r"-train$", "-valid", path.stem) + path.suffix)
        train, val = [path], [sibling] if sibling != path and os.path.exists(sibling) else []
    else:
        raise ConfigError(
            "data.source", str(path), f"is not a {_known_suffixes()} file", "convert it, or change its name"
        )
    identity = _digest(
        [_identity(file, column) for file in train], [_identity(file, column) for file in val if reads_val]
    )
    if not val:
        return _split_by_hash(str(path), identity, _reading(train, column))
    return Source(str(path), identity, _reading(train, column), _reading(val, column), _reading(val, column))


def _files_of_folder(folder: Path) -> tuple[list[Path], list[Path]]:
    """Training and validation files, each by path. Where some are named `train`, others but `valid` are left
    alone."""
    inside = {path.relative_to(folder): path for path in _visible_files(folder)}
    known = [inside[name] for name in sorted(inside, key=Path.as_posix)]
    val = [path for path in known if HELD_OUT_NAME.search(path.stem)]
    rest = [path for path in known if path not in val]
    train = [path for path in rest if TRAIN_NAME.search(path.stem)] or rest
    if not train:
        raise ConfigError(
            "data.source",
            str(folder),
            f"is a folder without {_known_suffixes()} files to train on",
            "give another",
        )
    return train, val


def _visible_files(folder: Path) -> Iterator[Path]:
    """Regular files of a known kind below a folder, without hidden ones and without following links to
    folders."""
    num_seen = 0
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        num_seen += len(folders) + len(names)
        if num_seen > MOST_FILES:
            problem = f"is a folder of more than {MOST_FILES:,} files"
            raise ConfigError("data.source", str(folder), problem, "give the folder that holds the text")
        for name in names:
            path = Path(here, name)
            if not name.startswith(".") and path.suffix.lower() in READERS and os.path.isfile(path):
                yield path


def _reading(paths: Sequence[Path], column: str) -> Documents:
    def documents() -> Iterator[str]:
        found = False
        for path in paths:
            for text in read_documents(path, column):
                found = True
                yield text
        if not found:
            name = str(paths[0] if len(paths) == 1 else paths[0].parent)
            # os.path: a file that is gone by now has no size and is no error.
            has_bytes = any(os.path.exists(path) and os.path.getsize(path) for path in paths)
            problem = "holds no documents" if has_bytes else "is empty"
            raise ConfigError("data.source", name, problem, "give a file with text")

    return documents


def _split_by_hash(name: str, identity: str, documents: Documents, purpose: str = "") -> Source:
    cut = cache(lambda: find_cut(documents(), name, purpose))

    def train() -> Iterator[str]:
        return (text for text in documents() if draw(text, purpose) >= cut())

    def val() -> Iterator[str]:
        return (text for text in documents() if draw(text, purpose) < cut())

    return Source(name, identity, train, val, documents)


def _identity(path: Path, column: str) -> list[str]:
    """Identity of a file: its content and how it is parsed."""
    digest = hashlib.blake2b(digest_size=20)
    with readable(path) as file:
        while block := file.read(BYTES_PER_READ):
            digest.update(block)
    suffix = path.suffix.lower()
    return [suffix, "" if suffix == ".txt" else column, digest.hexdigest()]


def _digest(*parts: object) -> str:
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=20).hexdigest()


def _known_suffixes() -> str:
    *most, last = READERS
    return f"{', '.join(most)} or {last}"


def _unknown(word: str) -> ConfigError:
    looks_like_path = Path(word).suffix.lower() in READERS or re.search(r"[/\\~]", word)
    problem = "there is no such file or folder" if looks_like_path else "is not a source of text"
    remedy = (
        f"give builtin, tinystories, the path of a {_known_suffixes()} file, or a Hub dataset as owner/name"
    )
    return ConfigError("data.source", word, problem, remedy)
