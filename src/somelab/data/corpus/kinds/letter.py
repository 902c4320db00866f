"""Letters: from a place, on a date, to someone; what the first lines promise, the last ones repeat."""

from __future__ import annotations

from somelab.data.corpus.kinds.activities import ACTIVITIES
from somelab.data.corpus.kinds.clock import clock_time
from somelab.data.corpus.kinds.places import draw_place
from somelab.data.corpus.kinds.things import CATEGORIES, draw_thing, look_text, noun_text
from somelab.data.corpus.lexicon import noun
from somelab.data.corpus.page import Kind, Page
from somelab.data.corpus.phrase import count, measure, name
from somelab.data.corpus.referents import FEMALE, MALE, Person

MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"]
RELATIVES = (("Grandmother", FEMALE), ("Grandfather", MALE), ("Uncle", MALE), ("Aunt", FEMALE))

HEADS = (
    "{home@place} , the {date.th@time} of {month@time}",
    "{home@place} , {day@time} , the {date.th@time} of {month@time}",
    "{home@place} , {month@time}",
)
FRIENDLY = ("Dear {reader@recipient} ,", "Hello {reader@recipient} ,", "My dear {reader@recipient} ,")
GREETINGS = (
    "(How are you@experiencer|How is life@experiencer in {away@place}|Are you@experiencer well/a) ? I@experiencer am "
    "(fine|well/a|very well/a|a little/r tired) .",
    "Thank you@recipient for your (long/a|kind/a|last/a|funny) letter@topic . (It@agent made me@experiencer very "
    "happy|I@agent read/v it@patient twice|I@agent read/v it@patient to/p my <close_kin@recipient>) .",
    "I@experiencer hope (you@experiencer are well/a|all/o@experiencer is well/a in {away@place}|this/d letter@agent "
    "finds you@patient well/a) .",
    "It@none is a {sky} <part_of_day=part@time> here/r in {home@place} , and I@experiencer have/v time@patient to/t "
    "write to/p you@recipient at last/n@time .",
    "You@agent asked me@recipient to/t write , so/c here is my letter@topic .",
    "I@experiencer (often|always) think of you@topic (when I@agent <hobby>|when it@none rains|on <weekday@time>) .",
)
ASIDES = (
    "(Yesterday|Last/a <weekday@time>|This/d morning@time) {friend@agent} {did} .",
    "You@agent should have/x seen {friend@patient} last/a <weekday@time> : {friend.he@agent} {did} !",
    "In {home@place} nothing@agent happens , but {friend@agent} is (already|still|always) {doing} .",
    "When I@agent passed the <scenery@place> , {friend@agent} was {doing} , and a <animal@agent> was {beast_doing} .",
    "(My <close_kin@agent> sends|My <close_kin@agent> and {friend@agent} send) you@recipient (a hug@patient|many "
    "greetings@patient|<sweet_gift.a@patient>|a kiss@patient) .",
    "Do/x you@agent still <hobby> (every <weekday@time>|on <weekday@time>|with your <close_kin@companion>) ?",
    "By/p the way@none , {pet.full@agent} (has/x grown/v|sleeps on my bed@place|has/x eaten my "
    "<garment@patient>|misses you@patient) .",
    "I@experiencer am (learning|trying) to/t <hobby> , but it@experiencer is <difficulty> .",
    "At school@place we@agent are (reading|learning) about <school_subject@topic> , which@experiencer is "
    "(interesting|hard/a|fun@attribute|rather dull) .",
    "(Yesterday|Last/a <weekday@time>) I@agent (knitted/v|sewed|made|mended) a <colour> <garment@patient> for my "
    "<close_kin@recipient> .",
    "The <flower.many@agent> in (our|the) garden@place (are in bloom@topic|have/x come out/t) .",
    "I@agent have/x read/v a (long|funny|sad|wonderful) book@patient about a <animal@topic> who@agent "
    "(wanted|learned|tried) to/t <hobby> .",
    "My <close_kin@experiencer> has/v a <colour> <vehicle@patient> now , and we@experiencer are all/r very proud of it@topic .",
)
REPLIES = (
    "Please write (soon|back/r|to/p me@recipient) (and tell me@recipient (everything@topic|about/p {away@topic}|how "
    "you@experiencer are)|) .",
    "I@agent look forward to/p your (answer|letter|news)@topic .",
    "Write to/p me@recipient (here|) in {home@place} (before/p the {deadline.th@time}|) .",
)
FAREWELLS = (
    "With love@manner ,",
    "Best/a wishes@topic ,",
    "Yours/o@experiencer ,",
    "Many greetings@topic from {home@place} ,",
    "Love@topic ,",
)
FRIENDS_FAREWELLS = (*FAREWELLS, "Your friend@speaker ,", "Your old friend@speaker ,")
FORMAL_FAREWELLS = ("Yours/o@experiencer sincerely ,", "Yours/o@experiencer faithfully ,", "With kind/a regards@topic ,")

