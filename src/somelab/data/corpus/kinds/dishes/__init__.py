"""The dishes of the recipes: what goes into each, in which amounts, and the steps that use it up."""

from somelab.data.corpus.kinds.dishes.dish import Dish, Part
from somelab.data.corpus.kinds.dishes.meals import MEALS
from somelab.data.corpus.kinds.dishes.sweets import SWEETS

DISHES = (*MEALS, *SWEETS)

__all__ = ["DISHES", "Dish", "Part"]
