"""The dishes of the recipes: what goes into each, in which amounts, and the steps that use it up.
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
    "(Wash|Rinse|Clean/v) {veg.the@patient} and (cut|chop) {veg.them@patient} into (small|thin|thick|large) (pieces|cubes|strips)@patient .",
    "(Wash|Rinse) {veg.again@patient} , then <cut> {veg.them@patient} (finely|roughly|) .",
    "<cut> {veg.again@patient} (finely|roughly|) .",
)
SOFTEN_ONION = (
    "Heat {fat.again@patient} in a (large|deep|heavy) (pot|pan)@place , add {onion.the@patient} and cook {onion.them@patient} until/c (soft|golden) .",
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

DISHES = (
    Dish(
        "{veg.one@attribute} soup@topic",
        {
            "veg": Part("vegetable", None, 3, 9), "onion": Part("onion", None, 1, 3), "fat": Part("fat", "spoon", 1, 4),
            "liquid": Part("liquid", "cup", 3, 8), "spice": Part("spice", "pinch", 1, 3),
        },
        (
            CUT_VEGETABLES, SOFTEN_ONION,
            ("Pour in/t {liquid.again@patient} and add {veg.the@patient} .", "Add {veg.the@patient} and {liquid.again@patient} ."),
            SIMMER, SEASON,
            ("Blend the soup@patient until/c it@experiencer is (smooth|creamy) .", "Leave the soup@patient as/c it@experiencer is , or blend it@patient ."),
        ),
        15, 40, "meal",
    ),
    Dish(
        "{fruit.one@attribute} cake@topic",
        {
            "flour": Part("flour", "cup", 2, 4), "sweet": Part("sweetener", "cup", 1, 2), "fat": Part("fat", "spoon", 3, 8),
            "egg": Part("egg", None, 2, 5), "fruit": Part("fruit_large", None, 2, 6), "spice": Part("spice_sweet", "teaspoon", 1, 3),
        },
        (
            ("Heat the oven@patient and grease a (round|square|large) tin@patient .", "Grease a (deep|round|long) tin@patient and dust it@patient with flour@instrument ."),
            DRY_INTO_BOWL,
            ("Add {fat.the@patient} , {egg.again@patient} and {spice@patient} , and <mix> everything@patient (well/r|until/c the batter@experiencer is smooth) .",
             "Beat {egg.again@patient} with {fat.the@instrument} and {spice@instrument} , and stir them@patient into the bowl@place ."),
            ("Wash {fruit.the@patient} , (chop|slice|dice) {fruit.them@patient} and fold {fruit.them@patient} into the batter@place .",
             "Slice {fruit.again@patient} and lay {fruit.them@patient} (on top@place|over the batter@place) ."),
            BAKE, COOL,
        ),
        25, 60, "sweet",
    ),
    Dish(
        "{leaf.one@attribute} salad@topic with {nut.many@topic}",
        {
            "leaf": Part("leaf", "handful", 2, 6), "nut": Part("nut", None, 6, 20), "veg": Part("vegetable_raw", None, 1, 4),
            "cheese": Part("cheese", "spoonful", 2, 6), "fat": Part("olive oil", "spoon", 2, 4), "lemon": Part("lemon", None, 1, 2),
        },
        (
            ("Wash {leaf.again@patient} in cold/a water@instrument and (shake|dry/v) {leaf.them@patient} well/r .", "Rinse {leaf.the@patient} and tear {leaf.them@patient} into (small|large) pieces@patient ."),
            CUT_VEGETABLES,
            ("Toast {nut.again@patient} in a dry/a pan@place .", "Chop {nut.the@patient} (roughly|finely) ."),
            ("Squeeze {lemon.the@patient} and <mix> the juice@patient with {fat.again@instrument} .",),
            ("(Mix|Toss) everything@patient in a (large|wide|glass@attribute) bowl@place and (crumble|scatter) {cheese.again@patient} over it@place .",
             "Put it@patient all/o@patient on a (large|wide|flat) plate@place and sprinkle {cheese.again@patient} on top@place ."),
            ("Let the salad@agent rest for {time} .", "Chill it@patient for {time} ."),
        ),
        5, 15, "meal",
    ),
    Dish(
        "{berry.one@attribute} pancakes@topic",
        {
            "flour": Part("flour", "cup", 2, 4), "sweet": Part("sweetener", "spoon", 1, 4), "milk": Part("milk", "cup", 1, 3),
            "egg": Part("egg", None, 2, 4), "berry": Part("berry", None, 10, 40), "fat": Part("butter", "spoon", 1, 3),
        },
        (
            DRY_INTO_BOWL,
            ("Whisk {egg.again@patient} into {milk.the@place} and stir this/o@patient into the flour@place .", "Add {milk.again@patient} and {egg.the@patient} , and <mix> the batter@patient until/c it@experiencer is smooth ."),
            ("Leave the batter@patient alone for {rest} .", "Let the batter@agent rest for {rest} ."),
            ("Melt {fat.the@patient} in a (flat|wide|heavy) pan@place and pour in/t a little batter@patient .", "Heat a pan@patient with some of {fat.the@instrument} , and pour in/t a ladle@quantity of batter@patient ."),
            ("Drop {some} of {berry.the@patient} on each/d pancake@place , and turn it@patient (over/t|) when the edges@experiencer are (brown/a|dry/a|crisp/a) .",
             "Scatter {berry.the@patient} over the pancakes@place , and flip them@patient when they@agent bubble ."),
            ("Fry all/d the pancakes@patient like/p this/o@manner , for about/r {time} .", "Go on/t for {time} , until/c the batter@experiencer is (gone/a|used/a up/t) ."),
        ),
        12, 30, "sweet",
    ),
    Dish(
        "{pulse.one@attribute} stew@topic",
        {
            "pulse": Part("pulse", "cup", 2, 4), "veg": Part("vegetable", None, 2, 6), "onion": Part("onion", None, 1, 3),
            "liquid": Part("liquid", "cup", 2, 6), "fat": Part("fat", "spoon", 1, 3), "spice": Part("spice", "teaspoon", 1, 3),
        },
        (
            ("(Rinse|Wash) {pulse.again@patient} and soak {pulse.them@patient} overnight .", "Soak {pulse.the@patient} in (cold/a|warm/a) water@place for {soak} ."),
            CUT_VEGETABLES, SOFTEN_ONION,
            ("Add {pulse.again@patient} , {veg.the@patient} and {liquid.again@patient} .", "Tip in/t {veg.the@patient} and {pulse.the@patient} , and cover them@patient with {liquid.again@instrument} ."),
            SEASON, SIMMER,
        ),
        30, 75, "meal",
    ),
    Dish(
        "{noodle.one@topic} with {cheese.one@topic} and {veg.many@topic}",
        {
            "noodle": Part("noodle", "cup", 3, 6), "veg": Part("vegetable", None, 2, 6), "cheese": Part("cheese", "spoon", 3, 8),
            "fat": Part("olive oil", "spoon", 1, 4), "garlic": Part("garlic clove", None, 1, 5), "spice": Part("spice", "pinch", 1, 3),
        },
        (
            ("Boil a (large|big) pot@patient of (salted|) water@patient .", "Bring plenty@patient of water@patient to/p the boil@topic and add salt@patient ."),
            ("Cook {noodle.again@patient} in it@place for {time} .", "Tip {noodle.the@patient} into the water@place and wait {time} ."),
            CUT_VEGETABLES,
            ("Fry {garlic.again@patient} and {veg.the@patient} in {fat.the@instrument} until/c they@experiencer are (soft|golden|tender) .", "Heat {fat.again@patient} in a pan@place , and cook {veg.the@patient} with {garlic.the@instrument} ."),
            SEASON,
            ("Drain {noodle.the@patient} , mix in/t {veg.the@patient} and cover everything@patient with {cheese.again@instrument} .", "Toss {noodle.the@patient} with {veg.the@instrument} and sprinkle {cheese.again@patient} on top@place ."),
        ),
        8, 14, "meal",
    ),
    Dish(
        "{nut.one@attribute} bread@topic",
        {
            "flour": Part("flour", "cup", 4, 7), "water": Part("water", "cup", 1, 3), "yeast": Part("yeast", "spoonful", 1, 3),
            "sweet": Part("sweetener", "spoon", 1, 2), "nut": Part("nut", None, 8, 30), "salt": Part("salt", "teaspoon", 1, 3),
        },
        (
            ("Warm/v {water.again@patient} and stir in/t {yeast.the@patient} and {sweet.the@patient} .", "Mix {yeast.again@patient} with {sweet.the@patient} and {water.the@patient} ."),
            ("Put {flour.again@patient} and {salt.the@patient} into a bowl@place and pour in/t the yeast@patient .", "Add {flour.again@patient} and {salt.again@patient} ."),
            ("Knead the dough@patient for {rest} (on a (floured/a|clean/a) board@place|with both hands@instrument|) .", "Knead it@patient until/c the dough@experiencer is smooth , for about/r {rest} ."),
            ("Cover it@patient with a cloth@instrument and let it@agent rise in a warm/a place@place for {soak} .", "Leave the dough@patient in a warm/a (corner|kitchen)@place for {soak} , until/c it@agent has/x doubled ."),
            ("Chop {nut.again@patient} , press {nut.them@patient} into the dough@place and shape a (round|long) loaf@patient .", "Work {nut.the@patient} into the dough@place and place/v it@patient in a tin@place ."),
            BAKE, COOL,
        ),
        30, 55, "sweet",
    ),
    Dish(
        "{fruit.one@attribute} and {berry.one@attribute} smoothie@topic",
        {
            "fruit": Part("fruit_large", None, 2, 4), "berry": Part("berry", None, 8, 30), "dip": Part("yoghurt", "cup", 1, 3),
            "milk": Part("milk_like", "cup", 1, 3), "sweet": Part("sweetener", "spoon", 1, 3), "oats": Part("oatmeal", "spoon", 1, 4),
        },
        (
            ("(Wash|Rinse) {berry.again@patient} and take off/t the stems@patient .", "Pick over/t {berry.the@patient} and wash {berry.them@patient} (gently|carefully|) ."),
            ("Wash {fruit.the@patient} and chop {fruit.them@patient} (roughly|into chunks@patient) .", "Cut {fruit.again@patient} into (small|large) chunks@patient ."),
            ("Put the fruit@patient into the blender@place with {dip.again@companion} and {milk.the@companion} .", "Pour {milk.again@patient} and {dip.the@patient} into a blender@place , and add the fruit@patient ."),
            ("Add {oats.the@patient} and {sweet.again@patient} .", "Stir in/t {oats.again@patient} , and sweeten it@patient with {sweet.the@instrument} ."),
            ("Blend everything@patient for a minute@time , until/c it@experiencer is (smooth|creamy|thick) .",),
            ("Chill the smoothie@patient for {time} .", "Put it@patient into the fridge@place for {time} ."),
        ),
        5, 25, "drink",
    ),
    Dish(
        "{meat.one@attribute} pie@topic with {veg.many@topic}",
        {
            "meat": Part("meat", "cup", 2, 4), "veg": Part("vegetable", None, 2, 6), "onion": Part("onion", None, 1, 3), "fat": Part("fat", "spoon", 1, 4),
            "pastry": Part("pastry", "sheet", 1, 2), "egg": Part("egg", None, 1, 2), "spice": Part("spice", "pinch", 1, 3),
        },
        (
            CUT_VEGETABLES, SOFTEN_ONION,
            ("Add {meat.again@patient} and brown/v it@patient on all sides@place .", "Cut {meat.the@patient} into cubes@patient , and fry it@patient with the rest@companion ."),
            SEASON,
            ("(Fill|Line) a dish@patient with the meat@instrument and {veg.the@instrument} , and cover it@patient with {pastry.again@instrument} .",
             "Spoon the filling@patient into a pie dish@place and lay {pastry.the@patient} over it@place ."),
            ("Beat {egg.the@patient} and brush {egg.them@patient} over the pastry@place .", "Brush the pastry@patient with {egg.again@instrument} , well/r beaten/a ."),
            BAKE,
        ),
        25, 50, "meal",
    ),
    Dish(
        "{spice.one@attribute} biscuits@topic",
        {
            "flour": Part("flour", "cup", 2, 5), "sweet": Part("sweetener", "cup", 1, 2), "fat": Part("butter", "spoon", 4, 12),
            "egg": Part("egg", None, 1, 3), "spice": Part("spice_sweet", "teaspoon", 1, 4), "nut": Part("nut", None, 10, 30),
        },
        (
            ("Beat {fat.again@patient} until/c it@experiencer is (soft|light/a) .", "Take {fat.the@patient} out/t of the fridge@place early/r , so/c that/c it@experiencer is soft ."),
            DRY_INTO_BOWL,
            ("Work in/t {fat.the@patient} , {egg.again@patient} and {spice.again@patient} .", "Add {egg.the@patient} , {fat.the@patient} and {spice.again@patient} , and make a (firm|soft) dough@patient ."),
            ("Roll out/t the dough@patient and cut (circles|stars|hearts|squares|half/a moons)@patient .", "Form small balls@patient and press them@patient flat/a ."),
            ("Press one/o@patient of {nut.the@patient} into each/d biscuit@place .", "Decorate each/d biscuit@patient with a {nut.one@instrument} ; that/o@topic is what/d {nut.again@topic} are for/p ."),
            BAKE, COOL,
        ),
        9, 20, "sweet",
    ),
    Dish(
        "{veg.one@attribute} omelette@topic",
        {
            "egg": Part("egg", None, 3, 8), "veg": Part("vegetable", None, 1, 4), "cheese": Part("cheese", "spoonful", 1, 5),
            "milk": Part("milk", "spoon", 1, 4), "fat": Part("fat", "spoon", 1, 2), "spice": Part("spice", "pinch", 1, 3),
        },
        (
            ("(Break|Crack) {egg.again@patient} into a bowl@place and beat them@patient with {milk.the@instrument} .", "Whisk {egg.the@patient} and {milk.again@patient} ."),
            CUT_VEGETABLES,
            ("Heat {fat.the@patient} in a pan@place and fry {veg.the@patient} for {rest} .", "Cook {veg.the@patient} in {fat.again@instrument} for {rest} ."),
            ("Pour in/t the eggs@patient and sprinkle {cheese.again@patient} over them@place .", "Pour the eggs@patient over {veg.the@place} , and add {cheese.the@patient} ."),
            SEASON,
            ("Put on/t a lid@patient and cook it@patient for {time} .", "Cook it@patient for {time} and fold it@patient in half/n@manner ."),
        ),
        4, 10, "meal",
    ),
    Dish(
        "{grain.one@topic} with {veg.many@topic} and {dip.one@topic}",
        {
            "grain": Part("grain", "cup", 1, 4), "liquid": Part("liquid", "cup", 2, 8), "veg": Part("vegetable", None, 2, 7), "fat": Part("fat", "spoon", 1, 4),
            "dip": Part("dip_savoury", "spoon", 2, 6), "spice": Part("spice", "teaspoon", 1, 3),
        },
        (
            ("Rinse {grain.again@patient} and let it@agent drain .", "Wash {grain.the@patient} under/p cold/a water@place ."),
            ("Bring {liquid.again@patient} to/p the boil@topic and stir in/t {grain.the@patient} .", "Put {grain.the@patient} and {liquid.again@patient} into a pot@place ."),
            SIMMER[:2], CUT_VEGETABLES,
            ("Roast {veg.the@patient} in {fat.the@instrument} (until/c (brown/a|soft|tender)|) .", "Fry {veg.again@patient} in {fat.again@instrument} ."),
            SEASON,
            ("Serve {grain.the@patient} with {veg.the@companion} and {dip.again@companion} .", "Top/v {grain.the@patient} with {veg.the@instrument} , and finish with {dip.again@instrument} ."),
        ),
        10, 25, "meal",
    ),
)  # fmt: skip
