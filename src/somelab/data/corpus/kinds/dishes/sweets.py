"""Cakes, breads, pancakes and drinks."""

from __future__ import annotations

from somelab.data.corpus.kinds.dishes.dish import BAKE, COOL, DRY_INTO_BOWL, Dish, Part

SWEETS = (
    Dish(
        "{fruit.one@attribute} cake@topic",
        {
            "flour": Part("flour", "cup", 2, 4),
            "sweet": Part("sweetener", "cup", 1, 2),
            "fat": Part("fat", "spoon", 3, 8),
            "egg": Part("egg", None, 2, 5),
            "fruit": Part("fruit_large", None, 2, 6),
            "spice": Part("spice_sweet", "teaspoon", 1, 3),
        },
        (
            (
                "Heat the oven@patient and grease a (round|square|large) tin@patient .",
                "Grease a (deep|round|long) tin@patient and dust it@patient with flour@instrument .",
            ),
            DRY_INTO_BOWL,
            (
                "Add {fat.the@patient} , {egg.again@patient} and {spice@patient} , and <mix> everything@patient (well/r|until/c "
                "the batter@experiencer is smooth) .",
                "Beat {egg.again@patient} with {fat.the@instrument} and {spice@instrument} , and stir them@patient into the "
                "bowl@place .",
            ),
            (
                "Wash {fruit.the@patient} , (chop|slice|dice) {fruit.them@patient} and fold {fruit.them@patient} into the "
                "batter@place .",
                "Slice {fruit.again@patient} and lay {fruit.them@patient} (on top@place|over the batter@place) .",
            ),
            BAKE,
            COOL,
        ),
        25,
        60,
        "sweet",
    ),
    Dish(
        "{berry.one@attribute} pancakes@topic",
        {
            "flour": Part("flour", "cup", 2, 4),
            "sweet": Part("sweetener", "spoon", 1, 4),
            "milk": Part("milk", "cup", 1, 3),
            "egg": Part("egg", None, 2, 4),
            "berry": Part("berry", None, 10, 40),
            "fat": Part("butter", "spoon", 1, 3),
        },
        (
            DRY_INTO_BOWL,
            (
                "Whisk {egg.again@patient} into {milk.the@place} and stir this/o@patient into the flour@place .",
                "Add {milk.again@patient} and {egg.the@patient} , and <mix> the batter@patient until/c it@experiencer is smooth .",
            ),
            ("Leave the batter@patient alone for {rest} .", "Let the batter@agent rest for {rest} ."),
            (
                "Melt {fat.the@patient} in a (flat|wide|heavy) pan@place and pour in/t a little batter@patient .",
                "Heat a pan@patient with some/o@patient of {fat.the@instrument} , and pour in/t a ladle@quantity of batter@patient .",
            ),
            (
                "Drop {some} of {berry.the@patient} on each/d pancake@place , and turn it@patient (over/t|) when the "
                "edges@experiencer are (brown/a|dry/a|crisp/a) .",
                "Scatter {berry.the@patient} over the pancakes@place , and flip them@patient when they@agent bubble .",
            ),
            (
                "Fry all/d the pancakes@patient like/p this/o@manner , for about/r {time} .",
                "Go on/t for {time} , until/c the batter@experiencer is (gone/a|used/a up/t) .",
            ),
        ),
        12,
        30,
        "sweet",
    ),
    Dish(
        "{nut.one@attribute} bread@topic",
        {
            "flour": Part("flour", "cup", 4, 7),
            "water": Part("water", "cup", 1, 3),
            "yeast": Part("yeast", "spoonful", 1, 3),
            "sweet": Part("sweetener", "spoon", 1, 2),
            "nut": Part("nut", None, 8, 30),
            "salt": Part("salt", "teaspoon", 1, 3),
        },
        (
            (
                "Warm/v {water.again@patient} and stir in/t {yeast.the@patient} and {sweet.the@patient} .",
                "Mix {yeast.again@patient} with {sweet.the@patient} and {water.the@patient} .",
            ),
            (
                "Put {flour.again@patient} and {salt.the@patient} into a bowl@place and pour in/t the yeast@patient .",
                "Add {flour.again@patient} and {salt.again@patient} .",
            ),
            (
                "Knead the dough@patient for {rest} (on a (floured/a|clean/a) board@place|with both hands@instrument|) .",
                "Knead it@patient until/c the dough@experiencer is smooth , for about/r {rest} .",
            ),
            (
                "Cover it@patient with a cloth@instrument and let it@agent rise in a warm/a place@place for {soak} .",
                "Leave the dough@patient in a warm/a (corner|kitchen)@place for {soak} , until/c it@agent has/x doubled .",
            ),
            (
                "Chop {nut.again@patient} , press {nut.them@patient} into the dough@place and shape a (round|long) loaf@patient .",
                "Work {nut.the@patient} into the dough@place and place/v it@patient in a tin@place .",
            ),
            BAKE,
            COOL,
        ),
        30,
        55,
        "sweet",
    ),
    Dish(
        "{fruit.one@attribute} and {berry.one@attribute} smoothie@topic",
        {
            "fruit": Part("fruit_large", None, 2, 4),
            "berry": Part("berry", None, 8, 30),
            "dip": Part("yoghurt", "cup", 1, 3),
            "milk": Part("milk_like", "cup", 1, 3),
            "sweet": Part("sweetener", "spoon", 1, 3),
            "oats": Part("oatmeal", "spoon", 1, 4),
        },
        (
            (
                "(Wash|Rinse) {berry.again@patient} and take off/t the stems@patient .",
                "Pick over/t {berry.the@patient} and wash {berry.them@patient} (gently|carefully|) .",
            ),
            (
                "Wash {fruit.the@patient} and chop {fruit.them@patient} (roughly|into chunks@patient) .",
                "Cut {fruit.again@patient} into (small|large) chunks@patient .",
            ),
            (
                "Put the fruit@patient into the blender@place with {dip.again@companion} and {milk.the@companion} .",
                "Pour {milk.again@patient} and {dip.the@patient} into a blender@place , and add the fruit@patient .",
            ),
            (
                "Add {oats.the@patient} and {sweet.again@patient} .",
                "Stir in/t {oats.again@patient} , and sweeten it@patient with {sweet.the@instrument} .",
            ),
            ("Blend everything@patient for a minute@time , until/c it@experiencer is (smooth|creamy|thick) .",),
            ("Chill the smoothie@patient for {time} .", "Put it@patient into the fridge@place for {time} ."),
        ),
        5,
        25,
        "drink",
    ),
    Dish(
        "{spice.one@attribute} biscuits@topic",
        {
            "flour": Part("flour", "cup", 2, 5),
            "sweet": Part("sweetener", "cup", 1, 2),
            "fat": Part("butter", "spoon", 4, 12),
            "egg": Part("egg", None, 1, 3),
            "spice": Part("spice_sweet", "teaspoon", 1, 4),
            "nut": Part("nut", None, 10, 30),
        },
        (
            (
                "Beat {fat.again@patient} until/c it@experiencer is (soft|light/a) .",
                "Take {fat.the@patient} out/t of the fridge@place early/r , so/c that/c it@experiencer is soft .",
            ),
            DRY_INTO_BOWL,
            (
                "Work in/t {fat.the@patient} , {egg.again@patient} and {spice.again@patient} .",
                "Add {egg.the@patient} , {fat.the@patient} and {spice.again@patient} , and make a (firm|soft) dough@patient .",
            ),
            (
                "Roll out/t the dough@patient and cut (circles|stars|hearts|squares|half/a moons)@patient .",
                "Form small balls@patient and press them@patient flat/a .",
            ),
            (
                "Press one/o@patient of {nut.the@patient} into each/d biscuit@place .",
                "Decorate each/d biscuit@patient with a {nut.one@instrument} ; that/o@topic is what@topic {nut.again@topic} are "
                "for/p .",
            ),
            BAKE,
            COOL,
        ),
        9,
        20,
        "sweet",
    ),
)
