"""How English words change: plurals, verb forms, a or an, numbers in words.
Regular forms follow rules; the lexicon spells out the irregular ones, so a rule never has to guess."""

from __future__ import annotations

from typing import NamedTuple

VOWELS = "aeiou"
_SIBILANTS = ("s", "x", "z", "ch", "sh")
# First letters lie about the sound of these.
_VOWEL_SOUND = ("hour", "honest", "heir", "honour")
_CONSONANT_SOUND = ("uni", "use", "usual", "euro", "one-", "ukulele", "utensil")

ONES = [
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
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
TENS = ["-", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


class VerbForms(NamedTuple):
    base: str
    third: str
    past: str
    participle: str
    gerund: str


def plural(spec: str) -> tuple[str, str]:
    """Singular and plural of `apple`, or of `mouse/mice` where the plural is spelt out."""
    singular, _, given = spec.partition("/")
    if given:
        return singular, given
    if singular.endswith(_SIBILANTS):
        return singular, singular + "es"
    return singular, _with_s(singular)


def verb_forms(spec: str) -> VerbForms:
    """The five forms of `walk`, `stop+` (the last letter doubles) or `write wrote written` (past and participle spelt out)."""
    base, *irregular = spec.split()
    doubled = base.endswith("+")
    base = base.rstrip("+")
    stem = base + base[-1] if doubled else base
    if base.endswith("ie"):
        gerund = base[:-2] + "ying"
    elif base.endswith("e") and not base.endswith(("ee", "oe", "ye")):
        gerund = base[:-1] + "ing"
    else:
        gerund = stem + "ing"
    if irregular:
        past, participle = irregular[0], irregular[-1]
    elif base.endswith("e"):
        past = participle = base + "d"
    elif base.endswith("y") and base[-2] not in VOWELS:
        past = participle = base[:-1] + "ied"
    else:
        past = participle = stem + "ed"
    third = base + "es" if base.endswith((*_SIBILANTS, "o")) else _with_s(base)
    return VerbForms(base, third, past, participle, gerund)


def _with_s(word: str) -> str:
    return word[:-1] + "ies" if word.endswith("y") and word[-2] not in VOWELS else word + "s"


def indefinite_article(following: str) -> str:
    """`a` or `an`, by the sound that `following` begins with."""
    word = following.lower()
    if word.startswith(_VOWEL_SOUND):
        return "an"
    return "an" if word[0] in VOWELS and not word.startswith(_CONSONANT_SOUND) and word != "one" else "a"


def number_words(number: int) -> list[str]:
    """121 as ["one", "hundred", "and", "twenty-one"]; from 0 to 9,999."""
    assert 0 <= number < 10_000, number
    thousands, rest = divmod(number, 1000)
    hundreds, below = divmod(rest, 100)
    words = [ONES[thousands], "thousand"] if thousands else []
    words += [ONES[hundreds], "hundred"] if hundreds else []
    if words and below:
        words.append("and")
    if below >= 20:
        tens, ones = divmod(below, 10)
        words.append(TENS[tens] + (f"-{ONES[ones]}" if ones else ""))
    elif below or not words:
        words.append(ONES[below])
    return words


def ordinal_word(number: int) -> str:
    """1 as first, 21 as twenty-first; from 1 to 31, the days of a month."""
    irregular = {
        1: "first",
        2: "second",
        3: "third",
        5: "fifth",
        8: "eighth",
        9: "ninth",
        12: "twelfth",
        20: "twentieth",
        30: "thirtieth",
    }
    if number in irregular:
        return irregular[number]
    if number > 20:
        return f"{TENS[number // 10]}-{ordinal_word(number % 10)}"
    return ONES[number] + "th"
