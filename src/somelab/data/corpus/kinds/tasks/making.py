"""Tasks that make something: crafts, songs, fires, castles of sand, a tyre that holds air."""

from __future__ import annotations

from somelab.data.corpus.kinds.tasks.task import Task

MAKING = (
    Task(
        "How to/t make a {craft@patient} from {material@instrument} .",
        {
            "craft": "bag craft",
            "material": "bag craft_material",
            "colour": "bag colour",
            "pieces": "count 3 9",
            "long": "measure centimetre 10 60",
            "time": "measure minute 10 60",
            "string": "bag colour",
        },
        (
            "{pieces} pieces@patient of {material@patient}",
            "some glue@patient",
            "a tin@patient of {colour} paint@patient",
            "a {string} string@patient",
        ),
        (
            (
                "Measure the {material@patient} : each/d piece@experiencer should be {long} long/a .",
                "Draw the shape@patient of the {craft@topic} on the {material@place} ; {long} is long/a enough/r .",
            ),
            (
                "Cut out/t all/d {pieces} pieces@patient (with care@manner|with sharp scissors@instrument|along/p the "
                "line@place) .",
                "Ask someone@recipient to/t help you@patient cut the {pieces} pieces@patient .",
            ),
            (
                "Glue/v the pieces@patient together/r , one/o@patient after/p the other/o@patient .",
                "Put glue@patient on the edges@place and press the {pieces} pieces@patient together/r .",
            ),
            ("Wait {time} , until/c the glue@experiencer is hard/a .", "Let the {craft@agent} dry/v for {time} ."),
            (
                "Paint it@patient {colour} (, with <colour> (spots|stripes|stars)@instrument|) .",
                "^ Now comes the {colour} paint@topic : paint the {craft@patient} on both sides@place .",
            ),
            (
                "Make a hole@patient in the top@place and pull the {string} string@patient through/r .",
                "Tie the {string} string@patient to/p the {craft@place} and hang it@patient (over your bed@place|in the "
                "window@place|in a tree@place) .",
            ),
        ),
        (
            "A {craft@experiencer} of {material@topic} is a <quality> present@attribute .",
            "If you@experiencer have/v no/d {colour} paint@patient , <colour> is just as/r good .",
            "Count the {pieces} pieces@patient before/c you@agent begin , and do/x not lose the {string} string@patient .",
        ),
    ),
    Task(
        "How to/t learn a song@patient on the {instrument@instrument} .",
        {
            "instrument": "bag instrument",
            "lines": "count 3 8",
            "time": "measure minute 10 45",
            "days": "measure week 1 6",
            "times": "count 3 12",
        },
        ("{instrument.a@patient}", "the notes@patient of a (short/a|simple|well-known) song@topic", "a quiet place@patient"),
        (
            (
                "Listen to/p the song@patient {times} times@quantity before/c you@agent (begin|play/v) .",
                "Sing/v the song@patient yourself@agent , {times} times@quantity if you@agent can .",
            ),
            (
                "Tune/v the {instrument@patient} (with care@manner|with a friend@companion|) .",
                "Sit straight/r and hold the {instrument@patient} (loosely|firmly|well/r) .",
            ),
            (
                "^ The song@experiencer has/v {lines} lines@patient : learn only the first/a line@patient today .",
                "Learn one/m of the {lines} lines@patient at a time@time .",
            ),
            (
                "Play/v it@patient slowly , {times} times@quantity , and count aloud .",
                "^ Begin slowly . Play/v each/d line@patient {times} times@quantity without a mistake@manner .",
            ),
            (
                "Join the lines@patient , two by two@manner .",
                "^ When you@experiencer know all/d {lines} lines@patient , play/v them@patient together/r .",
            ),
            (
                "Practise for {time} a day@time , and rest on <weekday@time> .",
                "Do/x not practise for more/a than {time} a day@time .",
            ),
        ),
        (
            "After/p {days} you@agent can play/v all/d {lines} lines@patient by/p heart@manner .",
            "Play/v for your <close_kin@recipient> (in the evening@time|on <weekday@time>) : that/o@experiencer is the "
            "best/a practice@attribute .",
            "If your fingers@experiencer hurt/v , put down/t the {instrument@patient} and rest .",
        ),
    ),
    Task(
        "How to/t mend a flat tyre@patient on a bicycle@place .",
        {
            "spoons": "count 2 3",
            "time": "measure minute 3 15",
            "bowl": "bag colour",
            "patch": "bag size_brush",
            "pumps": "count 20 60",
        },
        (
            "{spoons} tyre levers@patient",
            "a {patch} patch@patient",
            "some glue@patient",
            "a {bowl} bucket@patient of water@patient",
            "a pump@patient",
        ),
        (
            (
                "Turn the bicycle@patient upside-down/a and take off/t the wheel@patient .",
                "Take off/t the (front@attribute|back@attribute) wheel@patient and let out/t the air@patient .",
            ),
            (
                "Lift the tyre@patient off/t with the {spoons} levers@instrument and pull out/t the tube@patient .",
                "Push the {spoons} levers@patient under/p the tyre@place , and take out/t the tube@patient .",
            ),
            (
                "Hold the tube@patient in the {bowl} bucket@place : small bubbles@agent will show/v you@recipient the "
                "hole@patient .",
                "Push the tube@patient under/p the water@place in the {bowl} bucket@place and look for bubbles@patient .",
            ),
            (
                "Dry/v it@patient , put glue@patient around the hole@place and wait {time} .",
                "Dry/v the tube@patient , rub the spot@patient with sandpaper@instrument and spread the glue@patient ; then wait "
                "{time} .",
            ),
            (
                "Press the {patch} patch@patient on the hole@place .",
                "Put the {patch} patch@patient over the hole@place and press it@patient (hard/r|firmly) .",
            ),
            (
                "Put everything@patient back/r and pump/v {pumps} times@quantity .",
                "Put back/t the tube@patient , the tyre@patient and the wheel@patient , and use the pump@patient {pumps} "
                "times@quantity .",
            ),
        ),
        (
            "Check for (glass@topic|thorns@topic|nails@topic) in the tyre@place , or you@agent will soon need another "
            "{patch} patch@patient .",
            "Do/x not forget the {spoons} levers@patient in the grass@place !",
            "If the glue@experiencer is still wet/a after/p {time} , wait a little/r longer/r .",
        ),
    ),
    Task(
        "How to/t make a campfire@patient (by/p a lake@place|in the hills@place|on the beach@place|) .",
        {"stones": "count 8 20", "logs": "count 3 9", "wood": "bag tree", "time": "measure minute 20 60", "snack": "bag toastable"},
        (
            "{stones} stones@patient",
            "{logs} dry/a {wood@attribute} logs@patient",
            "some thin twigs@patient",
            "a bucket@patient of water@patient",
            "matches@patient",
        ),
        (
            (
                "Find a place@patient (far/r from trees@place|out/r of the wind@place) and ask whether/c fires@experiencer are "
                "allowed/a .",
                "Choose a flat place@patient without dry/a grass@patient .",
            ),
            ("Lay the {stones} stones@patient in a circle@manner .", "Make a ring@patient of the {stones} stones@topic ."),
            (
                "Build a small tent@patient of twigs@topic in the middle@place .",
                "Put (paper|bark|straw)@patient and the thin twigs@patient in the middle@place .",
            ),
            (
                "Light/v it@patient with a match@instrument and blow (gently|softly) .",
                "Strike a match@patient , light/v the paper@patient , and wait until/c the twigs@agent burn .",
            ),
            (
                "Add the {wood@attribute} logs@patient one/o@patient by/p one/o@patient , all/d {logs} of them@patient .",
                "^ When the fire@agent burns well/r , add the {logs} {wood@attribute} logs@patient .",
            ),
            (
                "^ Now you@agent can (toast|roast) {snack.many@patient} on sticks@instrument .",
                "Sit around it@place and (toast|roast) your {snack.many@patient} .",
            ),
        ),
        (
            "After/p {time} , pour the water@patient over the fire@place and stir the ash@patient .",
            "Never leave the fire@patient alone , and keep the bucket@patient near/a .",
            "At the end@time take away/t the {stones} stones@patient , so/c that/c nobody@agent sees where/c you@experiencer "
            "were .",
        ),
    ),
    Task(
        "How to/t build {what.a@patient} of sand@instrument (with children@companion|with a friend@companion|in an "
        "afternoon@time|) .",
        {
            "what": "bag buildable",
            "buckets": "count 6 30",
            "high": "measure centimetre 40 95",
            "spade": "bag colour",
            "flag": "bag colour",
            "shells": "count 5 25",
            "time": "measure minute 30 90",
        },
        (
            "a {spade} spade@patient",
            "a strong bucket@patient",
            "{shells} shells@patient or pebbles@patient",
            "a small {flag} flag@patient",
        ),
        (
            (
                "Find a place@patient where/c (the ground@experiencer is flat|nobody@agent walks|the sand@experiencer is damp) .",
                "Mark a circle@patient with the {spade} spade@instrument .",
            ),
            (
                "Carry {buckets} buckets@patient of wet/a sand@topic to/p the place@place .",
                "Fill the bucket@patient {buckets} times@quantity with damp sand@instrument and empty/v it@patient in the "
                "circle@place .",
            ),
            (
                "Press the sand@patient together/r (with your hands@instrument|with the {spade} spade@instrument) .",
                "Beat the heap@patient flat/a with the {spade} spade@instrument .",
            ),
            (
                "Work from the top@place to/p the bottom@place , until/c it@experiencer is {high} high/a .",
                "Build up/t the walls@patient to/p {high} .",
            ),
            (
                "Decorate it@patient with the {shells} shells@instrument .",
                "Press the {shells} shells@patient into the walls@place , in (rows|circles|a line)@manner .",
            ),
            ("Put the {flag} flag@patient on top@place .", "^ Last/r of all/o@none , set up/t the {flag} flag@patient ."),
        ),
        (
            "After/p {time} of work@topic , take a picture@patient before/c the (sea|rain|wind)@agent comes .",
            "Wash the {spade} spade@patient when you@experiencer are done/a .",
            "Next/a day@time only the {flag} flag@agent may/x remain , but that/o@experiencer is part@topic of the fun@topic .",
        ),
    ),
)
