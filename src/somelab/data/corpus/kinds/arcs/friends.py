"""Arcs about friends: a helping hand, a promise kept, a mistake and an apology, a newcomer."""

from __future__ import annotations

from somelab.data.corpus.kinds.arcs.stage import AROUND, FRIENDS, INSIDE_SPOTS, ROAD, Arc, spot
from somelab.data.corpus.kinds.clock import clock_time
from somelab.data.corpus.kinds.things import draw_thing, look_text, noun_text
from somelab.data.corpus.lexicon import noun
from somelab.data.corpus.page import Page
from somelab.data.corpus.phrase import Referent, count, measure
from somelab.data.corpus.referents import FEMALE, MALE, Person, Thing

# What is wrong, what has to be done, and what it looked like when it was done.
PROBLEMS = (
    (
        "the roof@experiencer of {friend.his} house@topic had/v a hole@patient",
        "close/v the hole@patient",
        "the roof@experiencer was as/r good as/c new/a",
    ),
    (
        "a wheel@experiencer of {friend.his} {cart@topic} was broken/a",
        "put on/t a new/a wheel@patient",
        "the {cart@agent} rolled again",
    ),
    (
        "the fence@agent around {friend.his} garden@place had/x fallen down/t",
        "set up/t the fence@patient",
        "the fence@agent stood straight/r",
    ),
    (
        "the little bridge@experiencer to/p {friend.his} door@place was broken/a",
        "build a new/a bridge@patient",
        "the new/a bridge@experiencer was finished/a",
    ),
    (
        "the door@experiencer of {friend.his} barn@topic hung loose/a",
        "mend the door@patient",
        "the door@agent closed/v without a sound@manner",
    ),
    (
        "the chimney@agent of {friend.his} cottage@topic had/x fallen in/t",
        "build up/t the chimney@patient",
        "smoke@agent rose/v from the chimney@place",
    ),
    (
        "the stairs@experiencer of {friend.his} house@topic were broken/a",
        "make new/a stairs@patient",
        "the stairs@agent no/r longer/r creaked",
    ),
)


def set_help(page: Page) -> None:
    chance, cast = page.chance, page.cast
    problem, deed, result = chance.pick(PROBLEMS)
    tool = Thing(page.draw("tool"), page.draw("tool_look"), page.draw("colour"))
    boards = chance.between(4, 20)
    cast.update(
        cart=page.draw("cargo_vehicle"),
        problem=problem,
        deed=deed,
        result=result,
        tool=tool,
        boards=count(boards),
        stuff=page.draw("building_stuff"),
        fruit=page.draw("fruit"),
        gifts=count(chance.between(5, 30)),
        trouble_day=page.draw("weekday"),
        crop=page.draw("crop"),
        rows=count(chance.between(3, 9)),
    )
    page.facts.update(object=noun_text(tool), look=look_text(tool), recalled=f"{look_text(tool)} {noun_text(tool)}")


