"""Places with the preposition that English wants: in the garden, at the station, on the hill."""

from __future__ import annotations

from somelab.data.corpus.chance import Bag
from somelab.data.corpus.lexicon import entries, noun
from somelab.data.corpus.page import Page
from somelab.data.corpus.phrase import Piece
from somelab.data.corpus.referents import Place

_WHERE = {
    "in": """
        garden, forest, park, meadow, village square, orchard, library, wood, barn, field, courtyard, valley, churchyard, vineyard,
        castle, cave, greenhouse, quarry, marsh, museum, town hall, school yard, clearing, ruined tower, boathouse, stable, theatre
    """,
    "at": """
        market, station, harbour, farm, bus stop, windmill, lighthouse, crossroads/crossroads, playground, zoo, bakery, post office,
        mill, circus, town gate
    """,
    "on": "hill, beach, bridge, river bank, island, cliff, pier, mountain path, village green, country road, jetty, castle wall",
    "by": "river, lake, pond, sea, well, fountain, waterfall, stream, canal, mill pond, hollow oak, stone wall, railway line",
}
# Worth a long walk.
_WILD = """
    forest, island, cliff, mountain path, river, lake, sea, waterfall, cave, valley, castle, lighthouse, windmill, beach, marsh, quarry,
    ruined tower, hill
"""


def _ranked() -> list[tuple[str, str]]:
    """Preposition and noun, interleaved, so that the frequent places of each preposition come first."""
    ranked = [(rank, preposition, spec) for preposition, table in _WHERE.items() for rank, spec in enumerate(entries(table))]
    return [(preposition, spec) for _, preposition, spec in sorted(ranked)]


def _bag(places: list[tuple[str, str]]) -> Bag[tuple[str, tuple[Piece, ...]]]:
    return Bag((preposition, noun(spec).forms["one"]) for preposition, spec in places)


PLACES = _bag(_ranked())
WILD_PLACES = _bag([place for place in _ranked() if place[1] in entries(_WILD)])


def draw_place(page: Page, places: Bag[tuple[str, tuple[Piece, ...]]] = PLACES) -> Place:
    """A place that the page has not been to, with one adjective; `in` says where, the default form names it."""
    while True:
        preposition, pieces = places.draw(page.chance)
        if page.claim(" ".join(piece.text for piece in pieces)):
            return Place(preposition, pieces, page.draw("place_look"))
