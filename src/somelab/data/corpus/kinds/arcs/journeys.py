"""Arcs about journeys: a trip there and back, a rescue in a storm, a mystery and its clue."""

from __future__ import annotations

from somelab.data.corpus.kinds.arcs.stage import AROUND, FRIENDS, NIGHT, OUTSIDE_SPOTS, ROAD, STORM, Arc, spot
from somelab.data.corpus.kinds.clock import clock_time
from somelab.data.corpus.kinds.places import WILD_PLACES, draw_place
from somelab.data.corpus.kinds.things import draw_thing, look_text, noun_text
from somelab.data.corpus.lexicon import noun
from somelab.data.corpus.page import Page
from somelab.data.corpus.phrase import Referent, count, measure
from somelab.data.corpus.referents import FEMALE, MALE, Person, Thing, pronouns


def set_trip(page: Page) -> None:
    """Three sights on the way out, passed in reverse order on the way back."""
    chance, cast = page.chance, page.cast
    blanket = Thing(
        noun(chance.pick(("blanket", "tent", "rope", "umbrella", "lantern"))), page.draw("tool_look"), page.draw("colour")
    )
    snacks = 2 * chance.between(2, 6)
    cast.update(
        item=blanket,
        use=USES[noun_text(blanket)],
        snack=page.draw("snack"),
        snacks=count(snacks),
        half=count(snacks // 2),
        drink=page.draw("drink"),
        sight=page.draw("sight"),
        sight_two=page.draw("sight"),
        sight_three=page.draw("sight"),
        view=page.draw("sight"),
        place=draw_place(page, WILD_PLACES),
        length=measure(chance.between(3, 20), noun("kilometre")),
        souvenir=page.draw("souvenir"),
        souvenirs=count(chance.between(3, 12)),
    )
    page.facts.update(object=noun_text(blanket), look=look_text(blanket), recalled=f"{look_text(blanket)} {noun_text(blanket)}")


USES = {
    "blanket": "a cold/a wind@agent came up/t , and they@agent sat under/p {item@place} until/c they@experiencer were warm/a again",
    "tent": "it@none began to/t rain , and they@agent crept into {item@place} until/c the sky@experiencer was clear/a again",
    "rope": "{friend@agent} slipped and could not climb up/r again , and {hero@agent} pulled {friend.him@patient} up/t with "
    "{item@instrument}",
    "umbrella": "it@none began to/t hail , and they@agent stood close/a together/r under/p {item@place}",
    "lantern": "fog@agent came down/t , and only {item@agent} showed them@recipient the path@patient",
}
TRIP = (
    FRIENDS,
    (
        "{time} {hero@speaker} said/v , “ Let us@agent go to/p {place@place} ! ” “ That/o@experiencer is {length} from "
        "here/n@place , ” said/v {friend@speaker} . “ Let us@agent start at once/n@time . ”",
        "{both@experiencer} had/x always wanted to/t see {place@patient} , which@experiencer was {length} away/r . "
        "{time} they@agent set out/t .",
    ),
    (
        "They@agent packed {snacks} {snack.many@patient} , a bottle@patient of {drink@topic} and {item.a@patient} .",
        "In {hero@experiencer} 's bag@place were {snacks} {snack.many@topic} and a bottle@topic of {drink@topic} , and "
        "{friend@agent} carried {item.a@patient} .",
    ),
    (
        "First/r they@agent passed {sight.a@place} , then {sight_two.a@place} , and at last/n@time {sight_three.a@place} .",
        "The way@agent led past/p {sight.a@place} , past/p {sight_two.a@place} and past/p {sight_three.a@place} .",
    ),
    ROAD,
    (
        "Halfway there/r , {use} .",
        "After/p {hours} , {use} .",
    ),
    (
        "“ How good that/c we@experiencer have/v {item@patient} ! ” said/v {friend@speaker} .",
        "“ Without {item@topic} we@experiencer would have/x been lost/a , ” said/v {hero@speaker} .",
    ),
    AROUND,
    (
        "At noon@time they@agent reached {place@patient} . From there/n@place one/o@agent could see {view.a@patient} and "
        ", far/r away/r , the roofs@patient of {town@topic} .",
        "And then {place@experiencer} lay before/p them@place , (wide|bright|quiet|golden) and beautiful . “ "
        "It@experiencer is even better/a than I@agent thought , ” whispered {hero@speaker} .",
    ),
    (
        "They@agent ate the {snacks} {snack.many@patient} , {half} each/o@recipient , and drank the {drink@patient} .",
        "Each/o@agent of them@topic ate {half} of the {snacks} {snack.many@patient} , and they@agent shared the {drink@patient} .",
    ),
    (
        "{friend@agent} found {souvenirs} {souvenir.many@patient} and put them@patient into the bag@place .",
        "{hero@agent} (drew|painted/v) {place@patient} in a little book@place , while {friend@agent} collected "
        "{souvenirs} {souvenir.many@patient} .",
    ),
    (
        "When the shadows@agent grew long/a , they@agent turned back/r . They@agent passed the {sight_three@place} , "
        "then the {sight_two@place} , and at last/n@time the {sight@place} .",
        "On the way@place back/r they@agent saw/v everything@patient the other/a way@manner round/r : first/r the "
        "{sight_three@topic} , then the {sight_two@topic} , then the {sight@topic} .",
    ),
    (
        "It@none was dark/a when they@agent came home/r , with {souvenirs} {souvenir.many@companion} , {item@companion} "
        "and sore feet@companion .",
        "“ Shall we@agent go again tomorrow ? ” asked {hero@speaker} . But {friend@experiencer} was already asleep/a , "
        "with {item@companion} in {friend.his} arms@place .",
        "“ {length} there/r and {length} back/r , ” said/v {friend@speaker} and put down/t {item@patient} . “ My feet@experiencer will remember "
        "it@patient for {years} ! ”",
    ),
)


# Where the small one sits, and what brings it down or out.
DANGERS = (
    ("high/r up/r in a <tree@place>", "climbed up/t"),
    ("on a stone@place in the middle@place of the river@topic", "waded into the water@place"),
    ("at the bottom@place of a dry/a well@topic", "climbed down/t"),
    ("on the roof@place of the <scenery@topic>", "climbed up/t"),
    ("in a hole@place between two rocks@place", "crept in/t"),
    ("on a piece@place of wood@topic in the lake@place", "swam out/r"),
)


def set_rescue(page: Page) -> None:
    chance, cast = page.chance, page.cast
    danger, approach = chance.pick(DANGERS)
    collar = page.draw("colour")
    cast.update(
        danger=page.phrase(danger),
        approach=approach,
        collar=collar,
        pet=Person(page.draw("pet_name"), chance.pick((FEMALE, MALE)), page.draw("rescued")),
        tool=Thing(noun(chance.pick(("rope", "ladder", "basket", "blanket", "net"))), page.draw("thing_size"), page.draw("colour")),
        food=page.draw("pet_food"),
        owner=Thing(page.draw("trade"), page.draw("trait"), gender=chance.pick((FEMALE, MALE))),
        days=measure(chance.between(2, 7), noun("day")),
        reward=draw_thing(page, "trinket", "garment", "toy"),
    )
    page.facts.update(object="collar", look=collar.text, recalled=f"{collar.text} collar")


RESCUE = (
    FRIENDS,
    (
        "{time} a storm@agent came over/p {town@place} . The wind@agent howled , and the river@agent rose/v .",
        "{time} it@none rained so/r hard/r that/c the roads@agent became rivers@patient . {both@agent} stayed inside/r "
        "and listened .",
    ),
    (
        "Suddenly {hero@agent} heard a (thin|weak|sad) (cry|voice|sound)@patient . It@agent came from {place@place} .",
        "“ Did/x you@agent hear that/o@patient ? ” asked {friend@speaker} . “ Someone@agent is crying , {place.short_in@place} ! ”",
    ),
    (
        "They@agent <go.ed> out/r into the rain@place . {danger} sat a (wet/a|little|frightened/a) {pet.one@agent} with "
        "a {collar} collar@topic .",
        "{place.in@place} they@agent saw/v it@patient : {danger} sat a little {pet.one@agent} . It@experiencer was "
        "(wet/a|shivering|afraid) and wore a {collar} collar@patient .",
    ),
    STORM,
    (
        "“ We@experiencer need help@patient , ” said/v {friend@speaker} and ran to/p {elder.a@recipient} , who@agent "
        "gave {friend.him@recipient} {tool.a@patient} .",
        "{friend@agent} ran home/r and fetched {tool.a@patient} , while {hero@agent} spoke <kindly> to/p the {pet.one@recipient} .",
    ),
    (
        "{hero@experiencer} was afraid , too . But {hero.he@agent} took {tool@patient} and {approach} .",
        "“ I@agent will go , ” said/v {hero@speaker} . “ Hold {tool@patient} for me@recipient ! ” ^ And {hero.he@agent} "
        "{approach} .",
    ),
    (
        "Once/r {hero.he@agent} slipped , and {friend@speaker} <alarm.ed> . Then {hero.he@agent} had/v the "
        "{pet.one@patient} in {hero.his} arms@place .",
        "Step@manner by/p step@manner {hero.he@agent} came nearer/r . At last/n@time {hero.he@agent} (held|caught) the "
        "{pet.one@patient} by/p the {collar} collar@place .",
    ),
    (
        "At home/n@place they@agent dried the {pet.one@patient} , and it@agent ate {food@patient} and fell/v asleep/a "
        "by/p the fire@place .",
        "They@agent carried the {pet.one@patient} home/r and gave it@recipient {food@patient} . It@agent ate "
        "everything@patient and slept for {hours} .",
    ),
    AROUND,
    (
        "On the {collar} collar@place there/o was a name@topic : {pet@topic} . “ Whose/d {pet.one@topic} are "
        "you@experiencer , {pet@recipient} ? ” asked {hero@speaker} .",
        "“ Look/v , there/o is a name@topic on the {collar} collar@place , ” said/v {friend@speaker} . “ "
        "{pet.he@experiencer} is called {pet@attribute} . ”",
    ),
    (
        "After/p {days} {owner.a@agent} knocked . “ Have/x you@agent seen a {pet.one@patient} with a {collar} "
        "collar@topic ? ” {owner.he@speaker} asked . {pet@agent} jumped into {owner.his} arms@place .",
        "{days} later a note@experiencer hung on the (church door|old oak|town hall|bridge|school gate)@place : “ Lost/a "
        ": a {pet.one@topic} with a {collar} collar@topic . ” {both@agent} took {pet@patient} home/r .",
    ),
    (
        "{owner@agent} gave them@recipient {reward.a@patient} . But the best/a thank-you@experiencer was that/c "
        "{pet@agent} (visited them@patient every <weekday@time>|never forgot them@patient) .",
        "“ Take {reward.a@patient} , ” said/v {owner@speaker} , “~ and come and see {pet@patient} whenever "
        "you@experiencer want . ”",
    ),
)


def set_mystery(page: Page) -> None:
    """So many a night, for so many nights: the sum is told, and the clue's colour names the thief."""
    chance, cast = page.chance, page.cast
    each, nights = chance.between(2, 8), chance.between(3, 6)
    colour = page.draw("colour")
    cast.update(
        loot=page.draw("loot"),
        each=count(each),
        nights=count(nights),
        sum=count(each * nights),
        colour=colour,
        clue=page.draw("clue"),
        owner=page.draw("loot_owner"),
        owner_gender=Referent(pronouns(chance.pick((FEMALE, MALE)))),
        trail=spot(page, OUTSIDE_SPOTS),
        thief=Person(page.draw("pet_name"), chance.pick((FEMALE, MALE)), page.draw("thief_animal")),
        young=count(chance.between(2, 5)),
        garment=page.draw("outerwear"),
    )
    page.facts.update(object="thief", look=colour.text, recalled=colour.text, sum=count(each * nights).text)


MYSTERY = (
    FRIENDS,
    (
        "{time} the {owner@experiencer} of {town@topic} was <upset> . “ Someone@agent steals my {loot.many@patient} , ” "
        "{owner_gender.he@speaker} said/v . “ Every night@time {each} of them@experiencer are gone/a ! ”",
        "Something@experiencer strange/a was going on/t in {town@place} . Night@manner after/p night@manner , {each} "
        "{loot.many@agent} disappeared from the {owner@experiencer} 's window@place .",
    ),
    (
        "It@none had/x been going on/t for {nights} nights@time . “ {nights} times/p {each} is {sum} , ” said/v "
        "{hero@speaker} . “ So/c {sum} {loot.many@experiencer} are missing/a . ”",
        "After/p {nights} nights@time , {sum} {loot.many@experiencer} were missing/a . “ We@agent must find the "
        "thief@patient , ” said/v {hero@speaker} .",
    ),
    (
        "{both@agent} looked around/r . Under/p the window@place lay a {colour} {clue@patient} .",
        "“ Here is a clue@topic ! ” {friend@speaker} <exclaim.ed> . In the grass@place {friend.he@agent} had/x found a "
        "{colour} {clue@patient} .",
    ),
    (
        "“ Who@experiencer in {town@place} has/v something@patient {colour} ? ” asked {friend@speaker} . They@agent "
        "asked the <trade@recipient> , the <trade@recipient> and {elder.a@recipient} , but nobody@experiencer knew .",
        "They@agent asked everyone@recipient they@agent met . The <trade@experiencer> had/v a {colour} {garment@patient} "
        ", but {each} {loot.many@topic} a night@time ? Surely not !",
    ),
    AROUND,
    (
        "That/d night@time they@agent hid behind a <tree@place> and waited . Somewhere a clock@agent struck {hour} .",
        "“ We@agent will watch tonight , ” said/v {hero@speaker} . They@agent took a blanket@patient and some "
        "<snack.many@patient> and hid near/p the window@place .",
    ),
    (
        "At midnight@time something@agent moved . A small shadow@agent took {each} {loot.many@patient} and ran away/t .",
        "For a long/a time@time nothing@agent happened . Then a shadow@agent came , and one/o@agent could hear tiny feet@patient .",
    ),
    NIGHT,
    (
        "They@agent followed it@patient to/p {place@place} . There/r , {trail} , sat a {thief.one@agent} in a {colour} "
        "{garment@place} .",
        "The trail@agent of crumbs@topic led to/p {place@place} . {trail} they@agent found a {thief.one@patient} . "
        "{thief.he@agent} wore a {colour} {garment@patient} .",
    ),
    (
        "Something@experiencer was missing/a on the {garment@place} : a {colour} {clue@topic} . “ So/r it@none was "
        "you@topic ! ” said/v {hero@speaker} .",
        "“ This/d {colour} {clue@experiencer} is yours/o@topic , ” said/v {friend@speaker} .",
    ),
    (
        "“ My name@experiencer is {thief@attribute} , ” said/v the {thief.one@speaker} <sadly> . “ I@experiencer have/v "
        "{young} hungry children@patient , and I@agent could not find anything@patient else/r . ”",
        "The {thief.one@agent} <despair.ed> . Behind {thief.him@place} sat {young} little ones/n@agent , and "
        "they@experiencer were very thin . “ I@experiencer am {thief@attribute} , and we@experiencer are hungry , ” "
        "{thief.he@speaker} said/v .",
    ),
    (
        "{both@agent} told the {owner@recipient} everything@patient . “ {sum} {loot.many@topic} ! ” said/v the "
        "{owner@speaker} . “ {thief@agent} can work for me@recipient , and {thief.his} children@agent will never be "
        "hungry again . ”",
        "The {owner@experiencer} was angry at first/n@time , but then {owner_gender.he@agent} saw/v the {young} "
        "children@patient . “ From now/n@time on/t I@agent will put out/t {each} {loot.many@patient} every night@time , "
        "” {owner_gender.he@speaker} said/v .",
    ),
    (
        "And the {colour} {garment@patient} ? {friend@agent} sewed the {clue@patient} on/t again , and it@agent looked "
        "like/p new/a .",
        "Since/p then/n@time nothing@agent has/x disappeared in {town@place} , and {thief@agent} (waves|nods) whenever "
        "{thief.he@agent} sees {hero@patient} .",
    ),
)


def set_message(page: Page) -> None:
    """A message of three parts that has to arrive word for word."""
    chance, cast = page.chance, page.cast
    thing, candles = draw_thing(page, "household", "soft_household"), chance.between(2, 12)
    ware = page.draw("ware")
    stop, stop_two = chance.sample(DISTRACTIONS, 2)
    cast.update(
        thing=thing,
        ware=ware,
        wares=count(candles),
        clock=clock_time(30 * chance.between(12, 42)),
        day=page.draw("weekday"),
        goal=draw_place(page),
        tempter=Thing(page.draw("trade"), page.draw("trait"), gender=chance.pick((FEMALE, MALE))),
        toy=page.draw("toy"),
        stop=page.phrase(stop),
        stop_two=page.phrase(stop_two),
    )
    page.facts.update(object=noun_text(thing), look=look_text(thing), recalled=f"{look_text(thing)} {noun_text(thing)}")


DISTRACTIONS = (
    "a <trade@agent> wanted to/t talk about/p the price@topic of <crop.many@topic>",
    "{few} children@agent asked {hero.him@recipient} to/t play/v with their <toy@instrument>",
    "a <pet@agent> had/x lost/v its way@patient and {hero@agent} carried it@patient home/r",
    "there/o was a <public_event@topic> , with music@topic and <snack.many@topic>",
    "a <cargo_vehicle@agent> was stuck/a in the mud@place and {hero@agent} helped to/t push it@patient",
    "a <trade@agent> asked the way@patient to/p the <landmark@place>",
)
MESSAGE = (
    (
        "{time} {elder.a@agent} stopped {hero@patient} . “ Can you@agent carry a message@patient to/p "
        "{friend.intro@recipient} , {goal.short_in@place} ? ” {elder.he@speaker} asked .",
        "{time} {hero.his} {kin@agent} had/v an important message@patient for {friend.intro@recipient} , who@agent "
        "worked {goal.in@place} .",
    ),
    (
        "“ Say this/o@patient : bring {thing.a@patient} and {wares} {ware.many@patient} on {day@time} at {clock@time} . "
        "And do/x not change/v a word@patient ! ”",
        "“ Listen well/r , ” it@agent began : “ bring {wares} {ware.many@patient} and {thing.a@patient} , on {day@time} "
        "at {clock@time} . ”",
    ),
    (
        "{hero@agent} repeated it@patient twice . “ {thing.a_short@topic} , {wares} {ware.many@topic} , {day@time} , "
        "{clock@time} . ” Then {hero.he@agent} <go.ed> off/t .",
        "{hero@agent} had/v no/d paper@patient , so/c {hero.he@agent} said/v the words@patient again and again : “ "
        "{thing.a_short@topic} and {wares} {ware.many@topic} . ”",
    ),
    ROAD,
    ("On the way@place {stop} .", "But {hero@experiencer} was not far/r from home@place when {stop} ."),
    (
        "“ {wares} {ware.many@topic} , {clock@time} , ” {hero@speaker} murmured when it@experiencer was over/r .",
        "When {hero.he@agent} walked on/r , {hero.he@agent} had/v to/t think hard/r . Was it@none {day@time} ? Yes , {day@time} .",
    ),
    ROAD,
    ("Then {stop_two} .", "{place_two.in@place} {stop_two} ."),
    (
        "{tempter.a@agent} laughed at {hero.him@recipient} . “ Nobody@agent can remember so/r much/o@patient , ” "
        "{tempter.he@speaker} said/v . {hero@agent} only walked faster/r .",
        "“ What@patient are you@agent saying/v all/d the time@time ? ” asked {tempter.a@speaker} . “ "
        "{thing.a_short@topic} , ” said/v {hero@speaker} , and was gone/a .",
    ),
    AROUND,
    (
        "At last/n@time {hero@agent} came to/p {goal@place} . {friend@agent} was working , and {hero@agent} said/v : “ "
        "Bring {thing.a@patient} and {wares} {ware.many@patient} on {day@time} at {clock@time} . ”",
        "“ {friend@recipient} ! ” <exclaim.ed> {hero@speaker} . “ On {day@time} at {clock@time} you@agent must bring "
        "{wares} {ware.many@patient} and {thing.a@patient} . ”",
    ),
    (
        "“ Not a word@experiencer is missing/a , ” said/v {friend@speaker} . “ How did/x you@agent do/v it@patient ? ” “ "
        "I@agent gave every word@recipient a place@patient on the road@topic , ” {hero@speaker} answered .",
        "{friend@agent} wrote everything@patient down/t . “ Without you@topic I@agent would have/x come too late/r , ” "
        "{friend.he@speaker} said/v .",
    ),
    (
        "On {day@time} at {clock@time} {friend@agent} came with {thing@companion} and {wares} {ware.many@companion} , "
        "and there/o was a great party@topic . It@experiencer was for {hero@recipient} !",
        "And on {day@time} , at {clock@time} , everything@experiencer was ready : {thing@topic} , the {wares} "
        "{ware.many@topic} and a <dessert@topic> . “ Happy birthday@topic , {hero@recipient} ! ” they@speaker all/r "
        "<exclaim.ed> .",
    ),
)

ARCS = (
    Arc("a trip", set_trip, TRIP),
    Arc("the rescue", set_rescue, RESCUE),
    Arc("the mystery", set_mystery, MYSTERY),
    Arc("the message", set_message, MESSAGE),
)
