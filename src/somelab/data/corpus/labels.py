"""The labels of each word: its class, its role in the sentence, and its position in the text. They come from
the grammar that generated the word, so they are exact, unlike those of a tagger."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple


class WordClass(str, Enum):
    """Part of speech. Helping verbs, modals and the copula are `auxiliary`; `his` is a determiner."""

    NOUN = "noun"
    PROPER_NOUN = "proper_noun"
    PRONOUN = "pronoun"
    VERB = "verb"
    AUXILIARY = "auxiliary"
    ADJECTIVE = "adjective"
    ADVERB = "adverb"
    DETERMINER = "determiner"
    PREPOSITION = "preposition"
    CONJUNCTION = "conjunction"
    NUMBER = "number"
    INTERJECTION = "interjection"
    PARTICLE = "particle"  # `to` before a verb, `not`, the possessive 's, and the `up` of pick up
    PUNCTUATION = "punctuation"


class Role(str, Enum):
    """The role of the word in its sentence. Content words have one; determiners and prepositions do not."""

    AGENT = "agent"  # who acts
    EXPERIENCER = "experiencer"  # who or what feels, knows, owns, or is described
    PATIENT = "patient"  # what is acted on, made, seen or owned
    RECIPIENT = "recipient"  # to or for whom; also who is spoken to
    COMPANION = "companion"  # with whom
    INSTRUMENT = "instrument"  # with what, or out of what
    PLACE = "place"
    TIME = "time"
    MANNER = "manner"
    ATTRIBUTE = "attribute"  # a quality, colour, kind or name that describes something else
    ACTION = "action"
    STATE = "state"
    QUANTITY = "quantity"  # a number, and the unit it counts
    TOPIC = "topic"  # what is thought or spoken about, and the cause or aim of something
    SPEAKER = "speaker"  # whose words are quoted; who signs a letter
    CONNECTIVE = "connective"
    NONE = "none"


class Word(NamedTuple):
    """One labelled span: `text[start:end]` is a word, a number or a punctuation mark."""

    start: int
    end: int
    word_class: WordClass
    role: Role


@dataclass(frozen=True)
class Document:
    """One text of the corpus. `words` covers every character that is not white space, once and in order."""

    kind: str
    text: str
    words: list[Word]
