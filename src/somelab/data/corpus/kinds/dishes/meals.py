"""Soups, salads, stews and other dishes that are a meal."""

from __future__ import annotations

from somelab.data.corpus.kinds.dishes.dish import BAKE, CUT_VEGETABLES, SEASON, SIMMER, SOFTEN_ONION, Dish, Part

MEALS = (
    Dish(
        "{veg.one@attribute} soup@topic",
        {
            "veg": Part("vegetable", None, 3, 9),
            "onion": Part("onion", None, 1, 3),
            "fat": Part("fat", "spoon", 1, 4),
            "liquid": Part("liquid", "cup", 3, 8),
            "spice": Part("spice", "pinch", 1, 3),
        },
        (
            CUT_VEGETABLES,
            SOFTEN_ONION,
            ("Pour in/t {liquid.again@patient} and add {veg.the@patient} .", "Add {veg.the@patient} and {liquid.again@patient} ."),
            SIMMER,
            SEASON,
            (
                "Blend the soup@patient until/c it@experiencer is (smooth|creamy) .",
                "Leave the soup@patient as/c it@experiencer is , or blend it@patient .",
            ),
        ),
        15,
        40,
        "meal",
    ),
    Dish(
        "{leaf.one@attribute} salad@topic with {nut.many@topic}",
        {
            "leaf": Part("leaf", "handful", 2, 6),
            "nut": Part("nut", None, 6, 20),
            "veg": Part("vegetable_raw", None, 1, 4),
            "cheese": Part("cheese", "spoonful", 2, 6),
            "fat": Part("olive oil", "spoon", 2, 4),
            "lemon": Part("lemon", None, 1, 2),
        },
        (
            (
                "Wash {leaf.again@patient} in cold/a water@instrument and (shake|dry/v) {leaf.them@patient} well/r .",
                "Rinse {leaf.the@patient} and tear {leaf.them@patient} into (small|large) pieces@patient .",
            ),
            CUT_VEGETABLES,
            ("Toast {nut.again@patient} in a dry/a pan@place .", "Chop {nut.the@patient} (roughly|finely) ."),
            ("Squeeze {lemon.the@patient} and <mix> the juice@patient with {fat.again@instrument} .",),
            (
                "(Mix|Toss) everything@patient in a (large|wide|glass@attribute) bowl@place and (crumble|scatter) "
                "{cheese.again@patient} over it@place .",
                "Put it@patient all/o@patient on a (large|wide|flat) plate@place and sprinkle {cheese.again@patient} on "
                "top@place .",
            ),
            ("Let the salad@agent rest for {time} .", "Chill it@patient for {time} ."),
        ),
        5,
        15,
        "meal",
    ),
    Dish(
        "{pulse.one@attribute} stew@topic",
        {
            "pulse": Part("pulse", "cup", 2, 4),
            "veg": Part("vegetable", None, 2, 6),
            "onion": Part("onion", None, 1, 3),
            "liquid": Part("liquid", "cup", 2, 6),
            "fat": Part("fat", "spoon", 1, 3),
            "spice": Part("spice", "teaspoon", 1, 3),
        },
        (
            (
                "(Rinse|Wash) {pulse.again@patient} and soak {pulse.them@patient} overnight .",
                "Soak {pulse.the@patient} in (cold/a|warm/a) water@place for {soak} .",
            ),
            CUT_VEGETABLES,
            SOFTEN_ONION,
            (
                "Add {pulse.again@patient} , {veg.the@patient} and {liquid.again@patient} .",
                "Tip in/t {veg.the@patient} and {pulse.the@patient} , and cover them@patient with {liquid.again@instrument} .",
            ),
            SEASON,
            SIMMER,
        ),
        30,
        75,
        "meal",
    ),
    Dish(
        "{noodle.one@topic} with {cheese.one@topic} and {veg.many@topic}",
        {
            "noodle": Part("noodle", "cup", 3, 6),
            "veg": Part("vegetable", None, 2, 6),
            "cheese": Part("cheese", "spoon", 3, 8),
            "fat": Part("olive oil", "spoon", 1, 4),
            "garlic": Part("garlic clove", None, 1, 5),
            "spice": Part("spice", "pinch", 1, 3),
        },
        (
            (
                "Boil a (large|big) pot@patient of (salted|) water@patient .",
                "Bring plenty@patient of water@patient to/p the boil@topic and add salt@patient .",
            ),
            (
                "Cook {noodle.again@patient} in it@place for {time} .",
                "Tip {noodle.the@patient} into the water@place and wait {time} .",
            ),
            CUT_VEGETABLES,
            (
                "Fry {garlic.again@patient} and {veg.the@patient} in {fat.the@instrument} until/c they@experiencer are "
                "(soft|golden|tender) .",
                "Heat {fat.again@patient} in a pan@place , and cook {veg.the@patient} with {garlic.the@instrument} .",
            ),
            SEASON,
            (
                "Drain {noodle.the@patient} , mix in/t {veg.the@patient} and cover everything@patient with "
                "{cheese.again@instrument} .",
                "Toss {noodle.the@patient} with {veg.the@instrument} and sprinkle {cheese.again@patient} on top@place .",
            ),
        ),
        8,
        14,
        "meal",
    ),
    Dish(
        "{meat.one@attribute} pie@topic with {veg.many@topic}",
        {
            "meat": Part("meat", "cup", 2, 4),
            "veg": Part("vegetable", None, 2, 6),
            "onion": Part("onion", None, 1, 3),
            "fat": Part("fat", "spoon", 1, 4),
            "pastry": Part("pastry", "sheet", 1, 2),
            "egg": Part("egg", None, 1, 2),
            "spice": Part("spice", "pinch", 1, 3),
        },
        (
            CUT_VEGETABLES,
            SOFTEN_ONION,
            (
                "Add {meat.again@patient} and brown/v it@patient on all sides@place .",
                "Cut {meat.the@patient} into cubes@patient , and fry it@patient with the rest@companion .",
            ),
            SEASON,
            (
                "(Fill|Line) a dish@patient with the meat@instrument and {veg.the@instrument} , and cover it@patient with "
                "{pastry.again@instrument} .",
                "Spoon the filling@patient into a pie dish@place and lay {pastry.the@patient} over it@place .",
            ),
            (
                "Beat {egg.the@patient} and brush {egg.them@patient} over the pastry@place .",
                "Brush the pastry@patient with {egg.again@instrument} , well/r beaten/a .",
            ),
            BAKE,
        ),
        25,
        50,
        "meal",
    ),
    Dish(
        "{veg.one@attribute} omelette@topic",
        {
            "egg": Part("egg", None, 3, 8),
            "veg": Part("vegetable", None, 1, 4),
            "cheese": Part("cheese", "spoonful", 1, 5),
            "milk": Part("milk", "spoon", 1, 4),
            "fat": Part("fat", "spoon", 1, 2),
            "spice": Part("spice", "pinch", 1, 3),
        },
        (
            (
                "(Break|Crack) {egg.again@patient} into a bowl@place and beat them@patient with {milk.the@instrument} .",
                "Whisk {egg.the@patient} and {milk.again@patient} .",
            ),
            CUT_VEGETABLES,
            (
                "Heat {fat.the@patient} in a pan@place and fry {veg.the@patient} for {rest} .",
                "Cook {veg.the@patient} in {fat.again@instrument} for {rest} .",
            ),
            (
                "Pour in/t the eggs@patient and sprinkle {cheese.again@patient} over them@place .",
                "Pour the eggs@patient over {veg.the@place} , and add {cheese.the@patient} .",
            ),
            SEASON,
            (
                "Put on/t a lid@patient and cook it@patient for {time} .",
                "Cook it@patient for {time} and fold it@patient in half/n@manner .",
            ),
        ),
        4,
        10,
        "meal",
    ),
    Dish(
        "{grain.one@topic} with {veg.many@topic} and {dip.one@topic}",
        {
            "grain": Part("grain", "cup", 1, 4),
            "liquid": Part("liquid", "cup", 2, 8),
            "veg": Part("vegetable", None, 2, 7),
            "fat": Part("fat", "spoon", 1, 4),
            "dip": Part("dip_savoury", "spoon", 2, 6),
            "spice": Part("spice", "teaspoon", 1, 3),
        },
        (
            ("Rinse {grain.again@patient} and let it@agent drain .", "Wash {grain.the@patient} under/p cold/a water@place ."),
            (
                "Bring {liquid.again@patient} to/p the boil@topic and stir in/t {grain.the@patient} .",
                "Put {grain.the@patient} and {liquid.again@patient} into a pot@place .",
            ),
            SIMMER[:2],
            CUT_VEGETABLES,
            (
                "Roast {veg.the@patient} in {fat.the@instrument} (until/c (brown/a|soft|tender)|) .",
                "Fry {veg.again@patient} in {fat.again@instrument} .",
            ),
            SEASON,
            (
                "Serve {grain.the@patient} with {veg.the@companion} and {dip.again@companion} .",
                "Top/v {grain.the@patient} with {veg.the@instrument} , and finish with {dip.again@instrument} .",
            ),
        ),
        10,
        25,
        "meal",
    ),
)