HELP = (
    FRIENDS,
    (
        "{time} there/o was a (terrible|great|wild) storm@topic . In the morning@time {problem} .",
        "{time} {hero@agent} visited {friend@patient} and saw/v that/c {problem} .",
        "{time} {friend@agent} came running . “ Please help me@patient ! ” {friend.he@speaker} said/v , for {problem} .",
    ),
    (
        "“ What@patient shall I@agent do/v ? ” {friend@agent} <despair.ed> . “ I@agent cannot {deed} alone . ”",
        "{friend@experiencer} was <upset> , because {friend.he@experiencer} did/x not know how to/t {deed} .",
        "“ I@experiencer have/v no/d tools@patient , ” said/v {friend@speaker} , “~ and winter@agent is coming . ”",
    ),
    (
        "“ I@experiencer have/v {tool.a@patient} , ” said/v {hero@speaker} . “ We@agent will {deed} together/r . ”",
        "{hero@agent} ran home/r and came back/r with {tool.a@patient} . “ Let us@agent {deed} , ” {hero.he@speaker} said/v .",
        "“ Do/x not be <upset> , ” said/v {hero@speaker} . “ With my {tool.full@instrument} and a little luck@instrument "
        "we@agent can {deed} . ”",
    ),
    (
        "They@experiencer needed {boards} {stuff.many@patient} , and {elder.a@agent} {place.in@place} gave "
        "them@recipient all/d {boards} for nothing@topic .",
        "{place.in@place} they@agent (found|bought) {boards} (old|strong|good) {stuff.many@patient} and carried "
        "them@patient home/r .",
    ),
    ROAD,
    (
        "{hero@agent} worked with {tool@instrument} , and {friend@agent} held the {stuff.many@patient} .",
        "All/d day@time they@agent (hammered|worked|measured) , (singing|talking|laughing) about/p old times@topic .",
        "It@experiencer was hard/a work@topic . One/o@agent after/p the other/o@agent , the {boards} {stuff.many@agent} "
        "found their place@patient .",
    ),
    AROUND,
    (
        "When the sun@agent went down/t , {result} .",
        "After/p {hours} all/d {boards} {stuff.many@experiencer} were used/a up/t , and {result} .",
        "At last/n@time {result} , and {both@agent} <rejoice.ed> .",
    ),
    (
        "“ How can I@agent thank you@patient ? ” asked {friend@speaker} . {friend.he@agent} gave {hero.him@recipient} "
        "{gifts} {fruit.many@patient} .",
        "{friend@agent} filled a <container@patient> with {gifts} {fruit.many@instrument} . “ These/o@experiencer are "
        "for you@recipient , ” {friend.he@speaker} said/v .",
    ),
    (
        "A month@time later {hero@experiencer} was ill/a , and {rows} rows@experiencer of {crop.many@topic} were waiting "
        "in {hero.his} garden@place .",
        "Soon it@none was {hero@experiencer} who@experiencer needed help@patient : {hero.he@agent} could not dig up/t "
        "{hero.his} {rows} rows@patient of {crop.many@topic} alone .",
    ),
    (
        "{friend@agent} came at once/n@time . {friend.he@agent} did/v all/d {rows} rows@patient before/p dinner@time .",
        "Then {friend@agent} stood at the door@place . “ You@agent helped me@patient with {tool@instrument} , ” "
        "{friend.he@speaker} said/v . “ Now it@experiencer is my turn@topic . ”",
    ),
    (
        "To/p this/d day@time {tool@experiencer} hangs between the two houses@place , so/c that/c both/o@agent can use "
        "it@patient .",
        "“ I@agent will never sell {tool@patient} , ” said/v {hero@speaker} . “ It@agent has/x made our "
        "friendship@patient stronger . ”",
        "And whenever {friend@agent} saw/v {tool@patient} , {friend.he@agent} thought of that/d day@topic .",
    ),
)


def set_promise(page: Page) -> None:
    chance, cast = page.chance, page.cast
    days, flowers = chance.between(3, 9), chance.between(4, 20)
    pot = page.draw("colour")
    cast.update(
        days=measure(days, noun("day")),
        last_day=count(days),
        flower=page.draw("flower"),
        flowers=count(flowers),
        pot=pot,
        town_two=page.draw("town"),
        clock=clock_time(30 * chance.between(34, 42)),
        event=page.draw("public_event"),
        gift=draw_thing(page),
        pet_food=page.draw("pet_food"),
        pet=Person(page.draw("pet_name"), chance.pick((FEMALE, MALE)), page.draw("pet")),
        tempter=Thing(page.draw("trade"), page.draw("trait"), gender=MALE),
    )
    page.facts.update(object=cast_text(page, "flower"), look=pot.text, recalled=pot.text)


def cast_text(page: Page, key: str) -> str:
    referent = page.cast[key]
    assert isinstance(referent, Referent)
    return referent.text


