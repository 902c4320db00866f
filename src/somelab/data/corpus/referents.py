"""Who and what a document is about: people, animals, things and places, each with the forms a sentence may need.
They are made once per document and keep their name, colour and gender to its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from somelab.data.corpus.labels import Role, WordClass
from somelab.data.corpus.phrase import Piece, Referent, determiner

_A, _THE = determiner("a"), determiner("the")


class Gender(NamedTuple):
    he: str
    him: str
    his: str
    himself: str


FEMALE = Gender("she", "her", "her", "herself")
MALE = Gender("he", "him", "his", "himself")
NEUTER = Gender("it", "it", "its", "itself")
PLURAL = Gender("they", "them", "their", "themselves")


@cache
def pronouns(gender: Gender) -> Mapping[str, tuple[Piece, ...]]:
    """The forms `he`, `him`, `his` and `himself`, named after one gender and filled by any."""
    return {
        "he": (Piece(gender.he, WordClass.PRONOUN, None),),
        "him": (Piece(gender.him, WordClass.PRONOUN, None),),
        "his": (determiner(gender.his),),
        "himself": (Piece(gender.himself, WordClass.PRONOUN, None),),
    }


class Person(Referent):
    """Someone with a name: default form the name, `one` (fox), `a` (a shy fox), `full` (Pip the fox), and pronouns."""

    __slots__ = ("gender",)

    def __init__(self, given: Referent, gender: Gender, kind: Referent | None = None, *adjectives: Referent) -> None:
        self.gender = gender
        forms = {"": given.forms[""], **pronouns(gender)}
        if kind is not None:
            forms["one"] = kind.forms["one"]
            forms["a"] = (_A, *_modifiers(adjectives), *kind.forms["one"])
            # The kind in `Pip the fox` describes the name, whatever the name's role is.
            forms["full"] = (*given.forms[""], _THE, *_as_attribute(kind.forms["one"]))
        super().__init__(forms)


class Thing(Referent):
    """A thing with fixed looks. `a` and `full` give all of them, the default and `colour` only the last one before the noun."""

    __slots__ = ()

    def __init__(self, kind: Referent, *adjectives: Referent, gender: Gender = NEUTER) -> None:
        one, looks = kind.forms["one"], _modifiers(adjectives)
        super().__init__(
            {
                "": (_THE, *looks[-1:], *one),
                "a": (_A, *looks, *one),
                "one": one,
                "many": kind.forms["many"],
                "the": (_THE, *one),
                "full": (*looks, *one),
                "short": (*looks[-1:], *one),
                "a_short": (_A, *looks[-1:], *one),
                "colour": looks[-1:],
                **pronouns(gender),
            }
        )


class Place(Referent):
    """Somewhere: default `the market`, `in` (at the busy market), `short_in` (at the market)."""

    __slots__ = ()

    def __init__(self, preposition: str, kind: Sequence[Piece], *adjectives: Referent) -> None:
        looks, kind = _modifiers(adjectives), tuple(kind)
        where = Piece(preposition, WordClass.PREPOSITION, Role.NONE)
        super().__init__(
            {
                "": (_THE, *kind),
                "in": (where, _THE, *looks, *kind),
                "short_in": (where, _THE, *kind),
            }
        )


def both(first: Referent, second: Referent) -> Referent:
    """Two people as one: their names joined by `and`."""
    return Referent({"": (*first.forms[""], Piece("and", WordClass.CONJUNCTION, Role.CONNECTIVE), *second.forms[""])})


def _modifiers(adjectives: Sequence[Referent]) -> tuple[Piece, ...]:
    return tuple(piece for adjective in adjectives for piece in adjective.forms[""])


def _as_attribute(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    return tuple(Piece(piece.text, piece.word_class, Role.ATTRIBUTE) for piece in pieces)
