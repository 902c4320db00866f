"""Arcs about deeds: learning a skill, a contest, a garden that grows."""

from __future__ import annotations

from somelab.data.corpus.kinds.arcs.stage import AROUND, FRIENDS, ROAD, Arc
from somelab.data.corpus.kinds.things import draw_thing, look_text, noun_text
from somelab.data.corpus.lexicon import noun
from somelab.data.corpus.page import Page
from somelab.data.corpus.phrase import count, measure
from somelab.data.corpus.referents import FEMALE, MALE, Thing

# A skill, the advice that unlocks it, and what goes wrong without it.
SKILLS = (
    ("ride/v a {vehicle@patient}", "look/v ahead and not at your feet@patient", "fell/v into a (hedge|puddle|ditch)@place"),
    (
        "play/v the {instrument@patient}",
        "listen before/c you@agent play/v",
        "(hurt/v everyone@experiencer 's ears@patient|frightened/v a <songbird@patient>)",
    ),
    (
        "swim across/p the (lake|river)@place",
        "breathe slowly and trust the water@patient",
        "swallowed a lot@patient of water@topic",
    ),
    (
        "juggle/v {balls} <fruit.many@patient>",
        "throw high/r and wait",
        "dropped one/o@patient on {hero.his} (head|foot|nose)@place",
    ),
    (
        "knit a {garment@patient}",
        "count every stitch@patient",
        "(lost/v a stitch@patient|made a knot@patient as/r big as/c a <fruit@topic>)",
    ),
    ("bake a {dessert@patient}", "never open/v the oven@patient too early/r", "(burned|ruined) the {dessert@patient}"),
    ("skate backwards", "bend your knees@patient", "sat down/t on the ice@place"),
    (
        "climb the (tall|old|great) <tree=goal_tree@patient>",
        "test every branch@patient before/c you@agent trust it@patient",
        "slid down/t the trunk@place",
    ),
    (
        "paint a {animal@patient}",
        "look/v twice and paint once/r",
        "painted/v something@patient that/o@agent looked like/p a <fruit@topic>",
    ),
    ("row/v a boat@patient", "pull with your back@instrument and not with your arms@instrument", "went round/r in circles@manner"),
    (
        "tie a sailor@attribute 's knot@patient",
        "go around/r twice and through/r once/r",
        "tied {hero.his} own/a (thumb|finger|paw)@patient",
    ),
    (
        "whistle/v through {hero.his} teeth@instrument",
        "keep your tongue@patient still/a",
        "made a sound@patient like/p a <animal@topic>",
    ),
)


def set_skill(page: Page) -> None:
    chance, cast = page.chance, page.cast
    cast.update(
        vehicle=page.draw("rideable"),
        instrument=page.draw("instrument"),
        balls=count(chance.between(3, 5)),
        garment=page.draw("garment"),
        dessert=page.draw("dessert"),
        animal=page.draw("animal"),
    )
    skill, advice, failure = chance.pick(SKILLS)
    scarf, words = Thing(page.draw("outerwear"), page.draw("garment_look"), page.draw("colour")), page.phrase(advice)
    cast.update(
        skill=page.phrase(skill),
        advice=words,
        failure=page.phrase(failure),
        tries=count(chance.between(3, 12)),
        scarf=scarf,
        weeks=measure(chance.between(2, 9), noun("week")),
        event=page.draw("public_event"),
    )
    page.facts.update(object=noun_text(scarf), look=look_text(scarf), recalled=words.text)


