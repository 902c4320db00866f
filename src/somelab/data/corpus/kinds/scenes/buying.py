"""Scenes where something is paid for: a meal, clothes, a ticket, a room."""

from __future__ import annotations

from somelab.data.corpus.kinds.scenes.scene import Scene

RESTAURANT = Scene(
    "waiter",
    (
        "{a@agent} went into a (small|busy|quiet) restaurant@place in {town@place} and sat down/t (by/p the "
        "window@place|near/p the door@place|in a corner@place) .",
        "It@none was (noon@time|late/a|a long/a way@quantity home/r) , and {a@experiencer} was hungry . {a.he@agent} "
        "(found|entered) a restaurant@patient (near/p the <landmark@place>|in {town@place}) .",
    ),
    (
        (
            "b",
            (
                "Good {greeting@time} ! What@patient can I@agent bring you@recipient ?",
                "Hello ! Are you@experiencer ready to/t order ?",
                "Here is the menu@topic . What@patient would you@experiencer like/v ?",
            ),
        ),
        (
            "a",
            (
                "What@patient do/x you@agent recommend today ?",
                "I@experiencer am very hungry . What@experiencer is good here ?",
                "Is there/o anything@topic (special|hot|without meat@topic) today ?",
            ),
        ),
        (
            "b",
            (
                "The {dish@experiencer} is very good , and so/r is the {dish_two@experiencer} .",
                "Our cook@agent makes the best/a {dish@patient} in {town@place} . We@experiencer also have/v {dish_two@patient} .",
            ),
        ),
        (
            "a",
            (
                "Then I@agent will have/v the {dish@patient} , please , and a glass@patient of {drink@patient} .",
                "The {dish@patient} , please . And {drink@patient} to/t drink .",
            ),
        ),
        (
            "b",
            (
                "One/m {dish@topic} and one/m {drink@topic} . (Anything@patient else/r|Would you@experiencer like/v a "
                "dessert@patient) ?",
                "Very well/r : {dish@topic} and {drink@topic} . And for dessert@topic ?",
            ),
        ),
        (
            "a",
            (
                "Yes , the {dessert@patient} , please . And how much/r is that/o@topic (all/o@topic together/r|) ?",
                "I@agent will take the {dessert@patient} . What@quantity does/x it@experiencer all/r cost ?",
            ),
        ),
        (
            "b",
            (
                "The {dish@experiencer} is {price_one} , the {drink@experiencer} is {price_two} and the {dessert@experiencer} is "
                "{price_three} . That/o@agent makes {sum} .",
                "{price_one} for the {dish@topic} , {price_two} for the {drink@topic} and {price_three} for the {dessert@topic} "
                ": {sum} in all/n@quantity .",
            ),
        ),
    ),
    (
        "{a@agent} paid the {sum} and enjoyed the {dish@patient} , the {drink@patient} and most/r of all/o@none the "
        "{dessert@patient} .",
        "Soon the waiter@agent came back/r with the {dish@patient} and the {drink@patient} , and {a@experiencer} was <glad> .",
    ),
    ("dish", "drink", "dessert", "sum"),
)
CLOTHES = Scene(
    "shopkeeper",
    (
        "{a@agent} needed a new {garment@patient} and went to/p a shop@place in {town@place} .",
        "A shopkeeper@agent in {town@place} was folding <garment.many@patient> when {a@agent} (came in/t|opened the "
        "door@patient) .",
    ),
    (
        (
            "b",
            (
                "Good {greeting@time} ! (Can I@agent help you@patient|What@patient are you@agent looking for/p) ?",
                "Hello ! What@patient would you@experiencer like/v ?",
            ),
        ),
        (
            "a",
            (
                "I@experiencer would like/v a {colour} {garment@patient} , please .",
                "I@agent am looking for a {garment@patient} , if possible/a a {colour} one/o@patient .",
            ),
        ),
        ("b", ("Which/d size@topic do/x you@experiencer need ?", "Of course@none . What/d size@topic do/x you@agent take ?")),
        ("a", ("Size@quantity {size} , I@experiencer think .", "I@agent usually take size@quantity {size} .")),
        (
            "b",
            (
                "Here is a {colour} {garment@topic} in size@quantity {size} . It@experiencer costs {price} .",
                "This/d {garment@experiencer} is {colour} and size@quantity {size} . The price@experiencer is {price} .",
            ),
        ),
        (
            "a",
            (
                "It@agent (fits well/r|suits me@patient) . I@agent will take it@patient . Here are {paid} .",
                "That/o@experiencer is just what@patient I@experiencer want . I@agent can give you@recipient {paid} .",
            ),
        ),
        (
            "b",
            (
                "Thank you@recipient . {paid.number} minus/p {price.number} is {change.number} , so/c here are {change} back/r .",
                "Thank you@recipient very much/r . Your change@experiencer is {change} .",
            ),
        ),
    ),
    (
        "{a@agent} left/v the shop@patient in {a.his} new {colour} {garment@place} .",
        "Outside/r it@none was (cold/a|raining|windy) , and {a@experiencer} was glad to/t have/v the {colour} {garment@patient} .",
        "With {change} in {a.his} pocket@place and a {colour} {garment@patient} in a bag@place , {a@agent} went home/r .",
    ),
    ("garment", "colour", "change"),
)
TRAIN = Scene(
    "clerk",
    (
        "{a@agent} went to/p the station@place in {town@place} to/t buy tickets@patient .",
        "At the station@place in {town@place} {a@agent} waited until/c the clerk@agent looked up/t .",
    ),
    (
        (
            "a",
            (
                "Good {greeting@time} . I@experiencer would like/v {tickets} to/p {town_two@place} , please .",
                "Hello , {tickets} to/p {town_two@place} , please .",
            ),
        ),
        ("b", ("When do/x you@experiencer want to/t (go|travel) ?", "For which/d day@time ?")),
        ("a", ("On {day@time} , in the {part@time} .", "On {day@time} . Is there/o a train@topic in the {part@time} ?")),
        (
            "b",
            (
                "There/o is a train@topic at {start@time} . It@agent takes {length} .",
                "The train@agent leaves at {start@time} and needs {length} .",
            ),
        ),
        (
            "a",
            (
                "So/c I@agent will arrive at {end@time} . How much/r is it@topic ?",
                "Then I@experiencer am in {town_two@place} at {end@time} . What@quantity does/x it@experiencer cost ?",
            ),
        ),
        (
            "b",
            (
                "One/m ticket@experiencer costs {fare} , so/c {tickets} cost {fares} .",
                "{fare} for each/d ticket@topic , which@agent makes {fares} .",
            ),
        ),
        (
            "a",
            (
                "Here you@agent are . And which/d platform@topic is it@topic ?",
                "Good . From which/d platform@place does/x it@agent leave ?",
            ),
        ),
        (
            "b",
            (
                "Platform@place {platform} . So/r , on {day@time} at {start@time} , platform@place {platform} . Have/v a good "
                "journey@patient !",
                "It@agent leaves from platform@place {platform} , at {start@time} . Do/x not be late/a !",
            ),
        ),
    ),
    (
        "On {day@time} {a@agent} stood on platform@place {platform} , and at {end@time} {a.he@experiencer} was in "
        "{town_two@place} .",
        "{a@agent} put the tickets@patient to/p {town_two@place} into {a.his} (pocket|bag|purse|coat)@place and smiled .",
    ),
    ("town_two", "day", "start", "end", "platform"),
)
HOTEL = Scene(
    "receptionist",
    (
        "(Tired and hungry ,|With two heavy suitcases@companion ,|Wet/a from the rain@topic ,) {a@agent} came to/p a "
        "hotel@place in {town@place} .",
        "After/p a long/a journey@topic from {town_two@place} , {a@agent} walked into a hotel@place in {town@place} .",
    ),
    (
        (
            "a",
            (
                "Good {greeting@time} . Do/x you@experiencer have/v a free/a room@patient ?",
                "Hello . I@experiencer need a (quiet|cheap|warm/a|single) room@patient , please .",
            ),
        ),
        (
            "b",
            (
                "Yes , we@experiencer have/v one/o@patient . For how many nights@time ?",
                "Certainly . How long/r will you@agent stay ?",
            ),
        ),
        ("a", ("For {nights} , until/p {day@time} .", "{nights} . I@agent leave on {day@time} .")),
        (
            "b",
            (
                "A room@experiencer is {night_price} a night@time , so/c {nights} (cost|come to/p) {night_sum} .",
                "One/m night@experiencer costs {night_price} . {nights.number} times/p {night_price.number} is "
                "{night_sum.number} , so/c that/o@experiencer will be {night_sum} .",
            ),
        ),
        (
            "a",
            (
                "Good , I@agent will take it@patient . When is breakfast@topic ?",
                "Here are {night_sum} . And at what/d time@time is breakfast@topic ?",
            ),
        ),
        (
            "b",
            (
                "Breakfast@experiencer is from {open@time} to/p {shut@time} . Your room@experiencer has/v the number@patient "
                "{room} , on the {nth.th} floor@place .",
                "You@agent can have/v breakfast@patient after/p {open@time} . Here is the key@topic to/p room@place {room} , on "
                "the {nth.th} floor@place .",
            ),
        ),
        (
            "a",
            (
                "Number@topic {room} , {nth.th} floor@place . Can I@agent see the {sight@patient} from there/n@place ?",
                "Room@place {room} . Is it@experiencer far/r to/p the {sight@place} ?",
            ),
        ),
        (
            "b",
            (
                "It@experiencer is {minutes} from here/n@place . Sleep well/r !",
                "Only {minutes} on foot@manner . I@experiencer hope you@agent will (enjoy your {nights@patient}|like/v "
                "{town@patient}) .",
            ),
        ),
    ),
    (
        "{a@agent} climbed to/p the {nth.th} floor@place , found room@patient {room} and fell asleep/a at once/n@time .",
        "The next/a morning@time , at {open@time} , {a@experiencer} was the first/a guest@topic at breakfast@place .",
    ),
    ("nights", "night_sum", "room"),
)

BUYING = (RESTAURANT, CLOTHES, TRAIN, HOTEL)
