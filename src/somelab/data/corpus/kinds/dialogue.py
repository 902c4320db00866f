"""Dialogues: two speakers settle something, in prose with quotes or as a script; what was ordered comes back at the end."""

from __future__ import annotations

from somelab.data.corpus.kinds.activities import ACTIVITIES
from somelab.data.corpus.kinds.clock import clock_time
from somelab.data.corpus.kinds.places import draw_place
from somelab.data.corpus.kinds.scenes import SCENES, Scene
from somelab.data.corpus.kinds.things import draw_thing
from somelab.data.corpus.labels import Role, WordClass
from somelab.data.corpus.lexicon import adjective, adverb, noun
from somelab.data.corpus.page import Kind, Page
from somelab.data.corpus.phrase import Piece, Referent, count, measure
from somelab.data.corpus.referents import FEMALE, MALE, Person

COIN, MINUTE = noun("coin"), noun("minute")
SPOT = (
    "(a (small|long/a|deep) scratch@topic|a (white|blue|red) (star|spot|stripe|ribbon)@topic|"
    "the name@topic of my <kin@topic>|a picture@topic of a <animal@topic>)"
)
BACKGROUNDS = (
    "(Outside/r|On the other/a side@place of the street@topic|Not far/r away/r) a <trade@agent> was {doing} .",
    "A <animal@agent> was {beast_doing} , and a <trade@agent> {did} .",
    "It@none was {sky} , and a <trade@agent> was {doing} .",
    "While a <trade@agent> {did} (in the background@place|nearby/r) , the two/o@agent began to/t talk .",
)
SIDES = ("left", "right")
TAGS = {
    ".": (
        "said/v {who@speaker}",
        "{who@speaker} said/v (<politely>|)",
        "(replied|answered) {who@speaker}",
        "{who@speaker} (replied|answered) (with a (smile|nod)@manner|)",
        "",
        "",
    ),
    "?": ("asked {who@speaker}", "{who@speaker} asked (<politely>|)", "", ""),
    "!": ("said/v {who@speaker} (<politely>|)", "{who@speaker} said/v (with a (smile|laugh|nod)@manner|)", "", ""),
}
# When a day's trains go, by part of the day, in minutes after midnight.
PARTS = {"morning": (330, 690), "afternoon": (750, 1020), "evening": (1080, 1260)}


