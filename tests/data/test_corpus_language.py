"""The corpus as English: word forms, articles, capitals, quotes, and the language in which it is written."""

from __future__ import annotations

import re
from hashlib import shake_128
from itertools import islice
from typing import Any

import pytest

from somelab.data.corpus import Document, Role, WordClass, documents
from somelab.data.corpus.chance import Chance
from somelab.data.corpus.generator import GRAMMAR
from somelab.data.corpus.lexicon import BAGS, noun
from somelab.data.corpus.lines import GrammarError
from somelab.data.corpus.morphology import indefinite_article, number_words, ordinal_word, plural, verb_forms
from somelab.data.corpus.page import Page
from somelab.data.corpus.pattern import Pattern
from somelab.data.corpus.phrase import Piece, join
from somelab.data.corpus.referents import definite, ingredient, measure, multiplied, someone, time_of_day


def texts(num_documents: int, seed: int = 21) -> list[str]:
    return [item.text for item in islice(documents(seed), num_documents)]


def pattern(source: str, is_open: bool = False) -> Pattern:
    return Pattern(source, "test:1", GRAMMAR.lists, is_open)


def page(key: str = "test", **values: Any) -> Page:
    made = Page(GRAMMAR, Chance(key))
    made.values.update(values)
    return made


def written(source: str, **values: Any) -> Document:
    made = page(**values)
    made.say(pattern(source))
    return Document("test", *join(made.pieces))


# Word forms


@pytest.mark.parametrize(
    ("spec", "forms"),
    [
        ("walk", "walk walks walked walked walking"),
        ("stop+", "stop stops stopped stopped stopping"),
        ("hurry", "hurry hurries hurried hurried hurrying"),
        ("play", "play plays played played playing"),
        ("bake", "bake bakes baked baked baking"),
        ("tie", "tie ties tied tied tying"),
        ("agree", "agree agrees agreed agreed agreeing"),
        ("tiptoe", "tiptoe tiptoes tiptoed tiptoed tiptoeing"),
        ("go went gone", "go goes went gone going"),
        ("catch caught caught", "catch catches caught caught catching"),
        ("swim+ swam swum", "swim swims swam swum swimming"),
        ("write wrote written", "write writes wrote written writing"),
        ("travel+", "travel travels travelled travelled travelling"),
        ("mix", "mix mixes mixed mixed mixing"),
    ],
)
def test_verb_forms(spec: str, forms: str) -> None:
    assert " ".join(verb_forms(spec)) == forms


@pytest.mark.parametrize(
    ("spec", "many"),
    [
        ("apple", "apples"),
        ("box", "boxes"),
        ("cherry", "cherries"),
        ("key", "keys"),
        ("mouse/mice", "mice"),
        ("peach", "peaches"),
    ],
)
def test_plurals(spec: str, many: str) -> None:
    assert plural(spec)[1] == many


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "zero"),
        (13, "thirteen"),
        (20, "twenty"),
        (45, "forty-five"),
        (100, "one hundred"),
        (107, "one hundred and seven"),
        (842, "eight hundred and forty-two"),
        (3005, "three thousand and five"),
        (9999, "nine thousand nine hundred and ninety-nine"),
    ],
)
def test_numbers_in_words(number: int, words: str) -> None:
    assert " ".join(number_words(number)) == words


def test_ordinals() -> None:
    expected = {
        1: "first",
        2: "second",
        3: "third",
        5: "fifth",
        8: "eighth",
        9: "ninth",
        12: "twelfth",
        19: "nineteenth",
    }
    expected |= {20: "twentieth", 21: "twenty-first", 30: "thirtieth", 31: "thirty-first"}
    assert {number: ordinal_word(number) for number in expected} == expected


@pytest.mark.parametrize(
    ("minutes", "words"),
    [
        (0, "twelve o'clock"),
        (3 * 60, "three o'clock"),
        (9 * 60 + 15, "a quarter past nine"),
        (10 * 60 + 30, "half past ten"),
        (17 * 60 + 40, "twenty to six"),
        (12 * 60 + 45, "a quarter to one"),
        (23 * 60 + 55, "five to twelve"),
        (11 * 60 + 25, "twenty-five past eleven"),
    ],
)
def test_the_time_of_day(minutes: int, words: str) -> None:
    assert " ".join(piece.text for piece in time_of_day(minutes).forms[""]) == words