PROMISE = (
    FRIENDS,
    (
        "{friend@agent} had/v to/t go to/p {town_two@place} for {days} . “ Will you@agent water/v my {flowers} "
        "{flower.many@patient} ? ” {friend.he@speaker} asked . “ They@experiencer need water@patient every day@time at "
        "{clock@time} , and {pet.full@experiencer} needs some {pet_food@patient} . ”",
        "{time} {friend@speaker} said/v , “ I@agent am going to/p {town_two@place} for {days} . Please water/v my "
        "{flowers} {flower.many@patient} at {clock@time} , and give {pet.full@recipient} some {pet_food@patient} . ”",
    ),
    (
        "“ I@agent promise , ” said/v {hero@speaker} . {friend@agent} gave {hero.him@recipient} the {pot} watering@attribute "
        "can/n@patient and left/v .",
        "{hero@agent} took the {pot} watering@attribute can/n@patient and promised not to/t forget a single {flower@patient} .",
    ),
    (
        "Each/d day@time at {clock@time} {hero@agent} filled the {pot} can/n@patient and <go.ed> from {flower@place} "
        "to/p {flower@place} .",
        "On the first/a day@time it@experiencer was easy . {hero@agent} carried the {pot} can/n@patient to/p all/d "
        "{flowers} {flower.many@recipient} .",
    ),
    AROUND,
    (
        "But on the {last_day.th} day@time there/o was a {event@topic} {place.in@place} . “ Come with us@companion ! ” "
        "<exclaim.ed> {tempter.a@speaker} . “ It@agent begins at {clock@time} . ”",
        "Then , on the {last_day.th} day@time , {elder.a@agent} invited {hero@patient} to/p a {event@place} "
        "{place.in@place} . It@agent was to/t begin at {clock@time} .",
    ),
    (
        "{hero@experiencer} had/v never seen a {event@patient} . {hero.he@experiencer} (wanted to/t go so/r much/r "
        "that/c it@agent hurt/v|thought about/p it@topic for a long/a time@time) .",
        "“ Nobody@agent will notice , ” thought {hero@speaker} . “ The {flower.many@agent} can wait . ” But then "
        "{hero.he@agent} saw/v the {pot} can/n@patient .",
        "{hero.he@agent} looked at the {pot} can/n@patient and <despair.ed> .",
    ),
    (
        "“ I@agent have/x given my word@patient , ” {hero.he@speaker} said/v . “ First/r the {flower.many@topic} , then "
        "the {event@topic} . ”",
        "“ I@agent cannot come , ” {hero.he@speaker} said/v . “ I@agent made a promise@patient to/p {friend@recipient} . ”",
    ),
    (
        "At {clock@time} {hero.he@agent} watered the {flowers} {flower.many@patient} , one/o@patient by/p one/o@patient .",
        "So/c at {clock@time} {hero@agent} was in {friend@experiencer} 's garden@place , while music@agent came from "
        "{place@place} .",
    ),
    AROUND,
    (
        "When {friend@agent} came back/r from {town_two@place} , all/d {flowers} {flower.many@experiencer} were in "
        "bloom@topic and {pet@experiencer} was (fat|happy|well/a) .",
        "{friend@agent} came home/r after/p {days} and counted the {flower.many@patient} : {flowers} , and each/d "
        "one/o@experiencer more/r beautiful than before/r .",
    ),
    (
        "“ You@agent kept your promise@patient , ” said/v {friend@speaker} , “~ although there/o was a {event@topic} "
        "{place.short_in@place} ! ” ^ {friend.he@agent} gave {hero.him@recipient} {gift.a@patient} from {town_two@place} "
        ".",
        "{friend@agent} heard about/p the {event@topic} and was silent/a for a moment@time . Then {friend.he@agent} took "
        "{gift.a@patient} out/t of {friend.his} bag@place . “ For someone@recipient who@agent keeps a promise@patient , "
        "” {friend.he@speaker} said/v .",
    ),
    (
        "{hero@agent} gave back/t the {pot} can/n@patient and <smile.ed> . {gift@experiencer} was lovely , but the best/a thing@experiencer was "
        "{friend@experiencer} 's smile@topic .",
        "The {pot} can/n@experiencer still stands {home.again} , beside {gift@place} .",
    ),
)


def set_apology(page: Page) -> None:
    chance, cast = page.chance, page.cast
    category = chance.pick(("toy", "instrument", "household", "garment"))
    thing = draw_thing(page, category)
    broken = "torn" if category == "garment" else "broken"
    cast.update(
        thing=thing,
        hiding=spot(page, INSIDE_SPOTS),
        broke="tore/v" if category == "garment" else "broke/v",
        broken=f"{broken}/a",
        event=page.draw("public_event"),
        nights=measure(chance.between(2, 6), noun("night")),
        tool_name=page.draw("sewing_stuff" if category == "garment" else "mending_stuff"),
    )
    page.facts.update(object=noun_text(thing), look=look_text(thing), recalled=f"{look_text(thing)} {noun_text(thing)}")


