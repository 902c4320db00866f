"""The scenes of the dialogues: who talks, where, and the lines in order, each one of several ways to say it.
Speaker `a` has a name, `b` a trade or a name; what one of them says is asked, repeated and settled by the other."""

from __future__ import annotations

from typing import NamedTuple

Line = tuple[str, tuple[str, ...]]


class Scene(NamedTuple):
    other: str
    """Who speaker `b` is: `the waiter`, or `friend` for someone with a name."""
    settings: tuple[str, ...]
    lines: tuple[Line, ...]
    endings: tuple[str, ...]
    facts: tuple[str, ...]
    """Names in the cast that the lines introduce and the end needs."""


RESTAURANT = Scene(
    "waiter",
    (
        "{a@agent} went into a (small|busy|quiet) restaurant@place in {town@place} and sat down/t (by/p the window@place|near/p the door@place|in a corner@place) .",
        "It@none was (noon@time|late/a|a long/a way@quantity home/r) , and {a@experiencer} was hungry . {a.he@agent} (found|entered) a restaurant@patient (near/p the <landmark@place>|in {town@place}) .",
    ),
    (
        ("b", ("Good {greeting@time} ! What@patient can I@agent bring you@recipient ?", "Hello ! Are you@experiencer ready to/t order ?", "Here is the menu@topic . What@patient would you@experiencer like/v ?")),
        ("a", ("What@patient do/x you@agent recommend today ?", "I@experiencer am very hungry . What@experiencer is good here ?", "Is there/o anything@topic (special|hot|without meat@topic) today ?")),
        ("b", ("The {dish@experiencer} is very good , and so/r is the {dish_two@experiencer} .", "Our cook@agent makes the best/a {dish@patient} in {town@place} . We@experiencer also have/v {dish_two@patient} .")),
        ("a", ("Then I@agent will have/v the {dish@patient} , please , and a glass@patient of {drink@patient} .", "The {dish@patient} , please . And {drink@patient} to/t drink .")),
        ("b", ("One/m {dish@topic} and one/m {drink@topic} . (Anything@patient else/r|Would you@experiencer like/v a dessert@patient) ?", "Very well/r : {dish@topic} and {drink@topic} . And for dessert@topic ?")),
        ("a", ("Yes , the {dessert@patient} , please . And how much/r is that/o@topic (all/o@topic together/r|) ?", "I@agent will take the {dessert@patient} . What@quantity does/x it@experiencer all/r cost ?")),
        ("b", ("The {dish@experiencer} is {price_one} , the {drink@experiencer} is {price_two} and the {dessert@experiencer} is {price_three} . That/o@agent makes {sum} .", "{price_one} for the {dish@topic} , {price_two} for the {drink@topic} and {price_three} for the {dessert@topic} : {sum} in all/n@quantity .")),
    ),
    (
        "{a@agent} paid the {sum} and enjoyed the {dish@patient} , the {drink@patient} and most/r of all/o@none the {dessert@patient} .",
        "Soon the waiter@agent came back/r with the {dish@patient} and the {drink@patient} , and {a@experiencer} was <glad> .",
    ),
    ("dish", "drink", "dessert", "sum"),
)  # fmt: skip
CLOTHES = Scene(
    "shopkeeper",
    (
        "{a@agent} needed a new {garment@patient} and went to/p a shop@place in {town@place} .",
        "A shopkeeper@agent in {town@place} was folding <garment.many@patient> when {a@agent} (came in/t|opened the door@patient) .",
    ),
    (
        ("b", ("Good {greeting@time} ! (Can I@agent help you@patient|What@patient are you@agent looking for/p) ?", "Hello ! What@patient would you@experiencer like/v ?")),
        ("a", ("I@experiencer would like/v a {colour} {garment@patient} , please .", "I@agent am looking for a {garment@patient} , if possible/a a {colour} one/o@patient .")),
        ("b", ("Which/d size@topic do/x you@experiencer need ?", "Of course@none . What/d size@topic do/x you@agent take ?")),
        ("a", ("Size@quantity {size} , I@experiencer think .", "I@agent usually take size@quantity {size} .")),
        ("b", ("Here is a {colour} {garment@topic} in size@quantity {size} . It@experiencer costs {price} .", "This/d {garment@experiencer} is {colour} and size@quantity {size} . The price@experiencer is {price} .")),
        ("a", ("It@agent (fits well/r|suits me@patient) . I@agent will take it@patient . Here are {paid} .", "That/o@experiencer is just what@patient I@experiencer want . I@agent can give you@recipient {paid} .")),
        ("b", ("Thank you@recipient . {paid.number} minus/p {price.number} is {change.number} , so/c here are {change} back/r .", "Thank you@recipient very much/r . Your change@experiencer is {change} .")),
    ),
    (
        "{a@agent} left/v the shop@patient in {a.his} new {colour} {garment@place} .",
        "Outside/r it@none was (cold/a|raining|windy) , and {a@experiencer} was glad to/t have/v the {colour} {garment@patient} .",
        "With {change} in {a.his} pocket@place and a {colour} {garment@patient} in a bag@place , {a@agent} went home/r .",
    ),
    ("garment", "colour", "change"),
)  # fmt: skip
DIRECTIONS = Scene(
    "stranger",
    (
        "{a@experiencer} was new/a in {town@place} and could not find the {goal@patient} .",
        "{a@agent} stopped (beside|at|near/p) the {start_mark@place} in {town@place} and looked at a map@patient . A stranger@agent (came by/r|stopped) .",
    ),
    (
        ("a", ("Excuse/v me@patient , how do/x I@agent get to/p the {goal@place} ?", "Sorry , I@experiencer am lost/a . Where/r is the {goal@topic} ?", "Hello ! Can you@agent tell me@recipient the way@topic to/p the {goal@place} ?")),
        ("b", ("That/o@experiencer is easy . Go straight/r to/p the {mark@place} and turn {turn} .", "Walk along/p this/d street@place as/r far/r as/c the {mark@place} , and then turn {turn} .")),
        ("a", ("{turn} at the {mark@place} . And then ?", "So/r first/r to/p the {mark@place} , then {turn} . What@topic comes next/r ?")),
        ("b", ("Then take the {nth.th} street@patient on the {side@place} . The {goal@experiencer} is (opposite|beside|behind) the {mark_two@place} .", "After/p that/o@time it@experiencer is the {nth.th} street@topic on the {side@place} . You@agent will see the {mark_two@patient} , and next/r to/p it@place the {goal@patient} .")),
        ("a", ("Is it@experiencer far/r ?", "That/o@agent sounds far/r . Can I@agent walk ?", "Can I@agent walk , or should I@agent take the (bus|tram)@patient ?")),
        ("b", ("It@experiencer is only {minutes} (on foot@manner|from here/n@place) .", "You@agent can walk . It@none takes {minutes} .")),
        ("a", ("So/r : {turn} at the {mark@place} , and then the {nth.th} street@topic on the {side@place} . Thank you@recipient !", "Thank you@recipient ! To/p the {mark@place} , {turn} , {nth.th} street@topic on the {side@place} . I@agent will remember that/o@topic .")),
    ),
    (
        "{a@agent} turned {turn} at the {mark@place} , and {minutes} later {a.he@agent} stood before/p the {goal@place} .",
        "{minutes} later {a@agent} saw/v the {mark_two@patient} and , next/r to/p it@place , the {goal@patient} .",
    ),
    ("goal", "mark", "mark_two", "turn"),
)  # fmt: skip
TRAIN = Scene(
    "clerk",
    (
        "{a@agent} went to/p the station@place in {town@place} to/t buy tickets@patient .",
        "At the station@place in {town@place} {a@agent} waited until/c the clerk@agent looked up/t .",
    ),
    (
        ("a", ("Good {greeting@time} . I@experiencer would like/v {tickets} to/p {town_two@place} , please .", "Hello , {tickets} to/p {town_two@place} , please .")),
        ("b", ("When do/x you@experiencer want to/t (go|travel) ?", "For which/d day@time ?")),
        ("a", ("On {day@time} , in the {part@time} .", "On {day@time} . Is there/o a train@topic in the {part@time} ?")),
        ("b", ("There/o is a train@topic at {start@time} . It@agent takes {length} .", "The train@agent leaves at {start@time} and needs {length} .")),
        ("a", ("So/c I@agent will arrive at {end@time} . How much/r is it@topic ?", "Then I@experiencer am in {town_two@place} at {end@time} . What@quantity does/x it@experiencer cost ?")),
        ("b", ("One/m ticket@experiencer costs {fare} , so/c {tickets} cost {fares} .", "{fare} for each/d ticket@topic , which@agent makes {fares} .")),
        ("a", ("Here you@agent are . And which/d platform@topic is it@topic ?", "Good . From which/d platform@place does/x it@agent leave ?")),
        ("b", ("Platform@place {platform} . So/r , on {day@time} at {start@time} , platform@place {platform} . Have/v a good journey@patient !", "It@agent leaves from platform@place {platform} , at {start@time} . Do/x not be late/a !")),
    ),
    (
        "On {day@time} {a@agent} stood on platform@place {platform} , and at {end@time} {a.he@experiencer} was in {town_two@place} .",
        "{a@agent} put the tickets@patient to/p {town_two@place} into {a.his} (pocket|bag|purse|coat)@place and smiled .",
    ),
    ("town_two", "day", "start", "end", "platform"),
)  # fmt: skip
DOCTOR = Scene(
    "doctor",
    (
        "{a@experiencer} did/x not feel well/r and went to/p the doctor@place in {town@place} .",
        "“ Next/a , please ! ” said/v the doctor@speaker , and {a@agent} (limped|went|walked) in/t .",
    ),
    (
        ("b", ("(Good {greeting@time}|Hello) , {a@recipient} . What@experiencer is the matter@topic ?", "Sit down/t , please . Where/r does/x it@agent hurt/v ?")),
        ("a", ("My {body@experiencer} hurts/v . It@agent began {days} ago/r .", "I@experiencer have/x had/v pain@patient in my {body@place} for {days} .")),
        ("b", ("What@topic happened {days} ago/r ?", "Did/x you@agent fall/v , or did/x you@agent (carry|lift) something@patient heavy ?")),
        ("a", ("I@agent slipped {place.in@place} .", "I@agent was (running|playing|working) {place.in@place} , and I@agent fell/v over/p {thing.a@place} .")),
        ("b", ("I@agent see . The {body@experiencer} is not broken/a , but it@experiencer needs rest@patient . Rub this/d cream@patient on it@place {times} times@quantity a day@time .", "Nothing@experiencer is broken/a . Take this/d medicine@patient {times} times@quantity a day@time , for {span} .")),
        ("a", ("{times} times@quantity a day@time . And may/x I@agent <hobby=sport> ?", "I@agent will do/v that/o@patient . When can I@agent <hobby=sport> again ?")),
        ("b", ("Not before/p {day@time} . Come back/r if your {body@experiencer} still hurts/v then .", "Wait until/p {day@time} . And keep away/r from {place@place} !")),
    ),
    (
        "On {day@time} the {body@experiencer} was better/a , and {a@agent} could {sport} again .",
        "{a@agent} took the medicine@patient {times} times@quantity a day@time , and soon the pain@experiencer was gone/a .",
    ),
    ("body", "times", "day"),
)  # fmt: skip
PHONE = Scene(
    "friend",
    (
        "The phone@agent rang (while {a@agent} was (reading|cooking|painting|knitting|drawing|sewing|baking)|in {a@experiencer} 's house@place) . It@experiencer was {b@topic} .",
        "{a@agent} called {b@patient} (on <weekday@time>|one/d <part_of_day@time>|after/p dinner@time) .",
    ),
    (
        ("b", ("Hello , {a@recipient} ! How are you@experiencer ?", "Hi , {a@recipient} ! It@experiencer is good to/t hear your voice@patient . How are you@experiencer ?")),
        ("a", ("I@experiencer am fine , thanks/i . Shall we@agent go to/p the {event@place} on {day@time} ?", "Very well/r , thank you@recipient . Listen , there/o is a {event@topic} on {day@time} . Do/x you@experiencer want to/t come ?")),
        ("b", ("On {day@time} I@agent have/v to/t (help my <close_kin@patient>|work|study|visit my <kin@patient>) . What@topic about/p {day_two@time} ?", "I@agent can't/x come on {day@time} , because my <close_kin@agent> is visiting . Can we@agent go on {day_two@time} ?")),
        ("a", ("{day_two@experiencer} is fine . At {time@time} ?", "Yes , {day_two@experiencer} is even better/a . Let us@agent meet at {time@time} .")),
        ("b", ("That/o@experiencer is too {too} for me@topic . I@experiencer would prefer {time_two@time} .", "Could we@agent say {time_two@time} ? I@experiencer have/v a (lesson|meeting)@patient {before} .")),
        ("a", ("All/d right@none , {time_two@time} . Where/r shall we@agent meet ?", "{time_two@time} , then . Shall I@agent wait {place.in@place} ?")),
        ("b", ("Let us@agent meet {place.short_in@place} . I@agent will wear/v my {colour} {garment@patient} , so/c you@agent can't/x miss/v me@patient .", "Yes , {place.short_in@place} . And bring {thing.a@patient} , if you@experiencer have/v one/o@patient !")),
        ("a", ("{day_two@time} , {time_two@time} , {place.short_in@place} . Goodbye , {b@recipient} !", "Good ! {day_two@time} at {time_two@time} , then . Bye !")),
    ),
    (
        "On {day_two@time} they@agent met {place.in@place} at {time_two@time} , and the {event@experiencer} was <quality> .",
        "{a@agent} wrote “ {event@topic} , {day_two@time} , {time_two@time} ” on a piece@place of paper@topic .",
    ),
    ("event", "day_two", "time_two"),
)  # fmt: skip
LOST = Scene(
    "officer",
    (
        "{a@agent} had/x lost/v something@patient and went to/p the lost-property office@place in {town@place} .",
        "An officer@agent sat in the lost-property office@place in {town@place} , between (umbrellas|gloves|bags|hats)@place and (books|keys|scarves)@place . {a@agent} came in/t .",
    ),
    (
        ("b", ("Good {greeting@time} . What@patient have/x you@agent lost/v ?", "Hello . Are you@agent looking for something@patient ?")),
        ("a", ("I@agent have/x lost/v a {thing.one@patient} .", "Yes , for my {thing.one@patient} . I@experiencer miss/v it@patient very much/r .")),
        ("b", ("We@experiencer have/v {number} {thing.many@patient} here . What@topic does/x yours/o@experiencer look/v like/p ?", "There/o are {number} {thing.many@topic} on this/d shelf@place . Can you@agent describe yours/o@patient ?")),
        ("a", ("It@experiencer is {thing.colour} , and there/o is {spot} on it@place .", "Mine/o@experiencer is {thing.colour} . You@agent can see {spot} on one/m side@place .")),
        ("b", ("And where/r did/x you@agent (lose it@patient|see it@patient last/r) ?", "When and where/r did/x you@agent have/v it@patient last/r ?")),
        ("a", ("On {day@time} , {place.in@place} .", "I@experiencer had/v it@patient {place.in@place} on {day@time} .")),
        ("b", ("Somebody@agent brought {thing.a_short@patient} from {place@place} . Is this/o@experiencer it@topic ?", "Let me@agent see : {thing.colour} , with {spot} . Here it@experiencer is !")),
        ("a", ("Yes , that/o@experiencer is my {thing.one@topic} ! Thank you@recipient so/r much/r !", "That/o@experiencer is it@topic ! How can I@agent thank you@patient ?")),
    ),
    (
        "{a@agent} carried {thing@patient} home/r and never took it@patient to/p {place@place} again .",
        "Of the {number} {thing.many@topic} , {rest} stayed on the shelf@place .",
    ),
    ("thing",),
)  # fmt: skip
HOTEL = Scene(
    "receptionist",
    (
        "(Tired and hungry ,|With two heavy suitcases@companion ,|Wet/a from the rain@topic ,) {a@agent} came to/p a hotel@place in {town@place} .",
        "After/p a long/a journey@topic from {town_two@place} , {a@agent} walked into a hotel@place in {town@place} .",
    ),
    (
        ("a", ("Good {greeting@time} . Do/x you@experiencer have/v a free/a room@patient ?", "Hello . I@experiencer need a (quiet|cheap|warm/a|single) room@patient , please .")),
        ("b", ("Yes , we@experiencer have/v . For how many nights@time ?", "Certainly . How long/r will you@agent stay ?")),
        ("a", ("For {nights} , until/p {day@time} .", "{nights} . I@agent leave on {day@time} .")),
        ("b", ("A room@experiencer is {night_price} a night@time , so/c {nights} (cost|come to/p) {night_sum} .", "One/m night@experiencer costs {night_price} . {nights.number} times/p {night_price.number} is {night_sum.number} , so/c that/o@experiencer will be {night_sum} .")),
        ("a", ("Good , I@agent will take it@patient . When is breakfast@topic ?", "Here are {night_sum} . And at what/d time@time is breakfast@topic ?")),
        ("b", ("Breakfast@experiencer is from {open@time} to/p {shut@time} . Your room@experiencer has/v the number@patient {room} , on the {nth.th} floor@place .", "You@agent can have/v breakfast@patient after/p {open@time} . Here is the key@topic to/p room@place {room} , on the {nth.th} floor@place .")),
        ("a", ("Number@topic {room} , {nth.th} floor@place . Can I@agent (see|hear) the {sight@patient} from there/n@place ?", "Room@place {room} . Is it@experiencer far/r to/p the {sight@place} ?")),
        ("b", ("It@experiencer is {minutes} from here/n@place . Sleep well/r !", "Only {minutes} on foot@manner . I@experiencer hope you@agent will (enjoy your {nights@patient}|like/v {town@patient}) .")),
    ),
    (
        "{a@agent} climbed to/p the {nth.th} floor@place , found room@patient {room} and fell asleep/a at once/n@time .",
        "The next/a morning@time , at {open@time} , {a@experiencer} was the first/a guest@topic at breakfast@place .",
    ),
    ("nights", "night_sum", "room"),
)  # fmt: skip
NEIGHBOUR = Scene(
    "friend",
    (
        "{a@agent} was making <dessert@patient> when {a.he@agent} saw/v that/c there/o was no/d {item@topic} left/a . {a.he@agent} knocked at {b@experiencer} 's door@place .",
        "There/o was a knock@topic at {b@experiencer} 's door@place in {town@place} . It@experiencer was {a@topic} , with an empty/a {cup@patient} .",
    ),
    (
        ("b", ("Good {greeting@time} , {a@recipient} ! (Come in/t|What@patient can I@agent do/v for you@recipient) !", "Hello , {a@recipient} ! Is something@experiencer wrong ?")),
        ("a", ("Could you@agent lend me@recipient {amount.of} {item@patient} ? I@agent forgot to/t buy some/o@patient .", "I@agent have/x run out/t of {item@topic} . May/x I@agent borrow {amount.of} {item@patient} ?")),
        ("b", ("{amount.of} {item@topic} ? Of course@none . What@patient are you@agent making ?", "Certainly . I@experiencer have/v more/o@patient than {amount} . Is it@experiencer for a (party|birthday|picnic)@topic ?")),
        ("a", ("It@experiencer is for my <young_kin@recipient> , who@experiencer will be {age} on {day@time} .", "My <kin@agent> is coming on {day@time} , and {guests} will be here .")),
        ("b", ("How nice/a ! Here is the {item@topic} . Do/x you@experiencer need {lent.a@patient} , too ?", "Then take {lent.a@patient} as/r well/r , and give it@patient back/r (after/p {day@time}|when you@experiencer can) .")),
        ("a", ("You@experiencer are so/r kind/a . I@agent will bring back/t {amount.of} {item@patient} (on {day_two@time}|soon) , I@agent promise .", "Thank you@recipient , {b@recipient} ! On {day_two@time} you@agent will get your {amount.of} {item@patient} back/r .")),
        ("b", ("There/o is no/d hurry@topic . Just bring me@recipient a piece@patient of cake@topic !", "Don't/x worry . Have/v a good time@patient on {day@time} !")),
    ),
    (
        "On {day_two@time} {a@agent} came back/r with {amount.of} {item@patient} (and a <sweet_gift@patient>|) .",
        "{b@agent} did/x not get the {item@patient} back/r on {day_two@time} , but a large piece@patient of cake@topic .",
    ),
    ("item", "amount", "day_two"),
)  # fmt: skip
LIBRARY = Scene(
    "librarian",
    (
        "{a@agent} went to/p the library@place in {town@place} (on <weekday@time>|after/p school@time|because it@none was raining) .",
        "The library@experiencer in {town@place} was (quiet|almost empty/a|warm/a) when {a@agent} came to/p the desk@place .",
    ),
    (
        ("a", ("Hello . Do/x you@experiencer have/v a book@patient about/p {animal.many@topic} ?", "Good {greeting@time} . I@agent am looking for a book@patient on {animal.many@topic} .")),
        ("b", ("We@experiencer have/v {number} books@patient about/p {animal.many@topic} . Is it@experiencer for you@recipient ?", "Let me@agent look . Yes , there/o are {number} . Who@agent will read it@patient ?")),
        ("a", ("It@experiencer is for my <young_kin@recipient> , who@experiencer is {age} .", "I@agent want to/t read it@patient to/p my <close_kin@recipient> .")),
        ("b", ("Then take this/d {colour} one/o@patient . It@experiencer has/v {pages} and many pictures@patient .", "This/d one/o@experiencer is the best/a : the {colour} book@topic , with {pages} .")),
        ("a", ("{pages} ! That/o@experiencer is (a lot@quantity|perfect) . How long/r may/x I@agent keep it@patient ?", "It@agent looks <quality> . When do/x I@agent have/v to/t bring it@patient back/r ?")),
        ("b", ("You@agent may/x keep it@patient for {weeks} , until/p the {date.th@time} of {month@time} .", "In {weeks} , please . That/o@experiencer is the {date.th@time} of {month@time} .")),
        ("a", ("Until/p the {date.th@time} of {month@time} . And may/x I@agent take a second book@patient ?", "I@agent will not forget : the {date.th@time} of {month@time} . Thank you@recipient !")),
        ("b", ("You@agent may/x take {limit} books@patient at a time@time . Good reading@topic !", "You@experiencer are welcome/a . Be careful with the {colour} cover@topic !")),
    ),
    (
        "{a@agent} read/v all/d {pages} , and now {a.he@experiencer} knows everything@patient about/p {animal.many@topic} .",
        "On the {date.th@time} of {month@time} {a@agent} brought the {colour} book@patient back/r .",
    ),
    ("animal", "colour", "pages", "date", "month"),
)  # fmt: skip

SCENES = (RESTAURANT, CLOTHES, DIRECTIONS, TRAIN, DOCTOR, PHONE, LOST, HOTEL, NEIGHBOUR, LIBRARY)
