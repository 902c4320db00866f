"""What people and animals are busy with: verb phrases that fit any small scene, in three forms.
They are patterns with bags inside, so one phrase gives many sentences; texts use them for what happens in the background."""

from __future__ import annotations

from somelab.data.corpus.morphology import verb_forms
from somelab.data.corpus.page import Pattern

# A verb, as the lexicon writes it, and what follows it. {his} belongs to whoever is busy.
_PEOPLE = (
    ("mend", "a <colour> <garment@patient>"),
    ("paint", "(a <paintable@patient> <colour>|the (door|wall|fence)@patient of the <scenery@topic>)"),
    ("carry", "<container.a@patient> (full of <fruit.many@topic>|of <crop.many@topic>) (to/p the <shop@place>|home/r)"),
    ("feed fed fed", "(the|{few}) <animal.many@patient>"),
    ("sweep swept swept", "the (steps|yard|floor)@patient of the <shop@topic>"),
    ("sell sold sold", "<crop.many@patient> and <fruit.many@patient>"),
    ("play", "a (slow|merry|sad) song@patient on the <instrument@instrument>"),
    ("look", "for (a|the) <colour> <garment@patient>"),
    ("write wrote written", "a (long/a|short/a|funny) letter@patient to/p {his} <kin@recipient>"),
    ("polish", "a <household@patient>"),
    ("teach taught taught", "{his} <young_kin@recipient> to/t <hobby>"),
    ("count", "<collectable.many@patient>"),
    ("bake", "<dessert.a@patient>"),
    ("dig+ dug dug", "a (deep|long/a|small) (hole|ditch)@patient behind the <scenery@place>"),
    ("pick", "<tree_fruit.many@patient>"),
    ("read read read", "a book@patient about/p (a <animal@topic>|<school_subject@topic>)"),
    ("build built built", "a <craft@patient> (out/r of|from) <craft_material@instrument>"),
    ("wash", "a <colour> <garment@patient>"),
    ("push", "a <cargo_vehicle@patient> up/p the hill@place"),
    ("repair", "the (roof|door|window)@patient of the <scenery@topic>"),
    ("chase", "a <animal@patient> (out/r of the garden@place|around the <scenery@place>)"),
    ("knit+", "a <colour> <garment@patient> for {his} <kin@recipient>"),
    ("draw drew drawn", "the <scenery@patient> in a <colour> notebook@place"),
    ("eat ate eaten", "<snack.a@patient> (in the shade@place|on the steps@place|with <drink@companion>)"),
    ("drink drank drunk", "a cup@quantity of <drink@patient> (in the sun@place|by/p the window@place|)"),
    ("argue", "with {his} <kin@companion> about/p (the weather|the price of <crop.many>|an old <household>)@topic"),
    ("plant", "{few} <flower.many@patient> (beside the <scenery@place>|in a <colour> pot@place)"),
    ("cut+ cut cut", "the (grass|hedge|flowers)@patient"),
    ("wait", "for {his} <kin@topic>"),
    ("dream", "of (a <quality> <animal@topic>|<dessert@topic>|the sea@topic)"),
    ("collect", "<souvenir.many@patient> (near/p the <scenery@place>|)"),
    ("hang hung hung", "up/t <colour> <garment.many@patient>"),
    ("watch", "the <songbird.many@patient> (on the roof@place|over the <scenery@place>)"),
    ("tell told told", "{few} children@recipient a story@patient about/p a <animal@topic>"),
    ("throw threw thrown", "a <colour> <toy@patient> (into the air@place|over a wall@place)"),
    ("borrow", "a <tool@patient> from a <trade@agent>"),
    ("try", "on/t a <colour> <outerwear@patient>"),
    ("climb", "(a <tree@patient>|over the wall@place of the <scenery@topic>)"),
    ("practise", "(the <instrument@patient>|for the <public_event@topic>)"),
    ("fill", "<container.a@patient> with <collectable.many@instrument>"),
)  # fmt: skip
_BEASTS = (
    ("eat ate eaten", "(<tree_fruit.many@patient>|<flower.many@patient>) (behind the <scenery@place>|)"),
    ("sleep slept slept", "(under/p a <tree@place>|beside the <scenery@place>|on a <cargo_vehicle@place>)"),
    ("look", "for (food@patient|a warm/a place@patient|its mother@patient)"),
    ("run+ ran run", "around the <scenery@place>"),
    ("drink drank drunk", "from a (pond|puddle|bucket|well/n)@place"),
    ("hide hid hidden", "(behind|under/p) a <colour> (cart|gate|door|bench)@place"),
    ("play", "with a <colour> (ball|ribbon|glove|leaf)@instrument"),
    ("watch", "the <songbird.many@patient>"),
    ("rest", "in the (sun|shade)@place"),
    ("cross", "the (road|bridge|yard)@patient"),
)  # fmt: skip


def _group(phrases: tuple[tuple[str, str], ...], form: str) -> Pattern:
    """All the phrases as one alternative, with the verb in one of its forms."""
    return "(" + "|".join(f"{getattr(verb_forms(verb), form)}/v {rest}" for verb, rest in phrases) + ")"


# Casts for a page: {do}, {did}, {doing} and the same for animals. The page must also cast {few}, a number, and {his}.
ACTIVITIES: dict[str, Pattern] = {
    "do": _group(_PEOPLE, "base"),
    "did": _group(_PEOPLE, "past"),
    "doing": _group(_PEOPLE, "gerund"),
    "beast_did": _group(_BEASTS, "past"),
    "beast_doing": _group(_BEASTS, "gerund"),
}