APOLOGY = (
    FRIENDS,
    (
        "{friend@experiencer} had/v {thing.a@patient} , and {friend.he@experiencer} was very proud of it@topic . “ May/x "
        "I@agent borrow it@patient for the {event@topic} ? ” {hero@speaker} asked .",
        "{time} {hero@agent} borrowed {thing.a@patient} from {friend@agent} . “ Be careful with it@topic , ” said/v "
        "{friend@speaker} . “ It@experiencer belonged to/p my <kin@recipient> . ”",
    ),
    (
        "{hero@agent} took {thing@patient} to/p {place@place} and showed it@patient to/p (everyone|{elder.a}|{few} "
        "children)@recipient .",
        "At first/n@time {hero@experiencer} was (very|extremely) careful , and {hero.he@agent} carried {thing@patient} "
        "in both hands@place .",
    ),
    ROAD,
    (
        "But {place.in@place} {hero.he@agent} (slipped on a wet/a stone@place|tripped over a root@place|ran too fast/r) "
        "and {broke} it@patient .",
        "Then a (dog|goose|gust of wind)@agent came from behind/n@place , {hero@agent} jumped , and "
        "{thing.the@experiencer} was {broken} .",
    ),
    (
        "{hero@experiencer} was (afraid|ashamed) . {hero.he@agent} hid {thing@patient} {hiding} and told nobody@recipient .",
        "“ {friend@experiencer} will never forgive me@patient , ” {hero.he@speaker} whispered , and {hero.he@agent} hid "
        "{thing@patient} {hiding} .",
    ),
    (
        "For {nights} {hero.he@agent} could not sleep . Whenever {hero.he@agent} closed/v {hero.his} eyes@patient , "
        "{hero.he@agent} saw/v {thing@patient} .",
        "{hero.he@agent} could not (eat|laugh|play) , and when {friend@agent} came by/r , {hero.he@agent} looked at the "
        "floor@patient .",
    ),
    AROUND,
    (
        "“ Is something@experiencer wrong ? ” asked {friend@speaker} at last/n@time . “ And where/r is my {thing.one@topic} ? ”",
        "One/d morning@time {friend@agent} stood at the door@place . “ I@agent have/x come for my {thing.one@patient} , "
        "” {friend.he@speaker} said/v .",
    ),
    (
        "{hero@agent} wanted to/t say that/c (a thief@agent had/x taken it@patient|it@experiencer was lost/a) . But a "
        "lie@experiencer would only make things@patient worse . “ I@agent {broke} it@patient , ” {hero.he@speaker} "
        "said/v . “ I@experiencer am so/r sorry . ”",
        "{hero@agent} looked {hiding} and took out/t {thing@patient} . “ It@experiencer is {broken} , ” {hero.he@agent} "
        "<despair.ed> . “ It@experiencer was my fault@topic , and I@agent hid it@patient . ”",
    ),
    (
        "{friend@experiencer} was <upset> , and for a while@time nobody@agent spoke . “ Thank you@recipient for "
        "telling/v me@recipient the truth@patient , ” {friend.he@speaker} said/v then .",
        "{friend@agent} looked at the {broken} {thing.one@patient} for a long/a time@time . “ I@experiencer am <upset> , "
        "” {friend.he@speaker} said/v , “~ but I@experiencer am glad that/c you@agent told me@recipient . ”",
    ),
    (
        "Together they@agent <mend.ed> {thing@patient} with {tool_name@instrument} and patience@instrument .",
        "{hero.his} {kin@agent} showed them@recipient how to/t <mend> it@patient with {tool_name@instrument} . It@none "
        "took {hours} .",
    ),
    (
        "One/o@agent could still see where/c it@experiencer had/x been {broken} . “ Now I@experiencer like/v "
        "{thing@patient} even more/r , ” said/v {friend@speaker} , “~ for we@agent have/x mended it@patient together/r . "
        "”",
        "{thing@experiencer} was not as/r (beautiful|fine|good) as/c before/r , but {friend@agent} <smile.ed> .",
    ),
    (
        "{hero@agent} never again hid anything@patient {hiding} , and never again from {friend@topic} .",
        "And {hero@experiencer} knew : the truth@experiencer is easier to/t carry than a secret@topic .",
    ),
)


def set_newcomer(page: Page) -> None:
    chance, cast = page.chance, page.cast
    treasure = draw_thing(page)
    hobby = page.draw("art")
    cast.update(
        treasure=treasure,
        hobby=hobby,
        town_two=page.draw("town"),
        boxes=count(chance.between(5, 30)),
        cake=page.draw("dessert"),
        colour=page.draw("colour"),
        event=page.draw("public_event"),
        weeks=measure(chance.between(2, 9), noun("week")),
    )
    page.facts.update(object=noun_text(treasure), look=look_text(treasure), recalled=f"{look_text(treasure)} {noun_text(treasure)}")


