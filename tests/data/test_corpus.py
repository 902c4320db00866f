"""The corpus as a source: the same text for everyone, any document by its number, labels on every character,
enough variety."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from hashlib import sha256
from itertools import islice

import pytest

from somelab.data.corpus import KINDS, Document, Role, WordClass, document, documents
from somelab.errors import ConfigError

# The corpus is part of every result that was measured on it. A change that is wanted changes this digest, and
# is told.
GOLDEN = "09116079ecdcae2f0e0399872707d2b6bdbd20928154f7126ed2a7e0571cf0c6"
DIGEST_SCRIPT = """
from hashlib import sha256
from itertools import islice
from somelab.data.corpus import documents
digest = sha256()
for document in islice(documents(0), 140):
    labels = [(word.start, word.end, word.word_class.value, word.role.value) for word in document.words]
    digest.update(repr((document.kind, document.text, labels)).encode())
print(digest.hexdigest())
"""


def first(seed: int, num_documents: int, *kinds: str) -> list[Document]:
    return list(islice(documents(seed, kinds or None), num_documents))


def test_the_first_documents_never_change_whatever_the_process() -> None:
    environment = {"PYTHONHASHSEED": "123", "PYTHONPATH": ":".join(sys.path)}
    run = subprocess.run(
        [sys.executable, "-c", DIGEST_SCRIPT], capture_output=True, text=True, check=True, env=environment
    )
    assert run.stdout.strip() == GOLDEN


def test_seeds_and_numbers_give_different_texts() -> None:
    texts = [item.text for seed in (0, 1, -5) for item in first(seed, 100)]
    assert len(set(texts)) == 300


@pytest.mark.parametrize("kinds", [None, ["story"], ["weather", "recipe", "letter"]])
def test_a_document_by_number_is_the_one_that_iteration_gives(kinds: list[str] | None) -> None:
    listed = list(islice(documents(7, kinds), 30))
    assert [document(7, index, kinds) for index in range(30)] == listed
    assert list(islice(documents(7, kinds, start=12), 18)) == listed[12:]


def test_a_text_does_not_depend_on_the_other_kinds_or_their_order() -> None:
    mixed = first(3, 200, "letter", "story")
    assert mixed == first(3, 200, "story", "letter", "story")
    for index, item in enumerate(mixed):
        assert item == document(3, index, [item.kind])


def test_kinds_are_selectable_and_evenly_drawn() -> None:
    assert {"story", "recipe", "letter", "howto", "dialogue", "weather", "arithmetic"} == set(KINDS)
    assert {item.kind for item in first(1, 50, "recipe", "howto")} == {"recipe", "howto"}
    counts = Counter(item.kind for item in first(1, 1400))
    # 200 expected of each; five standard deviations of a binomial draw are 65.
    assert all(135 <= counts[kind] <= 265 for kind in KINDS)


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        (["storry"], "kinds = 'storry': is not a kind of document; did you mean story?"),
        (["story", "poem"], "kinds = 'poem': is not a kind of document; known: arithmetic,"),
        ([], "kinds = []: is not a list of kinds"),
        ("story", "kinds = 'story': is not a list of kinds"),
    ],
)
def test_wrong_kinds_are_named_at_once(kinds: list[str], message: str) -> None:
    for ask in (lambda: document(0, 0, kinds), lambda: documents(0, kinds)):
        with pytest.raises(ConfigError) as failure:
            ask()
        assert str(failure.value).startswith(message)


def test_numbers_below_zero_are_refused() -> None:
    with pytest.raises(ConfigError, match="index = -1"):
        document(0, -1)
    with pytest.raises(ConfigError, match="start = -3"):
        documents(0, start=-3)


def test_labels_cover_every_character_once_and_in_order() -> None:
    for item in first(11, 700):
        position = 0
        for word in item.words:
            assert item.text[position : word.start].strip() == "", item.text[position : word.end]
            text = item.text[word.start : word.end]
            assert text
            assert not any(character.isspace() for character in text)
            is_mark = text in {".", ",", "!", "?", ":", ";", '"'}
            assert (word.word_class is WordClass.PUNCTUATION) == is_mark, text
            assert is_mark or text.replace("'", "").replace("-", "").isalpha(), text
            position = word.end
        assert item.text[position:] == ""


# Forms that can be nothing else. Names and nouns may share a form (a rose, Rose), so such forms are not here.
EXPECTED = {
    WordClass.DETERMINER: "a an the my your every",
    WordClass.PRONOUN: "he she they him me us nobody everyone something himself",
    WordClass.AUXILIARY: "is was are were will would could should must",
    WordClass.PREPOSITION: "of from with under into between among",
    WordClass.CONJUNCTION: "and but or because if when although whenever",
    WordClass.VERB: "went asked took gave walked found bought sang became forgot wrote",
    WordClass.NOUN: "house village river kitchen umbrella teacher "
    "squirrel degrees kilometres morning breakfast",
    WordClass.ADJECTIVE: "small beautiful happy wonderful purple striped curious",
    WordClass.ADVERB: "slowly carefully never always suddenly together",
    WordClass.NUMBER: "three seven twelve forty hundred thirty-one",
    WordClass.INTERJECTION: "hello yes",
    WordClass.PARTICLE: "not 's n't",
    WordClass.PROPER_NOUN: "monday december millbrook felix",
}


def test_words_of_one_class_carry_it_everywhere() -> None:
    expected = {form: word_class for word_class, forms in EXPECTED.items() for form in forms.split()}
    # The `and` of a number joins it, and belongs to its quantity; 's may also be a short `is`.
    seen = Counter[str]()
    for item in first(12, 1400):
        for word in item.words:
            form = item.text[word.start : word.end].lower()
            if form in expected:
                seen[form] += 1
                assert word.word_class is expected[form], (form, item.text[word.start - 20 : word.end + 20])
    assert set(seen) == set(expected)


def test_roles_follow_the_classes() -> None:
    nominal = {WordClass.NOUN, WordClass.PROPER_NOUN, WordClass.PRONOUN}
    doing = {Role.ACTION, Role.STATE}
    for item in first(13, 700):
        for word in item.words:
            if word.word_class is WordClass.VERB:
                assert word.role in doing
            elif word.word_class in nominal:
                assert word.role not in doing | {Role.CONNECTIVE}
            elif word.word_class in {
                WordClass.DETERMINER,
                WordClass.PUNCTUATION,
                WordClass.AUXILIARY,
                WordClass.PREPOSITION,
            }:
                assert word.role is Role.NONE
            elif word.word_class is WordClass.CONJUNCTION:
                assert word.role in {Role.CONNECTIVE, Role.QUANTITY}


def test_one_sentence_labelled_by_hand() -> None:
    item = next(
        item for item in documents(0, ["story"]) if "went home, lit the lamp and smiled." in item.text
    )
    start = item.text.index("went home, lit the lamp and smiled.")
    labels = [
        (item.text[w.start : w.end], w.word_class.value, w.role.value) for w in item.words if w.start >= start
    ][:9]
    assert labels == [
        ("went", "verb", "action"),
        ("home", "adverb", "manner"),
        (",", "punctuation", "none"),
        ("lit", "verb", "action"),
        ("the", "determiner", "none"),
        ("lamp", "noun", "patient"),
        ("and", "conjunction", "connective"),
        ("smiled", "verb", "action"),
        (".", "punctuation", "none"),
    ]


def test_all_classes_and_roles_occur() -> None:
    words = [word for item in first(14, 200) for word in item.words]
    assert {word.word_class for word in words} == set(WordClass)
    assert {word.role for word in words} == set(Role)


@pytest.mark.parametrize("kind", list(KINDS))
def test_lengths_are_as_promised(kind: str) -> None:
    least, most = (120, 280) if kind == "story" else (60, 180)
    for item in first(15, 150, kind):
        assert least <= sum(word.word_class is not WordClass.PUNCTUATION for word in item.words) <= most


def test_no_story_comes_twice_and_five_grams_keep_growing() -> None:
    stories = first(16, 1200, "story")
    assert len({sha256(item.text.encode()).digest() for item in stories}) == 1200
    sizes: list[int] = []
    seen: set[tuple[str, ...]] = set()
    for index, item in enumerate(stories, 1):
        tokens = [item.text[word.start : word.end] for word in item.words]
        seen.update(zip(*(tokens[shift:] for shift in range(5)), strict=False))
        if index in (600, 1200):
            sizes.append(len(seen))
    # A text that had run out of new things to say would stay at one.
    assert sizes[1] > 1.5 * sizes[0]


def test_the_vocabulary_is_broad_and_has_a_tail() -> None:
    forms: dict[WordClass, Counter[str]] = {word_class: Counter() for word_class in WordClass}
    for item in first(17, 2100):
        for word in item.words:
            forms[word.word_class][item.text[word.start : word.end].lower()] += 1
    assert len(forms[WordClass.NOUN]) > 1000
    assert len(forms[WordClass.VERB]) > 400
    assert len(forms[WordClass.ADJECTIVE]) > 250
    assert len(forms[WordClass.PROPER_NOUN]) > 200
    common = [count for _, count in forms[WordClass.NOUN].most_common()]
    # The tenth noun is far more frequent than the middle one, and some are met only once in two thousand
    # documents.
    assert common[9] > 20 * common[len(common) // 2]
    assert common[-1] == 1
