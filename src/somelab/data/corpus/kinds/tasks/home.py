"""Tasks about the house: cleaning, painting, mending, wrapping, tidying, setting a table."""

from __future__ import annotations

from somelab.data.corpus.kinds.tasks.task import Task

HOME = (
    Task(
        "How to/t clean/v {thing.a_short@patient} .",
        {
            "thing": "thing household trinket",
            "cleaner": "bag cleaner",
            "cloth": "bag colour",
            "spoons": "measure spoon 1 6",
            "time": "measure minute 5 40",
            "times": "count 2 4",
        },
        (
            "{spoons.of} {cleaner@patient}",
            "a {cloth} cloth@patient",
            "a bowl@patient of warm/a water@patient",
            "an old toothbrush@patient",
        ),
        (
            (
                "Put {thing@patient} on (a newspaper@place|an old towel@place|the kitchen table@place) .",
                "Dust {thing@patient} with a (dry/a|soft) brush@instrument .",
            ),
            (
                "Stir {spoons.of} {cleaner@patient} into the warm/a water@place .",
                "Mix the {cleaner@patient} with the water@instrument in the bowl@place .",
            ),
            (
                "Dip the {cloth} cloth@patient into the bowl@place and rub {thing@patient} (gently|slowly|in small "
                "circles@manner) .",
                "Wet/v the {cloth} cloth@patient and wipe {thing@patient} from top@place to/p bottom@place .",
            ),
            (
                "Use the toothbrush@patient for the (corners|edges|narrow places)@topic .",
                "Scrub the dirty spots@patient with the old toothbrush@instrument .",
            ),
            ("Leave it@patient for {time} .", "Wait {time} , so/c that/c the {cleaner@agent} can do/v its work@patient ."),
            (
                "Rinse it@patient {times} times@quantity with clear/a water@instrument .",
                "Wipe off/t the {cleaner@patient} (with clear/a water@instrument|) and dry/v the {thing.one@patient} well/r .",
            ),
        ),
        (
            "Never use hot water@patient : it@experiencer is bad for {thing@topic} .",
            "If it@experiencer is still (dirty|dull|stained/a) , use the {cleaner@patient} again , and wait {time} once/r more/r .",
            "{thing@experiencer} will (shine/v|look/v) like/p new/a .",
        ),
    ),
    Task(
        "How to/t paint an old {furniture@patient} .",
        {
            "furniture": "bag paintable",
            "colour": "bag colour",
            "old": "bag colour",
            "coats": "count 2 4",
            "dry": "measure hour 2 12",
            "tins": "measure tin 1 3",
            "brush": "bag size_brush",
        },
        ("{tins.of} {colour} paint@patient", "a {brush} brush@patient", "some sandpaper@patient", "old newspapers@patient"),
        (
            (
                "Carry the {furniture@patient} (outside|into the garden@place|into the yard@place) and spread the "
                "newspapers@patient under/p it@place .",
                "Cover the floor@patient with the old newspapers@instrument and set the {furniture@patient} on them@place .",
            ),
            (
                "Rub off/t the old {old} paint@patient with the sandpaper@instrument .",
                "Sand/v the {furniture@patient} until/c the {old} paint@experiencer is gone/a .",
            ),
            (
                "Wipe away/t the dust@patient with a damp cloth@instrument .",
                "Sweep off/t the dust@patient and wash your hands@patient .",
            ),
            (
                "Dip the {brush} brush@patient into the {colour} paint@place and paint in long/a strokes@manner .",
                "Open/v the tin@patient , stir the {colour} paint@patient well/r , and begin with the (legs|edges|back/n)@topic .",
            ),
            ("Let the paint@agent dry/v for {dry} .", "Wait {dry} , until/c the first/a coat@experiencer is dry/a ."),
            (
                "Paint it@patient again , until/c it@experiencer has/v {coats} coats@patient .",
                "^ It@experiencer needs {coats} coats@patient in all/n@quantity , with {dry} after/p each/o@time .",
            ),
        ),
        (
            "Wash the {brush} brush@patient at once/n@time , or it@agent will become hard/a .",
            "Now the {furniture@experiencer} that/o@experiencer was {old} is {colour} .",
            "Do/x not sit or lean on it@place before/p the next morning@time .",
        ),
    ),
    Task(
        "How to/t mend {thing.a_short@patient} .",
        {
            "thing": "thing garment",
            "patch": "bag colour",
            "thread": "measure metre 1 3",
            "stitches": "count 8 30",
            "time": "measure minute 10 45",
        },
        (
            "a (thin|long/a|sharp) needle@patient",
            "{thread.of} thread@patient",
            "a small {patch} patch@patient",
            "a pair@patient of scissors@patient",
        ),
        (
            (
                "Turn the {thing.one@patient} inside/r out/r and lay it@patient on a table@place .",
                "Wash {thing@patient} and let it@agent dry/v .",
            ),
            (
                "Cut the {patch} patch@patient so/c that/c it@agent covers the (hole|tear)@patient .",
                "Place/v the {patch} patch@patient over the (hole|tear)@place and pin/v it@patient down/t .",
            ),
            (
                "Thread/v the needle@patient and tie a knot@patient in the end@place .",
                "Put the thread@patient through the eye@place of the needle@topic .",
            ),
            (
                "Sew (slowly|carefully) around the {patch} patch@place , with about/r {stitches} small stitches@instrument .",
                "Make {stitches} stitches@patient , close/a together/r , along/p the edge@place of the patch@topic .",
            ),
            (
                "Tie another knot@patient and cut off/t the rest@patient of the thread@topic .",
                "Finish with a (double/a|tight) knot@instrument and use the scissors@patient .",
            ),
            (
                "Iron/v the {thing.one@patient} (gently|on the wrong side@place|) .",
                "Turn the {thing.one@patient} the right/a way@manner round/r again .",
            ),
        ),
        (
            "The work@agent takes about/r {time} , if you@experiencer have/v a steady hand@patient .",
            "A {patch} patch@agent on {thing.a_short@place} (may/x look/v funny|can look/v very nice) .",
            "Keep what@patient is left/a of the {thread@patient} for the next/a hole@topic .",
        ),
    ),
    Task(
        "How to/t wrap a {gift@patient} as/p a present@attribute .",
        {
            "gift": "bag giftable",
            "paper": "bag colour",
            "ribbon": "bag colour",
            "long": "measure metre 1 3",
            "strips": "count 3 8",
            "time": "measure minute 5 15",
            "edge": "measure centimetre 3 9",
        },
        (
            "a sheet@patient of {paper} paper@patient",
            "{long.of} {ribbon} ribbon@patient",
            "some tape@patient",
            "a pair@patient of scissors@patient",
        ),
        (
            (
                "Put the {gift@patient} into a box@place , so/c that/c nobody@agent can guess what@topic it@experiencer is .",
                "Take off/t the price@patient , and put the {gift@patient} into a (small|strong|flat) box@place .",
            ),
            (
                "Lay the {paper} paper@patient on the table@place with the {paper} side@experiencer down/r .",
                "Unroll the {paper} paper@patient and place/v the box@patient in the middle@place .",
            ),
            (
                "Cut the paper@patient , leaving {edge} at each/d side@place .",
                "Cut off/t what@patient is too long/a , but leave {edge} on every side@place .",
            ),
            (
                "Fold the paper@patient over/p the box@place and fix it@patient with {strips} strips@instrument of tape@topic .",
                "Wrap the box@patient (tightly|neatly) and use {strips} strips@patient of tape@topic .",
            ),
            (
                "Tie the {ribbon} ribbon@patient around the box@place and make a (big|double/a|fine) bow@patient .",
                "Pull the {ribbon} ribbon@patient around the box@place twice , and end with a bow@instrument .",
            ),
            (
                "Write a card@patient and push it@patient under/p the {ribbon} ribbon@place .",
                "^ At last/n@time , write the name@patient on a card@place .",
            ),
        ),
        (
            "With a little practice@instrument it@none takes {time} , even for a {gift@topic} .",
            "{paper} paper@experiencer and a {ribbon} ribbon@experiencer go well/r together/r .",
            "Keep the rest@patient of the {paper} paper@topic for a smaller present@topic .",
        ),
    ),
    Task(
        "How to/t tidy/v your {room@patient} in {time} .",
        {
            "room": "bag tidy_room",
            "time": "measure minute 15 60",
            "boxes": "count 2 5",
            "box": "bag colour",
            "first": "measure minute 5 10",
            "bag": "bag colour",
        },
        ("{boxes} {box} boxes@patient", "a {bag} bag@patient for rubbish@topic", "a broom@patient", "a damp cloth@patient"),
        (
            (
                "Open/v the window@patient and put on/t some music@patient .",
                "^ Look at the clock@patient : you@experiencer have/v {time} .",
            ),
            (
                "Throw everything@patient that/o@experiencer is broken/a into the {bag} bag@place .",
                "Put old (papers|boxes|bottles)@patient into the {bag} bag@place .",
            ),
            (
                "Sort/v the rest@patient into the {boxes} {box} boxes@place : one/o@place for <toy.many@topic> , one/o@place for "
                "<garment.many@topic> , and so/r on/r .",
                "Fill the {boxes} {box} boxes@patient , each/o@patient with one/m kind@instrument of thing@topic .",
            ),
            (
                "Spend the first/a {first} on the (floor|shelves|table)@topic .",
                "^ After/p {first} the floor@experiencer should be free/a .",
            ),
            (
                "Wipe the (shelves|tables|window sill)@patient with the damp cloth@instrument .",
                "Dust the (lamp|shelf|desk)@patient with the damp cloth@instrument .",
            ),
            (
                "Sweep the floor@patient from the corners@place to/p the door@place .",
                "Use the broom@patient last/r , and begin in the corner@place .",
            ),
        ),
        (
            "If you@experiencer are not done/a after/p {time} , go on/t tomorrow .",
            "Write on each/d {box} box@place what@patient is in it@place .",
            "Take the {bag} bag@patient out/r at once/n@time , or it@agent will stay there/r for a week@time .",
        ),
    ),
    Task(
        "How to/t set a table@patient for {guests} .",
        {
            "guests": "measure diner 3 12",
            "cloth": "bag colour",
            "plate": "bag colour",
            "flower": "bag flower",
            "flowers": "count 3 9",
            "candles": "count 3 6",
            "time": "measure minute 10 30",
        },
        (
            "a {cloth} tablecloth@patient",
            "{guests.number} {plate} plates@patient",
            "{guests.number} knives@patient and forks@patient",
            "{flowers} {flower.many@patient}",
            "{candles} candles@patient",
        ),
        (
            (
                "Wash your hands@patient and spread the {cloth} tablecloth@patient .",
                "Wipe the table@patient , and lay the {cloth} tablecloth@patient over it@place .",
            ),
            (
                "Put down/t the {guests.number} {plate} plates@patient , one/o@patient before/p each/d chair@place .",
                "^ Each/d guest@recipient gets one/m of the {plate} plates@patient .",
            ),
            (
                "^ The knives@experiencer belong on the right/n@place , the forks@experiencer on the left/n@place .",
                "Lay a knife@patient on the right/n@place and a fork@patient on the left/n@place of every plate@topic .",
            ),
            (
                "Fold {guests.number} napkins@patient (into boats@patient|into fans@patient|in half/n@manner) and set "
                "one/o@patient on each/d plate@place .",
                "Place/v a glass@patient behind each/d knife@place .",
            ),
            (
                "Put the {flowers} {flower.many@patient} into a vase@place in the middle@place .",
                "Cut the stems@patient of the {flower.many@topic} and arrange all/d {flowers} in a low vase@place .",
            ),
            (
                "Light/v the {candles} candles@patient when the guests@agent (come|arrive|ring the bell@patient) .",
                "Set the {candles} candles@patient around the {flower.many@place} .",
            ),
        ),
        (
            "Count once/r more/r : {guests.number} chairs@topic for {guests} .",
            "It@none takes about/r {time} to/t make the table@patient (beautiful|ready) .",
            "Blow out/t all/d {candles} candles@patient at the end@time .",
        ),
    ),
)
