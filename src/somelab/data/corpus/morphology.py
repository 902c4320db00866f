"""How English words change: plurals, verb forms, a or an, numbers in words. Regular forms follow rules; the
lexicon spells out the irregular ones."""

from __future__ import annotations

VOWELS = "aeiou"
# Words whose first letter differs from their first sound.
_VOWEL_SOUND = ("hour", "honest", "heir", "honour")
_CONSONANT_SOUND = ("uni", "use", "usual", "euro", "one-", "ukulele", "utensil")
_BELOW_TEN = "zero one two three four five six seven eight nine"
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
ONES = f"{_BELOW_TEN} {_TEENS}".split()
TENS = ["-", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_IRREGULAR = "first second third fifth eighth ninth twelfth twentieth thirtieth"
_ORDINALS: dict[int, str] = dict(zip((1, 2, 3, 5, 8, 9, 12, 20, 30), _IRREGULAR.split()))


def plural(spec: str) -> tuple[str, str]:
    """Singular and plural of `apple`, or of `mouse/mice` where the plural is spelt out."""
    singular, _, given = spec.partition("/")
    return singular, given or _with_s(singular)


def verb_forms(spec: str) -> tuple[str, str, str, str, str]:
    """Base, third person, past, participle and gerund of `walk`, of `stop+` (the last letter doubles) or of
    `write wrote written` (past and participle are spelt out)."""
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
    else:
        past = participle = (base[:-1] + "i" if _ends_in_consonant_y(base) else stem) + "ed"
    return base, _with_s(base, "o"), past, participle, gerund


def _with_s(word: str, *with_es: str) -> str:
    if word.endswith(("s", "x", "z", "ch", "sh", *with_es)):
        return word + "es"
    return word[:-1] + "ies" if _ends_in_consonant_y(word) else word + "s"


def _ends_in_consonant_y(word: str) -> bool:
    return word.endswith("y") and word[-2] not in VOWELS


def indefinite_article(following: str) -> str:
    """`a` or `an`, by the sound that `following` begins with."""
    word = following.lower()
    if word.startswith(_VOWEL_SOUND):
        return "an"
    return "an" if word[0] in VOWELS and not word.startswith(_CONSONANT_SOUND) and word != "one" else "a"


def number_words(number: int) -> list[str]:
    """121 as ["one", "hundred", "and", "twenty-one"]; from 0 to 9,999."""
    assert 0 <= number < 10_000, number
    thousands, hundreds, below = number // 1000, number // 100 % 10, number % 100
    words = [ONES[thousands], "thousand"] if thousands else []
    words += [ONES[hundreds], "hundred"] if hundreds else []
    if words and below:
        words.append("and")
    if below >= 20:
        words.append(TENS[below // 10] + (f"-{ONES[below % 10]}" if below % 10 else ""))
    elif below or not words:
        words.append(ONES[below])
    return words


def ordinal_word(number: int) -> str:
    """1 as first, 21 as twenty-first; from 1 to 31, the days of a month."""
    if number > 20 and number not in _ORDINALS:
        return f"{TENS[number // 10]}-{ordinal_word(number % 10)}"
    return _ORDINALS.get(number) or ONES[number] + "th"
