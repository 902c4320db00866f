"""Words that carry their labels, and the one place where they become text: spaces, capitals, a or an, quotes.
A phrase is a list of pieces; `join` turns it into a string and the spans of its words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from somelab.data.corpus.labels import Role, Word, WordClass
from somelab.data.corpus.morphology import indefinite_article, number_words, ordinal_word


class Piece(NamedTuple):
    """One word or mark. A role of None is filled in by the slot that uses the piece."""

    text: str
    word_class: WordClass
    role: Role | None


def _mark(text: str) -> Piece:
    return Piece(text, WordClass.PUNCTUATION, Role.NONE)


# Marks that are not text: they steer the join and have no span of their own.
NEW_LINE = _mark("\n")
CAPITAL = _mark("^")
SMALL = _mark("~")
# Opening and closing quote are one character in the text, two in a phrase: spacing differs.
OPEN_QUOTE = _mark("“")
CLOSE_QUOTE = _mark("”")
MARKS = {mark.text: mark for mark in (NEW_LINE, CAPITAL, SMALL, OPEN_QUOTE, CLOSE_QUOTE, *map(_mark, ",.!?;:"))}

_STEERING = frozenset("\n^~“”,.!?;:")
_ENCLITICS = frozenset(["'s", "n't", "'m", "'re", "'ll", "'ve", "'d"])


class Referent:
    """Anything a sentence can name, with the forms in which it can do so: a noun has `one` and `many`, a person has `he`."""

    __slots__ = ("forms", "key")

    def __init__(self, forms: Mapping[str, tuple[Piece, ...]], key: str = "") -> None:
        self.forms = forms
        self.key = key
        """What a page remembers it by, so that one word is not drawn twice from two bags."""

    @property
    def text(self) -> str:
        """The default form as plain words, for the facts of a document."""
        return " ".join(piece.text for piece in self.forms[""])


def determiner(text: str) -> Piece:
    return Piece(text, WordClass.DETERMINER, Role.NONE)


@cache
def number(value: int) -> tuple[Piece, ...]:
    """A number in words; the `and` within it is a conjunction that belongs to the quantity."""
    return tuple(
        Piece(word, WordClass.CONJUNCTION if word == "and" else WordClass.NUMBER, Role.QUANTITY) for word in number_words(value)
    )


@cache
def count(value: int) -> Referent:
    """A number as a referent, with its ordinal (first, as an adjective) where a day of the month has one."""
    forms = {"": number(value)}
    if 1 <= value <= 31:
        forms["th"] = (Piece(ordinal_word(value), WordClass.ADJECTIVE, Role.QUANTITY),)
    return Referent(forms)


@cache
def measure(value: int, unit: Referent) -> Referent:
    """`three cups`, `one cup`; the form `of` ends in that word, `number` is the number alone."""
    nouns = tuple(piece._replace(role=Role.QUANTITY) for piece in unit.forms["one" if value == 1 else "many"])
    whole = (*number(value), *nouns)
    of = Piece("of", WordClass.PREPOSITION, Role.NONE)
    return Referent({"": whole, "of": (*whole, of), "number": number(value)})


def name(text: str) -> Referent:
    """A proper noun of one or more words."""
    return Referent({"": tuple(Piece(word, WordClass.PROPER_NOUN, None) for word in text.split())}, text)


def join(pieces: Sequence[Piece]) -> tuple[str, list[Word]]:
    """Text and spans. A capital follows a full stop, ? or !, an opening quote, a new line, and the mark ^ (~ forbids it).

    A ? or ! before a closing quote may stand inside a sentence (“Why?” he asked), so there no capital follows by itself."""
    parts: list[str] = []
    words: list[Word] = []
    position, capital, space, last = 0, True, False, ""
    for index, (text, word_class, role) in enumerate(pieces):
        assert role is not None, f"{text!r} was used without a role"
        if text in _STEERING:
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
                capital, space, last = text in ".?!", True, text
            parts.append(text)
            words.append(Word(position, position + 1, word_class, role))
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
        words.append(Word(position, end, word_class, role))
        position = end
    return "".join(parts), words
