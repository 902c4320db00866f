"""What the corpus says about each word: its class, its role in the sentence, and where it stands in the text.
The labels come from the grammar that wrote the word, so they are the truth and not a tagger's guess."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple


class WordClass(str, Enum):
    """Part of speech. `be`, `have`, `do` as helpers, modals and the copula are all `auxiliary`; `his`, `my` are determiners."""

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
    PARTICLE = "particle"
    """`to` before a verb, `not`, the possessive 's, and the small half of a phrasal verb (pick *up*)."""
    PUNCTUATION = "punctuation"


class Role(str, Enum):
    """What the word does in its sentence. Roles sit on content words; determiners, prepositions and helpers have none."""

    AGENT = "agent"
    """Who acts."""
    EXPERIENCER = "experiencer"
    """Who or what feels, knows, owns, or is described."""
    PATIENT = "patient"
    """What is acted on, made, seen or owned."""
    RECIPIENT = "recipient"
    """To or for whom; also who is spoken to."""
    COMPANION = "companion"
    """With whom."""
    INSTRUMENT = "instrument"
    """With what, or out of what."""
    PLACE = "place"
    TIME = "time"
    MANNER = "manner"
    ATTRIBUTE = "attribute"
    """A quality, colour, kind or name that describes something else."""
    ACTION = "action"
    STATE = "state"
    QUANTITY = "quantity"
    """A number, and the unit it counts."""
    TOPIC = "topic"
    """What is thought or spoken about, and the cause or aim of something."""
    SPEAKER = "speaker"
    """Whose words are quoted; who signs a letter."""
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
    facts: Mapping[str, str] = field(default_factory=dict)
    """What the text introduces early and needs again later, by name: {"colour": "red", "object": "kite"}."""
