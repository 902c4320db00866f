"""A page being written: the cast of the document, the words already drawn, and the sentences so far.
A kind of document is a function that fills a page; see `kinds/`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from somelab.data.corpus.chance import Chance
from somelab.data.corpus.labels import Document, Role, WordClass
from somelab.data.corpus.lexicon import BAGS
from somelab.data.corpus.pattern import Alternatives, BagSlot, CastSlot, Fixed, Node, compile_pattern
from somelab.data.corpus.phrase import CAPITAL, CLOSE_QUOTE, MARKS, NEW_LINE, OPEN_QUOTE, Piece, Referent, join

Pattern = str
Patterns = Sequence[Pattern]


class Page:
    def __init__(self, kind: str, chance: Chance) -> None:
        self.kind = kind
        self.chance = chance
        self.cast: dict[str, Referent | Pattern] = {}
        self.facts: dict[str, str] = {}
        self._pieces: list[Piece] = []
        self._drawn: set[str] = set()
        self._said: set[Pattern] = set()

    def say(self, *patterns: Pattern, lead: Pattern = "") -> None:
        """Add one of the patterns, as one or more whole sentences; one that this page has not used yet, where there is one.

        `lead` opens it, except a pattern that begins with ^: that one is a statement and cannot follow a `then`."""
        fresh = patterns if len(patterns) == 1 else [pattern for pattern in patterns if pattern not in self._said] or patterns
        pattern = self.chance.pick(fresh)
        self._said.add(pattern)
        self._pieces.append(CAPITAL)
        if not pattern.startswith("^"):
            self._write(compile_pattern(lead))
        self._write(compile_pattern(pattern))

    def maybe(self, percent: int, *patterns: Pattern) -> None:
        if self.chance.happens(percent):
            self.say(*patterns)

    def quote(self, words: Pattern, tag: Pattern = "") -> None:
        """Add a line of speech. With a tag (said Tom) its full stop becomes a comma and the tag ends the sentence."""
        self._pieces.append(OPEN_QUOTE)
        self._write(compile_pattern(words))
        if tag and self._pieces[-1].text == ".":
            self._pieces[-1] = MARKS[","]
        self._pieces.append(CLOSE_QUOTE)
        if tag:
            self._write(compile_pattern(tag))
            self._pieces.append(MARKS["."])

    def phrase(self, pattern: Pattern) -> Referent:
        """A part of a sentence, fixed now: the same words, with the same roles, wherever the referent is used."""
        start = len(self._pieces)
        self._write(compile_pattern(pattern))
        pieces = tuple(self._pieces[start:])
        del self._pieces[start:]
        return Referent({"": pieces})

    def new_line(self) -> None:
        self._pieces.append(NEW_LINE)

    def draw(self, bag: str) -> Referent:
        """A word of the bag, one that this page has not drawn yet if a few tries find one."""
        choices, drawn = BAGS[bag], self._drawn
        found = choices.draw(self.chance)
        if found.key in drawn:
            for _ in range(6):
                found = choices.draw(self.chance)
                if found.key not in drawn:
                    break
            else:
                found = next((item for item in choices if item.key not in drawn), found)
        drawn.add(found.key)
        return found

    def claim(self, key: str) -> bool:
        """Whether the page has not drawn this word before; from now on it has."""
        fresh = key not in self._drawn
        self._drawn.add(key)
        return fresh

    @property
    def num_words(self) -> int:
        return len(self._pieces) - [piece.word_class for piece in self._pieces].count(WordClass.PUNCTUATION)

    def finish(self) -> Document:
        text, words = join(self._pieces)
        return Document(self.kind, text, words, self.facts)

    def _write(self, nodes: Sequence[Node]) -> None:
        pieces = self._pieces
        for node in nodes:
            if type(node) is Fixed:
                pieces.extend(node.pieces)
            elif type(node) is CastSlot:
                referent = self.cast[node.cast]
                if isinstance(referent, str):
                    self._write(compile_pattern(referent))
                else:
                    _use(pieces, referent, node.form, node.role)
            elif type(node) is BagSlot:
                referent = self.draw(node.bag)
                if node.keep:
                    self.cast[node.keep] = referent
                _use(pieces, referent, node.form, node.role)
            elif type(node) is Alternatives:
                self._write(self.chance.pick(node.options))


def _use(pieces: list[Piece], referent: Referent, form: str, role: Role | None) -> None:
    for piece in referent.forms[form]:
        pieces.append(piece if piece.role is not None else Piece(piece.text, piece.word_class, role))


class Kind(NamedTuple):
    """A kind of document: how it is written, and between how many words it must come out (shorter and longer ones are redrawn)."""

    name: str
    write: Callable[[Page], None]
    least_words: int
    most_words: int
