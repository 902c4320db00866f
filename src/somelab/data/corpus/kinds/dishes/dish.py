"""What a dish of the recipes is, and the steps that several dishes share.
A step is a tuple of patterns of which one is written; `{time}` is the cooking time that the recipe states again at its end."""

from __future__ import annotations

from typing import NamedTuple


class Part(NamedTuple):
    """An ingredient: a bag or a literal noun, the unit it is measured in (none: it is counted), and the range of its amount."""

    source: str
    unit: str | None
    least: int
    most: int


class Dish(NamedTuple):
    title: str
    parts: dict[str, Part]
    steps: tuple[tuple[str, ...], ...]
    least_minutes: int
    most_minutes: int
    served: str
    """`meal`, `sweet` or `drink`: what goes with it."""


CUT_VEGETABLES = (
    "(Wash|Rinse|Clean/v) {veg.the@patient} and (cut|chop) {veg.them@patient} into (small|thin|thick|large) "
    "(pieces|cubes|strips)@patient .",
    "(Wash|Rinse) {veg.again@patient} , then <cut> {veg.them@patient} (finely|roughly|) .",
    "<cut> {veg.again@patient} (finely|roughly|) .",
)
SOFTEN_ONION = (
    "Heat {fat.again@patient} in a (large|deep|heavy) (pot|pan)@place , add {onion.the@patient} and cook "
    "{onion.them@patient} until/c (soft|golden) .",
    "(Chop|Slice|Dice) {onion.the@patient} and fry {onion.them@patient} (gently|slowly) in {fat.again@instrument} .",
)
SEASON = (
    "Season with {spice@instrument} (, and taste|) .",
    "Stir in/t {spice@patient} .",
    "Add {spice@patient} and a little pepper@patient .",
    "Taste it@patient , and add {spice@patient} .",
)
SIMMER = (
    "Let it@agent simmer for {time} (over/p a low heat@place|with the lid@instrument on/r|) .",
    "(Cover the pot@patient and cook|Cook) everything@patient (slowly|gently|) for {time} .",
    "Bring it@patient to/p the boil@topic , then turn down/t the heat@patient and wait {time} .",
)
BAKE = (
    "Bake {it.him@patient} for {time} (, until/c golden|, until/c the kitchen@experiencer smells (good|wonderful|sweet)|) .",
    "(Slide|Put|Place/v) {it.him@patient} into the (hot|preheated/a) oven@place for {time} .",
    "Bake for {time} in a hot oven@place .",
)
DRY_INTO_BOWL = (
    "(Mix|Combine|Stir together/r) {flour.again@patient} and {sweet.the@patient} in a (large|deep|wide) bowl@place .",
    "(Sift|Put|Tip) {flour.again@patient} into a (large|clean/a|big) bowl@place and add {sweet.the@patient} .",
)
COOL = (
    "Let {it.him@agent} cool/v (on a rack@place|for {rest}|for {rest} by/p the window@place) .",
    "Wait {rest} before/c you@agent (serve|try) {it.him@patient} .",
)
