"""Places with the preposition that English wants: in the garden, at the station, on the hill."""

from __future__ import annotations

from somelab.data.corpus.chance import Bag
from somelab.data.corpus.lexicon import noun
from somelab.data.corpus.page import Page
from somelab.data.corpus.phrase import Piece
from somelab.data.corpus.referents import Place

_WHERE = {
    "in": """garden, forest, park, meadow, village square, orchard, library, wood, barn, field, courtyard, valley, churchyard, vineyard, castle, cave,
        greenhouse, quarry, marsh, museum, town hall, school yard, clearing, ruined tower, boathouse, stable, theatre, cellar of the inn""",
    "at": "market, station, harbour, farm, bus stop, windmill, lighthouse, crossroads, playground, zoo, bakery, post office, mill, ferry, circus, town gate",
    "on": "hill, beach, bridge, river bank, island, cliff, pier, mountain path, village green, country road, jetty, castle wall",
    "by": "river, lake, pond, sea, well, fountain, waterfall, stream, canal, mill pond, hollow oak, stone wall, railway line",
}
_RANKED = [(preposition, spec.strip()) for preposition, specs in _WHERE.items() for spec in specs.split(",")]
# Interleave, so that the frequent places of each preposition come first.
_BY_RANK = sorted(_RANKED, key=lambda entry: [other for other in _RANKED if other[0] == entry[0]].index(entry))
# Worth a long walk.
_WILD = frozenset("forest island cliff mountain-path river lake sea waterfall cave valley castle lighthouse windmill beach marsh quarry ruined-tower hill".split())
PLACES = Bag((preposition, noun(spec).forms["one"]) for preposition, spec in _BY_RANK)


WILD_PLACES = Bag(item for item in PLACES if "-".join(piece.text for piece in item[1]) in _WILD)


def draw_place(page: Page, places: Bag[tuple[str, tuple[Piece, ...]]] = PLACES) -> Place:
    """A place that the page has not been to, with one adjective; `in` says where, the default form names it."""
    while True:
        preposition, pieces = places.draw(page.chance)
        if page.claim(" ".join(piece.text for piece in pieces)):
            return Place(preposition, pieces, page.draw("place_look"))
