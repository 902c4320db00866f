"""Recipes: amounts listed first are named again in the steps, and the end restates the time or doubles the amounts."""

from __future__ import annotations

from somelab.data.corpus.kinds.dishes import DISHES, Part
from somelab.data.corpus.labels import Role
from somelab.data.corpus.lexicon import BAGS, mass_noun, noun
from somelab.data.corpus.page import Kind, Page
from somelab.data.corpus.pattern import fixed
from somelab.data.corpus.phrase import Piece, Referent, count, determiner, measure
from somelab.data.corpus.referents import FEMALE, MALE, NEUTER, PLURAL, Person, pronouns

MINUTE, HOUR = noun("minute"), noun("hour")
COUNTED = {"onion": noun("onion"), "egg": noun("egg"), "lemon": noun("lemon"), "garlic clove": noun("garlic clove")}

TITLES = (
    "{dish} for {guests} .",
    "How to/t make {dish} for {guests} .",
    "{cook@speaker} 's {dish} , for {guests} .",
    "A recipe@topic for {dish} , enough/a for {guests} .",
)
INTRODUCTIONS = (
    "My <kin@agent> (often|always|sometimes) (makes|cooks) this/o@patient (on <weekday@time>|in <season@time>|for "
    "(birthdays|holidays|guests)@topic|when it@none rains) .",
    "This/d recipe@agent comes from (an old/a cook@agent in {town@place}|a small inn@place in {town@place}|my "
    "<kin@agent> in {town@place}) .",
    "Here is a dish@topic that/o@experiencer is <difficulty_easy> , (cheap|quick|healthy) and (delicious|tasty|cheerful) .",
    "Everybody@experiencer in {town@place} (likes|loves) this/d dish@patient .",
    "{cook@agent} made {it.him@patient} (every <weekday@time>|all/d <season@time>|for {cook.his} <kin@recipient>) , "
    "and now you@agent can (make|try) {it.him@patient} too .",
)
LISTS = (
    "You@experiencer (will need|need) {ingredients} .",
    "Take {ingredients} .",
    "(The ingredients@topic are|The shopping list@topic is short/a|Here is the list@topic) : {ingredients} .",
    "For {guests} you@experiencer need {ingredients} .",
)
LEADS = ("then", "next/r ,", "now", "after/p that/o@time ,", "", "", "", "")
SERVE = {
    "meal": (
        "Serve {it.him@patient} (hot|at once/n@time|with <side@companion>|in (small|deep|blue|white) bowls@place|on a "
        "(large|warm/a) plate@place) .",
        "Bring {it.him@patient} to/p the table@place with <side@companion> .",
        "Eat {it.him@patient} with <side@companion> .",
    ),
    "sweet": (
        "Serve {it.him@patient} with <sweet_side@companion> .",
        "Bring {it.him@patient} to/p the table@place (on a (blue|white|round) plate@place|with <sweet_side@companion>) .",
        "Enjoy {it.him@patient} (with <sweet_side@companion>|at teatime@time|in the garden@place) .",
    ),
    "drink": (
        "Serve {it.him@patient} in (tall|cold/a|small) glasses@place .",
        "Pour {it.him@patient} into {guests.number} glasses@place .",
        "Drink {it.him@patient} (cold/a|at once/n@time|through a straw@instrument) .",
    ),
}
TIMES = (
    "It@none takes {all_time} in all/n@quantity : {prepare} of work@topic and {time} of (waiting|patience)@topic .",
    "Remember : {time} , and not a minute@time (more/a|longer/r) !",
    "Allow {all_time} in all/n@quantity , {prepare} for the work@topic and {time} for the (waiting|rest)@topic .",
)
DOUBLES = (
    "For {guests_double} , use twice as/r much/r of everything@patient : {double_one@patient} , {double_two@patient} "
    "and so/r on/r .",
    "If {guests_double} come , double/v the recipe@patient : take {double_one@patient} and {double_two@patient} .",
    "Are there/o {guests_double.number} of you@experiencer ? Then you@experiencer need {double_one@patient} and "
    "{double_two@patient} .",
)
LEFTOVERS = (
    "What@patient is left/a keeps for {keep} (in the fridge@place|in a cool/a place@place|) .",
    "You@agent can (keep|store) the rest@patient for {keep} .",
)
SWAPS = (
    "(If you@experiencer have/v no/d|Instead of) {swapped.many@patient} , you@agent can (use|take) {swap.many@patient} .",
    "{swap.many@patient} can (replace|stand/v in/t for) {swapped.the@patient} .",
)