@pytest.mark.parametrize(
    ("word", "article"),
    [
        ("apple", "an"),
        ("pear", "a"),
        ("hour", "an"),
        ("honest", "an"),
        ("unicycle", "a"),
        ("ukulele", "a"),
        ("umbrella", "an"),
        ("one", "a"),
    ],
)
def test_article_by_sound(word: str, article: str) -> None:
    assert indefinite_article(word) == article


# Randomness


def test_chance_reads_the_stated_stream() -> None:
    block = shake_128(b"5/story#0").digest(512)
    last = int.from_bytes(block[-4:], "little")
    before = int.from_bytes(block[-8:-4], "little")
    chance = Chance(5, "story")
    assert (chance.below(1000), chance.between(10, 19)) == (last * 1000 >> 32, 10 + (before * 10 >> 32))


def test_chance_goes_on_after_a_block_and_stays_in_range() -> None:
    chance = Chance("x")
    draws = [chance.below(6) for _ in range(6000)]
    assert set(draws) == set(range(6))
    # 1000 expected of each; five standard deviations are 144.
    assert all(856 <= draws.count(face) <= 1144 for face in range(6))
    assert sorted(chance.sample(range(9), 9)) == list(range(9))


def test_words_are_drawn_by_rank() -> None:
    class Fixed(Chance):
        def __init__(self, value: int) -> None:
            super().__init__("fixed")
            self.value = value

        def below(self, limit: int) -> int:
            assert limit == 2**20 // 4 + 2**20 // 5
            return self.value

    assert (Fixed(2**20 // 4 - 1).ranked("ab"), Fixed(2**20 // 4).ranked("ab")) == ("a", "b")


# Text


def test_articles_fit_the_sound_that_follows() -> None:
    vowel_letter_consonant_sound = {"unicycle", "ukulele", "uniform", "one", "useful", "used"}
    consonant_letter_vowel_sound = {"honest", "hour"}
    article = re.compile(r"\b(an?) ([a-z-]+)")
    pairs = {found for text in texts(1400) for found in article.findall(text.lower())}
    for article, word in pairs:
        vowel = word[0] in "aeiou" and word not in vowel_letter_consonant_sound
        vowel = vowel or word in consonant_letter_vowel_sound
        assert article == ("an" if vowel else "a"), (article, word)
    assert {("an", "honest"), ("an", "apple"), ("a", "ukulele"), ("a", "small")} <= pairs


def test_spaces_and_marks() -> None:
    for text in texts(1400):
        assert "  " not in text
        assert text == text.strip()
        assert not re.search(r" [,.!?;:]", text)
        assert not re.search(r"[,.!?;:][A-Za-z]", text)
        assert not re.search(r"[,.!?;:]{2}", text)
        assert not re.search(r" \n|\n ", text)
        assert text.isascii()


def test_quotes_are_closed_in_their_line() -> None:
    for text in texts(1400):
        for line in text.split("\n"):
            assert line.count('"') % 2 == 0, line
            for quoted in line.split('"')[1::2]:
                assert quoted == quoted.strip()
                assert quoted


def test_sentences_begin_with_a_capital() -> None:
    for text in texts(1400):
        for line in text.split("\n"):
            assert line.lstrip('"')[0].isupper(), line
        for match in re.finditer(r'[.!?] "?([A-Za-z])|\." ([A-Za-z])', text):
            assert (match[1] or match[2]).isupper(), text[match.start() - 20 : match.end() + 10]
        assert not re.search(r"\bi\b", text)


def test_no_word_is_said_twice_in_a_row() -> None:
    # "from rose to rose" has a word between; "dug and dug" too. English doubles `that that` and `had had`,
    # but the corpus does not.
    for text in texts(2100, seed=22):
        assert not re.search(r"\b([a-z]+) \1\b", text, re.IGNORECASE), text


def test_numbers_agree_with_what_they_count() -> None:
    units = {
        "degree",
        "coin",
        "minute",
        "hour",
        "day",
        "week",
        "night",
        "cup",
        "spoon",
        "teaspoon",
        "millimetre",
        "kilometre",
        "year",
    }
    several = {
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "hundred",
    }
    num_checked = 0
    for text in texts(1400, seed=23):
        for number, unit in re.findall(r"(?<![a-z-])([a-z]+) ([a-z]+)\b", text.lower()):
            if unit in units or unit.removesuffix("s") in units:
                num_checked += number == "one" or number in several
                assert not (number == "one" and unit not in units), (number, unit)
                assert not (number in several and unit in units), (number, unit)
    assert num_checked > 1000


# The language of patterns


def test_join_spells_out_a_sentence() -> None:
    source = ("a", "owl", "'s", "nest", ".", "“", "why", "?", "”", "he", "asked", ".")
    text, words = join([Piece(text, WordClass.NOUN, Role.NONE) for text in source])
    assert text == 'An owl\'s nest. "Why?" he asked.'
    found = [text[word.start : word.end] for word in words]
    assert found == ["An", "owl", "'s", "nest", ".", '"', "Why", "?", '"', "he", "asked", "."]


def test_capitals_after_quotes() -> None:
    def told(source: str) -> str:
        return written(source).text

    assert told("“ Come . ” He@agent came .") == '"Come." He came.'
    assert told("“ Why ? ” he@speaker asked . “ I@agent go . ”") == '"Why?" he asked. "I go."'
    assert told("“ Go ! ” ^ He@agent went .") == '"Go!" He went.'
    assert told("He@agent said/v , “~ and came . ”") == 'He said, "and came."'
    # A comma replaces the full stop before it, and gives way to ? and !.
    assert told("“ Come . , ” he@speaker said/v .") == '"Come," he said.'
    assert told("“ Why ? , ” he@speaker asked .") == '"Why?" he asked.'


def test_slots_take_forms_and_roles() -> None:
    values = {
        "ball": noun("ball"),
        "who": BAGS["male"][0],
        "number": 1,
        "cups": measure(3, "cup"),
        "end": pattern("the river@place"),
    }
    item = written(
        "{who@agent} took {ball.a@patient} , {number} spoon@patient and {cups.of} milk@patient to/p {end} .",
        **values,
    )
    assert item.text == "Tom took a ball, one spoon and three cups of milk to the river."
    roles = {item.text[word.start : word.end]: word.role.value for word in item.words}
    assert roles["Tom"] == "agent"
    assert roles["ball"] == "patient"
    assert roles["cups"] == roles["three"] == "quantity"
    assert roles["river"] == "place"


def test_a_phrase_keeps_its_words_and_takes_the_role_of_its_slot() -> None:
    made = page(hero=BAGS["female"][0], friend=BAGS["male"][0])
    made.values["both"] = made.phrase(pattern("{hero} and {friend}", is_open=True))
    made.values["home"] = made.phrase(pattern("in a <colour> house@place"))
    made.values["again"] = definite(made.values["home"])
    made.say(pattern("{both@agent} lived {home} . They@agent slept {again} ."))
    text, words = join(made.pieces)
    found = re.fullmatch(r"Lily and Tom lived in an? (\w+) house\. They slept in the (\w+) house\.", text)
    assert found
    assert found[1] == found[2]
    assert [word.role for word in words[:3]] == [Role.AGENT, Role.CONNECTIVE, Role.AGENT]


def test_amounts_calculate_and_are_said() -> None:
    def said(value: Any, form: str = "") -> str:
        return " ".join(piece.text for piece in value.forms[form])

    flour, eggs = ingredient(BAGS["baking"][0], 2, "cup"), ingredient(noun("egg"), 1)
    assert [said(flour), said(flour, "the"), said(flour, "again")] == [
        "two cups of flour",
        "the flour",
        "the two cups of flour",
    ]
    assert [said(eggs), said(eggs, "again"), said(multiplied(eggs, 2))] == ["one egg", "the egg", "two eggs"]
    assert [said(flour, "them"), said(eggs, "them"), said(multiplied(eggs, 2), "them")] == [
        "it",
        "it",
        "them",
    ]
    assert said(ingredient(BAGS["pulse"][0], 1, "cup"), "them") == "them"
    assert said(measure(flour + eggs - 4, "degree")) == "one degree below zero"
    assert said(measure(21, "day"), "th") == "twenty-first"


def test_people_have_pronouns_and_kinds() -> None:
    pip = someone(BAGS["pet_name"][0], "she", noun("fox"), BAGS["trait"][0])
    item = written(
        "{pip.full@agent} met {pip.a@patient} . {pip.he@agent} saw/v {pip.his} den@patient .", pip=pip
    )
    assert item.text == "Pip the fox met a kind fox. She saw her den."


def test_contractions_and_possessives_are_two_words() -> None:
    item = written("{who@agent} 's ball@patient can't/x fly .", who=BAGS["male"][0])
    assert item.text == "Tom's ball can't fly."
    found = [(item.text[word.start : word.end], word.word_class.value) for word in item.words]
    assert found[1:5] == [("'s", "particle"), ("ball", "noun"), ("ca", "auxiliary"), ("n't", "particle")]


def test_brackets_choose_and_give_a_role() -> None:
    seen: set[str] = set()
    for index in range(60):
        made = page(f"brackets {index}")
        made.say(pattern("They@agent saw/v (a (ball|kite)|nothing)@patient ."))
        text, words = join(made.pieces)
        seen.add(text)
        assert words[-2].role is Role.PATIENT
    assert seen == {"They saw a ball.", "They saw a kite.", "They saw nothing."}


def test_a_list_of_choices_inflects_its_verbs() -> None:
    lists = {"activity": (pattern("`feed fed fed` the dog@patient"),)}
    for form, verb in (("", "feed"), (".ed", "fed"), (".ing", "feeding")):
        made = page()
        made.say(Pattern(f"They@agent {{activity{form}}} .", "test:1", lists))
        assert join(made.pieces)[0] == f"They {verb} the dog."


def test_a_draw_can_be_kept_and_is_not_repeated() -> None:
    text = written("<fruit=it.a@patient> , <fruit.a@patient> , <fruit.a@patient> and {it.the@patient} .").text
    first, second, third = re.findall(r"\ban? (\w+)", text.lower())
    assert text.endswith(f"and the {first}.")
    assert len({first, second, third}) == 3


def test_a_lead_opens_a_command_but_not_a_statement() -> None:
    made = page()
    made.say(pattern("Open/v the door@patient ."), pattern("then"))
    made.say(pattern("^ It@none is late/a ."), pattern("then"))
    assert join(made.pieces)[0] == "Then open the door. It is late."


def test_a_page_says_something_new_while_it_can() -> None:
    made = page()
    choices = tuple(pattern(f"It@none is {word} .") for word in ("cold/a", "warm/a", "late/a"))
    for _ in range(3):
        made.say(choices)
    assert len(set(join(made.pieces)[0].split(". "))) == 3


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("the house .", "'house' (noun) needs a role"),
        ("the light is on .", "class of 'light' is unclear"),
        ("the zzz@patient .", "not in the lexicon"),
        ("the house@nowhere .", "'nowhere' is not a valid Role"),
        ("the house/q .", "unknown class /q"),
        ("the (house@place .", "no closing bracket"),
        ("the house@place ) .", "unbalanced"),
        ("the {house .", "cannot read"),
        ("they@agent walked@patient .", "class of 'walked' is unclear"),
    ],
)
def test_slips_in_patterns_are_found(source: str, problem: str) -> None:
    with pytest.raises(GrammarError, match=r"^test:1: ") as failure:
        _ = pattern(source).nodes
    assert problem in str(failure.value)
    assert str(failure.value).endswith(f" in: {source}")
