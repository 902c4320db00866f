"""Weather: forecasts that repeat their own temperatures, and diaries whose summary follows from the days."""

from __future__ import annotations

from typing import NamedTuple

from somelab.data.corpus.chance import Bag
from somelab.data.corpus.kinds.activities import ACTIVITIES
from somelab.data.corpus.lexicon import adjective, mass_noun, noun
from somelab.data.corpus.page import Kind, Page
from somelab.data.corpus.pattern import fixed
from somelab.data.corpus.phrase import Referent, count, measure, name
from somelab.data.corpus.referents import Thing

DAYS = tuple(map(name, ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]))
DIRECTIONS = tuple(map(noun, ["north", "south", "east", "west", "north-east", "north-west", "south-east", "south-west"]))
DEGREE, KILOMETRE, MILLIMETRE = noun("degree"), noun("kilometre"), noun("millimetre")


class Condition(NamedTuple):
    """A kind of weather: its noun and adjectives, how such a day is, how it was, what to do, and the highs it fits."""

    nouns: str
    looks: str
    day: str
    was: str
    advice: str
    coldest: int
    warmest: int


CONDITIONS = Bag(
    (
        Condition(
            "rain", "light steady heavy", "rainy", "it@none rained", "(take/v an umbrella@patient|wear/v a raincoat@patient)", 5, 19
        ),
        Condition(
            "sunshine",
            "bright warm golden",
            "sunny",
            "the sun@agent shone",
            "(wear/v a sun hat@patient|use/v sun cream@patient)",
            16,
            36,
        ),
        Condition(
            "clouds",
            "low thick grey",
            "cloudy",
            "(grey|low|heavy) clouds@agent covered the sky@patient",
            "take/v a (jacket|jumper)@patient",
            1,
            21,
        ),
        Condition(
            "showers",
            "short scattered sudden",
            "showery",
            "there/o were (short|heavy) showers/n@topic",
            "(keep/v a hood@patient ready|plan/v your walk/n@topic well/r)",
            7,
            20,
        ),
        Condition(
            "winds",
            "strong cold gusty",
            "windy",
            "a (strong|cold/a) wind@agent blew",
            "(hold/v on/t to/p your hat@patient|tie/v down/t your garden@attribute chairs@patient)",
            5,
            19,
        ),
        Condition(
            "snow",
            "light heavy wet",
            "snowy",
            "it@none snowed",
            "(wear/v (warm/a|stout) boots@patient|clear/v your doorstep@patient)",
            0,
            3,
        ),
        Condition(
            "fog",
            "thick dense cold",
            "foggy",
            "fog@agent hid the (hills|rooftops|fields)@patient",
            "(drive/v|cycle/v) slowly",
            2,
            12,
        ),
        Condition("drizzle", "light fine steady", "drizzly", "it@none drizzled", "wear/v (a cap@patient|an anorak@patient)", 6, 16),
        Condition(
            "thunderstorms",
            "loud violent sudden",
            "stormy",
            "there/o was thunder/n@topic",
            "(stay/v indoors|keep/v away from tall trees@place)",
            15,
            30,
        ),
        Condition(
            "mist",
            "thin pale early",
            "misty",
            "mist@agent lay over the (fields|river)@place",
            "allow/v more/d time@patient for your journey@topic",
            5,
            15,
        ),
        Condition(
            "frost",
            "hard white sharp",
            "frosty",
            "frost@agent covered the (grass|roofs)@patient",
            "(cover/v your plants@patient|watch/v out/t for ice@topic)",
            1,
            6,
        ),
        Condition(
            "heat",
            "great fierce dry",
            "hot",
            "it@none was very hot",
            "(drink/v a lot@quantity of water@patient|stay/v in the shade@place)",
            27,
            36,
        ),
        Condition(
            "spells of sunshine",
            "pleasant mild calm",
            "pleasant",
            "it@none was pleasant",
            "(enjoy/v the fresh/a air@patient|open/v your windows@patient)",
            12,
            22,
        ),
        Condition(
            "hail",
            "sharp heavy noisy",
            "unsettled",
            "it@none hailed",
            "(bring/v your car@patient under/p a roof@place|shelter/v your seedlings@patient)",
            4,
            13,
        ),
    )
)
WET = frozenset(["rain", "showers", "drizzle", "thunderstorms", "snow", "hail"])
MORNING_ONLY = frozenset(["fog", "mist", "frost"])
BY_HIGH = [Bag(item for item in CONDITIONS if item.coldest <= high <= item.warmest) for high in range(37)]
LATER_BY_HIGH = [Bag(item for item in bag if item.nouns not in MORNING_ONLY) for bag in BY_HIGH]

