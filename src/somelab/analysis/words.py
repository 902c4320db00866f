"""Which word each token belongs to: byte-level tokens aligned to words by shared bytes. All offsets are UTF-8
bytes, since a token may end inside a character."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from somelab.data.tokenizer import Tokenizer

# A run of letters and digits with apostrophes inside (don't), or one other visible sign.
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[^\w\s]|_")


class Span(NamedTuple):
    """A word of a text: bytes `start` to `end`, its text, and its class and role if known."""

    start: int
    end: int
    text: str
    word_class: str | None = None
    role: str | None = None
    """Only of words whose class does not determine it."""


def spans_of(text: str) -> list[Span]:
    """The words of any text, without classes."""
    byte = byte_offsets(text)
    return [Span(byte[found.start()], byte[found.end()], found[0]) for found in WORD.finditer(text)]


def byte_offsets(text: str) -> list[int]:
    """Where each character begins in UTF-8, and behind the last where the text ends."""
    offsets = [0]
    for letter in text:
        offsets.append(offsets[-1] + len(letter.encode()))
    return offsets


def words_of_tokens(tokenizer: Tokenizer, tokens: Sequence[int], spans: Sequence[Span]) -> list[int | None]:
    """For each token of a text the number of the word that holds most of its bytes (the first of equals);
    None for white space.

    `spans` are in order and do not overlap; `tokens` may be only the beginning of the text."""
    owners: list[int | None] = []
    end, first = 0, 0
    for token in tokens:
        start, end = end, end + len(tokenizer.bytes_of_token(token))
        while first < len(spans) and spans[first].end <= start:
            first += 1
        owner, most, place = None, 0, first
        while place < len(spans) and spans[place].start < end:
            shared = min(end, spans[place].end) - max(start, spans[place].start)
            if shared > most:
                owner, most = place, shared
            place += 1
        owners.append(owner)
    return owners