SKILL = (
    (
        "There/o was only one/m thing@topic that/c {hero@experiencer} wanted : {hero.he@experiencer} wanted to/t {skill} .",
        "{hero@experiencer} 's (greatest|secret|oldest) wish@experiencer was to/t {skill} .",
        "{hero@agent} could do/v many things@patient , but {hero.he@agent} could not {skill} .",
    ),
    (
        "{time} {hero.he@agent} tried it@patient for the first/a time@time , and {hero.he@agent} {failure} .",
        "{time} {hero@agent} waited until/c nobody@agent was looking , and tried . {hero.he@agent} {failure} .",
    ),
    (
        "{hero.he@agent} tried {tries} times@quantity . The last/a time@time was (no/d better|as/r bad as/c the first/a) .",
        "After/p {tries} tries@topic {hero.he@experiencer} was tired and <upset> . “ I@agent will never {skill} , ” "
        "{hero.he@agent} <despair.ed> .",
    ),
    AROUND,
    (
        "{elder.a@agent} in {scarf.a@place} had/x watched everything@patient . “ Would you@experiencer like/v to/t know "
        "my secret@patient ? ” {elder.he@speaker} asked .",
        "Just then {elder.a@agent} came by/r , in {scarf.a@place} . “ I@agent could not {skill} , either/r , when "
        "I@experiencer was young , ” {elder.he@speaker} said/v .",
    ),
    (
        "“ The secret@experiencer is simple , ” {elder.he@speaker} said/v . “ It@experiencer is this/o@topic : {advice} . ”",
        "“ Remember this/o@topic , ” {elder.he@speaker} said/v . “ {advice} . ”",
    ),
    (
        "{hero@agent} thanked {elder@patient} and tried again . This/d time@time it@agent went a little/r better/r .",
        "It@agent sounded easy , but it@experiencer was <difficulty> . Still , {hero@agent} tried once/r more/r .",
    ),
    ROAD,
    (
        "From that/d day@time on/t {hero.he@agent} practised every <part_of_day@time> , for {weeks} , and sometimes "
        "{friend.intro@agent} came to/t watch .",
        "For {weeks} {hero@agent} practised behind the <scenery@place> , in sunshine@place and in rain@place . "
        "{friend.intro@agent} brought {hero.him@recipient} <snack.many@patient> .",
    ),
    (
        "“ {advice} , ” {hero.he@speaker} said/v to/p {hero.himself@recipient} , again and again .",
        "Whenever it@agent went wrong , {hero.he@agent} remembered the words@patient : “ {advice} . ”",
    ),
    (
        "Then came the {event@topic} . Half/n@quantity of {town@topic} was there/r , and {hero@experiencer} was "
        "(nervous|pale|so/r nervous that/c {hero.his} knees@agent shook) .",
        "On the day@time of the {event@topic} everybody@agent asked , “ Who@agent can {skill} ? ” {hero@agent} stepped forward .",
    ),
    (
        "In the crowd@place {hero.he@agent} saw/v {scarf.a_short@patient} . It@experiencer was {elder@topic} , who@agent "
        "(nodded|smiled) .",
        "{hero.he@agent} took a deep breath@patient . Far/r back/r , in {scarf@place} , stood {elder@agent} .",
    ),
    (
        "{hero@agent} did/v what@patient {hero.he@agent} had/x learned . And it@agent worked ! “ {hero@agent} can "
        "{skill} ! ” {friend@speaker} <exclaim.ed> .",
        "And now {hero@agent} showed everyone@recipient that/c {hero.he@agent} could {skill} . {friend@agent} cheered "
        "louder/r than all/d the others/n@topic .",
    ),
    (
        "Today {hero@agent} teaches the children@recipient of {town@topic} to/t {skill} . And what@patient does/x "
        "{hero.he@agent} tell them@recipient ? “ {advice} ! ”",
        "Later {hero@agent} wanted to/t thank {elder@patient} , but {scarf@experiencer} was gone/a . Only the "
        "words@agent stayed : “ {advice} . ”",
    ),
)

# A contest: its name, what one has to do, and the rival's trouble.
CONTESTS = (
    (
        "cake contest",
        "bake the best/a {dessert@patient}",
        "had/v no/d {item@patient} left/a",
        "gave {friend.him@recipient} half/n@patient of {hero.his} {item@topic}",
    ),
    (
        "boat race",
        "row/v across/p the lake@place {laps} times@quantity",
        "lost/v an oar@patient",
        "turned back/r and brought {friend.him@recipient} the oar@patient",
    ),
    (
        "kite contest",
        "keep a kite@patient in the air@place for {minutes}",
        "had/v a hole@patient in {friend.his} kite@place",
        "gave {friend.him@recipient} a piece@patient of {item_paper} paper@topic",
    ),
    (
        "running race",
        "run {laps} times@quantity around {place@place}",
        "fell/v and hurt/v {friend.his} knee@patient",
        "stopped and helped {friend.him@patient} up/t",
    ),
    (
        "singing contest",
        "sing/v {laps} songs@patient without a mistake@manner",
        "had/v lost/v {friend.his} voice@patient",
        "gave {friend.him@recipient} hot tea@patient with honey@topic",
    ),
    (
        "cart race",
        "drive a {item_paper} cart@patient down/p the hill@place",
        "had/v a loose/a wheel@patient",
        "mended the wheel@patient with {hero.his} own/a tools@instrument",
    ),
    (
        "sack race",
        "hop around the square@place {laps} times@quantity in a sack@place",
        "tore/v {friend.his} sack@patient",
        "stopped and tied up/t the hole@patient",
    ),
    (
        "fishing contest",
        "catch {laps} fish@patient before/p noon@time",
        "lost/v {friend.his} hook@patient",
        "lent {friend.him@recipient} {hero.his} second hook@patient",
    ),
)


