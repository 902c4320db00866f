"""What all stories share: the cast with its names, kinds and homes, how a story opens, and sentences that fit anywhere.
Hero and friend differ in gender, so that every pronoun has one reading; the elder is always named by trade."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from somelab.data.corpus.kinds.activities import ACTIVITIES
from somelab.data.corpus.kinds.places import draw_place
from somelab.data.corpus.lexicon import adjective, noun
from somelab.data.corpus.page import Page, Pattern
from somelab.data.corpus.phrase import Referent, count, determiner, measure
from somelab.data.corpus.referents import FEMALE, MALE, Gender, Person, Thing, both

Beat = tuple[Pattern, ...]


class Arc(NamedTuple):
    """A plot: `setup` casts what is special to it, and one pattern of each beat is told, in order."""

    name: str
    setup: Callable[[Page], None]
    beats: tuple[Beat, ...]


GENDERS = (("female", FEMALE), ("male", MALE))
CHILD = {FEMALE: noun("girl"), MALE: noun("boy")}

HUMAN_HOME = (
    "in a (small|little|<colour>|crooked) (house|cottage)@place (near/p|behind|beside) the <scenery@place>",
    "in a (narrow|tall|<colour>) house@place at the end@place of the (street|village|road)@topic",
    "above/p the <shop@place> in {town@place}",
    "on a <colour> houseboat@place on the (river|canal)@place",
    "on a (small|large|lonely) farm@place outside/p {town@place}",
)
ANIMAL_HOME = (
    "in a (dry/a|warm/a|cosy|deep) burrow@place under/p an old <tree@place>",
    "in a (small|round|<colour>) hut@place (near/p|behind|beside) the <scenery@place>",
    "in a hollow <tree@place> near/p {town@place}",
    "in a den@place between two (rocks|hills|streams)@place",
    "in a tiny house@place with a <colour> door@topic",
)
OPENINGS = (
    "Once/r upon/p a time@time there/o was {hero.a@experiencer} (called|named) {hero@attribute} . "
    "{hero.he@experiencer} lived {home} .",
    "{hero@experiencer} was {hero.a@attribute} who@experiencer lived {home} .",
    "In {town@place} there/o lived {hero.a@experiencer} . {hero.his} name@experiencer was {hero@attribute} .",
    "Not far/r from the <scenery@place> , {home} , lived {hero.a@experiencer} named/v {hero@attribute} .",
    "Long/r ago/r , there/o lived {hero.a@experiencer} {home} . {hero.he@experiencer} was called {hero@attribute} .",
    "Everybody@experiencer in {town@place} knew {hero@patient} , {hero.a@attribute} who@experiencer lived {home} .",
    "This/o@topic is the story@topic of {hero.intro@topic} , who@experiencer lived {home} and was very {trait} .",
    "My <kin@agent> once/r told me@recipient about/p {hero@topic} , {hero.a@attribute} who@experiencer lived {home} .",
    "{home} there/o lived {hero.a@experiencer} . {hero.his} name@experiencer was {hero@attribute} .",
    "There/o was once/r {hero.a@experiencer} whose/d name@experiencer was {hero@attribute} . {hero.he@experiencer} lived {home} .",
)
HABITS = (
    "{hero.he@experiencer} loved to/t <hobby> , even when it@none (rained|snowed) .",
    "Every <part_of_day@time> {hero.he@agent} (ate <snack.a@patient>|drank a cup@quantity of <drink@patient>) and "
    "(looked out/t of the window@place|watched the <songbird.many@patient>) .",
    "Most/r of all/o@none , {hero.he@experiencer} liked/v <hobby.ing@topic> .",
    "{hero.he@experiencer} knew the names@patient of all/d the <flower.many@topic> and <tree.many@topic> .",
    "{hero.he@experiencer} always wore a <colour> <garment@patient> , in summer@time and in winter@time .",
    "People@agent said/v that/c nobody@experiencer in {town@place} was more/r <trait> .",
    "Every <weekday@time> {hero.he@agent} (visited|helped) a <trade@patient> who@experiencer had/v {few} <animal.many@patient> .",
    "{hero.he@agent} could <hobby> better/r than anyone@topic , but {hero.he@agent} could not <hobby> at all/n@quantity .",
    "Nobody@agent had/x ever seen {hero.him@patient} without a <colour> <outerwear@topic> .",
    "{hero.he@experiencer} was afraid of nothing@topic except <small_creature.many@topic> .",
    "When {hero.he@experiencer} was not <hobby.ing> , {hero.he@agent} was <hobby.ing> .",
    "{hero.he@experiencer} had/v {few} <young_kin.many@patient> and a <pet@patient> , and all/o@experiencer of "
    "them@topic loved {hero.him@patient} .",
    "In {hero.his} garden@place grew <flower.many@patient> , <crop.many@patient> and one/m (small|tall|crooked) <tree@patient> .",
    "",
    "",
    "",
    "",
)
FRIENDS = (
    "{hero.his} best/a friend@experiencer was {friend.intro@topic} (, who@experiencer lived (next/r "
    "door@place|across/p the river@place|on the other/a side@place of the hill@topic)|) .",
    "{hero.he@experiencer} had/v a (good|dear|loyal) friend@patient , {friend.a@attribute} named/v {friend@attribute} .",
    "{hero@experiencer} and {friend.intro@experiencer} had/x been friends@topic for {years} .",
    "Next/r door@place lived {friend.a@experiencer} whose/d name@experiencer was {friend@attribute} , and the "
    "two/o@experiencer were good friends@topic .",
)
TIMES = (
    "one/d <sky_any> <greeting_time@time>",
    "on a <sky_any> <greeting_time@time> in (spring|summer|autumn|April|May/N|June|July|September)@time",
    "one/d <weekday@time>",
    "one/d <greeting_time@time> in (spring|summer|autumn)@time",
    "early/r one/d <sky_any> morning@time",
    "on the first/a <sky_any> day@time of (spring|summer|autumn|the holidays)@time",
    "one/d <weekday@time> in (spring|summer|autumn|May/N|June|August|October)@time",
)
AMBIENCE = (
    "A <songbird@agent> (sang|chirped|hopped) in the <tree@place> , and a <insect@agent> (rested|sat|slept) on a "
    "<colour> <flower@place> .",
    "The air@experiencer smelled of <flower.many@topic> and (fresh/a bread|wet/a grass|wood smoke|warm/a earth|new/a hay)@topic .",
    "(Grey|White|Small|Pink) clouds@agent (drifted|moved|sailed) over the <scenery@place> .",
    "The sun@agent (shone|sparkled|danced) on the (roofs|river|puddles|windows|wet/a leaves)@place .",
    "{hero@agent} (hummed|whistled|sang) a (little|merry|slow) (song|tune)@patient about/p a <colour> <animal@topic> .",
    "Somewhere a (bell|clock)@agent (struck|rang) {hour} .",
    "In the (grass|hedge|moss)@place , {few} <small_creature.many@agent> were (looking for food@patient|busy/a|asleep/a|playing) .",
    "A (cold/a|warm/a|soft) wind@agent (blew|came) from the (hills|sea|river|north|south)@place .",
    "Behind the <scenery@place> , a <animal@agent> was (resting|singing|eating <fruit.a@patient>|sleeping in the shade@place) .",
    "All/d the windows@experiencer in {town@place} were open/a , and someone@agent was playing the <instrument@patient> .",
    "There/o were <tree_fruit.many@topic> on the trees@place and <flower.many@topic> in the grass@place .",
    "The moon@experiencer was (already|still) in the sky@place , (thin|round) and (pale|golden|white|yellow) .",
    "(Two|Three|A few) <songbird.many@agent> (flew|circled) over the <scenery@place> .",
    "A <pet@agent> lay in the (sun|shade)@place and did/x not move (a whisker@patient|at all/n@quantity) .",
    "From far/r away/r came the sound@agent of a <instrument@topic> .",
    "The <tree.many@agent> by/p the <scenery@place> (rustled|moved) in the wind@place .",
    "Over/p the <scenery@place> stood a (pale|bright|double/a) rainbow@agent .",
    "<insect.many@agent> hummed around the <flower.many@place> , and the <songbird.many@agent> were silent/a .",
    "There/o were (fresh/a|deep|strange) tracks@topic of a <animal@topic> in the mud@place .",
    "In a garden@place a <trade@agent> was hanging up/t <colour> <garment.many@patient> .",
    "The smell@agent of <dessert@topic> came from an open/a window@place .",
    "On a wall@place sat a <pet@agent> with <colour> eyes@topic and watched {hero.him@patient} .",
    "The old <tree@experiencer> was full of <songbird.many@topic> that/d <part_of_day@time> .",
    "“ Good {greeting@time} , {hero@recipient} ! ” <exclaim.ed> a <trade@speaker> who@agent was (sweeping the "
    "street@patient|carrying <container.a@patient>|painting a <furniture@patient>) .",
    "Smoke@agent rose/v (slowly|straight/r) from the roof@place of the <shop@topic> .",
)
ROADSIDE = (
    "An old (cart|wagon|lorry|van)@agent (creaked|rattled|rolled) past/r , full of <crop.many@topic> .",
    "On the way@place {hero.he@agent} passed <sight.a@place> and <sight.a@place> .",
    "A <trade@agent> (waved|nodded|smiled) at {hero.him@recipient} from (a window|a garden|a cart|a doorway|the roadside)@place .",
    "{few} children@agent ran past/r with a <colour> <toy@companion> .",
    "It@none began to/t rain , and {hero@agent} waited under/p a <tree@place> until/c it@none stopped .",
    "(Halfway there/r|On the road@place) {hero.he@agent} ate <snack.a@patient> and <fruit.a@patient> .",
    "{hero@agent} stopped for a moment@time to/t look at <flower.those@patient> (by/p the roadside@place|in a "
    "garden@place|under/p a window@place) .",
    "The (road|path)@experiencer was (dusty|muddy|steep|narrow|empty/a) , and {hero.he@agent} walked <busily> .",
    "A <trade@agent> with a <colour> <garment@topic> (asked the time@patient|said/v hello@patient|was selling "
    "<fruit.many@patient>) .",
    "{hero.his} feet@experiencer were (cold/a|wet/a|tired|sore) , but {hero.he@agent} did/x not (stop|mind) .",
    "{hero.he@agent} took the path@patient (past/p|behind|around) the <scenery@place> .",
    "At the crossroads@place {hero.he@agent} turned left/r , towards the <scenery@place> .",
    "{hero.he@agent} counted {few} <sight.many@patient> before/c {hero.he@agent} came to/p the <scenery@place> .",
    "A <colour> (bicycle|scooter|van|tractor|motorcycle|lorry|cart|carriage)@agent passed , and the dust@agent (rose/v|danced) in the air@place .",
    "In front@place of the <shop@place> two <trade.many@agent> were talking about/p the weather@topic .",
    "A <small_creature@agent> (followed|watched) {hero.him@patient} for a while@time .",
    "Once/r {hero.he@agent} stopped to/t drink from a (spring|well/n|stream)@place .",
    "{hero.he@agent} jumped over a (ditch|puddle|log|stream)@place and almost lost/v {hero.his} <garment@patient> .",
)
STORM: Beat = (
    "A branch@agent (broke/v|fell/v) and flew past/p the window@place .",
    "The rain@agent ran down/p their necks@place , and the wind@agent pulled at their (coats|hats|sleeves)@patient .",
    "Somewhere a (door|gate|shutter)@agent banged .",
    "There/o was thunder@topic over the <scenery@place> .",
    "The path@experiencer to/p the <scenery@place> was already under/p water@place .",
    "",
)
NIGHT: Beat = (
    "An owl@agent called from the <scenery@place> .",
    "The moon@agent came out/t from behind a cloud@place , (thin|round) and (pale|golden|white|yellow) .",
    "The stars@agent (shone|sparkled) over the <scenery@place> .",
    "It@none was so/r quiet that/c one/o@agent could hear the (leaves@patient|river@patient|wind@patient in the <tree@place>) .",
    "A <insect@agent> hummed in the dark/n@place .",
    "",
)
VIGNETTES = (
    "A <trade@agent> was {doing} , and a <animal@agent> was {beast_doing} .",
    "While a <trade@agent> was {doing} , a <animal@agent> {beast_did} .",
    "In front@place of the <shop@place> a <trade@agent> was {doing} .",
    "A <trade@agent> who@agent was {doing} (waved|looked up/t|nodded|smiled) .",
    "Near/p the <scenery@place> , a <animal@agent> was {beast_doing} , and nobody@agent noticed .",
    "That/d <part_of_day@time> a <trade@agent> {did} , and a <trade@agent> {did} .",
    "A <trade@agent> who@experiencer wanted to/t {do} (asked the way@patient|was in a hurry@topic|sighed|laughed) .",
    "First/r a <animal@agent> {beast_did} , and then a <animal@agent> {beast_did} .",
    "Somebody@agent had/x seen a <trade@agent> {doing} (at midnight|before/p sunrise|on <weekday>)@time .",
    "Not far/r away/r a <trade@agent> {did} , although it@none was {sky} .",
    "Two <trade.many@agent> were talking about/p a <trade@topic> who@agent {did} (every <weekday>|all/d night|twice a day)@time .",
    "If a <trade@agent> had/x not been {doing} there/r , the street@experiencer would have/x been empty/a .",
)
_NOTHING = ("", "", "", "", "", "", "", "", "")
# Something on the road, or around the house, or nothing; ROAD only where the hero is on the way.
AROUND: Beat = (*AMBIENCE, *VIGNETTES, *_NOTHING)
ROAD: Beat = (*AMBIENCE, *ROADSIDE, *VIGNETTES, *_NOTHING)
EVENING: Beat = (
    "That/d night@time {hero@agent} slept well/r {home.again} .",
    "{hero@agent} went home/r , (lit the lamp@patient|made a cup@patient of tea@topic|sat by/p the fire@place) and "
    "(smiled|thought about/p the day@topic) .",
    "That/d evening@time there/o was <dessert@topic> for everyone@recipient .",
    "When the stars@agent came out/t , {hero@experiencer} was already asleep/a {home.again} .",
    "And if you@agent ever come to/p {town@place} , {hero@agent} will tell you@recipient the story@patient {hero.himself@agent} .",
    "In {town@place} people@agent still (talk about/p it@topic|tell this/d story@patient) , (on long/a "
    "evenings@time|when it@none rains|over/p a cup@place of <drink@topic>) .",
    "Before/p bedtime@time , {hero@agent} wrote everything@patient down/t in a <colour> notebook@place .",
    "",
    "",
)
INSIDE_SPOTS = (
    "under/p the (bed|table|stairs|sofa|carpet)@place",
    "behind the (door|curtain|stove|cupboard|clock)@place",
    "in the <container@place>",
    "in every drawer@place",
    "on top@place of the (wardrobe|shelf|cupboard)@place",
    "in the pockets@place of an old <garment@topic>",
    "in the <room@place>",
    "among/p the <household.many@place>",
)
OUTSIDE_SPOTS = (
    "under/p a heap@place of (leaves|stones|straw|branches)@topic",
    "in the long/a grass@place beside <scenery.a@place>",
    "behind (an old|a fallen/a|a hollow) <tree@place>",
    "between the roots@place of a <tree@topic>",
    "in a <songbird@attribute> 's nest@place",
    "under/p a (stone@attribute|wooden|broken/a) bench@place",
    "among/p the <flower.many@place>",
    "in a muddy ditch@place",
    "on a branch@place of a <tree@topic>",
    "beside a (deep|small|dirty) puddle@place",
)


def new_person(page: Page, gender: Gender, kind: Referent, child: bool) -> Person:
    """Someone with a name, a kind and a trait. `intro` names the kind too, but not that of a child."""
    given = page.draw("female" if gender is FEMALE else "male")
    person = Person(given, gender, kind, page.draw("trait"))
    forms = dict(person.forms)
    forms["intro"] = forms[""] if child else forms["full"]
    person.forms = forms
    return person


def set_stage(page: Page) -> None:
    """Cast what every arc may use: hero, friend, kin, elder, home, two places, a few numbers."""
    chance, cast = page.chance, page.cast
    first, second = (FEMALE, MALE) if chance.happens(50) else (MALE, FEMALE)
    world = chance.pick(("child", "animal", "animal", "trade"))
    hero_kind = CHILD[first] if world == "child" else page.draw(world)
    friend_kind = CHILD[second] if world == "child" else page.draw(world)
    hero = new_person(page, first, hero_kind, world == "child")
    friend = new_person(page, second, friend_kind, world == "child")
    kin_name, kin_gender = chance.pick(GENDERS)
    elder_gender = chance.pick((FEMALE, MALE))
    cast.update(
        hero=hero,
        friend=friend,
        both=both(hero, friend),
        town=page.draw("town"),
        kin=Person(page.draw("relative_f" if kin_name == "female" else "relative_m"), kin_gender),
        elder=Thing(
            page.draw("trade"), adjective(chance.pick(("old", "wise", "kind", "friendly", "tall", "quiet"))), gender=elder_gender
        ),
        place=draw_place(page),
        place_two=draw_place(page),
        years=measure(chance.between(2, 9), noun("year")),
        few=count(chance.between(2, 6)),
        hour=count(chance.between(3, 11)),
        hours=measure(chance.between(2, 5), noun("hour")),
        greeting=page.draw("greeting_time"),
        time=page.phrase(chance.pick(TIMES)),
    )
    home = page.phrase(chance.pick(ANIMAL_HOME if world == "animal" else HUMAN_HOME)).forms[""]
    # The house is `a` house only the first time.
    article = next((index for index, piece in enumerate(home) if piece.text == "a"), None)
    again = home if article is None else (*home[:article], determiner("the"), *home[article + 1 :])
    cast.update(home=Referent({"": home, "again": again}), trait=page.draw("trait"))
    cast.update(ACTIVITIES, his=chance.pick(("his", "her/d")), sky=page.draw("sky_any"))
    page.facts.update(hero=hero.text, friend=friend.text)


def spot(page: Page, patterns: Beat) -> Referent:
    return page.phrase(page.chance.pick(patterns))
