"""Tasks about living things and the open air: plants, pets, a packed rucksack."""

from __future__ import annotations

from somelab.data.corpus.kinds.tasks.task import Task

LIVING = (
    Task(
        "How to/t grow {plant.many@patient} (in a pot@place|on a balcony@place|at home/n@place|from seed@topic) .",
        {
            "plant": "bag growable",
            "seeds": "count 4 20",
            "pot": "bag colour",
            "weeks": "measure week 3 12",
            "every": "count 2 5",
            "first": "measure day 5 14",
        },
        (
            "{seeds} {plant.one@attribute} seeds@patient",
            "a {pot} pot@patient with a hole@patient in the bottom@place",
            "some (dark/a|fresh/a|good) soil@patient",
            "a watering@attribute can/n@patient",
        ),
        (
            (
                "Fill the {pot} pot@patient with soil@instrument , almost to/p the top@place .",
                "Put (stones@patient|gravel@patient|broken/a pots@patient) into the {pot} pot@place , and then the soil@patient .",
            ),
            (
                "Press the {seeds} seeds@patient into the soil@place , not too deep/r .",
                "Lay the {seeds} seeds@patient on the soil@place and cover them@patient with a thin layer@instrument of "
                "sand@topic .",
            ),
            (
                "Water/v them@patient (gently|well/r|carefully) and place/v the pot@patient (near/p a window@place|in a sunny "
                "corner@place|on a warm/a shelf@place) .",
                "Give them@recipient a little water@patient , and find a (sunny|bright|warm/a) place@patient for the "
                "pot@recipient .",
            ),
            (
                "^ After/p {first} the first/a green leaves@agent will (appear|come up/t) .",
                "^ Be patient : the {plant.many@agent} need {first} to/t come up/t .",
            ),
            (
                "Water/v them@patient every {every} days@time , but never at noon@time .",
                "^ From then/n@time on/t , water/v them@patient once/r in {every} days@time .",
            ),
            (
                "^ After/p {weeks} you@agent can (pick|admire|enjoy) your {plant.many@patient} .",
                "^ In {weeks} the {pot} pot@experiencer will be full of {plant.many@topic} .",
            ),
        ),
        (
            "If all/d {seeds} seeds@agent grow , give (some/o@patient|half/n@patient of them@patient) to/p a "
            "(friend|neighbour)@recipient .",
            "Should the leaves@agent turn yellow , use less/a water@patient .",
            "Turn the {pot} pot@patient (every day@time|once/r a week@time) , so/c that/c the {plant.many@agent} grow straight/r .",
        ),
    ),
    Task(
        "How to/t teach your {pet@recipient} to/t {word} (when you@agent ask|at your command@topic|) .",
        {
            "pet": "bag trick_pet",
            "treat": "bag pet_food",
            "times": "count 5 15",
            "time": "measure minute 5 20",
            "days": "measure day 7 30",
            "word": "bag command",
        },
        ("a handful@quantity of {treat@patient}", "a quiet room@patient", "a little patience@patient"),
        (
            (
                "Choose one/m short/a word@patient , for example@none “ {word} ” .",
                "^ First/r choose a word@patient . Most/d people@agent say “ {word} ” .",
            ),
            (
                "Hold the {treat@patient} in your hand@place and let the {pet@agent} smell it@patient .",
                "Show/v the {pet@recipient} that/c you@experiencer have/v {treat@patient} in your hand@place .",
            ),
            (
                "Say “ {word} ” (clearly|in a friendly voice@manner|once/r) and show/v what@topic you@experiencer want .",
                "Move your hand@patient slowly , and say “ {word} ” .",
            ),
            (
                "^ When the {pet@agent} does/v it@patient right/r , give it@recipient some {treat@patient} at once/n@time .",
                "^ If it@agent (tries|obeys) , praise it@patient and give it@recipient the {treat@patient} .",
            ),
            (
                "Repeat this/o@patient {times} times@quantity , but for no/d longer/a than {time} a day@time .",
                "Practise for {time} every day@time , about/r {times} times@quantity .",
            ),
            (
                "^ After/p {days} the {pet@experiencer} will (know|understand) the word@patient “ {word} ” .",
                "^ Most/d pets@experiencer need about/r {days} to/t learn it@patient .",
            ),
        ),
        (
            "Never (shout/v at|scold) your {pet@recipient} ; {treat@experiencer} and kindness@experiencer are better .",
            "Later you@agent can say “ {word} ” without any {treat@patient} .",
            "If the {pet@experiencer} is tired , stop and play/v .",
        ),
    ),
    Task(
        "How to/t wash your {pet@patient} .",
        {
            "pet": "bag washable_pet",
            "towel": "bag colour",
            "jugs": "count 3 9",
            "time": "measure minute 3 12",
            "treat": "bag pet_food",
            "weeks": "measure week 2 10",
        },
        ("a large tub@patient", "a {towel} towel@patient", "mild shampoo@patient", "a handful@patient of {treat@topic}"),
        (
            (
                "Brush the {pet@patient} and (talk|speak) to/p it@recipient (softly|kindly|quietly) .",
                "Play/v with the {pet@companion} for a while@time , so/c that/c it@experiencer is (calm|tired) .",
            ),
            (
                "Fill the tub@patient with {jugs} jugs@instrument of warm/a water@topic .",
                "Pour {jugs} jugs@patient of warm/a water@topic into the tub@place ; cold/a water@agent would frighten the "
                "{pet@patient} .",
            ),
            (
                "Lift the {pet@patient} in/t and wet/v its (back/n|fur|coat)@patient with your hand@instrument .",
                "Put the {pet@patient} into the water@place , but keep its ears@patient dry/a .",
            ),
            (
                "Rub in/t a little shampoo@patient for {time} .",
                "Wash it@patient with the shampoo@instrument , from the neck@place to/p the tail@place , for {time} .",
            ),
            (
                "Rinse it@patient (twice|well/r|until/c the water@experiencer is clear/a) .",
                "Rinse out/t all/d the shampoo@patient .",
            ),
            (
                "Wrap the {pet@patient} in the {towel} towel@instrument and rub it@patient dry/a .",
                "Dry/v the {pet@patient} with the {towel} towel@instrument , and close/v the windows@patient .",
            ),
        ),
        (
            "Give it@recipient the {treat@patient} , so/c that/c it@agent comes again next/a time@time .",
            "Do/x this/o@patient only once/r in {weeks} .",
            "Hang up/t the {towel} towel@patient : it@experiencer will be very wet/a .",
        ),
    ),
    Task(
        "How to/t pack a rucksack@patient for {days} {place.in@place} .",
        {
            "days": "measure day 2 7",
            "place": "place",
            "socks": "count 2 7",
            "rope": "measure metre 3 12",
            "snack": "bag snack",
            "snacks": "count 3 12",
            "sleep": "bag colour",
            "sack": "bag colour",
        },
        (
            "{socks} pairs@patient of socks@patient",
            "a {sleep} blanket@patient",
            "{rope.of} rope@patient",
            "{snacks} {snack.many@patient}",
            "a full bottle@patient",
        ),
        (
            (
                "Empty/v the {sack} rucksack@patient and check its (straps|pockets|buckles)@patient .",
                "Write a list@patient , and lay everything@patient on the bed@place .",
            ),
            (
                "Roll up/t the {sleep} blanket@patient and put it@patient at the bottom@place .",
                "Put the {sleep} blanket@patient in first/r , because you@experiencer need it@patient last/r .",
            ),
            (
                "Put the {socks} pairs@patient of socks@topic into a (small|dry/a|plastic) bag@place .",
                "Push the {socks} pairs@patient of socks@topic into the corners@place .",
            ),
            (
                "Wind/v the {rope.of} rope@patient into a ring@patient and lay it@patient on top@place .",
                "Tie the rope@patient , all/d {rope} of it@topic , to/p the outside/n@place .",
            ),
            (
                "Pack the {snacks} {snack.many@patient} in a tin@place , so/c that/c nothing@agent gets wet/a .",
                "Wrap the {snacks} {snack.many@patient} in paper@instrument .",
            ),
            ("Keep the bottle@patient in a side pocket@place .", "Fill the bottle@patient just before/c you@agent leave ."),
        ),
        (
            "For {days} you@experiencer need no/d more/a than that/o@topic .",
            "When you@experiencer are {place.short_in@place} , do/x not eat all/d {snacks} {snack.many@patient} on the "
            "first/a day@time !",
            "Lift the {sack} rucksack@patient : if it@experiencer is too heavy , leave the rope@patient at home/n@place .",
        ),
    ),
)
