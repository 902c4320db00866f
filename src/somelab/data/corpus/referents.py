"""Who and what a document is about: people, things and amounts, each with the forms a sentence may need.
They are made once per document and keep their name, colour and gender to its end."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from somelab.data.corpus.labels import Role, WordClass
from somelab.data.corpus.lexicon import THE, A, noun, pronouns
from somelab.data.corpus.morphology import number_words, ordinal_word
from somelab.data.corpus.phrase import Piece, Pieces, Referent

_PREPOSITIONS = ("of", "past", "to", "below")
_OF, _PAST, _TO, _BELOW = (Piece(text, WordClass.PREPOSITION, Role.NONE) for text in _PREPOSITIONS)
_HALF, _QUARTER = (Piece(text, WordClass.NOUN, Role.TIME) for text in ("half", "quarter"))
_OCLOCK = Piece("o'clock", WordClass.ADVERB, Role.TIME)


def _with_role(pieces: Pieces, role: Role) -> Pieces:
    return tuple(Piece(text, word_class, role) for text, word_class, _ in pieces)


def _all_looks(looks: tuple[Referent, ...]) -> Pieces:
    return tuple(piece for look in looks for piece in look.forms[""])


def someone(name: Referent, gender: str, kind: Referent | None = None, *looks: Referent) -> Referent:
    """A person or animal: the name, `one` (fox), `a` (a shy fox), `full` (Pip the fox), and pronouns."""
    forms = {"": name.forms[""], **pronouns(gender).forms}
    if kind is not None:
        one = kind.forms["one"]
        forms |= {"one": one, "a": (A, *_all_looks(looks), *one)}
        # The kind in `Pip the fox` describes the name, whatever the name's role is.
        forms["full"] = (*name.forms[""], THE, *_with_role(one, Role.ATTRIBUTE))
    return Referent(forms)


def with_looks(kind: Referent, *looks: Referent, gender: str = "it") -> Referent:
    """A thing with fixed looks: `a` and `full` give all of them, the default and `short` only the last."""
    one, every = kind.forms["one"], _all_looks(looks)
    last = every[-1:]
    forms = {"": (THE, *last, *one), "a": (A, *every, *one), "full": (*every, *one), "short": (*last, *one)}
    forms |= {"a_short": (A, *last, *one), "the": (THE, *one), "one": one, "many": kind.forms["many"]}
    return Referent({**forms, "colour": last, **pronouns(gender).forms})


def definite(phrase: Referent) -> Referent:
    """The phrase when it is known: its first `a` becomes `the`."""
    pieces = phrase.forms[""]
    first = next((index for index, piece in enumerate(pieces) if piece.text == "a"), None)
    return phrase if first is None else Referent({"": (*pieces[:first], THE, *pieces[first + 1 :])})


class Quantity(int):
    """A number that is said with its unit, or with what it counts. It calculates like any other number."""

    forms: Mapping[str, Pieces]
    unit: Referent | None = None
    stuff: Referent | None = None


@cache
def number(value: int) -> Mapping[str, Pieces]:
    """A number in words (the `and` in it belongs to the quantity), and `th`: first, of a day of a month."""
    pieces = [Piece(word, WordClass.NUMBER, Role.QUANTITY) for word in number_words(value)]
    is_and = {"and": WordClass.CONJUNCTION}
    forms = {"": tuple(piece._replace(word_class=is_and.get(piece.text, piece[1])) for piece in pieces)}
    if 1 <= value <= 31:
        forms["th"] = (Piece(ordinal_word(value), WordClass.ADJECTIVE, Role.QUANTITY),)
    return forms


@cache
def measure(value: int, unit: Referent | str | None, stuff: Referent | None = None) -> Quantity:
    """`three cups`; `of` adds that word, `number` is the number alone. With stuff, `two cups of flour`, or
    `two eggs` without a unit: then also `the` (the flour), `again` (the two cups of flour), `them`."""
    quantity, is_one = Quantity(value), abs(value) == 1
    quantity.unit, quantity.stuff = noun(unit) if isinstance(unit, str) else unit, stuff
    words = whole = number(abs(value))[""]
    if quantity.unit:
        whole = (*words, *_with_role(quantity.unit.forms["one" if is_one else "many"], Role.QUANTITY))
    forms = {**number(abs(value)), "number": words, "of": (*whole, _OF)}
    if stuff:
        head = stuff.forms["one" if is_one and unit is None else "many"]
        whole = (*(forms["of"] if unit else whole), *head)
        forms |= {"the": (THE, *head), "again": (THE, *(whole[1:] if is_one else whole))}
        forms |= {"one": stuff.forms["one"], "many": stuff.forms["many"]}
        forms["them"] = (stuff if unit else pronouns("they" if value > 1 else "it")).forms["him"]
    quantity.forms = {**forms, "": whole if value >= 0 else (*whole, _BELOW, *number(0)[""])}
    return quantity


def ingredient(stuff: Referent, value: int, unit: str | None = None) -> Quantity:
    return measure(value, unit, stuff)


def multiplied(quantity: Quantity, factor: int) -> Quantity:
    """So many times as much of the same."""
    return measure(factor * quantity, quantity.unit, quantity.stuff)


@cache
def time_of_day(minutes: int) -> Quantity:
    """The time `minutes` after midnight, on a clock of twelve hours: half past ten, twenty to six."""
    time, past = Quantity(minutes), minutes % 60
    assert past % 5 == 0, minutes
    hour = _with_role(number((minutes // 60 + (past > 30) - 1) % 12 + 1)[""], Role.TIME)
    distance = min(past, 60 - past)
    before = {30: (_HALF,), 15: (A, _QUARTER)}.get(distance) or _with_role(number(distance)[""], Role.TIME)
    time.forms = {"": (*before, _PAST if past <= 30 else _TO, *hour) if past else (*hour, _OCLOCK)}
    return time


MAKERS = (pronouns, someone, with_looks, definite, measure, ingredient, multiplied, time_of_day)