OPENINGS = (
    "Here is the weather@topic for {town@place} on {day@time} .",
    "{day@time} in {town@place} : a {one_day} morning@topic , and then a {two_day} afternoon@topic .",
    "The maps@agent show two kinds@patient of weather@topic for {town@place} on {day@time} .",
    "This/o@topic is the forecast/n@topic for {town@place} and the (villages|hills|farms)@place nearby/r on {day@time} .",
    "Good morning@time , {town@recipient} ! This/o@experiencer is {first@speaker} {last@speaker} with the "
    "weather@topic for {day@time} .",
    "What@topic will the weather@topic be like/p in {town@place} on {day@time} ? {first@agent} {last@agent} has/x "
    "looked at the maps@patient .",
    "The weather@agent in {town@place} will change/v on {day@time} .",
    "If you@experiencer live in or near/p {town@place} , this/o@topic is how {day@time} will look/v .",
)
MORNINGS = (
    "The day@experiencer will (begin/v|start/v) with {one.full@topic} , and at {hour@time} o'clock it@none will be {low} .",
    "In the morning@time , expect/v {one.full@topic} and a temperature@topic of {low} .",
    "(Early/r in the morning@time|At dawn@time|At first light/n@time) the thermometer@agent will show/v {low} , with "
    "{one.full@topic} "
    "(along/p the river@place|over/p the hills@place|in most/d places@place|) .",
    "There/o will be {one.full@topic} in the morning@time , with a temperature@topic of {low} .",
)
AFTERNOONS = (
    "(By/p noon@time|After/p lunch@time|Later) the {one.one@topic} will give way@none to/p {two.full@topic} , and "
    "the temperature@agent will "
    "(climb/v|rise/v) to/p {high} .",
    "The afternoon@experiencer will be {two_day} , with {two.full@topic} and a high/n@topic of {high} .",
    "In the afternoon@time it@none will turn/v {two_day} , and we@experiencer expect/v {high} .",
    "From (noon@time|lunchtime@time|two o'clock) onwards , {two.full@topic} will (arrive/v|move/v in/t|take/v "
    "over/t) from the {side@place} . "
    "The high/n@experiencer will be {high} .",
)
WINDS = (
    "The wind@agent will blow/v from the {side@place} at {speed} an hour@time .",
    "(A light/a|A fresh|A cool/a|A gentle) breeze@agent from the {side@place} will reach/v {breeze} an hour@time .",
    "Winds@agent from the {side@place} will blow/v at up/p to/p {speed} an hour@time .",
)
ADVICE = (
    "If you@agent go out/r before/p noon@time , {one_advice} , for there/o will be {one.one@topic} .",
    "(Our advice@topic|My advice@topic|The advice@topic) for the afternoon@time : {two_advice} .",
    "(Walkers@agent|Drivers@agent|Cyclists@agent|Families@agent) should remember the {one.one@topic} in the "
    "morning@time : {one_advice} .",
    "With {two.one@topic} after/p lunch@time , please {two_advice} .",
)
EVENTS = (
    "The {event@experiencer} in the (park@place|square@place|town centre@place) will (go ahead|start|open/v) at "
    "{clock@time} o'clock ; visitors@agent should be ready for {two.one@topic} .",
    "Those/o@agent who@agent visit/v the {event@patient} at {clock@time} o'clock should bring/v (a drink@patient|a "
    "blanket@patient|good shoes@patient|a little patience@patient) .",
)
YESTERDAY = (
    "That/o@experiencer is {change} {warmer} than yesterday@time , when it@none was {before} .",
    "Yesterday we@experiencer had/v {before} , so/c it@none will be {change} {warmer} .",
)
ELSEWHERE = (
    "In {town_two@place} it@none will be {gap} {colder} , with a high/n@topic of {high_two} .",
    "{town_two@place} will be {gap} {colder} than {town@place} : expect/v {high_two} (there/r|by/p the "
    "coast@place|in the hills@place) .",
)
NIGHTS = (
    "At night@time the temperature@agent will (fall/v|drop/v) to/p {night} (, and the sky@experiencer will be "
    "clear/a|, with a little wind@topic|) .",
    "After/p sunset@time it@none will be (calm|quiet|still/a) , with a low/n@topic of {night} .",
)
SUMMARIES = (
    "To/t sum/v up/t : {one.one@topic} first/r , then {two.one@topic} , and a high/n@topic of {high} in {town@place} .",
    "So/r remember , {town@recipient} : {one.one@topic} in the morning@time , {two.one@topic} in the afternoon@time "
    ", and no/d more/a than {high} .",
    "In short/a , {day@agent} brings {town@recipient} {one.one@patient} , then {two.one@patient} , and {high} at most/n@quantity .",
)
CLOSINGS = (
    "We@agent will be back/r (at {clock@time} o'clock|tomorrow|this evening@time) .",
    "(Have/v a good day@time|Have/v a pleasant {day@time}|Stay/v (dry/a|warm/a|safe)|Enjoy/v your day@patient) !",
    "The next/a forecast/n@topic (comes|follows) at {clock@time} o'clock .",
)


