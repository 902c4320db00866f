"""Scenes between friends: an appointment on the phone, a loan over the fence."""

from __future__ import annotations

from somelab.data.corpus.kinds.scenes.scene import Scene

PHONE = Scene(
    "friend",
    (
        "The phone@agent rang (while {a@agent} was (reading|cooking|painting|knitting|drawing|sewing|baking)|in "
        "{a@experiencer} 's house@place) . It@experiencer was {b@topic} .",
        "{a@agent} called {b@patient} (on <weekday@time>|one/d <part_of_day@time>|after/p dinner@time) .",
    ),
    (
        (
            "b",
            (
                "Hello , {a@recipient} ! How are you@experiencer ?",
                "Hi , {a@recipient} ! It@experiencer is good to/t hear your voice@patient . How are you@experiencer ?",
            ),
        ),
        (
            "a",
            (
                "I@experiencer am fine , thanks/i . Shall we@agent go to/p the {event@place} on {day@time} ?",
                "Very well/r , thank you@recipient . Listen , there/o is a {event@topic} on {day@time} . Do/x you@experiencer "
                "want to/t come ?",
            ),
        ),
        (
            "b",
            (
                "On {day@time} I@agent have/v to/t (help my <close_kin@patient>|work|study|visit my <kin@patient>) . What@topic "
                "about/p {day_two@time} ?",
                "I@agent can't/x come on {day@time} , because my <close_kin@agent> is visiting . Can we@agent go on "
                "{day_two@time} ?",
            ),
        ),
        (
            "a",
            (
                "{day_two@experiencer} is fine . At {time@time} ?",
                "Yes , {day_two@experiencer} is even better/a . Let us@agent meet at {time@time} .",
            ),
        ),
        (
            "b",
            (
                "That/o@experiencer is too {too} for me@topic . I@experiencer would prefer {time_two@time} .",
                "Could we@agent say {time_two@time} ? I@experiencer have/v a (lesson|meeting)@patient {before} .",
            ),
        ),
        (
            "a",
            (
                "All/d right@none , {time_two@time} . Where/r shall we@agent meet ?",
                "{time_two@time} , then . Shall I@agent wait {place.in@place} ?",
            ),
        ),
        (
            "b",
            (
                "Let us@agent meet {place.short_in@place} . I@agent will wear/v my {colour} {garment@patient} , so/c you@agent "
                "can't/x miss/v me@patient .",
                "Yes , {place.short_in@place} . And bring {thing.a@patient} , if you@experiencer have/v one/o@patient !",
            ),
        ),
        (
            "a",
            (
                "{day_two@time} , {time_two@time} , {place.short_in@place} . Goodbye , {b@recipient} !",
                "Good ! {day_two@time} at {time_two@time} , then . Bye !",
            ),
        ),
    ),
    (
        "On {day_two@time} they@agent met {place.in@place} at {time_two@time} , and the {event@experiencer} was <quality> .",
        "{a@agent} wrote “ {event@topic} , {day_two@time} , {time_two@time} ” on a piece@place of paper@topic .",
    ),
    ("event", "day_two", "time_two"),
)
NEIGHBOUR = Scene(
    "friend",
    (
        "{a@agent} was making <dessert@patient> when {a.he@agent} saw/v that/c there/o was no/d {item@topic} left/a . "
        "{a.he@agent} knocked at {b@experiencer} 's door@place .",
        "There/o was a knock@topic at {b@experiencer} 's door@place in {town@place} . It@experiencer was {a@topic} , "
        "with an empty/a {cup@patient} .",
    ),
    (
        (
            "b",
            (
                "Good {greeting@time} , {a@recipient} ! (Come in/t|What@patient can I@agent do/v for you@recipient) !",
                "Hello , {a@recipient} ! Is something@experiencer wrong ?",
            ),
        ),
        (
            "a",
            (
                "Could you@agent lend me@recipient {amount.of} {item@patient} ? I@agent forgot to/t buy some/o@patient .",
                "I@agent have/x run out/t of {item@topic} . May/x I@agent borrow {amount.of} {item@patient} ?",
            ),
        ),
        (
            "b",
            (
                "{amount.of} {item@topic} ? Of course@none . What@patient are you@agent making ?",
                "Certainly . I@experiencer have/v more/o@patient than {amount} . Is it@experiencer for a "
                "(party|birthday|picnic)@topic ?",
            ),
        ),
        (
            "a",
            (
                "It@experiencer is for my <young_kin@recipient> , who@experiencer will be {age} on {day@time} .",
                "My <kin@agent> is coming on {day@time} , and {guests} will be here .",
            ),
        ),
        (
            "b",
            (
                "How nice/a ! Here is the {item@topic} . Do/x you@experiencer need {lent.a@patient} , too ?",
                "Then take {lent.a@patient} as/r well/r , and give it@patient back/r (after/p {day@time}|when you@experiencer "
                "can) .",
            ),
        ),
        (
            "a",
            (
                "You@experiencer are so/r kind/a . I@agent will bring back/t {amount.of} {item@patient} (on {day_two@time}|soon) "
                ", I@agent promise .",
                "Thank you@recipient , {b@recipient} ! On {day_two@time} you@agent will get your {amount.of} {item@patient} "
                "back/r .",
            ),
        ),
        (
            "b",
            (
                "There/o is no/d hurry@topic . Just bring me@recipient a piece@patient of cake@topic !",
                "Don't/x worry . Have/v a good time@patient on {day@time} !",
            ),
        ),
    ),
    (
        "On {day_two@time} {a@agent} came back/r with {amount.of} {item@patient} (and a <sweet_gift@patient>|) .",
        "{b@agent} did/x not get the {item@patient} back/r on {day_two@time} , but a large piece@patient of cake@topic .",
    ),
    ("item", "amount", "day_two"),
)

FRIENDS = (PHONE, NEIGHBOUR)