OCCASION = (
    "(it@experiencer is my birthday@topic|we@agent are having/v a party@patient|my <close_kin@experiencer> will be "
    "{age} years@quantity old|"
    "our school@agent is giving a concert@patient|there/o is a <public_event@topic> here|we@agent are celebrating "
    "the end@patient of {month@time})"
)
NOOK = (
    "(under/p the (stove|stairs|sofa|kitchen table)@place|in an old <garment@place>|on my "
    "(pillow|chair|desk|feet)@place|"
    "in a <colour> <container@place>|behind the (stove|curtain|piano)@place|on top@place of the "
    "(cupboard|wardrobe)@place)"
)
HOLIDAY = (
    (
        "(We@agent|I@agent) have/x been in {home@place} for {days} now .",
        "(We@agent|I@agent) (arrived in|came to/p) {home@place} {days} ago/r .",
    ),
    (
        "(We@experiencer are|I@experiencer am) staying in {lodging.a@place} near/p the {sight@place} , and the "
        "weather@experiencer is {sky} .",
        "The {lodging.one@experiencer} is (clean/a|cosy|small|comfortable) , the food@experiencer is <quality> , and "
        "it@none has/x been {sky} (every day@time|so/r far/r) .",
    ),
    (
        "On {day@time} we@agent visited the {sight@patient} , where/c I@agent (saw/v|bought) {thing.a@patient} .",
        "Yesterday we@agent went to/p the {sight@place} , and there/r I@agent found {thing.a@patient} for my "
        "<close_kin@recipient> .",
    ),
    (
        "(In the evening@time|At noon@time) we@agent ate <snack.many@patient> and drank <drink@patient> .",
        "I@agent ate so/r many <fruit.many@patient> that/c my (stomach|tummy)@experiencer hurt/v .",
        "Tomorrow there/o will be a <outing@topic> , and I@experiencer wish that/c you@agent could come .",
    ),
    (
        "We@agent (will stay|are staying) until/p the {deadline.th@time} , and then I@agent will tell you@recipient more/o@topic .",
        "When I@agent am back/r in {away@place} , I@agent will show/v you@recipient {thing@patient} .",
    ),
    ("Greetings@topic from {sky} {home@place} !", "You@experiencer would (love|like/v) {home@patient} and the {sight@patient} ."),
)
INVITATION = (
    (
        "On {day@time} , the {deadline.th@time} of {month@time} , {occasion} , and I@experiencer would like/v to/t "
        "invite you@patient .",
        "Will you@agent come to/p {home@place} on {day@time} ? {occasion} (that/d day@time|then) .",
    ),
    (
        "We@agent (begin|start) at {time@time} {place.in@place} .",
        "It@agent (begins|starts) at {time@time} {place.in@place} , not far/r from my house@place .",
    ),
    (
        "There/o will be <dessert@topic> , <drink@topic> and (music@topic|dancing@topic|games@topic|a <outing@topic>) .",
        "My <close_kin@agent> is (baking|making) a <dessert@patient> , and we@agent will (sing/v|dance/v|play/v "
        "games@patient|tell stories@patient) .",
    ),
    (
        "Could you@agent bring {thing.a@patient} ? (We@experiencer have/v none/o@patient here|I@experiencer need "
        "it@patient for a game@topic|Ours/o@experiencer is broken/a) .",
        "Please bring {thing.a@patient} , if you@experiencer have/v one/o@patient .",
    ),
    (
        "The bus@agent from {away@place} stops (near/p the <landmark@place>|at the <landmark@place>) , and my "
        "<close_kin@agent> will wait for you@patient there/r .",
        "You@agent can sleep in our <room@place> , and go home/r (on the next day@time|after/p breakfast@time) .",
        "{friend@agent} is coming too , and so/r is {friend_two@agent} .",
    ),
    (
        "So/r do/x not forget : {day@time} at {time@time} in {home@place} , and {thing.the@patient} !",
        "Please tell me@recipient soon if you@agent can come to/p {home@place} on {day@time} at {time@time} .",
    ),
)
THANKS = (
    (
        "Thank you@recipient (so/r much/r|very much/r) for the {thing.full@topic} that/c you@agent (sent|gave) "
        "me@recipient for my (birthday|name day)@topic .",
        "The parcel@agent (came|arrived) on {day@time} , and in it@place was {thing.a@patient} . Thank you@recipient !",
    ),
    (
        "I@experiencer had/x (always|long/r) wanted a {thing.one@patient} , and I@experiencer like/v that/c "
        "it@experiencer is {thing.colour} .",
        "How did/x you@experiencer know that/c I@experiencer needed a {thing.one@patient} ? And it@experiencer is "
        "{thing.colour} , too !",
    ),
    (
        "I@agent (use|take) it@patient every <part_of_day@time> , and everyone@experiencer in {home@place} "
        "(likes|admires) it@patient .",
        "It@experiencer now stands (on the (shelf|desk|table|window sill)@place|beside my bed@place) , (next/r "
        "to/p|behind) a <colour> <household@place> .",
    ),
    (
        "{friend@agent} wanted to/t hold it@patient at once/n@time .",
        "{friend@agent} asked me@recipient where/r one/o@agent can buy such a {thing.one@patient} .",
        "When {friend@agent} saw/v it@patient , {friend.he@agent} <exclaim.ed> , “ What/d a <quality> {thing.one@topic} ! ”",
    ),
    (
        "When you@agent visit/v {home@patient} in {month_two@time} , I@agent will show/v you@recipient where/c I@agent keep "
        "{thing@patient} .",
        "I@agent will bring {thing@patient} with me@companion when I@agent come to/p {away@place} in {month_two@time} .",
    ),
)
APOLOGY = (
    (
        "I@experiencer am writing because I@agent have/v to/t tell you@recipient something@topic : I@agent have/x "
        "{broken} your {thing.short@patient} .",
        "I@experiencer am (very|so/r|terribly) sorry : your {thing.short@patient} , which@patient you@agent lent "
        "me@recipient in {month_two@time} , is {broken_state} .",
    ),
    (
        "It@agent happened (on {day@time}|yesterday|last/a <weekday@time>) {place.in@place} , when {pet.full@agent} (ran "
        "past/p me@place|jumped on/p me@place|frightened/v me@patient) .",
        "I@agent (took it@patient to/p|carried it@patient to/p|had/v it@patient with me@companion at) {place@place} , "
        "and I@experiencer was not careful (enough/r|) .",
    ),
    (
        "I@experiencer felt/v so/r <upset> that/c I@agent could not (sleep|eat|laugh) .",
        "At first/n@time I@agent wanted to/t hide it@patient , but that/o@experiencer would have/x been wrong .",
    ),
    (
        "I@agent have/x saved {price} , and here in {home@place} I@agent will buy you@recipient a new {thing.one@patient} , and "
        "it@experiencer will be {thing.colour} , too .",
        "In a shop@place in {home@place} there/o is a {thing.one@topic} that/o@agent looks like/p it@topic , also {thing.colour} . "
        "It@experiencer costs {price} , and I@agent will send it@patient to/p you@recipient .",
    ),
    (
        "Can you@agent forgive me@patient ? (I@agent will never borrow anything@patient without care@manner again|Next/a "
        "time@time I@agent will be more/r careful) .",
        "Please do/x not be (sad|angry|upset|cross/a) . I@agent promise that/c you@experiencer will have/v a "
        "{thing.short@patient} again before/p the {deadline.th@time} .",
    ),
)
NEWS = (
    (
        "I@experiencer have/v (great|big|wonderful) news@patient : we@experiencer have/v a new {pet.one@patient} ! "
        "{pet.his} name@experiencer is {pet@attribute} , and {pet.he@experiencer} is <fur> .",
        "Guess what@topic ! My <close_kin@agent> (brought|gave me@recipient) a little {pet.one@patient} (on "
        "{day@time}|last/a <weekday@time>) . I@agent have/x named {pet.him@patient} {pet@attribute} .",
    ),
    (
        "{pet@agent} eats <pet_food=treat@patient> and (sleeps|rests) {nook} .",
        "{pet.he@experiencer} likes <pet_food=treat@patient> , (and {pet.his}|but {pet.his}) favourite place@experiencer "
        "is {nook} .",
    ),
    (
        "On {day@time} {pet.he@agent} ran away/t , and we@agent (searched|looked) for {pet.him@patient} for {hours} .",
        "Once/r {pet.he@experiencer} was missing/a for {hours} , and I@experiencer was very (worried/a|sad|afraid|unhappy) .",
    ),
    (
        "In the end@time {friend@agent} found {pet.him@patient} {place.in@place} , quite "
        "(calm|content|dirty|wet/a|sleepy|cold/a) .",
        "At last/n@time a <trade@agent> brought {pet.him@patient} home/r from {place@place} .",
    ),
    (
        "Now I@agent always (close/v|shut/v) the (gate|door|window)@patient here in {home@place} , and {pet@experiencer} is back/r {nook} .",
        "So/r come to/p {home@place} and meet {pet@patient} , but bring some {treat@patient} !",
    ),
)
COMPLAINT = (
    (
        "On the {date.th@time} of {month@time} I@agent ordered {thing.a@patient} from your shop@place in {away@place} (, "
        "number@attribute {order_number}|) .",
        "I@agent bought {thing.a@patient} in your shop@place in {away@place} on the {date.th@time} of {month@time} .",
    ),
    ("It@experiencer cost {price} , and I@agent paid at once/n@time .", "I@agent paid {price} for it@topic ."),
    (
        "(Sadly ,|However ,|To/p my surprise@topic ,) the {thing.one@experiencer} in the parcel@place was {wrong} , not "
        "{thing.colour} .",
        "When I@agent opened the parcel@patient , I@agent found a {wrong} {thing.one@patient} instead of {thing.a_short@topic} .",
    ),
    (
        "(It@experiencer was also|In addition@none , it@experiencer was) (scratched/a|dirty|bent/a|cracked/a|stained/a) "
        ", and (the label|a button|a screw|the card|the ribbon)@experiencer was missing/a .",
        "It@agent also came {days} late/r , and the box@experiencer was (wet/a|torn/a|dirty|crushed/a) .",
    ),
    (
        "Please send me@recipient {thing@patient} (that/c I@agent ordered|) , or give me@recipient my {price} back/t .",
        "I@agent ask you@recipient to/t take back/t the {wrong} {thing.one@patient} and to/t return the {price} .",
    ),
    (
        "I@agent am sending the {wrong} {thing.one@patient} back/r to/p {away@place} today .",
        "You@agent can (reach|call) me@patient in {home@place} (after/p {time@time}|every <part_of_day@time>|on {day_two@time}) .",
        "I@experiencer have/x been a (loyal|faithful) customer@attribute for {years} , and I@experiencer hope for a "
        "quick answer@topic .",
    ),
)
APPLICATION = (
    (
        "I@agent have/x read (in the newspaper@place|on a notice@place at the <landmark@place>) that/c you@experiencer "
        "need a {trade@patient} in {away@place} .",
        "My <close_kin@agent> told me@recipient that/c you@agent are looking for a {trade@patient} in {away@place} .",
    ),
    (
        "I@experiencer am {age} years@quantity old , and I@agent have/x worked as/p a {trade@attribute} in {home@place} "
        "for {years} .",
        "For {years} I@experiencer have/x been a {trade@attribute} here in {home@place} .",
    ),
    (
        "I@experiencer am {trait} and {trait_two} , and I@agent (work (fast/r|carefully|hard/r)|get up/t early/r|make "
        "few mistakes@patient) .",
        "People@agent say that/c I@experiencer am {trait} , {trait_two} and always on time@manner .",
    ),
    (
        "I@agent can also <hobby> , <hobby> and (speak three languages@patient|drive a <vehicle@patient>|play/v the "
        "<instrument@patient>|mend a <vehicle@patient>) .",
        "In my free time@time I@agent <hobby> and <hobby> , and I@agent play/v the <instrument@patient> .",
    ),
    (
        "I@agent could begin on {day@time} , the {deadline.th@time} of {month@time} .",
        "From the {deadline.th@time} of {month@time} I@experiencer am free/a to/t come to/p {away@place} .",
    ),
    (
        "{friend@agent} {family_two@agent} , for whom@recipient I@agent have/x worked for {years} , will (gladly|) tell "
        "you@recipient more/o@topic .",
        "It@experiencer would be a (great|) pleasure@topic to/t work for you@recipient as/p a {trade@attribute} .",
    ),
)


