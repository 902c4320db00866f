"""The corpus as a test of memory and arithmetic: answers are right, and what comes early comes back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from somelab.data.corpus import Document, Role, Word, WordClass, documents
from somelab.data.corpus.generator import write
from somelab.data.corpus.lexicon import BAGS
from somelab.data.corpus.phrase import join
from somelab.data.corpus.referents import number

SMALL = (
    *(
        "zero",
        "one",
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
        "thirteen",
    ),
    *("fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
VALUES = {word: value for value, word in enumerate(SMALL)}
VALUES |= {word: 10 * value for value, word in enumerate(TENS, start=2)}


def read_number(words: str) -> int:
    """The oracle of `number_words`, the other way round."""
    total, current = 0, 0
    for word in words.lower().replace("-", " ").split():
        if word == "thousand":
            total, current = total + 1000 * current, 0
        elif word == "hundred":
            current *= 100
        elif word != "and":
            current += VALUES[word]
    return total + current


def with_digits(item: Document) -> str:
    """The text with every number in digits: number words in a row, with the `and` inside, are one number."""
    parts: list[str] = []
    number: list[str] = []
    for index, word in enumerate(item.words):
        text = item.text[word.start : word.end]
        is_and = word.word_class is WordClass.CONJUNCTION and word.role is Role.QUANTITY
        inside = word.word_class is WordClass.NUMBER or is_and
        if number and (not inside or not continues(number[-1], text)):
            parts.append(str(read_number(" ".join(number))))
            number = []
        if inside:
            number.append(text.lower())
        else:
            parts.append(text)
        if index == len(item.words) - 1 and number:
            parts.append(str(read_number(" ".join(number))))
    return " ".join(parts)


def continues(before: str, word: str) -> bool:
    return word.lower() in ("and", "hundred", "thousand") or before in ("and", "thousand")


def of_kind(kind: str, num_documents: int, seed: int = 31) -> list[Document]:
    return list(islice(documents(seed, [kind]), num_documents))


def with_values(kind: str, num_documents: int, seed: int = 31) -> Iterator[tuple[Document, dict[str, Any]]]:
    """The same documents, each with the values that its script remembered."""
    for index in range(num_documents):
        page = write(kind, seed, index)
        yield Document(kind, *join(page.pieces)), page.values


def spoken(value: Any, form: str = "") -> str:
    forms = number(value) if type(value) is int else value.forms
    return " ".join(piece.text for piece in forms[form])


def test_the_number_reader() -> None:
    numbers = {"twelve": 12, "forty-one": 41, "three hundred and seven": 307, "two thousand and fifty": 2050}
    assert {words: read_number(words) for words in numbers} == numbers


EQUATIONS = (
    (r"(\d+) plus (\d+) is (\d+)", lambda a, b, c: a + b == c),
    (r"(\d+) minus (\d+) is (\d+)", lambda a, b, c: a - b == c),
    (r"(\d+) times (\d+) is (\d+)", lambda a, b, c: a * b == c),
    (r"(\d+) times (\d+) , which is (\d+)", lambda a, b, c: a * b == c),
    (r"(\d+) times as much as (\d+) is (\d+)", lambda a, b, c: a * b == c),
    (r"(\d+) divided by (\d+) is (\d+)", lambda a, b, c: a == b * c),
    (r"Multiply (\d+) by (\d+) , and you get (\d+)", lambda a, b, c: a * b == c),
    (r"Divide (\d+) by (\d+) , and you get (\d+)", lambda a, b, c: a == b * c),
    (r"Half of (\d+) is (\d+)", lambda a, b: a == 2 * b),
    (r"Twice (\d+) is (\d+)", lambda a, b: 2 * a == b),
    (r"Double (\d+) , and you get (\d+)", lambda a, b: 2 * a == b),
    (r"from (\d+) , and (?:you get|the result is) (\d+)", None),
    (r"(\d+) is (\d+) more than (\d+)", lambda a, b, c: a == b + c),
    (r"(\d+) is (\d+) less than (\d+)", lambda a, b, c: a == c - b),
    (r"difference between (\d+) and (\d+) is (\d+)", lambda a, b, c: abs(a - b) == c),
    (r"Without (\d+) , (\d+) becomes (\d+)", lambda a, b, c: b - a == c),
    (
        r"(?:Subtract|Take away) (\d+) from (\d+) , and (?:you get|the result is) (\d+)",
        lambda a, b, c: b - a == c,
    ),
)


@pytest.mark.parametrize("kind", ["arithmetic", "story", "dialogue"])
def test_every_equation_is_right(kind: str) -> None:
    num_equations = 0
    for item in of_kind(kind, 600):
        text = with_digits(item)
        for pattern, holds in EQUATIONS:
            for match in re.finditer(pattern, text):
                if holds is not None:
                    num_equations += 1
                    assert holds(*map(int, match.groups())), (match[0], item.text)
    assert num_equations > {"arithmetic": 3000, "story": 30, "dialogue": 30}[kind]


def test_running_totals_follow_from_the_steps() -> None:
    """Chains state each result as the next start, so their statements can be replayed one by one."""
    num_chains = 0
    for item in of_kind("arithmetic", 600):
        for section in item.text.split("\n"):
            text = with_digits(Document("", section, spans_of(item, section)))
            start = re.match(r"(?:Start with|Think of the number|We begin with|Take|Write down) (\d+)", text)
            end = re.search(r"(?:has become|we came to|ended with|The last number is) (\d+)", text)
            if not start or not end:
                continue
            num_chains += 1
            value = int(start[1])
            for sentence in text[start.end() :].split(" . "):
                value = replay(sentence.strip(), value)
            assert value == int(end[1]), section
    assert num_chains > 100


def spans_of(item: Document, section: str) -> list[Word]:
    offset = item.text.index(section)
    return [
        word._replace(start=word.start - offset, end=word.end - offset)
        for word in item.words
        if offset <= word.start < offset + len(section)
    ]


def replay(sentence: str, value: int) -> int:
    numbers = list(map(int, re.findall(r"\d+", sentence)))
    for pattern, result in (
        (r"Add \d+|If you add \d+|\d+ more makes", lambda: value + numbers[0]),
        (r"Take away \d+ ,", lambda: value - numbers[0]),
        (r"(?:Subtract|Take away) \d+ from", lambda: value - numbers[0]),
        (r"Without", lambda: value - numbers[0]),
        (r"\d+ plus", lambda: value + numbers[1]),
        (r"\d+ minus", lambda: value - numbers[1]),
        (r"\d+ times as much", lambda: value * numbers[0]),
        (r"\d+ times|Multiply", lambda: value * numbers[1]),
        (r"Half of|Divide \d+ by|\d+ divided", lambda: value // 2),
        (r"Double|Twice", lambda: 2 * value),
    ):
        if re.match(pattern, sentence):
            assert numbers[-1] == result(), sentence
            return result()
    return value


def test_word_problems_end_in_their_answer() -> None:
    """Holdings: replay gains and losses from the sentences, not from the stated working."""
    num_problems = 0
    for item in of_kind("arithmetic", 700):
        for section in item.text.split("\n"):
            text = with_digits(Document("", section, spans_of(item, section)))
            if "How many" not in text and "work out how many" not in text:
                continue
            story, question = re.split(r"How many|Can you work out", text, maxsplit=1)
            without_totals = re.sub(r"(?:had|made|were|them :) \d+ \.", "", story)
            numbers = [int(number) for number in re.findall(r"\d+", without_totals)]
            value = numbers[0]
            for sentence in story.split(" . ")[1:]:
                found = re.search(
                    r"(\d+)",
                    re.sub(
                        r"(?:now|then) \w+ had \d+|That made \d+|there were \d+|counted them : \d+",
                        "",
                        sentence,
                        flags=re.I,
                    ),
                )
                if found:
                    gain = re.search(r"\bmore\b|others", sentence)
                    value += int(found[1]) if gain else -int(found[1])
            answer = re.search(r"(?:the answer is|The answer is|had) (\d+)", question.split("?", 1)[1])
            assert answer
            assert int(answer[1]) == value, section
            num_problems += 1
    assert num_problems > 100


# Weather


def test_forecasts_agree_with_themselves() -> None:
    num_changes = 0
    for item, values in with_values("weather", 500):
        if "one_sky" not in values:
            continue
        text = with_digits(item).replace(" degree ", " degrees ")
        high = int(values["high"])
        assert len(re.findall(rf"\b{high} degrees", text)) >= 2
        assert item.text.count(spoken(values["town"])) >= 2
        match = re.search(
            r"That is (\d+) degrees (warmer|colder) than yesterday , when it was (\d+) degrees( below 0)?",
            text,
        )
        if match:
            num_changes += 1
            change = int(match[1]) if match[2] == "warmer" else -int(match[1])
            assert high - change == int(match[3]) * (-1 if match[4] else 1)
        assert len(re.findall(rf"\b{values['one_sky']['noun']}\b", item.text)) >= 2
    assert num_changes > 40


def test_diaries_add_up() -> None:
    num_totals = 0
    for item, values in with_values("weather", 600):
        if "best" not in values:
            continue
        text = with_digits(item)
        rain = [int(number) for number in re.findall(r"(\d+) millimetres", text)]
        if rain:
            num_totals += 1
            assert sum(rain[:-1]) == rain[-1], item.text
        days = re.findall(
            r"(?:On|came) (\w+day)\b[^.]*?(\d+) degrees?|(?<=\. )(\w+day) was [^.]*?(\d+) degrees?"
            r"|was (\d+) degrees? on (\w+day)",
            text,
        )
        highs = {a or c or f: int(b or d or e) for a, b, c, d, e, f in days}
        assert max(highs, key=lambda day: highs[day]) == spoken(values["best"]), (highs, item.text)
        assert min(highs, key=lambda day: highs[day]) == spoken(values["worst"]), (highs, item.text)
    assert num_totals > 80


# Recipes


def test_recipes_use_and_double_what_they_list() -> None:
    num_doubled = 0
    for item, values in with_values("recipe", 400):
        ingredients = [spoken(part) for part in values["parts"]]
        _, listed, rest = item.text.split("\n", 2)
        for amount in ingredients:
            assert amount in listed, (amount, item.text)
        assert spoken(values["time"]) in rest
        steps, last = rest.rsplit("\n", 1)
        used = sum(amount in steps or amount.split(" ", 1)[1] in steps for amount in ingredients)
        assert used >= 2, item.text
        if re.search(r"twice as much|double the recipe|Are there", last):
            num_doubled += 1
            told = with_digits(Document("", last, spans_of(item, last)))
            split = [amount.split(" ", 1) for amount in ingredients]
            amounts = {thing.rstrip("s"): read_number(number) for number, thing in split}
            found = [
                (int(number), thing)
                for number, thing in re.findall(r"(\d+) ([a-z' ]+?)(?= ,| \.| and )", told)
                if any(same_thing(thing, name) for name in amounts)
            ]
            assert len(found) >= 2, told
            for number, thing in found:
                listed_number = next(value for name, value in amounts.items() if same_thing(thing, name))
                assert number == 2 * listed_number, (number, thing, item.text)
    assert num_doubled > 150


def same_thing(doubled: str, listed: str) -> bool:
    """`four cups of flour` and `two cups of flour` name one thing; so do `two eggs` and `one egg`."""
    singular = {"pinche": "pinch", "potatoe": "potato", "tomatoe": "tomato", "mangoe": "mango"}

    def stem(text: str) -> str:
        head, *tail = text.split(" of ", 1)
        head = head.rstrip("s")
        return " of ".join([singular.get(head, head), *(part.rstrip("s") for part in tail)])

    one, many = stem(listed), stem(doubled)
    return many == one or (one.endswith("y") and many == one[:-1] + "ie")


# Stories


# What each arc introduces and needs again: the value, its form, and what follows it in the text.
RECALLED = {
    "lost_and_found": ("thing", "short", ""),
    "chain_of_trades": ("gift", "one", ""),
    "the_key": ("key", "short", ""),
    "helping_a_friend": ("tool", "short", ""),
    "promise_kept": ("pot", "", ""),
    "mistake_and_apology": ("thing", "short", ""),
    "newcomer": ("treasure", "short", ""),
    "learning_a_skill": ("advice", "", ""),
    "contest_of_friends": ("prize", "short", ""),
    "trip_there_and_back": ("item", "short", ""),
    "rescue_in_a_storm": ("collar", "", " collar"),
    "mystery_and_its_clue": ("colour", "", ""),
    "message_of_three_parts": ("thing", "short", ""),
}


def test_stories_recall_their_object_near_the_end() -> None:
    seen: set[str] = set()
    for item, values in with_values("story", 500):
        seen.add(values["arc"])
        if values["arc"] == "garden_that_grows":
            parts = ("eaten", "to_friend", "to_elder", "rest")
            assert values["seeds"] == sum(values[part] for part in parts)
            continue
        name, form, ending = RECALLED[values["arc"]]
        recalled, text = (spoken(values[name], form) + ending).lower(), item.text.lower()
        places = [match.start() for match in re.finditer(re.escape(recalled), text)]
        assert len(places) >= 2, (recalled, item.text)
        assert places[-1] > len(text) / 2, (recalled, item.text)
        assert places[-1] - places[0] > len(text) / 4, (recalled, item.text)
    assert seen == {*RECALLED, "garden_that_grows"}


def test_the_colour_of_a_thing_never_changes() -> None:
    colours = {spoken(entry) for bag in ("colour", "metal", "cloth", "matter") for entry in BAGS[bag]}
    num_looks = 0
    for item, values in with_values("story", 700):
        if values["arc"] not in (
            "lost_and_found",
            "mistake_and_apology",
            "helping_a_friend",
            "trip_there_and_back",
        ):
            continue
        owned_thing = values[RECALLED[values["arc"]][0]]
        thing, look = spoken(owned_thing, "one"), spoken(owned_thing, "colour")
        found = set(re.findall(rf"\b([\w-]+) {thing}\b", item.text)) & colours
        num_looks += 1
        # Another thing of the kind may pass by in the story; the thing itself always has its own look.
        owned = set(re.findall(rf"\b(?:the|my|his|her) ([\w-]+) {thing}\b", item.text)) & colours
        assert owned <= {look}, item.text
        assert look in found, item.text
    assert num_looks > 100


def test_heroes_keep_their_names_and_genders() -> None:
    women = {spoken(entry) for entry in BAGS["female"]}
    num_pronouns = 0
    for item, values in with_values("story", 500):
        hero, friend = spoken(values["hero"]), spoken(values["friend"])
        assert item.text.count(hero) >= 3
        assert (hero in women) != (friend in women)
        found = [
            *re.findall(r"\b(His|Her) name was (\w+)", item.text),
            *re.findall(r"\b(He|She) was called (\w+)", item.text),
            *(pair[::-1] for pair in re.findall(r"(\w+) will tell you the story (\w+self)", item.text)),
        ]
        num_pronouns += len(found)
        for pronoun, who in found:
            assert (pronoun in ("Her", "She", "herself")) == (who in women), item.text
    assert num_pronouns > 200


def test_the_way_back_is_the_way_there_reversed() -> None:
    num_trips = 0
    for item, values in with_values("story", 900):
        there = re.search(
            r"(?:passed|past) an? ([\w' ]+?),? (?:then|past) an? ([\w' ]+?),? "
            r"and (?:at last|past) an? ([\w' ]+?)\.",
            item.text,
        )
        back = re.search(
            r"(?:passed|first) the ([\w' ]+?), then the ([\w' ]+?),(?: and at last| then) the ([\w' ]+?)\.",
            item.text,
        )
        if values["arc"] != "trip_there_and_back":
            continue
        num_trips += 1
        assert there, item.text
        assert back, item.text
        assert there.groups() == back.groups()[::-1]
    assert num_trips > 30


# Letters and dialogues


def test_letters_come_back_to_their_place_and_writer() -> None:
    for item, values in with_values("letter", 300):
        lines = item.text.split("\n")
        assert lines[0].startswith(spoken(values["home"]))
        assert lines[-1].split()[0] == spoken(values["writer"])
        body = "\n".join(lines[2:])
        assert spoken(values["home"]) in body or spoken(values["away"]) in body, item.text


def read_clock(words: str) -> int:
    """Minutes after twelve of `twenty to six`, `half past nine`, `three o'clock`."""
    words = words.lower().replace("a quarter", "fifteen").replace("half", "thirty")
    if "o'clock" in words:
        return read_number(words.split(" o'clock")[0]) % 12 * 60
    distance, side, hour = words.split()
    sign = {"past": 1, "to": -1}[side]
    return (read_number(hour) % 12 * 60 + sign * read_number(distance)) % 720


def test_trains_arrive_when_their_journey_is_over() -> None:
    num_trains = 0
    for item, values in with_values("dialogue", 500):
        match = re.search(r"(?:It takes|and needs) ([a-z -]+) minutes", item.text)
        if values["scene"] != "train_ticket" or not match:
            continue
        num_trains += 1
        start, end = spoken(values["start"]), spoken(values["end"])
        assert (read_clock(start) + read_number(match[1])) % 720 == read_clock(end)
        assert item.text.count(start) >= 2
        assert end in item.text
    assert num_trains > 20


def test_what_is_ordered_is_what_is_served_and_paid() -> None:
    num_meals = 0
    for item, values in with_values("dialogue", 500):
        if values["scene"] != "restaurant":
            continue
        num_meals += 1
        text = with_digits(item)
        prices = [int(price) for price in re.findall(r"(\d+) coins?", text)]
        assert prices[0] + prices[1] + prices[2] == prices[3] == values["sum"], item.text
        ending = item.text.rsplit("\n", 1)[1]
        assert spoken(values["dish"]) in ending
        assert spoken(values["drink"]) in ending
        assert item.text.index(spoken(values["dish"])) < len(item.text) / 2
    assert num_meals > 20


def test_howto_texts_name_what_they_need_again() -> None:
    num_repeated: list[int] = []
    for item, values in with_values("howto", 300):
        lowered, names = item.text.lower(), list(values)
        # What a task draws stands between its choice and its title.
        drawn = names[names.index("task") + 1 : names.index("title")]
        said = [spoken(values[name]).removeprefix("the ").lower() for name in drawn]
        num_repeated.append(sum(lowered.count(words) >= 2 for words in said))
        assert num_repeated[-1] >= 1, item.text
    assert sum(num_repeated) > 3 * len(num_repeated)
