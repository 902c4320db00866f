"""Documents by number: document i of a random seed is always the same text, and each can be generated alone.
The text of a kind does not depend on which other kinds are selected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from somelab.data.corpus.chance import Chance
from somelab.data.corpus.grammar import Grammar
from somelab.data.corpus.labels import Document
from somelab.data.corpus.page import Page
from somelab.data.corpus.phrase import join
from somelab.errors import ConfigError, nearest

GRAMMAR = Grammar()
KINDS = GRAMMAR.kinds
_MOST_DRAFTS = 50


def document(seed: int, index: int, kinds: Sequence[str] | None = None) -> Document:
    """Document `index` of the corpus of `seed`; its kind is drawn evenly from `kinds` (None: all)."""
    names = _checked(kinds)
    _check_number("index", index)
    name = names[Chance(seed, index, "kind").below(len(names))]
    page = write(name, seed, index)
    text, words = join(page.pieces)
    page.values.clear()
    return Document(name, text, words)


def write(name: str, seed: int, index: int) -> Page:
    """The page of a document of this kind: the first draft that is neither too short nor too long."""
    for draft in range(_MOST_DRAFTS):
        page = Page(GRAMMAR, Chance(seed, index, name, draft))
        page.do(name)
        if page.num_words() in KINDS[name]:
            return page
        # The values hold methods of the page: a reference cycle, which is broken here.
        page.values.clear()
    raise AssertionError(f"no draft of {name} {seed}/{index} has {KINDS[name]} words")


def documents(seed: int, kinds: Sequence[str] | None = None, start: int = 0) -> Iterator[Document]:
    """Documents `start`, `start + 1`, ... of the corpus of `seed`, without end."""
    names = _checked(kinds)
    _check_number("start", start)
    return (document(seed, index, names) for index in count(start))


def _check_number(field: str, value: int) -> None:
    if value < 0:
        raise ConfigError(field, value, "documents are counted from 0", "choose 0 or more")


def _checked(kinds: Sequence[str] | None) -> Sequence[str]:
    """The names in the order of KINDS, each once."""
    if kinds is None:
        return tuple(KINDS)
    if isinstance(kinds, str) or not kinds:
        raise ConfigError("kinds", kinds, "is not a list of kinds", f"give one or more of {', '.join(KINDS)}")
    for name in kinds:
        if name not in KINDS:
            raise ConfigError("kinds", name, "is not a kind of document", nearest(name, KINDS))
    return tuple(name for name in KINDS if name in kinds)
