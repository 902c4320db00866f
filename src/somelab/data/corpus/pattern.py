"""The small language in which sentences are written, and its compiler.

A pattern is a sentence whose words are looked up in the lexicon, which knows their class:

    {hero.he@agent} <go.ed> (quickly|) to/p the garden@place .

    word            a literal; its class must be the only one the lexicon has for it, or be given: light/n, light/a
    word@role       the role; nouns, names and pronouns must say it, other classes have a default
    {cast.form@role}    a referent of the document, in one of its forms; {cast} alone may also be a pattern, inserted here
    <bag.form@role>     a word drawn from a bag of the lexicon, new to the document where possible
    <bag=cast.form@role>    the same, and remembered under that name
    (one|other|)    one of the alternatives, which may be empty and may nest; (hat|cap)@patient gives all of them a role
    “ ” ¶ ^ ~       quotes, new line, force a capital, forbid one
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple, TypeAlias

from somelab.data.corpus.labels import Role, WordClass
from somelab.data.corpus.lexicon import STATIVE_VERBS, TIME_ADVERBS, classes_of
from somelab.data.corpus.phrase import MARKS, NEW_LINE, Piece

CLASS_CODES = {
    "n": WordClass.NOUN,
    "N": WordClass.PROPER_NOUN,
    "o": WordClass.PRONOUN,
    "v": WordClass.VERB,
    "x": WordClass.AUXILIARY,
    "a": WordClass.ADJECTIVE,
    "r": WordClass.ADVERB,
    "d": WordClass.DETERMINER,
    "p": WordClass.PREPOSITION,
    "c": WordClass.CONJUNCTION,
    "m": WordClass.NUMBER,
    "i": WordClass.INTERJECTION,
    "t": WordClass.PARTICLE,
}
_DEFAULT_ROLES = {
    WordClass.ADJECTIVE: Role.ATTRIBUTE,
    WordClass.CONJUNCTION: Role.CONNECTIVE,
    WordClass.NUMBER: Role.QUANTITY,
}
# Of two classes of one word, which is meant when a pattern does not say.
_USUAL = (
    (WordClass.ADJECTIVE, {WordClass.ADVERB}),
    (WordClass.PREPOSITION, {WordClass.ADVERB}),
)
_NEED_ROLE = {WordClass.NOUN, WordClass.PROPER_NOUN, WordClass.PRONOUN}
_NOUN_ROLES = set(Role) - {Role.ACTION, Role.STATE, Role.CONNECTIVE}
# Roles that no verb can have: one that is written on a verb, or on brackets around it, is a slip.
_NOMINAL_ROLES = _NOUN_ROLES - {Role.NONE, Role.TIME, Role.QUANTITY, Role.ATTRIBUTE, Role.MANNER}
_CONTRACTION = re.compile(r"(.+?)(n't|'s|'m|'re|'ll|'ve|'d)$")

_ELEMENT = re.compile(
    r"\s*(?:"
    r"\{(?P<cast>\w+)(?:\.(?P<cast_form>\w+))?(?:@(?P<cast_role>\w+))?\}"
    r"|<(?P<bag>\w+)(?:=(?P<keep>\w+))?(?:\.(?P<bag_form>\w+))?(?:@(?P<bag_role>\w+))?>"
    r"|(?P<mark>[“”¶^~,.!?;:(|)])(?:(?<=\))@(?P<group_role>\w+))?"
    r"|(?P<word>[A-Za-z'][A-Za-z'-]*)(?:/(?P<code>\w))?(?:@(?P<role>\w+))?"
    r")"
)


class CastSlot(NamedTuple):
    cast: str
    form: str
    role: Role | None


class BagSlot(NamedTuple):
    bag: str
    form: str
    role: Role | None
    keep: str | None


class Fixed(NamedTuple):
    pieces: tuple[Piece, ...]


class Alternatives(NamedTuple):
    options: tuple[tuple[Node, ...], ...]


Node: TypeAlias = "Fixed | CastSlot | BagSlot | Alternatives"


class PatternError(Exception):
    """A pattern that is written wrongly. This is a mistake in the corpus, never of its user."""


@cache
def compile_pattern(source: str) -> tuple[Node, ...]:
    nodes, position = _sequence(source.rstrip(), 0, None)
    if position != len(source.rstrip()):
        raise PatternError(f"unbalanced bracket at {position} of: {source}")
    _demand_roles(nodes, source)
    return nodes


def fixed(source: str) -> tuple[Piece, ...]:
    """The pieces of a pattern that leaves nothing open."""
    (node,) = compile_pattern(source)
    assert isinstance(node, Fixed), source
    return node.pieces


def _sequence(source: str, position: int, group_role: Role | None) -> tuple[tuple[Node, ...], int]:
    """Nodes up to the end, or to the | or ) that closes this alternative. `group_role` is the role that its brackets give."""
    nodes: list[Node] = []
    fixed: list[Piece] = []

    def add(node: Node) -> None:
        if fixed:
            nodes.append(Fixed(_compounds(fixed)))
            fixed.clear()
        nodes.append(node)

    while position < len(source):
        match = _ELEMENT.match(source, position)
        if match is None:
            raise PatternError(f"cannot read {source[position : position + 20]!r} in: {source}")
        found = match.groupdict()
        if found["mark"] in ("|", ")"):
            break
        position = match.end()
        if found["mark"] == "(":
            role = _role_of_group(source, position) or group_role
            options, position = _options(source, position, role)
            add(Alternatives(options))
        elif found["mark"]:
            fixed.append(NEW_LINE if found["mark"] == "¶" else MARKS[found["mark"]])
        elif found["cast"]:
            add(CastSlot(found["cast"], found["cast_form"] or "", _role(found["cast_role"], source) or group_role))
        elif found["bag"]:
            add(BagSlot(found["bag"], found["bag_form"] or "", _role(found["bag_role"], source) or group_role, found["keep"]))
        else:
            fixed.extend(_literal(found["word"], found["code"], _role(found["role"], source), group_role, source))
    if fixed:
        nodes.append(Fixed(_compounds(fixed)))
    return tuple(nodes), position


def _compounds(pieces: list[Piece]) -> tuple[Piece, ...]:
    """A noun that has no role and stands before another noun describes it."""
    return tuple(
        piece._replace(role=Role.ATTRIBUTE)
        if piece.role is None and piece.word_class is following.word_class is WordClass.NOUN
        else piece
        for piece, following in zip(pieces, [*pieces[1:], pieces[-1]._replace(word_class=WordClass.PUNCTUATION)], strict=True)
    )


def _options(source: str, position: int, role: Role | None) -> tuple[tuple[tuple[Node, ...], ...], int]:
    options: list[tuple[Node, ...]] = []
    while True:
        nodes, position = _sequence(source, position, role)
        options.append(nodes)
        match = _ELEMENT.match(source, position)
        if match is None:
            raise PatternError(f"no closing bracket in: {source}")
        position = match.end()
        if match["mark"] == ")":
            return tuple(options), position


def _role_of_group(source: str, position: int) -> Role | None:
    """The role after the bracket that closes the group whose inside begins at `position`."""
    depth = 1
    while match := _ELEMENT.match(source, position):
        depth += (match["mark"] == "(") - (match["mark"] == ")")
        if not depth:
            return _role(match["group_role"], source)
        position = match.end()
    raise PatternError(f"no closing bracket in: {source}")


def _demand_roles(nodes: tuple[Node, ...], source: str) -> None:
    for node in nodes:
        if isinstance(node, Alternatives):
            for option in node.options:
                _demand_roles(option, source)
        elif isinstance(node, Fixed):
            for piece in node.pieces:
                if piece.role is None:
                    raise PatternError(f"{piece.text!r} ({piece.word_class.value}) needs a role in: {source}")


def _role(word: str | None, source: str) -> Role | None:
    try:
        return None if word is None else Role(word)
    except ValueError:
        raise PatternError(f"unknown role {word!r} in: {source}") from None


def _literal(word: str, code: str | None, role: Role | None, group_role: Role | None, source: str) -> list[Piece]:
    """The labelled pieces of a literal: one, or two for a contraction such as don't (do + n't)."""
    contraction = _CONTRACTION.match(word)
    if contraction:
        stem, tail = contraction[1], contraction[2]
        tail_piece = Piece(tail, WordClass.PARTICLE if tail == "n't" else WordClass.AUXILIARY, Role.NONE)
        return [*_literal(stem, code, role, group_role, source), tail_piece]
    if word == "'s" and code is None:
        return [Piece(word, WordClass.PARTICLE, Role.NONE)]
    if word in ("an", "An"):  # The join decides between a and an.
        word = "a"
    word_class = CLASS_CODES[code] if code else _class_of(word, role, group_role, source)
    if role is None:
        needed = word_class in _NEED_ROLE and word.lower() != "there"
        role = group_role if needed else default_role(word, word_class)
    # Capitals are the business of the join: a pattern may also follow a `Then`.
    return [Piece(word if word == "I" or word_class is WordClass.PROPER_NOUN else word.lower(), word_class, role)]


def _class_of(word: str, role: Role | None, group_role: Role | None, source: str) -> WordClass:
    """The class of an unmarked literal. A noun must have a role, so of noun and verb the one with a role is the noun."""
    classes = set(classes_of(word))
    if len(classes) > 1 and WordClass.NOUN in classes:
        if role in _NOUN_ROLES or (group_role in _NOUN_ROLES and classes == {WordClass.NOUN, WordClass.VERB}):
            return WordClass.NOUN
        if role is None and group_role is None:
            classes.remove(WordClass.NOUN)
    for usual, rare in _USUAL:
        if usual in classes:
            classes -= rare
    if (role or group_role) in _NOMINAL_ROLES:
        classes.discard(WordClass.VERB)
    if len(classes) != 1:
        known = ", ".join(sorted(found.value for found in classes)) or "not in the lexicon"
        raise PatternError(f"the class of {word!r} is unclear ({known}) in: {source}")
    return classes.pop()


def default_role(word: str, word_class: WordClass) -> Role:
    if word_class is WordClass.VERB:
        return Role.STATE if word.lower() in STATIVE_VERBS else Role.ACTION
    if word_class is WordClass.ADVERB:
        return Role.TIME if word.lower() in TIME_ADVERBS else Role.MANNER
    return _DEFAULT_ROLES.get(word_class, Role.NONE)
