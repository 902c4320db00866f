"""Pools that grow: parts added to a frozen model, trained once and frozen for good, selected by keys that are
set without gradients."""

from somelab.model.growth.keys import ContextKeys
from somelab.model.growth.novelty import Novelty
from somelab.model.growth.places import Place, places_of
from somelab.model.growth.pool import GrownPool
from somelab.model.growth.settings import GrowthSettings

__all__ = ["ContextKeys", "GrownPool", "GrowthSettings", "Novelty", "Place", "places_of"]
