"""Word classes for a text: exact in the built-in corpus, by a tagger if one is installed, else from a partial
word list. The built-in corpus also has roles. Each labeller has a note on its quality, which is always
shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from somelab.analysis.words import Span, byte_offsets, spans_of
from somelab.data.corpus import Document, WordClass

LabelSource = Literal["builtin", "tagger", "lexicon", "none"]

# Universal parts of speech (spaCy's and NLTK's spelling of them) in the classes of the built-in corpus.
UNIVERSAL = {
    "NOUN": WordClass.NOUN,
    "PROPN": WordClass.PROPER_NOUN,
    "PRON": WordClass.PRONOUN,
    "VERB": WordClass.VERB,
    "AUX": WordClass.AUXILIARY,
    "ADJ": WordClass.ADJECTIVE,
    "ADV": WordClass.ADVERB,
    "DET": WordClass.DETERMINER,
    "ADP": WordClass.PREPOSITION,
    "CCONJ": WordClass.CONJUNCTION,
    "SCONJ": WordClass.CONJUNCTION,
    "CONJ": WordClass.CONJUNCTION,
    "NUM": WordClass.NUMBER,
    "INTJ": WordClass.INTERJECTION,
    "PART": WordClass.PARTICLE,
    "PRT": WordClass.PARTICLE,
    "PUNCT": WordClass.PUNCTUATION,
    ".": WordClass.PUNCTUATION,
}
# A verb is an action or a state, a number a quantity. For these the class does not determine the role.
ROLE_OPEN = (WordClass.NOUN, WordClass.PROPER_NOUN, WordClass.PRONOUN)
BUILTIN_NOTE = (
    "word classes are exact: the grammar of the built-in corpus generated every word with its class"
)
LEXICON_NOTE = (
    "word classes are partial: no tagger is installed (spaCy with an English pipeline, or NLTK with its "
    "perceptron tagger), so only words with a single class in the built-in corpus' word list are labelled, "
    "by form and not by context"
)


@dataclass(frozen=True)
class Labeller:
    """A way to cut a text into labelled words."""

    source: LabelSource
    note: str
    label: Callable[[str], list[Span]]


def builtin_spans(document: Document) -> list[Span]:
    """The words of a built-in document with the classes and roles that its grammar gave them."""
    byte, spans = byte_offsets(document.text), list[Span]()
    for start, end, word_class, role in document.words:
        known_role = role.value if word_class in ROLE_OPEN else None
        spans.append(Span(byte[start], byte[end], document.text[start:end], word_class.value, known_role))
    return spans


def best_labeller() -> Labeller:
    """The best labeller on this machine for text without labels."""
    for find in (_spacy, _nltk):
        if (found := find()) is not None:
            return found
    return Labeller("lexicon", LEXICON_NOTE, lexicon_spans)


def lexicon_spans(text: str) -> list[Span]:
    """Words of any text, each with its class where the form has only one in the built-in corpus."""
    return [span._replace(word_class=lexicon_class(span.text)) for span in spans_of(text)]


def lexicon_class(word: str) -> str | None:
    """The one class of a form; None if it is unknown or ambiguous.

    >>> lexicon_class("dog"), lexicon_class("7"), lexicon_class("that")
    ('noun', 'number', None)
    """
    from somelab.data.corpus.lexicon import classes_of

    if word.isdecimal():
        return WordClass.NUMBER.value
    if not any(letter.isalnum() for letter in word):
        return WordClass.PUNCTUATION.value
    classes = classes_of(word)
    return next(iter(classes)).value if len(classes) == 1 else None


def _spacy() -> Labeller | None:
    try:
        import spacy  # pyright: ignore[reportMissingImports]
    except ImportError:
        return None
    pipelines = sorted(name for name in spacy.util.get_installed_models() if name.startswith("en_"))
    if not pipelines:
        return None
    read: Any = spacy.load(pipelines[0], exclude=["ner", "parser", "lemmatizer"])

    def label(text: str) -> list[Span]:
        byte = byte_offsets(text)
        words = [word for word in read(text) if not word.is_space]
        return [Span(byte[w.idx], byte[w.idx + len(w.text)], w.text, _universal(w.pos_)) for w in words]

    return Labeller("tagger", f"word classes are predicted by spaCy's {pipelines[0]}", label)


def _nltk() -> Labeller | None:
    try:
        import nltk  # pyright: ignore[reportMissingImports]

        nltk.pos_tag(["word"], tagset="universal")
    except (ImportError, LookupError):  # LookupError: the library without its data
        return None

    def label(text: str) -> list[Span]:
        spans = spans_of(text)
        tagged: Sequence[tuple[str, str]] = nltk.pos_tag([span.text for span in spans], tagset="universal")
        return [
            span._replace(word_class=_universal(tag)) for span, (_, tag) in zip(spans, tagged, strict=True)
        ]

    return Labeller("tagger", "word classes are predicted by NLTK's perceptron tagger", label)


def _universal(tag: str) -> str | None:
    found = UNIVERSAL.get(tag)
    return found.value if found else None
