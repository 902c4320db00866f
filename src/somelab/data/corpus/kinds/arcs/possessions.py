"""Arcs about things: something lost and found, a chain of trades, a key that goes from hand to hand."""

from __future__ import annotations

from somelab.data.corpus.kinds.arcs.stage import AROUND, FRIENDS, INSIDE_SPOTS, OUTSIDE_SPOTS, ROAD, Arc, spot
from somelab.data.corpus.kinds.places import draw_place
from somelab.data.corpus.kinds.things import draw_thing, look_text, noun_text
from somelab.data.corpus.lexicon import adjective, noun
from somelab.data.corpus.page import Page
from somelab.data.corpus.phrase import count
from somelab.data.corpus.referents import FEMALE, MALE, Thing


def set_lost(page: Page) -> None:
    thing = draw_thing(page)
    page.cast.update(
        thing=thing,
        spot=spot(page, OUTSIDE_SPOTS),
        wrong=spot(page, INSIDE_SPOTS),
        wrong_two=spot(page, INSIDE_SPOTS),
        wrong_three=spot(page, OUTSIDE_SPOTS),
    )
    page.facts.update(object=noun_text(thing), look=look_text(thing), recalled=f"{look_text(thing)} {noun_text(thing)}")


LOST = (
    FRIENDS,
    (
        "{hero.his} (greatest treasure|favourite thing|dearest thing)@experiencer was {thing.a@topic} that/c {hero.his} "
        "{kin@agent} had/x (given|sent) {hero.him@recipient} .",
        "For {hero.his} birthday@topic , {hero.his} {kin@agent} had/x given {hero.him@recipient} {thing.a@patient} .",
        "{hero@experiencer} owned {thing.a@patient} , a present@attribute from {hero.his} {kin@agent} , and "
        "{hero.he@agent} took it@patient everywhere .",
        "Nothing@experiencer was dearer to/p {hero.him@experiencer} than {thing.a@topic} from {hero.his} {kin@agent} .",
    ),
    (
        "{time} {hero@agent} took {thing@patient} to/p {place@place} and (stayed|played|rested) there/r for {hours} .",
        "{time} {hero.he@agent} <go.ed> to/p {place@place} with {thing@companion} and met {friend@patient} there/r .",
        "{time} {hero@agent} (carried|brought) {thing@patient} along/r when {hero.he@agent} <go.ed> to/p {place@place} .",
    ),
    ROAD,
    (
        "But when {hero.he@agent} came home/r , {thing.the@experiencer} was gone/a .",
        "Back/r home/r , {hero.he@agent} noticed that/c {thing.the@experiencer} was missing/a .",
        "In the evening@time {hero.he@agent} reached for {thing.the@patient} and found nothing@patient .",
    ),
    (
        "“ Oh no/i ! ” {hero.he@speaker} <alarm.ed> . “ Where/r is my {thing.one@topic} ? ”",
        "{hero@experiencer} felt/v <upset> and (could not sleep|did/x not want any <snack.many@patient>) .",
        "{hero.he@agent} <despair.ed> , because {hero.he@experiencer} was very <upset> .",
        "“ My (lovely|beautiful|wonderful|poor|dear/a) {thing.one@topic} ! ” {hero.he@agent} <despair.ed> . “ What@topic "
        "will my {kin@agent} say ? ”",
    ),
    (
        "{hero.he@agent} looked {wrong} and {wrong_two} , but found only (dust|crumbs|an old <stationery>|a forgotten/a "
        "<fruit>|a broken/a <tool>)@patient .",
        "First/r {hero.he@agent} looked {wrong} . Then {hero.he@agent} looked {wrong_two} . It@experiencer was not there/r .",
        "{hero.he@agent} searched the whole house@patient , even {wrong} , but without luck@manner .",
    ),
    (
        "So/c {hero.he@agent} <go.ed> to/p {friend@place} . “ Have/x you@agent seen my {thing.one@patient} ? ” "
        "{hero.he@speaker} asked . “ It@experiencer is {thing.colour} . ”",
        "{friend@agent} came by/r and saw/v that/c {hero@experiencer} was <upset> . “ I@agent have/x lost/v my "
        "{thing.one@patient} , the {thing.colour} one/o@topic , ” {hero@speaker} explained .",
        "“ Please help me@patient , {friend@recipient} , ” said/v {hero@speaker} . “ My {thing.short@experiencer} is gone/a . ”",
    ),
    (
        "{friend@agent} thought for a moment@time . “ Did/x you@experiencer not have/v it@patient {place.short_in@place} "
        "? ” {friend.he@speaker} asked .",
        "“ You@experiencer still had/v it@patient {place.short_in@place} , ” said/v {friend@speaker} . “ Let us@agent go "
        "and look . ”",
        "“ Do/x not worry , ” said/v {friend@speaker} <kindly> . “ We@agent will go back/r to/p {place@place} together/r . ”",
    ),
    ROAD,
    (
        "The two friends@agent <go.ed> to/p {place@place} and <search.ed> every corner@patient .",
        "{place.in@place} they@agent looked {wrong_three} , but there/o was only a <small_creature@topic> .",
        "They@agent <travel.ed> back/r (along/p the same way@place|past/p <sight.a@place>) and (called|looked) everywhere .",
    ),
    (
        "Then {friend@agent} looked {spot} , and there/r lay {thing.a_short@patient} !",
        "At last/n@time {hero@agent} saw/v something@patient {thing.colour} {spot} . It@experiencer was the {thing.one@topic} !",
        "Suddenly {friend@speaker} <exclaim.ed> , “ Here it@experiencer is ! ” ^ The {thing.one@experiencer} had/x been "
        "{spot} all/d the time@time .",
    ),
    (
        "{hero@agent} <smile.ed> and (hugged|thanked) {friend@patient} .",
        "“ Thank you@recipient , {friend@recipient} ! ” {hero@speaker} <exclaim.ed> , and {friend@agent} <smile.ed> , too .",
        "{hero@experiencer} was so/r <glad> that/c {hero.he@agent} gave {friend@recipient} <sweet_gift.a@patient> .",
    ),
    (
        "{hero.he@agent} never left/v {thing@patient} {place.short_in@place} again .",
        "From that/d day@time on/t , {hero.he@agent} kept {thing@patient} (in a box@place|beside {hero.his} bed@place|on "
        "a <colour> string@place) .",
        "When {hero.his} {kin@agent} heard the story@patient , {kin.he@agent} <smile.ed> . “ {thing.a_short@experiencer} "
        "is easy to/t lose , ” {kin.he@speaker} said/v , “~ but a good friend@experiencer is not . ”",
    ),
)


