"""Which documents are held out for validation: a share of them, by the hash of each text. So no list is
stored, the split does not change when documents are added, and copies of a text are on one side."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from somelab.errors import ConfigError

VAL_FRACTION = 0.05
NUM_DRAWS = 2**64


def draw(text: str, purpose: str = "") -> int:
    """A number below 2^64 that is a function of the text. Draws for different purposes are independent."""
    return int.from_bytes(
        hashlib.blake2b(text.encode(), digest_size=8, person=purpose.encode()).digest(), "little"
    )


def find_cut(documents: Iterable[str], source: str, purpose: str = "") -> int:
    """The documents with a draw below this number are held out: 5 % of them, and at least one, but never all.

    Reads only as far as it must to find one document on either side."""
    usual = int(VAL_FRACTION * NUM_DRAWS)
    smallest, largest = NUM_DRAWS, -1
    for text in documents:
        number = draw(text, purpose)
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
