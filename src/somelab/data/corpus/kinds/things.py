"""Things that can be owned, lost and given, with looks that suit them: a striped red scarf, an old silver ring.
The last look before the noun is the fact that a text recalls."""

from __future__ import annotations

from somelab.data.corpus.page import Page
from somelab.data.corpus.referents import Thing

# Category: the bags of its first and of its second look.
LOOKS = {
    "toy": (("thing_size", "thing_look"), ("colour",)),
    "garment": (("garment_look",), ("colour", "cloth")),
    "trinket": (("trinket_look",), ("metal",)),
    "household": (("thing_size", "thing_look"), ("colour", "matter")),
    "soft_household": (("thing_size", "thing_look"), ("colour",)),
    "stationery": (("thing_size", "thing_look"), ("colour",)),
    "instrument": (("instrument_look",), ("colour",)),
}
CATEGORIES = tuple(LOOKS)


def draw_thing(page: Page, *categories: str) -> Thing:
    """A thing of one of the categories (any, if none is given)."""
    category = page.chance.pick(categories or CATEGORIES)
    first, second = LOOKS[category]
    thing = page.draw(category)
    return Thing(thing, page.draw(page.chance.pick(first)), page.draw(page.chance.pick(second)))


def noun_text(thing: Thing) -> str:
    return " ".join(piece.text for piece in thing.forms["one"])


def look_text(thing: Thing) -> str:
    return thing.forms["colour"][0].text
