"""The small language in which sentences are written (see grammar/README.md), and its compiler.
A pattern is a sentence whose words are looked up in the lexicon, which knows their class."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple, TypeAlias

from somelab.data.corpus.labels import Role, WordClass
from somelab.data.corpus.lexicon import classes_of, default_role, inflect
from somelab.data.corpus.lines import GrammarError
from somelab.data.corpus.phrase import MARKS, Piece, Pieces

_CODES = dict(zip("nNovxardpcmit", WordClass))  # noun, Name, pronOun, verb, auXiliary, adjective, adveRb, ...
_CONTRACTION = re.compile(r"(.+?)(n't|'s|'m|'re|'ll|'ve|'d)$")
_VERB = re.compile("`([^`]*)`")
_ELEMENT = re.compile(
    r"\s*(?:"
    r"\{(?P<value>\w+)(?:\.(?P<value_form>\w+))?(?:@(?P<value_role>\w+))?\}"
    r"|<(?P<bag>\w+)(?:=(?P<keep>\w+))?(?:\.(?P<bag_form>\w+))?(?:@(?P<bag_role>\w+))?>"
    r"|(?P<mark>[“”¶^~,.!?;:(|)])(?:(?<=\))@(?P<group_role>\w+))?"
    r"|(?P<word>[A-Za-z'][A-Za-z'-]*)(?:/(?P<code>\w))?(?:@(?P<role>\w+))?"
    r")"
)


class Fixed(NamedTuple):
    pieces: Pieces


class Slot(NamedTuple):
    name: str
    form: str
    role: Role | None


class Draw(NamedTuple):
    bag: str
    form: str
    role: Role | None
    keep: str | None


class Alternatives(NamedTuple):
    options: tuple[Nodes, ...]


Nodes: TypeAlias = "tuple[Fixed | Slot | Draw | Alternatives, ...]"


class Pattern:
    """A pattern and where it stands, compiled when first used. `lists` are the choices that it may name.

    An open one is a phrase: where its words have no role, they take that of the slot that uses it."""

    def __init__(self, source: str, where: str, lists: Mapping[str, Choices], is_open: bool = False) -> None:
        self.source, self.where, self._lists, self._is_open = source, where, lists, is_open

    def __bool__(self) -> bool:
        return bool(self.source)

    @cached_property
    def nodes(self) -> Nodes:
        return self.in_form("")

    def in_form(self, form: str) -> Nodes:
        """The nodes, with the verbs in backquotes in this form."""
        source = _VERB.sub(lambda found: f"{inflect(found[1], form)}/v", self.source)
        try:
            return _Compiler(source, self._lists, self._is_open).compile()
        except (ValueError, RecursionError) as problem:  # A list that names itself has no end.
            raise GrammarError(f"{self.where}: {problem} in: {self.source}") from None


Choices: TypeAlias = "tuple[Pattern, ...]"


class _Compiler:
    def __init__(self, source: str, lists: Mapping[str, Choices], is_open: bool) -> None:
        self._source, self._position, self._lists, self._is_open = source.rstrip(), 0, lists, is_open

    def compile(self) -> Nodes:
        nodes = self._sequence(None)
        if self._position != len(self._source):
            raise ValueError(f"unbalanced bracket at {self._position}")
        return nodes

    def _next(self) -> re.Match[str]:
        match = _ELEMENT.match(self._source, self._position)
        if match is None:
            rest = self._source[self._position : self._position + 20]
            raise ValueError(f"cannot read {rest!r}" if rest else "no closing bracket")
        return match

    def _sequence(self, group_role: Role | None) -> Nodes:
        """Nodes up to the end, or to the | or ) that closes this alternative of a group."""
        nodes: list[Fixed | Slot | Draw | Alternatives] = []
        pieces: list[Piece] = []
        while self._position < len(self._source):
            found = self._next()
            if found["mark"] in ("|", ")"):
                break
            self._position = found.end()
            if found["word"]:
                pieces += _literal(found["word"], found["code"], _role(found["role"]), group_role)
                continue
            if found["mark"] and found["mark"] != "(":
                pieces.append(MARKS["\n" if found["mark"] == "¶" else found["mark"]])
                continue
            if pieces:
                nodes.append(self._fixed(pieces))
                pieces = []
            if found["mark"]:
                nodes.append(self._alternatives(group_role))
            elif found["value"] in self._lists:
                form = found["value_form"] or ""
                nodes.append(Alternatives(tuple(one.in_form(form) for one in self._lists[found["value"]])))
            elif found["value"]:
                role = _role(found["value_role"]) or group_role
                nodes.append(Slot(found["value"], found["value_form"] or "", role))
            else:
                role = _role(found["bag_role"]) or group_role
                nodes.append(Draw(found["bag"], found["bag_form"] or "", role, found["keep"]))
        return (*nodes, self._fixed(pieces)) if pieces else tuple(nodes)

    def _alternatives(self, outer_role: Role | None) -> Alternatives:
        role = self._role_of_group() or outer_role
        options: list[Nodes] = []
        closed = False
        while not closed:
            options.append(self._sequence(role))
            found = self._next()
            self._position, closed = found.end(), found["mark"] == ")"
        return Alternatives(tuple(options))

    def _role_of_group(self) -> Role | None:
        """The role behind the bracket that closes the group whose inside begins here."""
        start, depth, role = self._position, 1, None
        while depth:
            found = self._next()
            depth += (found["mark"] == "(") - (found["mark"] == ")")
            self._position, role = found.end(), found["group_role"]
        self._position = start
        return _role(role)

    def _fixed(self, pieces: list[Piece]) -> Fixed:
        """A noun that has no role and stands before another noun describes it."""
        for index, piece in enumerate(pieces):
            following = pieces[index + 1].word_class if index + 1 < len(pieces) else None
            if piece.role is None and piece.word_class is following is WordClass.NOUN:
                pieces[index] = piece._replace(role=Role.ATTRIBUTE)
            elif piece.role is None and not self._is_open:
                raise ValueError(f"{piece.text!r} ({piece.word_class.value}) needs a role")
        return Fixed(tuple(pieces))


def _role(word: str | None) -> Role | None:
    return Role(word) if word else None


def _literal(word: str, code: str | None, role: Role | None, group_role: Role | None) -> list[Piece]:
    """The labelled pieces of a literal: one, or two for a contraction such as don't (do + n't)."""
    contraction = _CONTRACTION.match(word)
    if contraction:
        stem, tail = contraction[1], contraction[2]
        tail_class = WordClass.PARTICLE if tail == "n't" else WordClass.AUXILIARY
        return [*_literal(stem, code, role, group_role), Piece(tail, tail_class, Role.NONE)]
    if word == "'s" and code is None:
        return [Piece(word, WordClass.PARTICLE, Role.NONE)]
    if word in ("an", "An"):  # The join decides between a and an.
        word = "a"
    if code and code not in _CODES:
        raise ValueError(f"unknown class /{code}")
    word_class = _CODES[code] if code else _class_of(word, role, group_role)
    role = role or default_role(word, word_class) or group_role
    if word_class is WordClass.VERB and role not in (Role.ACTION, Role.STATE):
        raise ValueError(f"the class of {word!r} is unclear (a verb cannot be {role})")
    # Capitals are the business of the join: a pattern may also follow a `Then`.
    is_name = word == "I" or word_class is WordClass.PROPER_NOUN
    return [Piece(word if is_name else word.lower(), word_class, role)]


def _class_of(word: str, role: Role | None, group_role: Role | None) -> WordClass:
    """The class of an unmarked literal. Nouns must have roles, so a noun or verb with a role is a noun."""
    classes = set(classes_of(word))
    if len(classes) > 1 and WordClass.NOUN in classes:
        if role or (group_role and classes == {WordClass.NOUN, WordClass.VERB}):
            return WordClass.NOUN
        if not group_role:
            classes.remove(WordClass.NOUN)
    if classes & {WordClass.ADJECTIVE, WordClass.PREPOSITION}:  # The usual one, where a pattern does not say.
        classes.discard(WordClass.ADVERB)
    if len(classes) != 1:
        known = ", ".join(sorted(found.value for found in classes)) or "not in the lexicon"
        raise ValueError(f"the class of {word!r} is unclear ({known})")
    return classes.pop()
