"""The words of the corpus: bags to draw from, and the classes that each written form can have.
The word lists are the files in `words/`; this file turns them into referents once, on import."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path

from somelab.data.corpus.labels import Role, WordClass
from somelab.data.corpus.lines import read_lines
from somelab.data.corpus.morphology import ONES, TENS, plural, verb_forms
from somelab.data.corpus.phrase import Piece, Pieces, Referent

THE, A = (Piece(text, WordClass.DETERMINER, Role.NONE) for text in ("the", "a"))
_VERB_FORMS = ("", "s", "ed", "en", "ing")
_PRONOUNS = {
    "she": ("she", "her", "her", "herself"),
    "he": ("he", "him", "his", "himself"),
    "it": ("it", "it", "its", "itself"),
    "they": ("they", "them", "their", "themselves"),
}


@cache
def pronouns(gender: str) -> Referent:
    """The forms `he`, `him`, `his` and `himself`, named after one gender and filled by any."""
    he, him, his, himself = (Piece(text, WordClass.PRONOUN, None) for text in _PRONOUNS[gender])
    determiner = Piece(his.text, WordClass.DETERMINER, Role.NONE)
    return Referent({"he": (he,), "him": (him,), "his": (determiner,), "himself": (himself,)})


@cache
def noun(spec: str) -> Referent:
    """A countable noun: `one`, `many`, `a`, `the`, `those` (the + plural)."""
    one, many = map(_compound, plural(spec))
    forms = {"": one, "one": one, "many": many, "a": (A, *one), "the": (THE, *one), "those": (THE, *many)}
    return Referent(forms, spec.partition("/")[0])


@cache
def mass(text: str, gender: str = "it") -> Referent:
    """A noun that is not counted."""
    pieces = _compound(text)
    forms = {"": pieces, "one": pieces, "many": pieces, "the": (THE, *pieces), "those": (THE, *pieces)}
    return Referent({**forms, "him": pronouns(gender).forms["him"]}, text)


def _compound(text: str) -> Pieces:
    """`field of poppies` is headed by its first noun, `toy boat` by its last; all else is an attribute."""
    words = text.split()
    head = words.index("of") - 1 if "of" in words else len(words) - 1
    pieces: list[Piece] = []
    for index, word in enumerate(words):
        if word == "of":
            pieces.append(Piece(word, WordClass.PREPOSITION, Role.NONE))
        elif word.endswith("'s"):
            pieces.append(Piece(word[:-2], WordClass.NOUN, Role.ATTRIBUTE))
            pieces.append(Piece("'s", WordClass.PARTICLE, Role.NONE))
        else:
            word_class = WordClass.ADJECTIVE if word in _COMPOUND_ADJECTIVES else WordClass.NOUN
            pieces.append(Piece(word, word_class, None if index == head else Role.ATTRIBUTE))
    return tuple(pieces)


def _verb(spec: str) -> Referent:
    pieces = [Piece(text, WordClass.VERB, default_role(text, WordClass.VERB)) for text in verb_forms(spec)]
    return Referent({form: (piece,) for form, piece in zip(_VERB_FORMS, pieces)}, pieces[0].text)


def _word(word_class: WordClass, text: str) -> Referent:
    return Referent({"": (Piece(text, word_class, default_role(text, word_class)),)}, text)


def _place(spec: str) -> Referent:
    """`in garden`: where one is, and the place itself."""
    preposition, name = spec.split(maxsplit=1)
    the = noun(name).forms["the"]
    where = (Piece(preposition, WordClass.PREPOSITION, Role.NONE), *the)
    return Referent({"": the, "short_in": where}, noun(name).key)


def inflect(spec: str, form: str) -> str:
    """A verb as the lexicon spells it, in one of its forms: `feed fed fed` and `ing` give feeding."""
    return verb_forms(spec)[_VERB_FORMS.index(form)]


def default_role(word: str, word_class: WordClass) -> Role | None:
    """The role of a word where a pattern gives none; None for those that must have one."""
    word = word.lower()
    if word_class is WordClass.VERB:
        return Role.STATE if word in _STATIVE_VERBS else Role.ACTION
    if word_class is WordClass.ADVERB:
        return Role.TIME if word in _TIME_ADVERBS else Role.MANNER
    if word_class in (WordClass.NOUN, WordClass.PROPER_NOUN, WordClass.PRONOUN) and word != "there":
        return None
    return _DEFAULT_ROLES.get(word_class, Role.NONE)


_DEFAULT_ROLES = {
    WordClass.ADJECTIVE: Role.ATTRIBUTE,
    WordClass.CONJUNCTION: Role.CONNECTIVE,
    WordClass.NUMBER: Role.QUANTITY,
}
# The first word of a list's header: the class of its words, and what makes one that can be drawn.
_KINDS: dict[str, tuple[WordClass | None, Callable[[str], Referent] | None]] = {
    **{word_class.value: (word_class, None) for word_class in WordClass},
    "noun": (WordClass.NOUN, noun),
    "mass": (WordClass.NOUN, mass),
    "plural": (WordClass.NOUN, partial(mass, gender="they")),
    "verb": (WordClass.VERB, _verb),
    "adjective": (WordClass.ADJECTIVE, partial(_word, WordClass.ADJECTIVE)),
    "adverb": (WordClass.ADVERB, partial(_word, WordClass.ADVERB)),
    "name": (None, partial(_word, WordClass.PROPER_NOUN)),
    "place": (None, _place),
    "list": (None, None),
}


def _forms(kind: str, entry: str) -> Iterable[str]:
    if kind == "verb":
        return verb_forms(entry)
    return plural(entry) if kind in ("noun", "mass", "plural") else (entry,)


def read_words(folder: Path) -> tuple[dict[str, tuple[str, list[str]]], dict[str, set[WordClass]]]:
    """The lists that have a name, each with its kind and entries, and the classes of every written form."""
    named: dict[str, tuple[str, list[str]]] = {}
    classes: defaultdict[str, set[WordClass]] = defaultdict(set)
    for line in read_lines(folder):
        kind, _, name = line.text.partition(" ")
        entries = [entry.strip() for entry in " ".join(child.text for child in line.children).split(",")]
        if kind not in _KINDS or name in named:
            raise line.error("a second list of this name" if name in named else "no such kind of words")
        if not all(entries):
            raise line.error("an entry is empty (two commas in a row, or one at the end)")
        if name:
            named[name] = kind, entries
        word_class = _KINDS[kind][0]
        for form in (form for entry in entries for form in _forms(kind, entry)):
            classes[form.lower()].update([word_class] if word_class else ())
    for word in (*ONES, *TENS[1:], "hundred", "thousand"):
        classes[word].add(WordClass.NUMBER)
    return named, dict(classes)


_NAMED, _CLASSES = read_words(Path(__file__).parent / "words")
_COMPOUND_ADJECTIVES = frozenset(_NAMED["compound_adjective"][1])
_TIME_ADVERBS = frozenset(_NAMED["time_adverb"][1])
_STATIVE_VERBS = frozenset(form for entry in _NAMED["stative_verb"][1] for form in verb_forms(entry))
BAGS = {name: tuple(map(make, words)) for name, (kind, words) in _NAMED.items() if (make := _KINDS[kind][1])}


def classes_of(word: str) -> frozenset[WordClass]:
    """All classes that the form can have in this corpus. A word with several is marked in patterns."""
    return frozenset(_CLASSES.get(word.lower(), ()))
