"""The corpus as English: word forms, articles, capitals, quotes, and the small language in which its sentences are written."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterator, Sequence
from hashlib import shake_128
from importlib import import_module
from itertools import islice
from typing import Any

import pytest

from somelab.data.corpus import KINDS, Role, WordClass, documents, kinds
from somelab.data.corpus.chance import Bag, Chance
from somelab.data.corpus.kinds.arcs import ARCS
from somelab.data.corpus.kinds.arcs.stage import EVENING, HABITS, OPENINGS, set_stage
from somelab.data.corpus.kinds.clock import clock_time
from somelab.data.corpus.kinds.dialogue import BACKGROUNDS, TAGS, cast_scene
from somelab.data.corpus.kinds.howto import cast_member
from somelab.data.corpus.kinds.scenes import SCENES
from somelab.data.corpus.kinds.tasks import TASKS
from somelab.data.corpus.lexicon import BAGS, noun
from somelab.data.corpus.morphology import indefinite_article, number_words, ordinal_word, plural, verb_forms
from somelab.data.corpus.page import Page
from somelab.data.corpus.pattern import Alternatives, BagSlot, CastSlot, Fixed, PatternError, compile_pattern
from somelab.data.corpus.phrase import Piece, Referent, count, join, measure, name


def texts(num_documents: int, seed: int = 21) -> list[str]:
    return [item.text for item in islice(documents(seed), num_documents)]


def told(pattern: str, **cast: Referent | str) -> str:
    page = Page("test", Chance("test"))
    page.cast.update(cast)
    page.say(pattern)
    return page.finish().text


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
    [("apple", "apples"), ("box", "boxes"), ("cherry", "cherries"), ("key", "keys"), ("mouse/mice", "mice"), ("peach", "peaches")],
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
    expected = {1: "first", 2: "second", 3: "third", 5: "fifth", 8: "eighth", 9: "ninth", 12: "twelfth", 19: "nineteenth"}
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
    assert clock_time(minutes).text == words


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


def test_a_bag_draws_by_rank() -> None:
    class Fixed(Chance):
        def __init__(self, value: int) -> None:
            super().__init__("fixed")
            self.value = value

        def below(self, limit: int) -> int:
            assert limit == 2**20 // 4 + 2**20 // 5
            return self.value

    bag = Bag("ab")
    assert (bag.draw(Fixed(2**20 // 4 - 1)), bag.draw(Fixed(2**20 // 4))) == ("a", "b")
    assert Bag("ab").draw_other(Chance("y"), "a") == "b"


# Text


def test_articles_fit_the_sound_that_follows() -> None:
    vowel_letter_consonant_sound = {"unicycle", "ukulele", "uniform", "one", "useful", "used"}
    consonant_letter_vowel_sound = {"honest", "hour"}
    pairs = {
        (article.lower(), word.lower()) for text in texts(1400) for article, word in re.findall(r"\b([Aa]n?) ([A-Za-z-]+)", text)
    }
    for article, word in pairs:
        vowel = (word[0] in "aeiou" and word not in vowel_letter_consonant_sound) or word in consonant_letter_vowel_sound
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
    # "from rose to rose" has a word between; "dug and dug" too. English doubles only `that that` and `had had`, and here neither.
    for text in texts(2100, seed=22):
        assert not re.search(r"\b([A-Za-z]+) \1\b", text, re.IGNORECASE), re.search(r".{20}\b([A-Za-z]+) \1\b", text, re.IGNORECASE)


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
    several = {"two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "hundred"}
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
    pieces = [
        Piece(text, WordClass.NOUN, Role.NONE) for text in ("a", "owl", "'s", "nest", ".", "“", "why", "?", "”", "he", "asked", ".")
    ]
    text, words = join(pieces)
    assert text == 'An owl\'s nest. "Why?" he asked.'
    assert [text[word.start : word.end] for word in words] == [
        "An",
        "owl",
        "'s",
        "nest",
        ".",
        '"',
        "Why",
        "?",
        '"',
        "he",
        "asked",
        ".",
    ]


def test_capitals_after_quotes() -> None:
    assert told("“ Come . ” He@agent came .") == '"Come." He came.'
    assert told("“ Why ? ” he@speaker asked . “ I@agent go . ”") == '"Why?" he asked. "I go."'
    assert told("“ Go ! ” ^ He@agent went . He@agent said/v , “~ and came . ”") == '"Go!" He went. He said, "and came."'


def test_slots_take_forms_and_roles() -> None:
    page = Page("test", Chance("slots"))
    page.cast.update(ball=noun("ball"), who=name("Ann"), number=count(1), cups=measure(3, noun("cup")), end="the river@place")
    page.say("{who@agent} took {ball.a@patient} , {number} spoon@patient and {cups.of} milk@patient to/p {end} .")
    item = page.finish()
    assert item.text == "Ann took a ball, one spoon and three cups of milk to the river."
    roles = {item.text[word.start : word.end]: word.role.value for word in item.words}
    assert roles["Ann"] == "agent"
    assert roles["ball"] == "patient"
    assert roles["cups"] == roles["three"] == "quantity"
    assert roles["river"] == "place"


def test_contractions_and_possessives_are_two_words() -> None:
    page = Page("test", Chance("c"))
    page.cast["who"] = name("Ann")
    page.say("{who@agent} 's ball@patient can't/x fly .")
    item = page.finish()
    assert item.text == "Ann's ball can't fly."
    found = [(item.text[word.start : word.end], word.word_class.value) for word in item.words]
    assert found[1:5] == [("'s", "particle"), ("ball", "noun"), ("ca", "auxiliary"), ("n't", "particle")]


def test_brackets_choose_and_give_a_role() -> None:
    seen: set[str] = set()
    for index in range(60):
        page = Page("test", Chance("brackets", index))
        page.say("They@agent saw/v (a (ball|kite)|nothing)@patient .")
        item = page.finish()
        seen.add(item.text)
        assert item.words[-2].role is Role.PATIENT
    assert seen == {"They saw a ball.", "They saw a kite.", "They saw nothing."}


def test_a_draw_can_be_kept_and_is_not_repeated() -> None:
    page = Page("test", Chance("keep"))
    page.say("<fruit=snack.a@patient> , <fruit.a@patient> , <fruit.a@patient> and {snack.the@patient} .")
    first, second, third = re.findall(r"\ban? (\w+)", page.finish().text.lower())
    assert page.finish().text.endswith(f"and the {first}.")
    assert len({first, second, third}) == 3


def test_a_lead_opens_a_command_but_not_a_statement() -> None:
    page = Page("test", Chance("lead"))
    page.say("Open/v the door@patient .", lead="then")
    page.say("^ It@none is late/a .", lead="then")
    assert page.finish().text == "Then open the door. It is late."


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("the house .", "needs a role"),
        ("the light is on .", "class of 'light' is unclear"),
        ("the zzz@patient .", "not in the lexicon"),
        ("the house@nowhere .", "unknown role 'nowhere'"),
        ("the (house@place .", "no closing bracket"),
        ("the house@place ) .", "unbalanced"),
        ("the {house .", "cannot read"),
        ("they@agent walked@patient .", "class of 'walked' is unclear"),
    ],
)
def test_slips_in_patterns_are_found(pattern: str, problem: str) -> None:
    with pytest.raises(PatternError, match=re.escape(problem)):
        compile_pattern(pattern)


# Every pattern of the corpus, also those that are rarely drawn


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, (tuple, list, Bag)):
        for item in value:
            yield from strings(item)


def slots(nodes: Sequence[Any]) -> Iterator[CastSlot | BagSlot]:
    for node in nodes:
        if isinstance(node, Alternatives):
            for option in node.options:
                yield from slots(option)
        elif not isinstance(node, Fixed):
            yield node


def test_every_pattern_is_well_formed_and_every_bag_has_the_form() -> None:
    num_patterns = 0
    for module in pkgutil.walk_packages(kinds.__path__, f"{kinds.__name__}."):
        for key, value in vars(import_module(module.name)).items():
            for source in strings(value) if key.isupper() else ():
                if "@" not in source and "<" not in source:
                    continue
                num_patterns += 1
                for slot in slots(compile_pattern(source)):
                    if isinstance(slot, BagSlot):
                        for entry in BAGS[slot.bag]:
                            assert slot.role or all(piece.role for piece in entry.forms[slot.form]), source
    assert num_patterns > 1000


def check_cast(page: Page, pattern: str) -> None:
    for slot in slots(compile_pattern(pattern)):
        if isinstance(slot, BagSlot):
            if slot.keep:
                page.cast.setdefault(slot.keep, BAGS[slot.bag].items[0])
            continue
        assert slot.cast in page.cast, (slot.cast, pattern)
        referent = page.cast[slot.cast]
        if isinstance(referent, str):
            check_cast(page, referent)
        else:
            assert slot.form in referent.forms, (slot, pattern)
            assert slot.role or all(piece.role for piece in referent.forms[slot.form]), (slot, pattern)


@pytest.mark.parametrize("arc", ARCS, ids=lambda arc: arc.name)
def test_every_slot_of_a_story_is_cast(arc: Any) -> None:
    for index in range(20):
        page = Page("story", Chance("cast", index))
        set_stage(page)
        arc.setup(page)
        for beat in (OPENINGS, HABITS, *arc.beats, EVENING):
            for pattern in beat:
                check_cast(page, pattern)


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.lines[0][1][0][:30])
def test_every_slot_of_a_dialogue_is_cast(scene: Any) -> None:
    page = Page("dialogue", Chance("cast"))
    cast_scene(page, scene)
    page.cast["who"] = page.cast["b"]
    patterns = (*scene.settings, *BACKGROUNDS, *(line for _, lines in scene.lines for line in lines), *scene.endings)
    for pattern in (*patterns, *(tag for tags in TAGS.values() for tag in tags)):
        check_cast(page, pattern)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.title[:30])
def test_every_slot_of_a_howto_is_cast(task: Any) -> None:
    page = Page("howto", Chance("cast"))
    page.cast.update({key: cast_member(page, spec) for key, spec in task.cast.items()})
    for pattern in (task.title, *task.needs, *(pattern for step in task.steps for pattern in step), *task.tips):
        check_cast(page, pattern)
    # What is listed comes back: most of the cast is named in the steps or the tips.
    later = " ".join((*(pattern for step in task.steps for pattern in step), *task.tips))
    assert sum(f"{{{key}" in later for key in task.cast) >= len(task.cast) - 1


def test_every_kind_has_its_own_writer() -> None:
    assert all(kind.name == key for key, kind in KINDS.items())
    assert len({kind.write for kind in KINDS.values()}) == len(KINDS)