def set_trade(page: Page) -> None:
    """Three swaps: the first thing for the second, and so on, until the gift."""
    cast = page.cast
    first, second, third = (
        draw_thing(page, "toy", "stationery"),
        draw_thing(page, "garment"),
        draw_thing(page, "household", "soft_household"),
    )
    gift = draw_thing(page, "instrument", "trinket")
    gender_two, gender_three = page.chance.sample((FEMALE, MALE), 2)
    cast.update(
        first=first,
        second=second,
        third=third,
        gift=gift,
        trader=Thing(page.draw("trade"), adjective("young"), gender=gender_two),
        trader_two=Thing(
            page.draw("trade"), adjective(page.chance.pick(("busy", "cheerful", "tall", "friendly"))), gender=gender_three
        ),
        day=page.draw("weekday"),
    )
    page.facts.update(object=noun_text(gift), look=look_text(gift), recalled=noun_text(gift))


TRADE = (
    (
        "{hero.his} {kin@experiencer} 's birthday@topic was on {day@time} , and {hero@experiencer} wanted to/t give "
        "{kin.him@recipient} {gift.a@patient} .",
        "{hero@experiencer} wished to/t have/v {gift.a@patient} for {hero.his} {kin@recipient} , whose/d "
        "birthday@experiencer was on {day@time} .",
    ),
    (
        "But {hero.he@experiencer} had/v no/d money@patient . All/o@patient {hero.he@experiencer} owned was {first.a@topic} .",
        "{hero.he@experiencer} had/v not a single coin@patient , only {first.a@patient} .",
    ),
    AROUND,
    (
        "{time} {hero@agent} took {first@patient} and <go.ed> to/p {place@place} . There/r {hero.he@agent} met "
        "{trader.a@patient} .",
        "{time} {hero.he@agent} set out/t with {first@companion} . {place.in@place} {hero.he@agent} met {trader.a@patient} .",
    ),
    (
        "“ What/d a <quality> {first.one@topic} ! ” said/v {trader@speaker} . “ My child@experiencer would love "
        "it@patient . I@agent will give you@recipient {second.a@patient} for it@topic . ”",
        "“ I@experiencer need a {first.one@patient} , ” said/v {trader@speaker} . “ Will you@agent take "
        "{second.a@patient} for it@topic ? ”",
    ),
    (
        "{hero@agent} agreed , and now {hero.he@experiencer} had/v {second@patient} .",
        "{hero@agent} nodded , gave away/t {first@patient} and put on/t {second@patient} .",
    ),
    ROAD,
    (
        "A little/r later {friend.intro@agent} came along/r the road@place . {friend.he@experiencer} was <upset> . “ "
        "I@experiencer am so/r cold/a , ” {friend.he@speaker} said/v .",
        "{place_two.in@place} {hero@agent} saw/v {friend.intro@patient} , who@experiencer was cold/a and <upset> .",
    ),
    (
        "“ Take my {second.one@patient} , ” said/v {hero@speaker} . {friend@agent} put it@patient on/t and gave "
        "{hero.him@recipient} {third.a@patient} in return/n@manner .",
        "{hero@agent} gave {friend.him@recipient} {second@patient} . {friend@experiencer} was <glad> and said/v , “ Then "
        "you@agent must have/v my {third.full@patient} . ”",
    ),
    ROAD,
    (
        "At the market@place stood {trader_two.a@agent} with {gift.a@companion} . “ How much/r is it@topic ? ” asked "
        "{hero@speaker} .",
        "On {day@time} morning@time {hero@agent} came to/p the market@place , where/c {trader_two.a@agent} was selling "
        "{gift.a@patient} .",
    ),
    (
        "“ It@experiencer is not for sale@topic , ” said/v {trader_two@speaker} , “~ but I@experiencer need a "
        "{third.one@patient} . Shall we@agent trade ? ”",
        "{trader_two@agent} looked at {third@patient} . “ I@agent have/x been looking for a {third.short@patient} for "
        "{years} , ” {trader_two.he@speaker} said/v . “ Let us@agent swap ! ”",
    ),
    (
        "So/c {first@agent} had/x become {second@patient} , {second@agent} had/x become {third@patient} , and "
        "{third@agent} became {gift@patient} .",
        "In this/d way@manner {hero@agent} traded {first@patient} for {second@patient} , {second@patient} for "
        "{third@patient} , and {third@patient} for {gift@patient} .",
    ),
    (
        "{hero.his} {kin@experiencer} was <glad> . “ {gift.a_short@topic} ! ” {kin.he@speaker} <exclaim.ed> . “ Where/r "
        "did/x you@agent get it@patient ? ” {hero@agent} only (smiled|laughed|grinned) .",
        "On {day@time} {hero.his} {kin@agent} opened the parcel@patient and found {gift@patient} . {kin.he@experiencer} "
        "had/x never had/v a (finer|better) present@patient .",
    ),
)


