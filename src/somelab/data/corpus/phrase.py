"""Words that carry their labels, and the one place where they become text: spaces, capitals, a or an, quotes.
A phrase is a row of pieces; `join` turns it into a string and the spans of its words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from somelab.data.corpus.labels import Role, Word, WordClass
from somelab.data.corpus.morphology import indefinite_article


class Piece(NamedTuple):
    """One word or mark. A role of None is filled in by the slot that uses the piece."""

    text: str
    word_class: WordClass
    role: Role | None


Pieces: TypeAlias = "tuple[Piece, ...]"


class Referent:
    """Anything a sentence can name, in several forms: a noun has `one` and `many`, a person `he`."""

    __slots__ = ("forms", "key")

    def __init__(self, forms: Mapping[str, Pieces], key: str = "") -> None:
        self.forms = forms
        self.key = key
        """The key under which a page records it, so that one word is not drawn twice from two bags."""


# Marks; the first three control the join and have no span. Opening and closing quote are one character in the
# text and two in a phrase, since their spaces differ.
MARKS = {text: Piece(text, WordClass.PUNCTUATION, Role.NONE) for text in "\n^~“”,.!?;:"}
CAPITAL = MARKS["^"]
_ENCLITICS = frozenset(["'s", "n't", "'m", "'re", "'ll", "'ve", "'d"])


def join(pieces: Sequence[Piece]) -> tuple[str, list[Word]]:
    """Text and spans. A capital follows . ? and !, an opening quote, a new line, and ^ (~ forbids it).

    A ? or ! before a closing quote may stand inside a sentence (“Why?” he asked): no capital follows.
    A comma replaces a full stop right before it, and is left out after ? and !, so that `said Tom` can
    follow any quoted sentence."""
    parts: list[str] = []
    words: list[Word] = []
    position, capital, space, last = 0, True, False, ""
    new = tuple.__new__  # Word(...) by itself takes twice as long, and this is the hot loop.
    for index, (text, word_class, role) in enumerate(pieces):
        assert role is not None, f"{text!r} was used without a role"
        if text in MARKS:
            if text == "\n":
                parts.append("\n")
                position += 1
                capital, space, last = True, False, ""
                continue
            if text in "^~":
                capital = text == "^"
                continue
            if text == "“":
                if space:
                    parts.append(" ")
                    position += 1
                text, capital, space = '"', True, False
            elif text == "”":
                text, capital, space = '"', last == ".", True
            else:
                if text == "." and index + 1 < len(pieces) and pieces[index + 1].text == ",":
                    continue
                if text == "," and pieces[index - 1].text in "?!":
                    continue
                capital, space, last = text in ".?!", True, text
            parts.append(text)
            words.append(new(Word, (position, position + 1, word_class, role)))
            position += 1
            continue
        if text == "a":
            text = indefinite_article(pieces[index + 1].text)
        if capital:
            text = text[0].upper() + text[1:]
            capital = False
        if space and text not in _ENCLITICS:
            parts.append(" ")
            position += 1
        space, last = True, text
        end = position + len(text)
        parts.append(text)
        words.append(new(Word, (position, end, word_class, role)))
        position = end
    return "".join(parts), words