def _things(page: Page) -> None:
    """What every letter may mention: the thing, the pet, the friends, the dates."""
    chance, cast = page.chance, page.cast
    category = chance.pick(CATEGORIES)
    thing = draw_thing(page, category)
    month, date = chance.below(12), chance.between(1, 20)
    broken = {"garment": "torn", "trinket": "lost", "stationery": "lost"}.get(category, "broken")
    girl, boy = Person(page.draw("female"), FEMALE), Person(page.draw("male"), MALE)
    friend, friend_two = chance.sample((girl, boy), 2)
    cast.update(
        thing=thing,
        broken=f"{broken}/v",
        broken_state=f"{broken}/a",
        wrong=page.draw("colour" if category != "trinket" else "metal"),
        date=count(date),
        friend=friend,
        friend_two=friend_two,
        month=name(MONTHS[month]),
        month_two=name(MONTHS[(month + chance.between(2, 5)) % 12]),
        deadline=count(date + chance.between(4, 10)),
        day=page.draw("weekday"),
        day_two=page.draw("weekday"),
        sky=page.draw("sky_any"),
        days=measure(chance.between(2, 9), noun("day")),
        hours=measure(chance.between(2, 9), noun("hour")),
        years=measure(chance.between(2, 19), noun("year")),
        age=count(chance.between(20, 60)),
        price=measure(chance.between(3, 60), noun("coin")),
        time=clock_time(5 * chance.between(108, 228)),
        order_number=count(chance.between(100, 999)),
        sight=page.draw("trip_sight"),
        lodging=page.draw("lodging"),
        place=draw_place(page),
        trade=page.draw("trade"),
        trait=page.draw("worker_trait"),
        trait_two=page.draw("worker_trait"),
        family_two=page.draw("family"),
        occasion=OCCASION,
        nook=page.phrase(NOOK),
        pet=Person(page.draw("pet_name"), chance.pick((FEMALE, MALE)), page.draw("pet")),
    )
    cast.update(ACTIVITIES, few=count(chance.between(2, 6)), his="his" if friend is boy else "her/d")
    page.facts.update(object=noun_text(thing), look=look_text(thing))


