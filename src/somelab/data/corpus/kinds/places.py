"""Places with the preposition that English wants: in the garden, at the station, on the hill."""

from __future__ import annotations

from somelab.data.corpus.chance import Bag
from somelab.data.corpus.lexicon import noun
from somelab.data.corpus.page import Page
from somelab.data.corpus.referents import Place

_WHERE = {
    "in": """garden, forest, park, meadow, village square, orchard, library, wood, barn, field, courtyard, valley, churchyard, vineyard, castle, cave,
        greenhouse, old quarry, marsh, museum, town hall, school yard, clearing, ruined tower, boathouse, stable, theatre, cellar of the inn""",
    "at": "market, station, harbour, farm, bus stop, windmill, lighthouse, crossroads, playground, zoo, bakery, post office, mill, ferry, circus, town gate",
    "on": "hill, beach, bridge, river bank, island, cliff, pier, mountain path, village green, old road, jetty, castle wall",
    "by": "river, lake, pond, sea, old well, fountain, waterfall, stream, canal, mill pond, hollow oak, stone wall, railway line",
}
_RANKED = [(preposition, spec.strip()) for preposition, specs in _WHERE.items() for spec in specs.split(",")]
# Interleave, so that the frequent places of each preposition come first.
_BY_RANK = sorted(_RANKED, key=lambda entry: [other for other in _RANKED if other[0] == entry[0]].index(entry))
PLACES = Bag((preposition, noun(spec).forms["one"]) for preposition, spec in _BY_RANK)


def draw_place(page: Page) -> Place:
    """A place that the page has not been to, with one adjective; `in` says where, the default form names it."""
    while True:
        preposition, pieces = PLACES.draw(page.chance)
        if page.claim(pieces):
            return Place(preposition, pieces, page.draw("place_look"))
