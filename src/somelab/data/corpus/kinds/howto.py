"""How-to texts: a task, what it needs, its steps in order, and tips that name the needed things again."""

from __future__ import annotations

from somelab.data.corpus.kinds.places import draw_place
from somelab.data.corpus.kinds.tasks import TASKS
from somelab.data.corpus.kinds.things import draw_thing
from somelab.data.corpus.lexicon import BAGS, noun
from somelab.data.corpus.page import Kind, Page
from somelab.data.corpus.phrase import Referent, count, measure

OPENINGS = (
    "(This/o@experiencer is|It@experiencer is) (easier than you@experiencer think|not hard/a|easy|quite simple) , if "
    "you@agent (take your time@patient|follow these/d steps@patient|work slowly) .",
    "My <kin@agent> taught me@recipient this/o@patient (when I@experiencer was {age}|one/d <season@time>|in "
    "{town@place}|many years@time ago/r) .",
    "(Many|Most/d) people@experiencer (think|believe) that/c this/o@experiencer is (hard/a|difficult) , but "
    "(anyone@agent|a child@agent|even a beginner@agent) can do/v it@patient .",
    "You@agent can do/v this/o@patient alone or with (a friend@companion|your <close_kin@companion>) .",
    "A <trade@agent> from {town@place} once/r showed me@recipient how to/t do/v it@patient .",
)
NEEDS = (
    "You@experiencer (need|will need) {needs} .",
    "Before/c you@agent begin , (get|find|collect) {needs} .",
    "Have/v these/d things@patient ready : {needs} .",
    "All/o@patient you@experiencer need is {needs} .",
)
LEADS = ("then", "next/r ,", "now", "after/p that/o@time ,", "", "")
HINTS = (
    "Wear/v an old <garment@patient> while you@agent work .",
    "It@experiencer is more/r fun@attribute with (a friend@companion|your <close_kin@companion>|<instrument@attribute> music@companion) .",
    "Keep your <pet@patient> away/r , or it@agent will (eat the <snack@patient>|hide under/p the (bed|sofa|cupboard|bench)@place|run off/t with your <garment@patient>) .",
    "A cup@agent of <drink@topic> and <snack.a@agent> make the waiting@patient easier .",
    "In {town@place} people@agent do/v it@patient on <weekday@time> , (with a song@manner|before/p breakfast@time|in the <room@place>) .",
    "My <kin@agent> always did/v it@patient with one/m eye@instrument on the <animal.many@topic> , but I@agent do/x not recommend that/o@patient .",
    "If somebody@agent asks , say that/c a <trade@agent> from {town@place} taught you@recipient .",
    "Do/x not think of <dessert@topic> while you@agent work , or you@agent will make mistakes@patient .",
    "Some/d people@agent (wait for a <sky_any> day@topic|begin on a <weekday@time>|ask a <trade@recipient> first/r) , but that/o@experiencer is not necessary .",
    "If you@experiencer are nervous , count {few} <animal.many@patient> in your head@place and begin again .",
)
CLOSINGS = (
    "(That/o@experiencer is all/o@topic|That/o@experiencer is it@topic) !",
    "Have/v fun@patient !",
    "Good luck@topic !",
    "(Well/r done/v|Now you@agent can be proud) !",
    "Next/a time@time you@agent will do/v it@patient without these/d notes@instrument .",
)


def cast_member(page: Page, spec: str) -> Referent:
    """What a spec of `tasks.py` stands for."""
    kind, *arguments = spec.split()
    if kind == "bag":
        return page.draw(arguments[0])
    if kind == "thing":
        return draw_thing(page, *arguments)
    if kind == "place":
        return draw_place(page)
    if kind == "count":
        return count(page.chance.between(int(arguments[0]), int(arguments[1])))
    assert kind == "measure", spec
    unit, least, most = arguments
    return measure(page.chance.between(int(least), int(most)), page.draw(unit) if unit in BAGS else noun(unit))


def write(page: Page) -> None:
    chance, cast = page.chance, page.cast
    task = chance.pick(TASKS)
    members = {key: cast_member(page, spec) for key, spec in task.cast.items()}
    cast.update(members)
    cast.update(age=count(chance.between(5, 12)), town=page.draw("town"), few=count(chance.between(2, 12)))
    cast["needs"] = " , ".join(task.needs[:-1]) + " and " + task.needs[-1]
    page.say(task.title)
    page.new_line()
    page.maybe(60, *OPENINGS)
    page.say(*NEEDS)
    page.new_line()
    numbered = chance.happens(25)
    lead = chance.pick(("first/r ,", ""))
    for index, step in enumerate(task.steps, 1):
        if numbered:
            cast["step"] = count(index)
            page.say("step@topic {step} :")
        page.say(*step, lead="" if numbered else lead)
        lead = chance.pick([other for other in LEADS if other != lead or not other])
    page.new_line()
    for tip in chance.sample(task.tips, chance.between(1, 2)):
        page.say(tip)
    page.maybe(85, *HINTS)
    page.maybe(40, *HINTS)
    page.maybe(40, *CLOSINGS)
    page.facts.update({key: member.text for key, member in members.items()})


KIND = Kind("howto", write, 60, 180)
