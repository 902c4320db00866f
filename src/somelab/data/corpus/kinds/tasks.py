"""The tasks of the how-to texts: what each needs and its steps, of which each is one pattern out of a tuple.

The cast of a task is drawn anew for every text: `bag colour` a word of a bag, `thing toy` a thing with looks, `measure minute 5 30` an amount,
`count 2 5` a number, `place` a place. Needs are listed first and come back in the steps."""

from __future__ import annotations

from typing import NamedTuple


class Task(NamedTuple):
    title: str
    cast: dict[str, str]
    needs: tuple[str, ...]
    steps: tuple[tuple[str, ...], ...]
    tips: tuple[str, ...]


TASKS = (
    Task(
        "How to/t clean/v {thing.a_short@patient} .",
        {"thing": "thing household trinket", "cleaner": "bag cleaner", "cloth": "bag colour", "spoons": "measure spoon 1 6", "time": "measure minute 5 40", "times": "count 2 4"},
        ("{spoons.of} {cleaner@patient}", "a {cloth} cloth@patient", "a bowl@patient of warm/a water@patient", "an old toothbrush@patient"),
        (
            ("Put {thing@patient} on (a newspaper@place|an old towel@place|the kitchen table@place) .", "Dust {thing@patient} with a (dry/a|soft) brush@instrument ."),
            ("Stir {spoons.of} {cleaner@patient} into the warm/a water@place .", "Mix the {cleaner@patient} with the water@instrument in the bowl@place ."),
            ("Dip the {cloth} cloth@patient into the bowl@place and rub {thing@patient} (gently|slowly|in small circles@manner) .", "Wet/v the {cloth} cloth@patient and wipe {thing@patient} from top@place to/p bottom@place ."),
            ("Use the toothbrush@patient for the (corners|edges|narrow places)@topic .", "Scrub the dirty spots@patient with the old toothbrush@instrument ."),
            ("Leave it@patient for {time} .", "Wait {time} , so/c that/c the {cleaner@agent} can do/v its work@patient ."),
            ("Rinse it@patient {times} times@quantity with clear/a water@instrument .", "Wipe off/t the {cleaner@patient} (with clear/a water@instrument|) and dry/v the {thing.one@patient} well/r ."),
        ),
        (
            "Never use hot water@patient : it@experiencer is bad for {thing@topic} .",
            "If it@experiencer is still (dirty|dull|stained/a) , use the {cleaner@patient} again , and wait {time} once/r more/r .",
            "{thing@experiencer} will (shine/v|look/v) like/p new/a .",
        ),
    ),
    Task(
        "How to/t grow {plant.many@patient} (in a pot@place|on a balcony@place|at home/n@place|from seed@topic) .",
        {"plant": "bag growable", "seeds": "count 4 20", "pot": "bag colour", "weeks": "measure week 3 12", "every": "count 2 5", "first": "measure day 5 14"},
        ("{seeds} {plant.one@attribute} seeds@patient", "a {pot} pot@patient with a hole@patient in the bottom@place", "some (dark/a|fresh/a|good) soil@patient", "a watering can/n@patient"),
        (
            ("Fill the {pot} pot@patient with soil@instrument , almost to/p the top@place .", "Put (stones@patient|gravel@patient|broken/a pots@patient) into the {pot} pot@place , and then the soil@patient ."),
            ("Press the {seeds} seeds@patient into the soil@place , not too deep/r .", "Lay the {seeds} seeds@patient on the soil@place and cover them@patient with a thin layer@instrument of sand@topic ."),
            ("Water/v them@patient (gently|well/r|carefully) and place/v the pot@patient (near/p a window@place|in a sunny corner@place|on a warm/a shelf@place) .", "Give them@recipient a little water@patient , and find a (sunny|bright|warm/a) place@patient for the pot@recipient ."),
            ("^ After/p {first} the first/a green leaves@agent will (appear|come up/t) .", "^ Be patient : the {plant.many@agent} need {first} to/t come up/t ."),
            ("Water/v them@patient every {every} days@time , but never at noon@time .", "^ From then/n@time on/t , water/v them@patient once/r in {every} days@time ."),
            ("^ After/p {weeks} you@agent can (pick|admire|enjoy) your {plant.many@patient} .", "^ In {weeks} the {pot} pot@experiencer will be full of {plant.many@topic} ."),
        ),
        (
            "If all/d {seeds} seeds@agent grow , give (some/o@patient|half/n@patient of them@patient) to/p a (friend|neighbour)@recipient .",
            "Should the leaves@agent turn yellow , use less/a water@patient .",
            "Turn the {pot} pot@patient (every day@time|once/r a week@time) , so/c that/c the {plant.many@agent} grow straight/r .",
        ),
    ),
    Task(
        "How to/t paint an old {furniture@patient} .",
        {"furniture": "bag paintable", "colour": "bag colour", "old": "bag colour", "coats": "count 2 4", "dry": "measure hour 2 12", "tins": "measure tin 1 3", "brush": "bag size_brush"},
        ("{tins.of} {colour} paint@patient", "a {brush} brush@patient", "some sandpaper@patient", "old newspapers@patient"),
        (
            ("Carry the {furniture@patient} (outside|into the garden@place|into the yard@place) and spread the newspapers@patient under/p it@place .", "Cover the floor@patient with the old newspapers@instrument and set the {furniture@patient} on them@place ."),
            ("Rub off/t the old {old} paint@patient with the sandpaper@instrument .", "Sand/v the {furniture@patient} until/c the {old} paint@experiencer is gone/a ."),
            ("Wipe away/t the dust@patient with a damp cloth@instrument .", "Sweep off/t the dust@patient and wash your hands@patient ."),
            ("Dip the {brush} brush@patient into the {colour} paint@place and paint in long/a strokes@manner .", "Open/v the tin@patient , stir the {colour} paint@patient well/r , and begin with the (legs|edges|back/n)@topic ."),
            ("Let the paint@agent dry/v for {dry} .", "Wait {dry} , until/c the first/a coat@experiencer is dry/a ."),
            ("Paint it@patient again , until/c it@experiencer has/v {coats} coats@patient .", "^ It@experiencer needs {coats} coats@patient in all/n@quantity , with {dry} after/p each/o@time ."),
        ),
        (
            "Wash the {brush} brush@patient at once/n@time , or it@agent will become hard/a .",
            "Now the {furniture@experiencer} that/o@experiencer was {old} is {colour} .",
            "Do/x not sit or lean on it@place before/p the next morning@time .",
        ),
    ),
    Task(
        "How to/t mend {thing.a_short@patient} .",
        {"thing": "thing garment", "patch": "bag colour", "thread": "measure metre 1 3", "stitches": "count 8 30", "time": "measure minute 10 45"},
        ("a (thin|long/a|sharp) needle@patient", "{thread.of} thread@patient", "a small {patch} patch@patient", "a pair@patient of scissors@patient"),
        (
            ("Turn the {thing.one@patient} inside/r out/r and lay it@patient on a table@place .", "Wash {thing@patient} and let it@agent dry/v ."),
            ("Cut the {patch} patch@patient so/c that/c it@agent covers the (hole|tear)@patient .", "Place/v the {patch} patch@patient over the (hole|tear)@place and pin/v it@patient down/t ."),
            ("Thread/v the needle@patient and tie a knot@patient in the end@place .", "Put the thread@patient through the eye@place of the needle@topic ."),
            ("Sew (slowly|carefully) around the {patch} patch@place , with about/r {stitches} small stitches@instrument .", "Make {stitches} stitches@patient , close/a together/r , along/p the edge@place of the patch@topic ."),
            ("Tie another knot@patient and cut off/t the rest@patient of the thread@topic .", "Finish with a (double/a|tight) knot@instrument and use the scissors@patient ."),
            ("Iron/v the {thing.one@patient} (gently|on the wrong side@place|) .", "Turn the {thing.one@patient} the right/a way@manner round/r again ."),
        ),
        (
            "The work@agent takes about/r {time} , if you@experiencer have/v a steady hand@patient .",
            "A {patch} patch@agent on {thing.a_short@place} (may/x look/v funny|can look/v very nice) .",
            "Keep what@patient is left/a of the {thread@patient} for the next/a hole@topic .",
        ),
    ),
    Task(
        "How to/t make a {craft@patient} from {material@instrument} .",
        {"craft": "bag craft", "material": "bag craft_material", "colour": "bag colour", "pieces": "count 3 9", "long": "measure centimetre 10 60", "time": "measure minute 10 60", "string": "bag colour"},
        ("{pieces} pieces@patient of {material@patient}", "some glue@patient", "a tin@patient of {colour} paint@patient", "a {string} string@patient"),
        (
            ("Measure the {material@patient} : each/d piece@experiencer should be {long} long/a .", "Draw the shape@patient of the {craft@topic} on the {material@place} ; {long} is long/a enough/r ."),
            ("Cut out/t all/d {pieces} pieces@patient (with care@manner|with sharp scissors@instrument|along/p the line@place) .", "Ask someone@recipient to/t help you@patient cut the {pieces} pieces@patient ."),
            ("Glue/v the pieces@patient together/r , one/o@patient after/p the other/o@patient .", "Put glue@patient on the edges@place and press the {pieces} pieces@patient together/r ."),
            ("Wait {time} , until/c the glue@experiencer is hard/a .", "Let the {craft@agent} dry/v for {time} ."),
            ("Paint it@patient {colour} (, with <colour> (spots|stripes|stars)@instrument|) .", "^ Now comes the {colour} paint@topic : paint the {craft@patient} on both sides@place ."),
            ("Make a hole@patient in the top@place and pull the {string} string@patient through/r .", "Tie the {string} string@patient to/p the {craft@place} and hang it@patient (over your bed@place|in the window@place|in a tree@place) ."),
        ),
        (
            "A {craft@experiencer} of {material@topic} is a <quality> present@attribute .",
            "If you@experiencer have/v no/d {colour} paint@patient , <colour> is just as/r good .",
            "Count the {pieces} pieces@patient before/c you@agent begin , and do/x not lose the {string} string@patient .",
        ),
    ),
    Task(
        "How to/t teach your {pet@recipient} to/t {word} (when you@agent ask|at your command@topic|) .",
        {"pet": "bag trick_pet", "treat": "bag pet_food", "times": "count 5 15", "time": "measure minute 5 20", "days": "measure day 7 30", "word": "bag command"},
        ("a handful@quantity of {treat@patient}", "a quiet room@patient", "a little patience@patient"),
        (
            ("Choose one/m short/a word@patient , for example@none “ {word} ” .", "^ First/r choose a word@patient . Most/d people@agent say “ {word} ” ."),
            ("Hold the {treat@patient} in your hand@place and let the {pet@agent} smell it@patient .", "Show/v the {pet@recipient} that/c you@experiencer have/v {treat@patient} in your hand@place ."),
            ("Say “ {word} ” (clearly|in a friendly voice@manner|once/r) and show/v what@topic you@experiencer want .", "Move your hand@patient slowly , and say “ {word} ” ."),
            ("^ When the {pet@agent} does/v it@patient right/r , give it@recipient some {treat@patient} at once/n@time .", "^ If it@agent (tries|obeys) , praise it@patient and give it@recipient the {treat@patient} ."),
            ("Repeat this/o@patient {times} times@quantity , but for no/d longer/a than {time} a day@time .", "Practise for {time} every day@time , about/r {times} times@quantity ."),
            ("^ After/p {days} the {pet@experiencer} will (know|understand) the word@patient “ {word} ” .", "^ Most/d pets@experiencer need about/r {days} to/t learn it@patient ."),
        ),
        (
            "Never (shout/v at|scold) your {pet@recipient} ; {treat@experiencer} and kindness@experiencer are better .",
            "Later you@agent can say “ {word} ” without any {treat@patient} .",
            "If the {pet@experiencer} is tired , stop and play/v .",
        ),
    ),
    Task(
        "How to/t wrap a {gift@patient} as/p a present@attribute .",
        {"gift": "bag giftable", "paper": "bag colour", "ribbon": "bag colour", "long": "measure metre 1 3", "strips": "count 3 8", "time": "measure minute 5 15", "edge": "measure centimetre 3 9"},
        ("a sheet@patient of {paper} paper@patient", "{long.of} {ribbon} ribbon@patient", "some tape@patient", "a pair@patient of scissors@patient"),
        (
            ("Put the {gift@patient} into a box@place , so/c that/c nobody@agent can guess what@topic it@experiencer is .", "Take off/t the price@patient , and put the {gift@patient} into a (small|strong|flat) box@place ."),
            ("Lay the {paper} paper@patient on the table@place with the {paper} side@experiencer down/r .", "Unroll the {paper} paper@patient and place/v the box@patient in the middle@place ."),
            ("Cut the paper@patient , leaving {edge} at each/d side@place .", "Cut off/t what@patient is too long/a , but leave {edge} on every side@place ."),
            ("Fold the paper@patient over/p the box@place and fix it@patient with {strips} strips@instrument of tape@topic .", "Wrap the box@patient (tightly|neatly) and use {strips} strips@patient of tape@topic ."),
            ("Tie the {ribbon} ribbon@patient around the box@place and make a (big|double/a|fine) bow@patient .", "Pull the {ribbon} ribbon@patient around the box@place twice , and end with a bow@instrument ."),
            ("Write a card@patient and push it@patient under/p the {ribbon} ribbon@place .", "^ At last/n@time , write the name@patient on a card@place ."),
        ),
        (
            "With a little practice@instrument it@none takes {time} , even for a {gift@topic} .",
            "{paper} paper@experiencer and a {ribbon} ribbon@experiencer go well/r together/r .",
            "Keep the rest@patient of the {paper} paper@topic for a smaller present@topic .",
        ),
    ),
    Task(
        "How to/t learn a song@patient on the {instrument@instrument} .",
        {"instrument": "bag instrument", "lines": "count 3 8", "time": "measure minute 10 45", "days": "measure week 1 6", "times": "count 3 12"},
        ("{instrument.a@patient}", "the notes@patient of a (short/a|simple|well-known) song@topic", "a quiet place@patient"),
        (
            ("Listen to/p the song@patient {times} times@quantity before/c you@agent (begin|play/v) .", "Sing/v the song@patient yourself@agent , {times} times@quantity if you@agent can ."),
            ("Tune/v the {instrument@patient} (with care@manner|with a friend@companion|) .", "Sit straight/r and hold the {instrument@patient} (loosely|firmly|well/r) ."),
            ("^ The song@experiencer has/v {lines} lines@patient : learn only the first/a line@patient today .", "Learn one/m of the {lines} lines@patient at a time@time ."),
            ("Play/v it@patient slowly , {times} times@quantity , and count aloud .", "^ Begin slowly . Play/v each/d line@patient {times} times@quantity without a mistake@manner ."),
            ("Join the lines@patient , two by two@manner .", "^ When you@experiencer know all/d {lines} lines@patient , play/v them@patient together/r ."),
            ("Practise for {time} a day@time , and rest on <weekday@time> .", "Do/x not practise for more/a than {time} a day@time ."),
        ),
        (
            "After/p {days} you@agent can play/v all/d {lines} lines@patient by/p heart@manner .",
            "Play/v for your <close_kin@recipient> (in the evening@time|on <weekday@time>) : that/o@experiencer is the best/a practice@attribute .",
            "If your fingers@experiencer hurt/v , put down/t the {instrument@patient} and rest .",
        ),
    ),
    Task(
        "How to/t mend a flat tyre@patient on a bicycle@place .",
        {"spoons": "count 2 3", "time": "measure minute 3 15", "bowl": "bag colour", "patch": "bag size_brush", "pumps": "count 20 60"},
        ("{spoons} tyre levers@patient", "a {patch} patch@patient", "some glue@patient", "a {bowl} bucket@patient of water@patient", "a pump@patient"),
        (
            ("Turn the bicycle@patient upside-down/a and take off/t the wheel@patient .", "Take off/t the (front@attribute|back@attribute) wheel@patient and let out/t the air@patient ."),
            ("Lift the tyre@patient off/t with the {spoons} levers@instrument and pull out/t the tube@patient .", "Push the {spoons} levers@patient under/p the tyre@place , and take out/t the tube@patient ."),
            ("Hold the tube@patient in the {bowl} bucket@place : small bubbles@agent will show/v you@recipient the hole@patient .", "Push the tube@patient under/p the water@place in the {bowl} bucket@place and look for bubbles@patient ."),
            ("Dry/v it@patient , put glue@patient around the hole@place and wait {time} .", "Dry/v the tube@patient , rub the spot@patient with sandpaper@instrument and spread the glue@patient ; then wait {time} ."),
            ("Press the {patch} patch@patient on the hole@place .", "Put the {patch} patch@patient over the hole@place and press it@patient (hard/r|firmly) ."),
            ("Put everything@patient back/r and pump/v {pumps} times@quantity .", "Put back/t the tube@patient , the tyre@patient and the wheel@patient , and use the pump@patient {pumps} times@quantity ."),
        ),
        (
            "Check for (glass@topic|thorns@topic|nails@topic) in the tyre@place , or you@agent will soon need another {patch} patch@patient .",
            "Do/x not forget the {spoons} levers@patient in the grass@place !",
            "If the glue@experiencer is still wet/a after/p {time} , wait a little longer/r .",
        ),
    ),
    Task(
        "How to/t wash your {pet@patient} .",
        {"pet": "bag washable_pet", "towel": "bag colour", "jugs": "count 3 9", "time": "measure minute 3 12", "treat": "bag pet_food", "weeks": "measure week 2 10"},
        ("a large (bowl|tub)@patient", "a {towel} towel@patient", "mild shampoo@patient", "a bit@patient of {treat@topic}"),
        (
            ("Brush the {pet@patient} and (talk|speak) to/p it@recipient (softly|kindly|quietly) .", "Play/v with the {pet@companion} for a while@time , so/c that/c it@experiencer is (calm|tired) ."),
            ("Fill the (bowl|tub)@patient with {jugs} jugs@instrument of warm/a water@topic .", "Pour {jugs} jugs@patient of warm/a water@topic into it@place ; cold/a water@agent would frighten the {pet@patient} ."),
            ("Lift the {pet@patient} in/t and wet/v its (back/n|fur|coat)@patient with your hand@instrument .", "Put the {pet@patient} into the water@place , but keep its ears@patient dry/a ."),
            ("Rub in/t a little shampoo@patient for {time} .", "Wash it@patient with the shampoo@instrument , from the neck@place to/p the tail@place , for {time} ."),
            ("Rinse it@patient (twice|well/r|until/c the water@experiencer is clear/a) .", "Rinse out/t all/d the shampoo@patient ."),
            ("Wrap the {pet@patient} in the {towel} towel@instrument and rub it@patient dry/a .", "Dry/v the {pet@patient} with the {towel} towel@instrument , and close/v the windows@patient ."),
        ),
        (
            "Give it@recipient the {treat@patient} , so/c that/c it@agent comes again next/a time@time .",
            "Do/x this/o@patient only once/r in {weeks} .",
            "Hang up/t the {towel} towel@patient : it@experiencer will be very wet/a .",
        ),
    ),
    Task(
        "How to/t make a campfire@patient (by/p a lake@place|in the hills@place|on the beach@place|) .",
        {"stones": "count 8 20", "logs": "count 3 9", "wood": "bag tree", "time": "measure minute 20 60", "snack": "bag toastable"},
        ("{stones} stones@patient", "{logs} dry/a {wood@attribute} logs@patient", "some thin twigs@patient", "a bucket@patient of water@patient", "matches@patient"),
        (
            ("Find a place@patient (far/r from trees@place|out/r of the wind@place) and ask whether/c fires@experiencer are allowed/a .", "Choose a flat place@patient without dry/a grass@patient ."),
            ("Lay the {stones} stones@patient in a circle@manner .", "Make a ring@patient of the {stones} stones@topic ."),
            ("Build a small tent@patient of twigs@topic in the middle@place .", "Put (paper|bark|straw)@patient and the thin twigs@patient in the middle@place ."),
            ("Light/v it@patient with a match@instrument and blow (gently|softly) .", "Strike a match@patient , light/v the paper@patient , and wait until/c the twigs@agent burn ."),
            ("Add the {wood@attribute} logs@patient one/o@patient by/p one/o@patient , all/d {logs} of them@patient .", "^ When the fire@agent burns well/r , add the {logs} {wood@attribute} logs@patient ."),
            ("^ Now you@agent can (toast|roast) {snack.many@patient} on sticks@instrument .", "Sit around it@place and (toast|roast) your {snack.many@patient} ."),
        ),
        (
            "After/p {time} , pour the water@patient over the fire@place and stir the ash@patient .",
            "Never leave the fire@patient alone , and keep the bucket@patient near/a .",
            "At the end@time take away/t the {stones} stones@patient , so/c that/c nobody@agent sees where/c you@experiencer were .",
        ),
    ),
    Task(
        "How to/t tidy/v your {room@patient} in {time} .",
        {"room": "bag tidy_room", "time": "measure minute 15 60", "boxes": "count 2 5", "box": "bag colour", "first": "measure minute 5 10", "bag": "bag colour"},
        ("{boxes} {box} boxes@patient", "a {bag} bag@patient for rubbish@topic", "a broom@patient", "a damp cloth@patient"),
        (
            ("Open/v the window@patient and put on/t some music@patient .", "^ Look at the clock@patient : you@experiencer have/v {time} ."),
            ("Throw everything@patient that/o@experiencer is broken/a into the {bag} bag@place .", "Put old (papers|boxes|bottles)@patient into the {bag} bag@place ."),
            ("Sort/v the rest@patient into the {boxes} {box} boxes@place : one/o@place for <toy.many@topic> , one/o@place for <garment.many@topic> , and so/r on/r .", "Fill the {boxes} {box} boxes@patient , each/o@patient with one/m kind@instrument of thing@topic ."),
            ("Spend the first/a {first} on the (floor|shelves|table)@topic .", "^ After/p {first} the floor@experiencer should be free/a ."),
            ("Wipe the (shelves|tables|window sill)@patient with the damp cloth@instrument .", "Dust the (lamp|shelf|desk)@patient with the damp cloth@instrument ."),
            ("Sweep the floor@patient from the corners@place to/p the door@place .", "Use the broom@patient last/r , and begin in the corner@place ."),
        ),
        (
            "If you@experiencer are not done/a after/p {time} , go on/t tomorrow .",
            "Write on each/d {box} box@place what@patient is in it@place .",
            "Take the {bag} bag@patient out/r at once/n@time , or it@agent will stay there/r for a week@time .",
        ),
    ),
    Task(
        "How to/t pack a rucksack@patient for {days} {place.in@place} .",
        {"days": "measure day 2 7", "place": "place", "socks": "count 2 7", "rope": "measure metre 3 12", "snack": "bag snack", "snacks": "count 3 12", "sleep": "bag colour", "sack": "bag colour"},
        ("{socks} pairs@patient of socks@patient", "a {sleep} blanket@patient", "{rope.of} rope@patient", "{snacks} {snack.many@patient}", "a full bottle@patient"),
        (
            ("Empty/v the {sack} rucksack@patient and check its (straps|pockets|buckles)@patient .", "Write a list@patient , and lay everything@patient on the bed@place ."),
            ("Roll up/t the {sleep} blanket@patient and put it@patient at the bottom@place .", "Put the {sleep} blanket@patient in first/r , because you@experiencer need it@patient last/r ."),
            ("Put the {socks} pairs@patient of socks@topic into a (small|dry/a|plastic) bag@place .", "Push the {socks} pairs@patient of socks@topic into the corners@place ."),
            ("Wind/v the {rope.of} rope@patient into a ring@patient and lay it@patient on top@place .", "Tie the rope@patient , all/d {rope} of it@topic , to/p the outside/n@place ."),
            ("Pack the {snacks} {snack.many@patient} in a tin@place , so/c that/c nothing@agent gets wet/a .", "Wrap the {snacks} {snack.many@patient} in paper@instrument ."),
            ("Keep the bottle@patient in a side pocket@place .", "Fill the bottle@patient just before/c you@agent leave ."),
        ),
        (
            "For {days} you@experiencer need no/d more/a than that/o@topic .",
            "When you@experiencer are {place.short_in@place} , do/x not eat all/d {snacks} {snack.many@patient} on the first/a day@time !",
            "Lift the {sack} rucksack@patient : if it@experiencer is too heavy , leave the rope@patient at home/n@place .",
        ),
    ),
    Task(
        "How to/t build {what.a@patient} of sand@instrument (with children@companion|with a friend@companion|in an afternoon@time|) .",
        {"what": "bag buildable", "buckets": "count 6 30", "high": "measure centimetre 40 95", "spade": "bag colour", "flag": "bag colour", "shells": "count 5 25", "time": "measure minute 30 90"},
        ("a {spade} spade@patient", "a strong bucket@patient", "{shells} shells@patient or pebbles@patient", "a small {flag} flag@patient"),
        (
            ("Find a place@patient where/c (the ground@experiencer is flat|nobody@agent walks|the sand@experiencer is damp) .", "Mark a circle@patient with the {spade} spade@instrument ."),
            ("Carry {buckets} buckets@patient of wet/a sand@topic to/p the place@place .", "Fill the bucket@patient {buckets} times@quantity with damp sand@instrument and empty/v it@patient in the circle@place ."),
            ("Press the sand@patient together/r (with your hands@instrument|with the {spade} spade@instrument) .", "Beat the heap@patient flat/a with the {spade} spade@instrument ."),
            ("Work from the top@place to/p the bottom@place , until/c it@experiencer is {high} high/a .", "Build up/t the walls@patient to/p {high} ."),
            ("Decorate it@patient with the {shells} shells@instrument .", "Press the {shells} shells@patient into the walls@place , in (rows|circles|a line)@manner ."),
            ("Put the {flag} flag@patient on top@place .", "^ Last/r of all/o@none , set up/t the {flag} flag@patient ."),
        ),
        (
            "After/p {time} of work@topic , take a picture@patient before/c the (sea|rain|wind)@agent comes .",
            "Wash the {spade} spade@patient when you@experiencer are done/a .",
            "Next/a day@time only the {flag} flag@agent may/x remain , but that/o@experiencer is part@topic of the fun@topic .",
        ),
    ),
    Task(
        "How to/t set a table@patient for {guests} .",
        {"guests": "measure diner 3 12", "cloth": "bag colour", "plate": "bag colour", "flower": "bag flower", "flowers": "count 3 9", "candles": "count 2 6", "time": "measure minute 10 30"},
        ("a {cloth} tablecloth@patient", "{guests.number} {plate} plates@patient", "{guests.number} knives@patient and forks@patient", "{flowers} {flower.many@patient}", "{candles} candles@patient"),
        (
            ("Wash your hands@patient and spread the {cloth} tablecloth@patient .", "Wipe the table@patient , and lay the {cloth} tablecloth@patient over it@place ."),
            ("Put down/t the {guests.number} {plate} plates@patient , one/o@patient before/p each/d chair@place .", "^ Each/d guest@recipient gets one/m of the {plate} plates@patient ."),
            ("^ The knives@experiencer belong on the right/n@place , the forks@experiencer on the left/n@place .", "Lay a knife@patient on the right/n@place and a fork@patient on the left/n@place of every plate@topic ."),
            ("Fold {guests.number} napkins@patient (into boats@patient|into fans@patient|in half/n@manner) and set one/o@patient on each/d plate@place .", "Place/v a glass@patient behind each/d knife@place ."),
            ("Put the {flowers} {flower.many@patient} into a vase@place in the middle@place .", "Cut the stems@patient of the {flower.many@topic} and arrange all/d {flowers} in a low vase@place ."),
            ("Light/v the {candles} candles@patient when the guests@agent (come|arrive|ring the bell@patient) .", "Set the {candles} candles@patient around the {flower.many@place} ."),
        ),
        (
            "Count once/r more/r : {guests.number} chairs@topic for {guests} .",
            "It@none takes about/r {time} to/t make the table@patient (beautiful|ready) .",
            "Blow out/t all/d {candles} candles@patient at the end@time .",
        ),
    ),
)  # fmt: skip