DIARY_OPENINGS = (
    "I@agent keep a weather diary@patient in {town@place} , and these/o@topic are my notes@topic for {span} .",
    "This/o@topic is what@patient {first@agent} {last@agent} wrote about the weather@topic in {town@place} over/p {span} .",
    "My grandfather@agent measures the weather@patient in {town@place} every day@time . These/o@topic are his notes@topic .",
    "The pupils@agent of the school@place in {town@place} watched the sky@patient for {span} and wrote down/t "
    "what@patient they@agent saw/v .",
    "Here are the notes@topic from the weather station@place in {town@place} .",
)
DIARY_DAYS = (
    "On {day@time} {was} , and the thermometer@agent showed {high} .",
    "On {day@time} it@none was {look} , with a high/n@topic of {high} .",
    "{day@time} was {look} ; the thermometer@agent reached {high} .",
    "It@none was {high} on {day@time} , and {was} (all/d day@time|for hours@time|in the morning@time|after/p "
    "lunch@time|until/p dusk@time) .",
)
DIARY_LATER_DAYS = (
    *DIARY_DAYS,
    "(Then came {day@agent}|After/p that/o@time came {day@agent}) : {was} , and the temperature@experiencer was {high} .",
)
DIARY_RAIN = (
    "The rain@attribute gauge@agent (caught|collected) {rain} .",
    "There/o were {rain} in the (gauge|glass/n)@place .",
)
DIARY_DRY = ("The rain@attribute gauge@experiencer stayed (empty/a|dry/a) .", "Not a drop/n@topic fell .")
DIARY_EXTRA = (
    "A <trade@agent> was {doing} , and a <animal@agent> was {beast_doing} .",
    "(At noon@time|In the morning@time|After/p lunch@time|Before/p dusk@time) a <trade@agent> {did} .",
    "Somebody@agent saw/v a <trade@agent> {doing} .",
    "(Two|Three|Some) <songbird.many@agent> (sang|chirped|rested|perched) in the <tree@place> (by/p the "
    "gate@place|near/p the well@place|) .",
    "(A few|Many|Hundreds@quantity of) <insect.many@agent> (hummed|danced|drifted) over the <flower.many@place> .",
    "The wind@agent came from the {side@place} .",
    "(We@agent|The neighbours@agent) (hung the washing/n@patient in the (attic|yard)@place|ate lunch@patient "
    "(outside|indoors)@place) .",
    "The first <flower.many@agent> (opened|bloomed) beside the (gate|wall|path|pond|fence|doorstep)@place .",
    "{kite.a@patient} flew over/p the <scenery@place> .",
)
DIARY_ENDS = (
    "The (warmest|hottest) day@experiencer was {best@time} , with {most} , and the (coldest|coolest) was "
    "{worst@time} , with {least} .",
    "So/r {best@experiencer} was the warmest day@time of {span} , {spread} (above/p|warmer than) {worst@time} .",
    "Between {best@time} and {worst@time} there/o was a difference@topic of {spread} .",
)
DIARY_TOTALS = (
    "(In all/n@quantity|Altogether|In total/n@quantity) , {sum} of rain@patient fell .",
    "The rain@experiencer of {span} came to/p {sum} .",
)


def degrees(value: int) -> Referent:
    """`four degrees`, or `two degrees below zero`."""
    pieces = measure(abs(value), DEGREE).forms[""]
    return Referent({"": pieces if value >= 0 else (*pieces, *fixed("below/p zero"))})


