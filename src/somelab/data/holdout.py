"""Which documents are held out for validation: a share of them, by the hash of each text.
So the choice needs no list, does not move when documents are added, and keeps copies of a text on one side."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from somelab.errors import ConfigError

VAL_FRACTION = 0.05
NUM_DRAWS = 2**64


def draw(text: str) -> int:
    """A number below 2^64 that follows from the text alone."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def find_cut(documents: Iterable[str], source: str) -> int:
    """The documents with a draw below this number are held out: 5 % of them, and at least one, but never all.

    Reads only as far as it must to find one document on either side."""
    usual = int(VAL_FRACTION * NUM_DRAWS)
    smallest, largest = NUM_DRAWS, -1
    for text in documents:
        number = draw(text)
        smallest, largest = min(smallest, number), max(largest, number)
        if smallest < usual <= largest:
            return usual
    if smallest == largest:
        raise ConfigError(
            "data.source",
            source,
            "has one document only, so none can be held out for validation",
            "separate documents by lines <|endoftext|>, or name two files X-train.txt and X-valid.txt",
        )
    return smallest + 1 if smallest >= usual else largest