def set_key(page: Page) -> None:
    """A key that changes hands twice; the end asks who has it."""
    chance, cast = page.chance, page.cast
    key = Thing(noun("key"), page.draw("trinket_look"), page.draw("metal"))
    chest = Thing(noun(chance.pick(("chest", "box", "trunk", "case"))), page.draw("thing_look"), page.draw("colour"))
    treasure = draw_thing(page, "trinket", "stationery", "instrument", "toy")
    number = chance.between(3, 12)
    cast.update(
        key=key, chest=chest, treasure=treasure, letters=count(number), guard_place=draw_place(page), day=page.draw("weekday")
    )
    holder = chance.pick(("friend", "elder"))
    cast["holder"] = cast[holder]
    cast["hand_over"] = HAND_OVER[holder]
    cast["given_back"] = GIVEN_BACK[holder]
    page.facts.update(object="key", look=look_text(key), recalled=f"{look_text(key)} key", holder=holder)


HAND_OVER = {
    "friend": "{hero@agent} (was afraid of losing/v|did/x not want to/t lose) it@patient , so/c {hero.he@agent} gave "
    "{key@patient} to/p {friend@recipient}",
    "elder": "{hero@agent} gave {key@patient} to/p {friend@recipient} , who@agent kept it@patient for a day@time and then "
    "gave it@patient to/p {elder.a@recipient}",
}
GIVEN_BACK = {
    "friend": "{friend@agent} took {key@patient} out/t of {friend.his} pocket@place",
    "elder": "{elder@agent} came with {key@companion} in {elder.his} hand@place",
}
KEY = (
    FRIENDS,
    (
        "{time} {hero@agent} found {chest.a@patient} {place.in@place} . It@experiencer was locked/a .",
        "In {hero.his} {kin@experiencer} 's (attic|cellar|bedroom|study|workshop)@place there/r stood {chest.a@patient} "
        "that/c nobody@agent had/x opened for {years} .",
    ),
    (
        "{hero.his} {kin@agent} gave {hero.him@recipient} {key.a@patient} and said/v , “ You@agent may/x open/v "
        "{chest.the@patient} on {day@time} , but not before/r . ”",
        "“ This/d {key.short@agent} opens {chest@patient} , ” said/v {hero.his} {kin@speaker} . “ Wait until/p {day@time} ! ”",
    ),
    (
        "{hero@experiencer} was (curious|excited/a|impatient) , but {hero.he@agent} promised to/t wait .",
        "Every <part_of_day@time> {hero@agent} looked at {chest@patient} and wondered what@patient was in it@place .",
    ),
    AROUND,
    (
        "{hand_over} .",
        "Because {hero@agent} had/v to/t (go to/p {place_two@place}|work {place_two.in@place}) , it@none went like/p "
        "this/o@manner : {hand_over} .",
    ),
    AROUND,
    (
        "(Two days@time|A week@time) later {hero@agent} went to/p {guard_place@place} and forgot all/n@quantity about/p it@topic .",
        "Meanwhile {hero@agent} (helped {hero.his} {kin@patient}|worked {guard_place.in@place}|<go.ed> to/p "
        "{guard_place@place}) , and the days@agent passed .",
    ),
    (
        "On {day@time} {both@agent} stood before/p {chest@place} . “ Who@experiencer has/v the key@patient ? ” asked "
        "{hero@speaker} .",
        "Then {day@agent} came . “ Where/r is {key@topic} ? ” {hero.his} {kin@speaker} asked .",
    ),
    (
        "{given_back} , and {hero@experiencer} was (relieved|glad|happy) .",
        "For a moment@time nobody@agent spoke . Then {given_back} .",
    ),
    (
        "The {key.short@agent} turned (slowly|easily|) in the lock@place , and the lid@agent (creaked|opened) .",
        "{hero@agent} put the {key.short@patient} into the lock@place . It@agent fitted .",
    ),
    (
        "In {chest.the@place} lay {treasure.a@patient} and {letters} old letters@patient .",
        "Inside/r they@agent found {treasure.a@patient} , wrapped/a in (paper|silk/n|wool|cotton/n|linen/n|an old "
        "<garment>)@instrument , and {letters} (letters|photographs|coins)@patient .",
    ),
    (
        "“ {treasure@experiencer} belonged to/p my mother@recipient , ” said/v {hero.his} {kin@speaker} . “ Now "
        "it@experiencer is yours/o@recipient , because you@agent waited . ”",
        "{hero.his} {kin@agent} (smiled|laughed|nodded) . “ I@agent put {treasure@patient} there/r when I@experiencer "
        "was as/r young as/c you@experiencer , ” {kin.he@speaker} said/v .",
    ),
    (
        "{hero@agent} hung {key@patient} on a <colour> ribbon@place and wore it@patient (always|for many years@time) .",
        "{hero@agent} thanked {holder@patient} for keeping/v {key@patient} so/r well/r .",
    ),
)

ARCS = (Arc("lost and found", set_lost, LOST), Arc("a chain of trades", set_trade, TRADE), Arc("the key", set_key, KEY))
