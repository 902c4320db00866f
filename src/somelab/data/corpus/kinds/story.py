"""Stories: one of several arcs, with people, animals and things that keep their names, colours and places to the end."""

from __future__ import annotations

from somelab.data.corpus.kinds.arcs import ARCS
from somelab.data.corpus.kinds.arcs.stage import AROUND, EVENING, HABITS, OPENINGS, ROAD, set_stage
from somelab.data.corpus.page import Kind, Page

# What a brisk telling leaves out.
_ORNAMENT = (HABITS, AROUND, ROAD, EVENING)


def write(page: Page) -> None:
    set_stage(page)
    arc = page.chance.pick(ARCS)
    page.facts["arc"] = arc.name
    arc.setup(page)
    brisk = page.chance.happens(30)
    for beat in (OPENINGS, HABITS, *arc.beats, EVENING):
        if not (brisk and beat in _ORNAMENT):
            page.say(*beat)


KIND = Kind("story", write, 120, 280)