def write(page: Page) -> None:
    chance, cast = page.chance, page.cast
    _things(page)
    kind = chance.pick(tuple(BODIES))
    formal = kind in FORMAL
    home, away = page.draw("town"), page.draw("town")
    writer = Person(page.draw(chance.pick(("female", "male"))), FEMALE)
    farewells = FAREWELLS
    if formal:
        farewells = FORMAL_FAREWELLS
        reader = Person(name(f"{chance.pick(('Mr', 'Mrs', 'Miss'))} {page.draw('family').text}"), FEMALE)
    elif chance.happens(35):
        relative, gender = chance.pick(RELATIVES)
        reader = Person(
            name(
                f"{relative} {page.draw('female' if gender is FEMALE else 'male').text}"
                if relative in ("Uncle", "Aunt")
                else relative
            ),
            gender,
        )
    else:
        farewells = FRIENDS_FAREWELLS
        reader = Person(page.draw(chance.pick(("female", "male"))), FEMALE)
    cast.update(home=home, away=away, reader=reader, writer=writer, family=page.draw("family"))
    page.facts.update(home=home.text, away=away.text, writer=writer.text)
    page.say(*HEADS)
    page.new_line()
    page.say(*(FRIENDLY[:1] if formal else FRIENDLY))
    page.new_line()
    if not formal:
        page.say(*GREETINGS)
    aside_after = chance.between(1, len(BODIES[kind]) - 1)
    for index, patterns in enumerate(BODIES[kind]):
        page.say(*patterns)
        if index == aside_after and not formal:
            page.say(*ASIDES)
    if not formal:
        page.maybe(40, *ASIDES)
        page.maybe(70, *REPLIES)
    page.new_line()
    page.say(*farewells)
    page.new_line()
    page.say("{writer@speaker} {family@speaker}" if formal else "{writer@speaker}")


BODIES = {
    "holiday": HOLIDAY,
    "invitation": INVITATION,
    "thanks": THANKS,
    "apology": APOLOGY,
    "news": NEWS,
    "complaint": COMPLAINT,
    "application": APPLICATION,
}
FORMAL = ("complaint", "application")
KIND = Kind("letter", write, 60, 180)