def prices(page: Page) -> dict[str, Referent]:
    """Sums that are sums: a meal of three parts, a price and its change, nights and tickets times their price."""
    chance = page.chance
    one, two, three = (chance.between(3, 30) for _ in range(3))
    price = chance.between(11, 79)
    paid = (price // 10 + 1) * 10
    nights, a_night = chance.between(2, 9), chance.between(10, 50)
    tickets, fare = chance.between(2, 6), chance.between(3, 40)
    return {
        "price_one": measure(one, COIN),
        "price_two": measure(two, COIN),
        "price_three": measure(three, COIN),
        "sum": measure(one + two + three, COIN),
        "price": measure(price, COIN),
        "paid": measure(paid, COIN),
        "change": measure(paid - price, COIN),
        "nights": measure(nights, noun("night")),
        "night_price": measure(a_night, COIN),
        "night_sum": measure(nights * a_night, COIN),
        "tickets": measure(tickets, noun("ticket")),
        "fare": measure(fare, COIN),
        "fares": measure(fare * tickets, COIN),
    }


def times(page: Page) -> dict[str, Referent]:
    """Times of day that fit together: a train arrives when its journey is over, a meeting moves by an hour."""
    chance = page.chance
    part = chance.pick(tuple(PARTS))
    earliest, latest = PARTS[part]
    start, length = 5 * chance.between(earliest // 5, latest // 5), 5 * chance.between(4, 35)
    opens, meeting, later = 30 * chance.between(12, 16), 5 * chance.between(120, 230), chance.happens(50)
    return {
        "part": noun(part),
        "start": clock_time(start),
        "end": clock_time(start + length),
        "length": measure(length, MINUTE),
        "open": clock_time(opens),
        "shut": clock_time(opens + 120),
        "time": clock_time(meeting),
        "time_two": clock_time(meeting + (60 if later else -60)),
        "too": adjective("early" if later else "late"),
        "before": adverb("before" if later else "afterwards"),
        "minutes": measure(chance.between(3, 25), MINUTE),
        "days": measure(chance.between(2, 9), noun("day")),
        "span": measure(chance.between(3, 14), noun("day")),
        "weeks": measure(chance.between(2, 6), noun("week")),
        "date": count(chance.between(1, 28)),
    }


def numbers(page: Page) -> dict[str, Referent]:
    chance = page.chance
    number, floor = chance.between(3, 12), chance.between(1, 5)
    return {
        "number": count(number),
        "rest": count(number - 1),
        "nth": count(floor),
        "room": count(100 * floor + chance.between(1, 99)),
        "limit": count(chance.between(2, 6)),
        "size": count(2 * chance.between(16, 26)),
        "platform": count(chance.between(1, 14)),
        "times": count(chance.between(2, 5)),
        "age": count(chance.between(4, 14)),
        "pages": measure(chance.between(40, 400), noun("page")),
        "guests": measure(chance.between(3, 12), noun("guest")),
        "amount": measure(chance.between(2, 6), noun(chance.pick(("cup", "spoon")))),
    }


def cast_scene(page: Page, scene: Scene) -> None:
    """Everyone and everything a scene may name. The two speakers differ in gender, so that pronouns have one reading."""
    chance, cast = page.chance, page.cast
    people = [Person(page.draw("female"), FEMALE), Person(page.draw("male"), MALE)]
    first, second = chance.sample(people, 2)
    other = (
        second
        if scene.other == "friend"
        else Referent({"": noun(scene.other).forms["the"], "script": noun(scene.other).forms["one"]})
    )
    side, turn = chance.pick(SIDES), chance.pick(SIDES)
    cast.update(ACTIVITIES, few=count(chance.between(2, 6)), his=chance.pick(("his", "her/d")), sky=page.draw("sky_any"))
    cast.update({**prices(page), **times(page), **numbers(page)})
    cast.update(
        a=first,
        b=other,
        town=page.draw("town"),
        town_two=page.draw("town"),
        day=page.draw("weekday"),
        day_two=page.draw("weekday"),
        month=page.draw("month"),
        greeting=page.draw("greeting_time"),
        dish=page.draw("dish"),
        dish_two=page.draw("dish"),
        drink=page.draw("drink"),
        dessert=page.draw("dessert"),
        garment=page.draw("outerwear"),
        colour=page.draw("colour"),
        goal=page.draw("landmark"),
        mark=page.draw("landmark"),
        mark_two=page.draw("landmark"),
        start_mark=page.draw("landmark"),
        sight=page.draw("trip_sight"),
        body=page.draw("body_part"),
        event=page.draw("public_event"),
        animal=page.draw("animal"),
        item=page.draw("baking"),
        cup=page.draw("container"),
        place=draw_place(page),
        thing=draw_thing(page, "garment", "toy", "household", "trinket"),
        lent=draw_thing(page, "household"),
        spot=page.phrase(SPOT),
        side=Referent({"": (Piece(side, WordClass.NOUN, None),)}),
        turn=Referent({"": (Piece(turn, WordClass.ADVERB, Role.PLACE),)}),
    )


def write(page: Page) -> None:
    chance, cast = page.chance, page.cast
    scene = chance.pick(SCENES)
    cast_scene(page, scene)
    page.say(*scene.settings)
    page.maybe(50, *BACKGROUNDS)
    script = chance.happens(30)
    for index, (speaker, patterns) in enumerate(scene.lines):
        page.new_line()
        who = cast["who"] = cast[speaker]
        assert isinstance(who, Referent)
        words = chance.pick(patterns)
        if script:
            page.say("{who.script@speaker} :" if "script" in who.forms else "{who@speaker} :")
            page.say(words)
        else:
            # Nobody replies in the first line.
            page.quote(words, chance.pick(TAGS[words[-1]] if index else TAGS[words[-1]][:2]))
    page.new_line()
    page.say(*scene.endings)
    page.facts.update({key: member.text for key in scene.facts if isinstance(member := cast[key], Referent)})


KIND = Kind("dialogue", write, 60, 180)