NEWCOMER = (
    (
        "{time} a <colour> (van|cart|lorry)@agent stopped in the street@place . {friend.a@agent} named/v "
        "{friend@attribute} got out/t with {boxes} boxes@companion .",
        "{time} someone@agent moved into the empty/a house@place next/r door@place . It@experiencer was "
        "{friend.intro@topic} , with {boxes} boxes@companion .",
    ),
    (
        "{friend@experiencer} came from {town_two@place} and knew nobody@patient . {friend.he@experiencer} sat on the "
        "steps@place and looked lonely .",
        "Nobody@agent in {town@place} spoke to/p {friend.him@recipient} , and {friend.he@experiencer} was too shy to/t begin .",
    ),
    (
        "{hero@agent} watched {friend.him@patient} from the window@place . “ {friend.he@experiencer} must feel very "
        "lonely , ” {hero.he@speaker} said/v to/p {hero.his} {kin@recipient} .",
        "“ In a new/a place@place everything@experiencer is strange , ” said/v {hero.his} {kin@speaker} . “ Why/r "
        "don't/x you@agent say hello@patient ? ”",
    ),
    AROUND,
    (
        "So/c {hero@agent} (baked|made) {cake.a@patient} , put on/t a clean/a {colour} <garment@patient> and knocked .",
        "The next/a day@time {hero@agent} took {cake.a@patient} and knocked at the {colour} door@place .",
    ),
    (
        "“ Welcome/i to/p {town@place} ! ” said/v {hero@speaker} . {friend@agent} looked at the {cake@patient} and "
        "(smiled|blushed|nodded) .",
        "{friend@agent} opened the door@patient only a little/n@quantity . “ Is that/d {cake@experiencer} for me@recipient "
        "? ” {friend.he@speaker} asked <sadly> .",
    ),
    (
        "They@agent ate the {cake@patient} among/p the {boxes} boxes@place . Between them@place {hero@agent} saw/v "
        "{treasure.a@patient} .",
        "In the first/a of the {boxes} boxes@place lay {treasure.a@patient} . “ That/o@experiencer is all/o@patient "
        "I@experiencer have/v from my <kin@topic> , ” {friend@speaker} said/v .",
    ),
    (
        "“ Do/x you@agent {hobby} , too ? ” asked {hero@speaker} suddenly . “ Every day@time , ” said/v {friend@speaker} "
        ", and now {friend.he@agent} <smile.ed> .",
        "“ In {town_two@place} we@agent used/v to/t {hobby} behind the <scenery@place> , ” said/v {friend@speaker} . “ "
        "I@experiencer love to/t {hobby} ! ” {hero@speaker} <exclaim.ed> .",
    ),
    (
        "From then/n@time on/t they@agent went out/r to/t {hobby} every <weekday@time> {place.in@place} .",
        "On <weekday@time> they@agent <go.ed> to/p {place@place} to/t {hobby} , and on <weekday@time> they@agent "
        "unpacked the rest@patient of the {boxes} boxes@topic .",
    ),
    AROUND,
    (
        "After/p {weeks} there/o was a {event@topic} in {town@place} , and {hero@agent} (took|brought) {friend@patient} along/r .",
        "When the {event@agent} came , {hero@agent} told everyone@recipient how well/r {friend@agent} could {hobby} .",
    ),
    (
        "Soon {friend@experiencer} knew {elder@patient} , the <trade@patient> and all/d the children@patient in the street@place .",
        "{elder@agent} said/v hello@patient , the children@agent waved , and nobody@experiencer felt/v like/p a "
        "stranger@attribute .",
    ),
    (
        "That/d evening@time {friend@agent} gave {treasure@patient} to/p {hero@recipient} . “ I@experiencer want "
        "you@agent to/t have/v it@patient , ” {friend.he@speaker} said/v . “ You@agent knocked when I@experiencer was "
        "alone . ”",
        "{friend@agent} put {treasure@patient} in the window@place , so/c that/c everybody@agent could see it@patient . "
        "Now the house@experiencer was a home@attribute .",
    ),
)

ARCS = (
    Arc("helping a friend", set_help, HELP),
    Arc("a promise kept", set_promise, PROMISE),
    Arc("a mistake and an apology", set_apology, APOLOGY),
    Arc("the newcomer", set_newcomer, NEWCOMER),
)
