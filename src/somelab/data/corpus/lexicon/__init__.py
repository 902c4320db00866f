"""The words of the corpus: bags to draw from, and the classes that each written form can have.
The tables beside this file are data; this file turns them into referents once, on import."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

from somelab.data.corpus.chance import Bag
from somelab.data.corpus.labels import Role, WordClass
from somelab.data.corpus.lexicon import function_words, modifiers, names, nouns, verbs
from somelab.data.corpus.morphology import ONES, TENS, plural, verb_forms
from somelab.data.corpus.phrase import Piece, Referent, determiner, name

_THE, _A = determiner("the"), determiner("a")
_COMPOUND_ADJECTIVES = frozenset(modifiers.COMPOUND_ADJECTIVES.split())


@cache
def noun(spec: str) -> Referent:
    """A countable noun: `one`, `many`, `a`, `the`, `those` (the + plural). Words before the head describe it."""
    singular, many = (_compound(form) for form in plural(spec))
    return Referent(
        {"": singular, "one": singular, "many": many, "a": (_A, *singular), "the": (_THE, *singular), "those": (_THE, *many)},
        spec.partition("/")[0],
    )


@cache
def mass_noun(text: str) -> Referent:
    pieces = _compound(text)
    return Referent({"": pieces, "one": pieces, "many": pieces, "the": (_THE, *pieces), "those": (_THE, *pieces)}, text)


def _compound(text: str) -> tuple[Piece, ...]:
    """`field of poppies` is headed by its first noun, `toy boat` by its last; everything else is an attribute."""
    words = text.split()
    head = words.index("of") - 1 if "of" in words else len(words) - 1
    pieces = []
    for index, word in enumerate(words):
        if word == "of":
            pieces.append(Piece(word, WordClass.PREPOSITION, Role.NONE))
        elif word.endswith("'s"):
            pieces += [Piece(word[:-2], WordClass.NOUN, Role.ATTRIBUTE), Piece("'s", WordClass.PARTICLE, Role.NONE)]
        else:
            word_class = WordClass.ADJECTIVE if word in _COMPOUND_ADJECTIVES else WordClass.NOUN
            pieces.append(Piece(word, word_class, None if index == head else Role.ATTRIBUTE))
    return tuple(pieces)


def verb(spec: str) -> Referent:
    """A verb: base form, `s`, `ed` (past), `en` (participle), `ing`."""
    forms = verb_forms(spec)
    role = Role.STATE if forms.base in _STATIVE_BASES else Role.ACTION
    names_of_forms = ("", "s", "ed", "en", "ing")
    return Referent(
        {key: (Piece(text, WordClass.VERB, role),) for key, text in zip(names_of_forms, forms, strict=True)}, forms.base
    )


@cache
def adjective(text: str) -> Referent:
    return Referent({"": (Piece(text, WordClass.ADJECTIVE, Role.ATTRIBUTE),)}, text)


@cache
def adverb(text: str) -> Referent:
    return Referent({"": (Piece(text, WordClass.ADVERB, Role.TIME if text in TIME_ADVERBS else Role.MANNER),)}, text)


def entries(table: str) -> list[str]:
    """The entries of a comma-separated table, in order."""
    return [entry.strip() for entry in table.split(",")]


TIME_ADVERBS = frozenset(modifiers.TIME_WORDS.split())
_STATIVE_BASES = frozenset(entry.rstrip("+") for entry in verbs.STATIVE.split())
_VERB_FORMS = [verb_forms(entry) for table in (*verbs.VERBS.values(), verbs.PLAIN_VERBS) for entry in entries(table)]
STATIVE_VERBS = frozenset(form for forms in _VERB_FORMS if forms.base in _STATIVE_BASES for form in forms)

BAGS: dict[str, Bag[Referent]] = {
    **{key: Bag(map(noun, entries(table))) for key, table in nouns.COUNT_NOUNS.items()},
    **{key: Bag(map(mass_noun, entries(table))) for key, table in nouns.MASS_NOUNS.items()},
    **{key: Bag(map(verb, entries(table))) for key, table in verbs.VERBS.items()},
    **{key: Bag(map(adjective, entries(table))) for key, table in modifiers.ADJECTIVES.items()},
    **{key: Bag(map(adverb, entries(table))) for key, table in modifiers.ADVERBS.items()},
    **{
        key: Bag(map(name, getattr(names, key.upper()).split()))
        for key in ("female", "male", "family", "pet_name", "town", "weekday", "month")
    },
}


def _index() -> dict[str, set[WordClass]]:
    index: defaultdict[str, set[WordClass]] = defaultdict(set)
    for word_class, table in (
        (WordClass.DETERMINER, function_words.DETERMINERS),
        (WordClass.PRONOUN, function_words.PRONOUNS),
        (WordClass.AUXILIARY, function_words.AUXILIARIES),
        (WordClass.PREPOSITION, function_words.PREPOSITIONS),
        (WordClass.CONJUNCTION, function_words.CONJUNCTIONS),
        (WordClass.PARTICLE, function_words.PARTICLES),
        (WordClass.INTERJECTION, function_words.INTERJECTIONS),
        (WordClass.PROPER_NOUN, function_words.CALENDAR),
        (WordClass.ADVERB, modifiers.PLAIN_ADVERBS + modifiers.TIME_WORDS),
        (WordClass.NUMBER, " ".join([*ONES, *TENS[1:], "hundred thousand"])),
    ):
        for word in table.split():
            index[word.lower()].add(word_class)
    for table in (*nouns.COUNT_NOUNS.values(), *nouns.MASS_NOUNS.values(), nouns.PLAIN_NOUNS):
        for entry in entries(table):
            for form in plural(entry):
                index[form.lower()].add(WordClass.NOUN)
    for forms in _VERB_FORMS:
        for form in forms:
            index[form].add(WordClass.VERB)
    for word_class, tables in (
        (WordClass.ADJECTIVE, (*modifiers.ADJECTIVES.values(), modifiers.PLAIN_ADJECTIVES)),
        (WordClass.ADVERB, modifiers.ADVERBS.values()),
    ):
        for entry in (entry for table in tables for entry in entries(table)):
            index[entry].add(word_class)
    return dict(index)


_CLASSES = _index()


def classes_of(word: str) -> frozenset[WordClass]:
    """All classes that the form can have in this corpus. Only such a word with one class may go unmarked in a pattern."""
    return frozenset(_CLASSES.get(word.lower(), ()))