def set_contest(page: Page) -> None:
    chance, cast = page.chance, page.cast
    cast.update(
        dessert=page.draw("dessert"),
        item=page.draw("baking"),
        laps=count(chance.between(2, 7)),
        minutes=measure(5 * chance.between(2, 12), noun("minute")),
        item_paper=page.draw("colour"),
    )
    contest, task, trouble, deed = chance.pick(CONTESTS)
    prize = Thing(
        noun(chance.pick(("cup", "medal", "crown", "plate", "bell", "star"))), page.draw("trinket_look"), page.draw("metal")
    )
    rivals, place = chance.between(5, 30), chance.between(2, 4)
    cast.update(
        contest=noun(contest),
        task=page.phrase(task),
        trouble=page.phrase(trouble),
        deed=page.phrase(deed),
        prize=prize,
        rivals=count(rivals),
        rank=count(place),
        day=page.draw("weekday"),
        winner=Thing(page.draw("trade"), page.draw("trait"), gender=chance.pick((FEMALE, MALE))),
        second=draw_thing(page, "toy", "garment", "stationery"),
    )
    page.facts.update(object=noun_text(prize), look=look_text(prize), recalled=f"{look_text(prize)} {noun_text(prize)}")


CONTEST = (
    FRIENDS,
    (
        "{time} there/o was a notice@topic on the (church door|old oak|town hall|bridge|school gate)@place : “ "
        "{contest@topic} on {day@time} ! The winner@recipient gets {prize.a@patient} . ”",
        "Every year@time there/o was a {contest@topic} in {town@place} , and the prize@experiencer was {prize.a@topic} .",
        "“ Have/x you@agent heard ? ” asked {friend@speaker} . “ On {day@time} there/o is a {contest@topic} , and "
        "one/o@agent can win {prize.a@patient} ! ”",
    ),
    (
        "Whoever@agent wanted to/t win had/v to/t {task} .",
        "The rule@experiencer was simple : you@agent had/v to/t {task} .",
    ),
    (
        "{hero@agent} practised (day@time and night@time|every <part_of_day@time>|in secret/n@manner) . "
        "{hero.he@experiencer} wanted {prize@patient} for {hero.his} {kin@recipient} .",
        "Both/o@experiencer wanted to/t win . {friend@agent} practised {place_two.in@place} , and {hero@agent} practised "
        "{home.again} .",
    ),
    AROUND,
    (
        "On {day@time} {rivals} <person.many@agent> came to/p the start@place , among/p them@place {hero@agent} and "
        "{friend@agent} .",
        "Then {day@agent} came . {rivals} of them@agent stood (in a row@manner|side@manner by/p side@manner) , and "
        "{elder@speaker} (called|cried|shouted) , “ Ready ? Go ! ”",
    ),
    (
        "At first/n@time everything@agent went well/r , and {hero@experiencer} was ahead of the others/n@topic .",
        "{hero@agent} began <busily> . Soon {hero.he@experiencer} was the best/a of all/d {rivals} .",
    ),
    (
        "Then something@agent happened : {friend@agent} {trouble} .",
        "But suddenly {friend@agent} (cried|called|shouted) out/t . {friend.he@agent} {trouble} .",
    ),
    (
        "{hero@agent} thought of {prize@topic} . Then {hero.he@agent} looked at {friend@patient} , and {hero.he@agent} {deed} .",
        "What@experiencer was more/r important , {prize@topic} or a friend@topic ? {hero@agent} did/x not think long/r . "
        "{hero.he@agent} {deed} .",
    ),
    (
        "Meanwhile the others/n@agent had/x passed them@patient . {winner.a@agent} won , and {hero@agent} came only {rank.th} .",
        "So/c it@none was {winner.a@topic} who@agent won {prize@patient} , and {hero@agent} came {rank.th} .",
    ),
    (
        "“ I@experiencer am sorry , ” said/v {friend@speaker} . “ Without me@topic you@agent would have/x won . ” “ "
        "{prize.a_short@experiencer} cannot laugh with me@companion , ” {hero@speaker} answered .",
        "{hero@experiencer} was (not even sad|a little/r sad) . “ There/o will be another {contest@topic} , ” "
        "{hero.he@speaker} said/v , “~ but not another {friend@topic} . ”",
    ),
    (
        "Then {elder@agent} stepped forward . “ There/o is a second prize@topic today , ” {elder.he@speaker} said/v , “~ "
        "for the best/a friend@recipient . ” And {elder.he@agent} gave {hero.him@recipient} {second.a@patient} .",
        "{winner@agent} had/x seen everything@patient . “ {prize@experiencer} belongs to/p you@recipient , ” "
        "{winner.he@speaker} said/v , and laid it@patient in {hero@experiencer} 's hands@place .",
    ),
    (
        "Everybody@agent <rejoice.ed> , and {friend@agent} louder/r than all/d the others/n@topic .",
        "{both@agent} walked home/r together/r , and neither/o@agent of them@topic talked about/p winning/v .",
    ),
)


