"""Scenes where someone asks for help: the way, a cure, a lost thing, a book."""

from __future__ import annotations

from somelab.data.corpus.kinds.scenes.scene import Scene

DIRECTIONS = Scene(
    "stranger",
    (
        "{a@experiencer} was new/a in {town@place} and could not find the {goal@patient} .",
        "{a@agent} stopped (beside|at|near/p) the {start_mark@place} in {town@place} and looked at a map@patient . A "
        "stranger@agent (came by/r|stopped) .",
    ),
    (
        (
            "a",
            (
                "Excuse/v me@patient , how do/x I@agent get to/p the {goal@place} ?",
                "Sorry , I@experiencer am lost/a . Where/r is the {goal@topic} ?",
                "Hello ! Can you@agent tell me@recipient the way@topic to/p the {goal@place} ?",
            ),
        ),
        (
            "b",
            (
                "That/o@experiencer is easy . Go straight/r to/p the {mark@place} and turn {turn} .",
                "Walk along/p this/d street@place as/r far/r as/c the {mark@place} , and then turn {turn} .",
            ),
        ),
        (
            "a",
            (
                "{turn} at the {mark@place} . And then ?",
                "So/r first/r to/p the {mark@place} , then {turn} . What@topic comes next/r ?",
            ),
        ),
        (
            "b",
            (
                "Then take the {nth.th} street@patient on the {side@place} . The {goal@experiencer} is (opposite|beside|behind) "
                "the {mark_two@place} .",
                "After/p that/o@time it@experiencer is the {nth.th} street@topic on the {side@place} . You@agent will see the "
                "{mark_two@patient} , and next/r to/p it@place the {goal@patient} .",
            ),
        ),
        (
            "a",
            (
                "Is it@experiencer far/r ?",
                "That/o@agent sounds far/r . Can I@agent walk ?",
                "Can I@agent walk , or should I@agent take the (bus|tram)@patient ?",
            ),
        ),
        (
            "b",
            (
                "It@experiencer is only {minutes} (on foot@manner|from here/n@place) .",
                "You@agent can walk . It@none takes {minutes} .",
            ),
        ),
        (
            "a",
            (
                "So/r : {turn} at the {mark@place} , and then the {nth.th} street@topic on the {side@place} . Thank "
                "you@recipient !",
                "Thank you@recipient ! To/p the {mark@place} , {turn} , {nth.th} street@topic on the {side@place} . I@agent will "
                "remember that/o@topic .",
            ),
        ),
    ),
    (
        "{a@agent} turned {turn} at the {mark@place} , and {minutes} later {a.he@agent} stood before/p the {goal@place} .",
        "{minutes} later {a@agent} saw/v the {mark_two@patient} and , next/r to/p it@place , the {goal@patient} .",
    ),
    ("goal", "mark", "mark_two", "turn"),
)
DOCTOR = Scene(
    "doctor",
    (
        "{a@experiencer} did/x not feel well/r and went to/p the doctor@place in {town@place} .",
        "“ Next/a , please ! ” said/v the doctor@speaker , and {a@agent} (limped|went|walked) in/t .",
    ),
    (
        (
            "b",
            (
                "(Good {greeting@time}|Hello) , {a@recipient} . What@experiencer is the matter@topic ?",
                "Sit down/t , please . Where/r does/x it@agent hurt/v ?",
            ),
        ),
        (
            "a",
            (
                "My {body@experiencer} hurts/v . It@agent began {days} ago/r .",
                "I@experiencer have/x had/v pain@patient in my {body@place} for {days} .",
            ),
        ),
        (
            "b",
            (
                "What@topic happened {days} ago/r ?",
                "Did/x you@agent fall/v , or did/x you@agent (carry|lift) something@patient heavy ?",
            ),
        ),
        (
            "a",
            (
                "I@agent slipped {place.in@place} .",
                "I@agent was (running|playing|working) {place.in@place} , and I@agent fell/v over/p {thing.a@place} .",
            ),
        ),
        (
            "b",
            (
                "I@agent see . The {body@experiencer} is not broken/a , but it@experiencer needs rest@patient . Rub this/d "
                "cream@patient on it@place {times} times@quantity a day@time .",
                "Nothing@experiencer is broken/a . Take this/d medicine@patient {times} times@quantity a day@time , for {span} .",
            ),
        ),
        (
            "a",
            (
                "{times} times@quantity a day@time . And may/x I@agent <hobby=sport> ?",
                "I@agent will do/v that/o@patient . When can I@agent <hobby=sport> again ?",
            ),
        ),
        (
            "b",
            (
                "Not before/p {day@time} . Come back/r if your {body@experiencer} still hurts/v then .",
                "Wait until/p {day@time} . And keep away/r from {place@place} !",
            ),
        ),
    ),
    (
        "On {day@time} the {body@experiencer} was better/a , and {a@agent} could {sport} again .",
        "{a@agent} did/v it@patient {times} times@quantity a day@time , and soon the pain@experiencer was gone/a .",
    ),
    ("body", "times", "day"),
)
LOST = Scene(
    "officer",
    (
        "{a@agent} had/x lost/v something@patient and went to/p the lost-property office@place in {town@place} .",
        "An officer@agent sat in the lost-property office@place in {town@place} , between "
        "(umbrellas|gloves|bags|hats)@place and (books|keys|scarves)@place . {a@agent} came in/t .",
    ),
    (
        (
            "b",
            (
                "Good {greeting@time} . What@patient have/x you@agent lost/v ?",
                "Hello . Are you@agent looking for something@patient ?",
            ),
        ),
        (
            "a",
            (
                "I@agent have/x lost/v a {thing.one@patient} .",
                "Yes , for my {thing.one@patient} . I@experiencer miss/v it@patient very much/r .",
            ),
        ),
        (
            "b",
            (
                "We@experiencer have/v {number} {thing.many@patient} here . What@topic does/x yours/o@experiencer look/v like/p ?",
                "There/o are {number} {thing.many@topic} on this/d shelf@place . Can you@agent describe yours/o@patient ?",
            ),
        ),
        (
            "a",
            (
                "It@experiencer is {thing.colour} , and there/o is {spot} on it@place .",
                "Mine/o@experiencer is {thing.colour} . You@agent can see {spot} on one/m side@place .",
            ),
        ),
        (
            "b",
            (
                "And where/r did/x you@agent (lose it@patient|see it@patient last/r) ?",
                "When and where/r did/x you@agent have/v it@patient last/r ?",
            ),
        ),
        ("a", ("On {day@time} , {place.in@place} .", "I@experiencer had/v it@patient {place.in@place} on {day@time} .")),
        (
            "b",
            (
                "Somebody@agent brought {thing.a_short@patient} from {place@place} . Is this/o@experiencer it@topic ?",
                "Let me@agent see : {thing.colour} , with {spot} . Here it@experiencer is !",
            ),
        ),
        (
            "a",
            (
                "Yes , that/o@experiencer is my {thing.one@topic} ! Thank you@recipient so/r much/r !",
                "That/o@experiencer is it@topic ! How can I@agent thank you@patient ?",
            ),
        ),
    ),
    (
        "{a@agent} carried {thing@patient} home/r and never took it@patient to/p {place@place} again .",
        "Of the {number} {thing.many@topic} , {rest} stayed on the shelf@place .",
    ),
    ("thing",),
)
LIBRARY = Scene(
    "librarian",
    (
        "{a@agent} went to/p the library@place in {town@place} (on <weekday@time>|after/p school@time|because it@none "
        "was raining) .",
        "The library@experiencer in {town@place} was (quiet|almost empty/a|warm/a) when {a@agent} came to/p the desk@place .",
    ),
    (
        (
            "a",
            (
                "Hello . Do/x you@experiencer have/v a book@patient about/p {animal.many@topic} ?",
                "Good {greeting@time} . I@agent am looking for a book@patient on {animal.many@topic} .",
            ),
        ),
        (
            "b",
            (
                "We@experiencer have/v {number} books@patient about/p {animal.many@topic} . Is it@experiencer for you@recipient ?",
                "Let me@agent look . Yes , there/o are {number} . Who@agent will read it@patient ?",
            ),
        ),
        (
            "a",
            (
                "It@experiencer is for my <young_kin@recipient> , who@experiencer is {age} .",
                "I@agent want to/t read it@patient to/p my <close_kin@recipient> .",
            ),
        ),
        (
            "b",
            (
                "Then take this/d {colour} one/o@patient . It@experiencer has/v {pages} and many pictures@patient .",
                "This/d one/o@experiencer is the best/a : the {colour} book@topic , with {pages} .",
            ),
        ),
        (
            "a",
            (
                "{pages} ! That/o@experiencer is (a lot@quantity|perfect) . How long/r may/x I@agent keep it@patient ?",
                "It@agent looks <quality> . When do/x I@agent have/v to/t bring it@patient back/r ?",
            ),
        ),
        (
            "b",
            (
                "You@agent may/x keep it@patient for {weeks} , until/p the {date.th@time} of {month@time} .",
                "In {weeks} , please . That/o@experiencer is the {date.th@time} of {month@time} .",
            ),
        ),
        (
            "a",
            (
                "Until/p the {date.th@time} of {month@time} . And may/x I@agent take a second book@patient ?",
                "I@agent will not forget : the {date.th@time} of {month@time} . Thank you@recipient !",
            ),
        ),
        (
            "b",
            (
                "You@agent may/x take {limit} books@patient at a time@time . Good reading@topic !",
                "You@experiencer are welcome/a . Be careful with the {colour} cover@topic !",
            ),
        ),
    ),
    (
        "{a@agent} read/v all/d {pages} , and now {a.he@experiencer} knows everything@patient about/p {animal.many@topic} .",
        "On the {date.th@time} of {month@time} {a@agent} brought the {colour} book@patient back/r .",
    ),
    ("animal", "colour", "pages", "date", "month"),
)


ASKING = (DIRECTIONS, DOCTOR, LOST, LIBRARY)
