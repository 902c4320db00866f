"""The arcs of the stories, by theme; `story.py` picks one and sets its stage."""

from somelab.data.corpus.kinds.arcs import deeds, friends, journeys, possessions

ARCS = (*possessions.ARCS, *friends.ARCS, *deeds.ARCS, *journeys.ARCS)
