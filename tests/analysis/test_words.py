"""Tokens laid over words: by hand, on text with accents and cut characters, and on the corpus' own labels."""

from __future__ import annotations

import sys
import types
from collections.abc import Sequence
from typing import Any

import pytest

from somelab.analysis import labels
from somelab.analysis.distinctive import Use, distinctive
from somelab.analysis.labels import best_labeller, builtin_spans, lexicon_class, lexicon_spans
from somelab.analysis.words import Span, byte_offsets, spans_of, words_of_tokens
from somelab.data.corpus import document, documents
from somelab.data.tokenizer import Tokenizer


class Pieces:
    """A tokenizer whose tokens are given byte strings."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = pieces

    def bytes_of_token(self, token: int) -> bytes:
        return self.pieces[token]


def owners(text: str, *pieces: bytes, spans: Sequence[Span] | None = None) -> list[str | None]:
    assert b"".join(pieces) == text.encode()
    spans = spans_of(text) if spans is None else spans
    tokenizer: Any = Pieces(*pieces)
    return [
        None if owner is None else spans[owner].text
        for owner in words_of_tokens(tokenizer, range(len(pieces)), spans)
    ]


def test_words_by_hand() -> None:
    assert [span.text for span in spans_of("Don't go, Zoë_7!")] == ["Don't", "go", ",", "Zoë", "_", "7", "!"]
    assert byte_offsets("aë€") == [0, 1, 3, 6]


def test_a_token_belongs_to_the_word_with_most_of_its_bytes() -> None:
    assert owners("the big dog.", b"the", b" bi", b"g d", b"og", b".") == ["the", "big", "big", "dog", "."]
    assert owners("a  b", b"a", b" ", b" b") == ["a", None, "b"]
    # `g d` holds one letter of each: the first of equals.
    assert owners("dog dig", b"do", b"g d", b"ig") == ["dog", "dog", "dig"]


def test_a_character_may_be_cut_and_still_has_its_word() -> None:
    assert owners("é ü", b"\xc3", b"\xa9", b" \xc3", b"\xbc") == ["é", "é", "ü", "ü"]


def test_a_word_inside_a_token_that_spans_two_labels() -> None:
    """The corpus cuts `don't` into do + n't, the tokenizer into don + 't: the longer share decides."""
    spans = [Span(0, 2, "do", "auxiliary"), Span(2, 5, "n't", "particle")]
    assert owners("don't", b"don", b"'t", spans=spans) == ["do", "n't"]


def test_tokens_beyond_the_last_word_have_none() -> None:
    assert owners("hi \n\n", b"hi", b" ", b"\n\n") == ["hi", None, None]
    assert owners("hi", b"hi", spans=[]) == [None]


@pytest.mark.parametrize("seed", range(3))
def test_every_token_of_the_corpus_gets_the_word_that_holds_it(seed: int) -> None:
    texts = [made.text for made, _ in zip(documents(seed), range(60))]
    tokenizer = Tokenizer.train(texts, 600)
    made = document(seed, 3)
    spans, tokens = builtin_spans(made), tokenizer.encode(made.text)
    assert [span.text for span in spans] == [made.text[word.start : word.end] for word in made.words]
    content, end = made.text.encode(), 0
    for token, owner in zip(tokens, words_of_tokens(tokenizer, tokens, spans), strict=True):
        piece = tokenizer.bytes_of_token(token)
        start, end = end, end + len(piece)
        assert content[start:end] == piece
        if owner is None:
            assert not piece.strip()
        else:
            shared = {index: min(end, s.end) - max(start, s.start) for index, s in enumerate(spans)}
            assert shared[owner] == max(shared.values()) > 0
    assert end == len(content)


def test_the_word_list_labels_only_forms_with_one_class() -> None:
    assert lexicon_class("dog") == "noun"
    assert lexicon_class("The") == "determiner"
    assert lexicon_class("her") is None  # determiner or pronoun
    assert lexicon_class("Quetzalcoatl") is None
    assert lexicon_class("12") == "number"
    assert lexicon_class("?!") == "punctuation"
    assert [(span.text, span.word_class) for span in lexicon_spans("a dog!")] == [
        ("a", "determiner"),
        ("dog", "noun"),
        ("!", "punctuation"),
    ]


def test_without_a_tagger_the_word_list_is_used_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    monkeypatch.setitem(sys.modules, "nltk", None)
    labeller = best_labeller()
    assert labeller.source == "lexicon"
    assert "partial" in labeller.note


def test_nltk_is_used_where_it_has_its_data(monkeypatch: pytest.MonkeyPatch) -> None:
    tags = {"dogs": "NOUN", "bark": "VERB", "!": ".", "word": "NOUN", "xyz": "X"}
    nltk: Any = types.ModuleType("nltk")
    nltk.pos_tag = lambda words, tagset: [(word, tags[word]) for word in words]
    monkeypatch.setitem(sys.modules, "spacy", None)
    monkeypatch.setitem(sys.modules, "nltk", nltk)
    labeller = best_labeller()
    assert labeller.source == "tagger"
    found = [(span.start, span.end, span.word_class) for span in labeller.label("dogs bark xyz!")]
    assert found == [(0, 4, "noun"), (5, 9, "verb"), (10, 13, None), (13, 14, "punctuation")]

    def without_data(words: list[str], tagset: str) -> None:
        raise LookupError("Resource averaged_perceptron_tagger_eng not found.")

    nltk.pos_tag = without_data
    assert best_labeller().source == "lexicon"


def test_spacy_is_used_where_it_has_a_pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    def word(text: str, idx: int, pos: str) -> Any:
        return types.SimpleNamespace(text=text, idx=idx, pos_=pos, is_space=not text.strip())

    spacy: Any = types.ModuleType("spacy")
    spacy.util = types.SimpleNamespace(get_installed_models=lambda: ["de_core_news_sm", "en_core_web_sm"])
    loaded: list[str] = []

    def load(name: str, exclude: list[str]) -> Any:
        loaded.append(name)
        return lambda text: [word("É", 0, "PROPN"), word(" ", 1, "SPACE"), word("is", 2, "AUX")]

    spacy.load = load
    monkeypatch.setitem(sys.modules, "spacy", spacy)
    labeller = best_labeller()
    assert labeller.source == "tagger"
    assert loaded == ["en_core_web_sm"]
    assert labeller.label("É is") == [Span(0, 2, "É", "proper_noun"), Span(3, 5, "is", "auxiliary")]
    spacy.util = types.SimpleNamespace(get_installed_models=lambda: [])
    monkeypatch.setitem(sys.modules, "nltk", None)
    assert labels.best_labeller().source == "lexicon"


def test_what_sets_a_group_apart_is_frequent_and_unusual() -> None:
    everything = {"the": 100, "dog": 20, "axolotl": 3, "cat": 20}
    group = {"the": 20, "dog": 18, "axolotl": 3, "cat": 1}
    # Shares in the group: the 20/42, dog 18/42, axolotl 3/42; in all: 100/143, 20/143, 3/143.
    found = distinctive(group, everything, 5)
    assert [use.word for use in found] == ["dog", "axolotl"]
    assert found[0].lift == pytest.approx(18 / 42 / (20 / 143))
    assert distinctive(group, everything, 1) == found[:1]
    assert distinctive({}, everything, 5) == []
    assert distinctive({"dog": 2}, everything, 5) == []  # twice is too little to say anything
    assert isinstance(found[0], Use)