class Ingredient(Referent):
    """Default `two cups of flour`; `the` (the flour), `again` (the two cups of flour), `one` and `many` (the noun), pronouns."""

    __slots__ = ("double",)

    def __init__(self, part: Part, kind: Referent, amount: int) -> None:
        the = determiner("the")
        self.double = _amount(part, kind, 2 * amount)
        head = kind.forms["one" if part.unit is None and amount == 1 else "many"]
        pieces = _amount(part, kind, amount)
        many = part.source == "pulse" if part.unit else amount > 1
        super().__init__(
            {
                "": pieces,
                "the": (the, *head),
                "again": (the, *(pieces[1:] if amount == 1 else pieces)),
                "one": kind.forms["one"],
                "many": kind.forms["many"],
                **{"them": pronouns(PLURAL if many else NEUTER)["him"]},
            }
        )


def _amount(part: Part, kind: Referent, amount: int) -> tuple[Piece, ...]:
    if part.unit is None:
        number = count(amount).forms[""]
        return (*number, *kind.forms["one" if amount == 1 else "many"])
    return (*measure(amount, noun(part.unit)).forms["of"], *kind.forms["many"])


def ingredient(page: Page, part: Part) -> Ingredient:
    """Draw the noun (one that no other ingredient has) and its amount."""
    if part.source in BAGS:
        kind = page.draw(part.source)
    else:
        kind = COUNTED[part.source] if part.unit is None else mass_noun(part.source)
    return Ingredient(part, kind, page.chance.between(part.least, part.most))


def _listed(items: list[Ingredient]) -> Referent:
    pieces: list[Piece] = []
    for index, item in enumerate(items):
        if index:
            pieces += fixed("and" if index == len(items) - 1 else ",")
        pieces += [piece if piece.role else piece._replace(role=Role.PATIENT) for piece in item.forms[""]]
    return Referent({"": tuple(pieces)})


def write(page: Page) -> None:
    chance, cast = page.chance, page.cast
    dish = chance.pick(DISHES)
    items = {key: ingredient(page, part) for key, part in dish.parts.items()}
    cast.update(items)
    minutes = chance.between(dish.least_minutes, dish.most_minutes)
    prepare, guests = 5 * chance.between(1, 6), chance.between(2, 8)
    person = page.draw("diner")
    cook, gender = chance.pick((("female", FEMALE), ("male", MALE)))
    cast.update(
        dish=dish.title,
        guests=measure(guests, person),
        guests_double=measure(2 * guests, person),
        time=measure(minutes, MINUTE),
        prepare=measure(prepare, MINUTE),
        all_time=measure(minutes + prepare, MINUTE),
        rest=measure(chance.between(3, 12), MINUTE),
        soak=measure(chance.between(2, 9), HOUR),
        keep=measure(chance.between(2, 6), noun("day")),
        town=page.draw("town"),
        some=count(chance.between(2, 5)),
        ingredients=_listed(list(items.values())),
        cook=Person(page.draw(cook), gender),
        it=Referent(pronouns(PLURAL if dish.title.endswith("s@topic") and "with" not in dish.title else NEUTER)),
    )
    page.say(*TITLES)
    page.new_line()
    page.maybe(70, *INTRODUCTIONS)
    page.say(*LISTS)
    page.new_line()
    lead = chance.pick(("first/r ,", ""))
    for step in dish.steps:
        page.say(*step, lead=lead)
        lead = chance.pick([other for other in LEADS if other != lead or not other])
    page.say(*SERVE[dish.served], lead=chance.pick(("finally ,", "")))
    page.new_line()
    one, two = chance.sample(list(items), 2)
    cast.update(double_one=Referent({"": items[one].double}), double_two=Referent({"": items[two].double}))
    page.say(*(TIMES if chance.happens(40) else DOUBLES))
    swapped = chance.pick([key for key, part in dish.parts.items() if part.source in BAGS])
    cast.update(swapped=items[swapped], swap=page.draw(dish.parts[swapped].source))
    page.maybe(50, *(SWAPS if chance.happens(50) else LEFTOVERS))
    page.facts.update({key: item.text for key, item in items.items()})
    page.facts["time"] = measure(minutes, MINUTE).text


KIND = Kind("recipe", write, 60, 180)
