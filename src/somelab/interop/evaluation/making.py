"""Writes the two tasks that ship with somelab, from text of the built-in corpus that no run is trained on:
`python -m somelab.interop.evaluation.making`. A test compares."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from somelab.data.corpus import Document, WordClass, document

FOLDER = Path(__file__).parent / "tasks"
SEED = 20_261_117
"""Of the corpus; runs use the random seeds of their own configuration."""
NUM_ITEMS = 200
NUM_CHOICES = 4
MOST_LETTERS = 240
LONGEST_CHOICE = 50
"""In letters: a small vocabulary at a sequence length of 32 still holds it."""
ASKED = (
    WordClass.NOUN,
    WordClass.VERB,
    WordClass.ADJECTIVE,
    WordClass.ADVERB,
    WordClass.DETERMINER,
    WordClass.PREPOSITION,
)
SENTENCE = re.compile(r"[^.!?]+[.!?]['\"]?\s*")


def story_items() -> Iterator[dict[str, Any]]:
    """The beginning of a story, and four sentences of which one goes on with it. The others follow the same
    number of sentences of other stories."""
    rng = random.Random(SEED)
    told = [_sentences(document(SEED, index, ["story"])) for index in range(3 * NUM_ITEMS)]
    told = [sentences for sentences in told if len(sentences) >= 5]
    made = 0
    for number, sentences in enumerate(told):
        at = rng.randrange(2, len(sentences))
        others = [other for other in told[number + 1 :] + told[:number] if _is_short(other, at)]
        if made == NUM_ITEMS or len(others) < NUM_CHOICES - 1 or not _is_short(sentences, at):
            continue
        choices = [sentences[at], *(other[at] for other in rng.sample(others, NUM_CHOICES - 1))]
        if len(set(choices)) < NUM_CHOICES:
            continue
        right = choices[0]
        rng.shuffle(choices)
        yield {"context": _tail(sentences[:at]), "choices": choices, "answer": choices.index(right)}
        made += 1


def word_class_items() -> Iterator[dict[str, Any]]:
    """The beginning of a sentence, its next word, and a word of another class from the same text."""
    rng = random.Random(SEED)
    made = index = 0
    while made < NUM_ITEMS:
        index += 1
        found = document(SEED, index)
        asked = ASKED[made % len(ASKED)]
        places = [at for at, word in enumerate(found.words) if at > 4 and word.word_class is asked]
        others = [word for word in found.words if word.word_class in ASKED and word.word_class is not asked]
        if not places or not others:
            continue
        word, other = found.words[rng.choice(places)], rng.choice(others)
        right, wrong = (found.text[one.start : one.end].lower() for one in (word, other))
        before = found.text[: word.start]
        if right == wrong or not before.endswith(" ") or found.text[word.start].isupper():
            continue
        choices = [right, wrong]
        rng.shuffle(choices)
        context = before[before.rfind(" ", 0, max(0, len(before) - MOST_LETTERS)) + 1 :].strip()
        item = {"context": context, "choices": choices, "answer": choices.index(right)}
        yield {**item, "word_class": asked.value, "other_class": other.word_class.value}
        made += 1


def _sentences(found: Document) -> list[str]:
    return [one.strip() for one in SENTENCE.findall(" ".join(found.text.split()))]


def _is_short(sentences: list[str], at: int) -> bool:
    return len(sentences) > at and len(sentences[at]) <= LONGEST_CHOICE


def _tail(sentences: list[str]) -> str:
    """The last whole sentences that fit."""
    kept = sentences[-1:]
    for sentence in reversed(sentences[:-1]):
        if sum(map(len, kept)) + len(sentence) > MOST_LETTERS:
            break
        kept.insert(0, sentence)
    return " ".join(kept)


ITEMS = {"story": story_items, "word_class": word_class_items}


def as_text(name: str) -> str:
    """The items of a task, one JSON object a line."""
    return "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in ITEMS[name]())


if __name__ == "__main__":
    for task in ITEMS:
        (FOLDER / f"{task}.jsonl").write_text(as_text(task), encoding="utf-8")