def set_garden(page: Page) -> None:
    """The numbers add up: what grew is what was picked, and what was given away leaves the rest."""
    chance, cast = page.chance, page.cast
    seeds = chance.between(12, 40)
    eaten = chance.between(2, 6)
    grown = seeds - eaten
    to_friend, to_elder = chance.between(2, grown // 3), chance.between(2, grown // 3)
    crop, can = page.draw("crop"), Thing(noun("watering can"), page.draw("tool_look"), page.draw("colour"))
    cast.update(
        crop=crop,
        can=can,
        seeds=count(seeds),
        eaten=count(eaten),
        grown=count(grown),
        to_friend=count(to_friend),
        to_elder=count(to_elder),
        rest=count(grown - to_friend - to_elder),
        weeks=measure(chance.between(5, 15), noun("week")),
        pest=page.draw("garden_pest"),
        dish=page.draw("garden_dish"),
    )
    page.facts.update(object=noun_text(can), look=look_text(can), recalled=count(grown - to_friend - to_elder).text)


GARDEN = (
    FRIENDS,
    (
        "{time} {hero@agent} (bought|got) {seeds} {crop.one@attribute} seeds@patient and {can.a@patient} from {elder.a@agent} .",
        "{hero.his} {kin@agent} gave {hero.him@recipient} {seeds} {crop.one@attribute} seeds@patient and {can.a@patient} .",
    ),
    (
        "Behind the house@place there/o was a small piece@topic of earth@topic , hard/a as/p stone@topic . “ "
        "Nothing@agent will grow here , ” said/v {friend@speaker} .",
        "“ What@patient do/x you@experiencer want with {crop.one@attribute} seeds@topic ? ” asked {friend@speaker} . “ "
        "It@agent will take {weeks} until/c they@experiencer are ripe . ”",
    ),
    (
        "But {hero@agent} dug and dug . {hero.he@agent} put the {seeds} seeds@patient into the ground@place and watered "
        "them@patient with {can@instrument} .",
        "{hero@agent} planted all/d {seeds} seeds@patient in long/a rows@place . Then {hero.he@agent} filled {can@patient} .",
    ),
    AROUND,
    (
        "Every <part_of_day@time> {hero.he@agent} came with {can@companion} . For a long/a time@time nothing@agent happened .",
        "{hero.he@agent} waited . {hero.he@agent} carried {can@patient} to/p the garden@place every day@time , even on "
        "<weekday@time> .",
    ),
    (
        "Then , after/p a warm/a night@time , the first/a green leaf@agent looked out/t of the ground@place .",
        "One/d morning@time there/o was something@topic green between the stones@place . “ They@agent are growing ! ” "
        "{hero@speaker} <exclaim.ed> .",
    ),
    (
        "A {pest@agent} ate {eaten} of the young plants@patient , but {grown} were left/a .",
        "One/d night@time a {pest@agent} came and ate {eaten} of them@patient . “ {seeds} minus/p {eaten} is {grown} , ” "
        "said/v {hero@speaker} . “ That/o@experiencer is still enough/o@quantity . ”",
    ),
    AROUND,
    (
        "After/p {weeks} the {crop.many@experiencer} were ripe . {hero@agent} picked them@patient and counted : {grown} !",
        "{weeks} later {hero@agent} stood before/p {grown} <taste_good> {crop.many@place} .",
    ),
    (
        "“ I@experiencer was wrong , ” said/v {friend@speaker} . “ They@experiencer are <quality> . ” {hero@agent} gave "
        "{friend.him@recipient} {to_friend} {crop.many@patient} .",
        "{friend@agent} could not believe it@patient . “ Take {to_friend} {crop.many@patient} home/r , ” said/v {hero@speaker} .",
    ),
    (
        "{to_elder} {crop.many@agent} went to/p {elder@recipient} , and {hero@agent} kept {rest} .",
        "{hero.he@agent} brought {to_elder} more/a to/p {elder@recipient} . So/c {hero@experiencer} had/v {rest} "
        "{crop.many@patient} left/a .",
    ),
    (
        "From the {rest} {crop.many@instrument} {hero.he@agent} (cooked|made) {dish.a@patient} , so/r big that/c "
        "everybody@agent could eat .",
        "{hero.he@agent} (cooked|made) {dish.a@patient} and invited {hero.his} {kin@patient} , {friend@patient} and "
        "{elder@patient} .",
    ),
    (
        "And {can@experiencer} ? It@experiencer hangs by/p the door@place and waits for spring@topic .",
        "“ Next/a year@time I@agent will plant twice {seeds} , ” said/v {hero@speaker} , and put away/t {can@patient} .",
    ),
)

ARCS = (Arc("learning a skill", set_skill, SKILL), Arc("the contest", set_contest, CONTEST), Arc("the garden", set_garden, GARDEN))