def condition(page: Page, role: str, item: Condition) -> Referent:
    """Cast the condition under three names: the weather itself, `_day` the adjective, `_advice` what to do."""
    weather = Thing(mass_noun(item.nouns), adjective(page.chance.pick(item.looks.split())))
    page.cast.update({role: weather, f"{role}_day": adjective(item.day), f"{role}_advice": item.advice})
    return weather


def forecast(page: Page) -> None:
    chance, cast = page.chance, page.cast
    high = chance.between(2, 34)
    later = LATER_BY_HIGH[high].draw(chance)
    one = condition(page, "one", BY_HIGH[high].draw_other(chance, later))
    two = condition(page, "two", later)
    low = high - chance.between(2, 6)
    change, gap = chance.between(1, 5), chance.between(1, 5)
    warmer, colder = chance.happens(50), chance.happens(50)
    town = page.draw("town")
    cast.update(
        town=town,
        town_two=page.draw("town"),
        day=chance.pick(DAYS),
        first=page.draw(chance.pick(("female", "male"))),
        last=page.draw("family"),
        low=degrees(low),
        high=degrees(high),
        night=degrees(low - chance.between(1, 4)),
        hour=count(chance.between(5, 9)),
        clock=count(chance.between(2, 11)),
        side=chance.pick(DIRECTIONS),
        event=page.draw("public_event"),
        speed=measure(5 * chance.between(1, 9), KILOMETRE),
        breeze=measure(chance.between(4, 19), KILOMETRE),
        change=degrees(change),
        before=degrees(high - change if warmer else high + change),
        warmer=adjective("warmer" if warmer else "colder"),
        gap=degrees(gap),
        high_two=degrees(high - gap if colder else high + gap),
        colder=adjective("colder" if colder else "warmer"),
    )
    page.facts.update(town=town.text, high=degrees(high).text, morning=one.text, afternoon=two.text)
    page.say(*OPENINGS)
    page.say(*MORNINGS)
    page.say(*AFTERNOONS)
    page.maybe(60, *YESTERDAY)
    for patterns in chance.sample((WINDS, ADVICE, EVENTS, ELSEWHERE, NIGHTS), chance.between(2, 4)):
        page.say(*patterns)
    page.say(*SUMMARIES)
    page.maybe(60, *CLOSINGS)


def diary(page: Page) -> None:
    chance, cast = page.chance, page.cast
    num_days, first_day = chance.between(3, 5), chance.below(7)
    days = [DAYS[(first_day + index) % 7] for index in range(num_days)]
    # No two days are equally warm: the summary names the one warmest.
    highs = chance.sample(range(start := chance.between(1, 22), start + 11), num_days)
    town = page.draw("town")
    cast.update(
        town=town,
        first=page.draw(chance.pick(("female", "male"))),
        last=page.draw("family"),
        side=chance.pick(DIRECTIONS),
        span=measure(num_days, noun("day")),
        kite=Thing(noun("kite"), page.draw("colour")),
    )
    cast.update(ACTIVITIES, few=count(chance.between(2, 6)), his=chance.pick(("his", "her/d")))
    page.say(*DIARY_OPENINGS)
    fallen = 0
    extras = chance.sample(DIARY_EXTRA, len(DIARY_EXTRA))
    for index, (day, high) in enumerate(zip(days, highs, strict=True)):
        item = BY_HIGH[high].draw(chance)
        rain = chance.between(2, 30) if item.nouns in WET else 0
        cast.update(day=day, high=degrees(high), was=item.was, look=adjective(item.day), rain=measure(rain, MILLIMETRE))
        fallen += rain
        page.say(*(DIARY_LATER_DAYS if index else DIARY_DAYS))
        page.say(*(DIARY_RAIN if rain else DIARY_DRY if chance.happens(40) else extras[index : index + 1]))
    by_warmth = sorted(zip(highs, range(num_days), strict=True))
    (least, coldest), (most, warmest) = by_warmth[0], by_warmth[-1]
    cast.update(best=days[warmest], worst=days[coldest], most=degrees(most), least=degrees(least), spread=degrees(most - least))
    cast["sum"] = measure(fallen, MILLIMETRE)
    page.facts.update(town=town.text, warmest=days[warmest].text, high=degrees(most).text)
    page.say(*DIARY_ENDS)
    if fallen:
        page.say(*DIARY_TOTALS)


def write(page: Page) -> None:
    (forecast if page.chance.happens(65) else diary)(page)


KIND = Kind("weather", write, 60, 180)
