"""A page being written: its values by name, the words already drawn, and the sentences so far.
Most of its methods, and `FUNCTIONS`, are what the scripts of the grammar may call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from somelab.data.corpus.chance import Chance, Item
from somelab.data.corpus.labels import Role, WordClass
from somelab.data.corpus.lexicon import BAGS, mass, noun
from somelab.data.corpus.lines import GrammarError
from somelab.data.corpus.pattern import Alternatives, Choices, Draw, Fixed, Nodes, Pattern
from somelab.data.corpus.phrase import CAPITAL, Piece, Pieces, Referent
from somelab.data.corpus.referents import MAKERS, number, with_looks

if TYPE_CHECKING:
    from somelab.data.corpus.grammar import Grammar

_TRIES = 6
FUNCTIONS: Mapping[str, Any] = {made.__name__: made for made in (abs, max, min, range, noun, mass, *MAKERS)}


class Page:
    """Scripts may call its methods and FUNCTIONS."""

    def __init__(self, grammar: Grammar, chance: Chance) -> None:
        self._grammar = grammar
        self._chance = chance
        self.pieces: list[Piece] = []
        self._drawn: set[str] = set()
        self._said: set[Pattern] = set()
        self.values: dict[str, Any] = {"__builtins__": {}, "_": grammar.constants, **FUNCTIONS}
        self.values.update((name, getattr(self, name)) for name in METHODS)
        self.values.update((name, getattr(chance, name)) for name in CHANCES)

    def do(self, script: str) -> None:
        exec(self._grammar.scripts[script], self.values)

    def say(self, choices: str | Choices | Pattern, lead: Pattern | None = None) -> None:
        """Add one of the patterns, as whole sentences; one that is new to this page, where there is one.

        `lead` opens it, except a pattern that begins with ^: a statement, which cannot follow a `then`."""
        if isinstance(choices, str):
            choices = self._grammar.lists[choices]
        elif isinstance(choices, Pattern):
            choices = (choices,)
        fresh = choices if len(choices) == 1 else [one for one in choices if one not in self._said]
        pattern = self._chance.pick(fresh or choices)
        self._said.add(pattern)
        self.pieces.append(CAPITAL)
        if lead and not pattern.source.startswith("^"):
            self.write(lead)
        self.write(pattern)

    def write(self, pattern: Pattern) -> None:
        """Append a pattern."""
        try:
            self._write(pattern.nodes)
        except KeyError as missing:
            raise GrammarError(f"{pattern.where}: no value or form {missing} for: {pattern.source}") from None

    def phrase(self, pattern: Pattern | str) -> Referent:
        """A part of a sentence, fixed now: the same words wherever it is used."""
        start = len(self.pieces)
        self.write(self._grammar.pattern(pattern, is_open=True) if isinstance(pattern, str) else pattern)
        pieces = tuple(self.pieces[start:])
        del self.pieces[start:]
        return Referent({"": pieces})

    def num_words(self) -> int:
        return len(self.pieces) - [piece.word_class for piece in self.pieces].count(WordClass.PUNCTUATION)

    def pick(self, *items: Item) -> Item:
        return self._chance.pick(items)

    def sample(self, count: int, *items: Item) -> list[Item]:
        return self._chance.sample(items, count)

    def rows(self, name: str) -> Sequence[Any]:
        """The rows of a table, the patterns of a list, or the words of a bag."""
        return self._grammar.tables.get(name) or self._grammar.lists.get(name) or BAGS[name]

    def choice(self, name: str, but: Pattern | None = None) -> Pattern:
        """A pattern of a list, kept for later; not `but`, unless that is empty."""
        return self._chance.pick([one for one in self._grammar.lists[name] if one is not but or not one])

    def last_mark(self, pattern: Pattern) -> str:
        return pattern.source[-1]

    def draw(self, bag: str) -> Referent:
        """A word of the bag, one that this page has not drawn yet if a few tries find one."""
        choices, drawn = BAGS[bag], self._drawn
        found = self._chance.ranked(choices)
        if found.key in drawn:
            for _ in range(_TRIES):
                found = self._chance.ranked(choices)
                if found.key not in drawn:
                    break
            else:
                found = next((item for item in choices if item.key not in drawn), found)
        drawn.add(found.key)
        return found

    def new_thing(self, *categories: str) -> Referent:
        """A thing of one of the categories (any, if none is given) with two looks that suit it."""
        looks = {row["of"]: row for row in self.rows("looks")}
        category = self._chance.pick(categories or tuple(looks))
        kind, row = self.draw(category), looks[category]
        return with_looks(kind, *(self.draw(self._chance.pick(row[look])) for look in ("first", "second")))

    def new_place(self, bag: str = "place") -> Referent:
        """A place that the page has not been to, with one adjective: `in` says where, and how it is there."""
        while (found := self._chance.ranked(BAGS[bag])).key in self._drawn:
            pass
        self._drawn.add(found.key)
        where, the, *kind = found.forms["short_in"]
        return Referent({**found.forms, "in": (where, the, *self.draw("place_look").forms[""], *kind)})

    def _write(self, nodes: Nodes) -> None:
        for node in nodes:
            if isinstance(node, Fixed):
                self.pieces.extend(node.pieces)
            elif isinstance(node, Alternatives):
                self._write(self._chance.pick(node.options))
            elif isinstance(node, Draw):
                word = self.draw(node.bag)
                if node.keep:
                    self.values[node.keep] = word
                self._use(word.forms[node.form], node.role)
            else:
                value = self.values[node.name]
                if isinstance(value, dict):  # A row of a table: its fields are patterns.
                    value = value[node.form]
                if isinstance(value, Pattern):
                    self._write(value.nodes)
                else:
                    forms = number(value) if type(value) is int else value.forms
                    self._use(forms[node.form], node.role)

    def _use(self, added: Pieces, role: Role | None) -> None:
        for piece in added:
            self.pieces.append(piece if piece.role else Piece(piece.text, piece.word_class, role))


CHANCES = ("between", "chance", "ranked")
METHODS = [name for name in vars(Page) if not name.startswith("_")]
