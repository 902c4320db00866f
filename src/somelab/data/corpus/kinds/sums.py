"""The sentences of the arithmetic texts, by form: chains, holdings, shopping, sharing, ages, clocks, tables."""

from __future__ import annotations

CHAIN_STARTS = (
    "Start with {n} .",
    "Think of the number@topic {n} .",
    "We@agent begin with {n} .",
    "Take {n} .",
    "Write down/t {n} .",
)
CHAIN_STEPS = {
    "add": (
        "Add {k} , and (you@experiencer have/v|you@agent get|it@agent makes) {total} .",
        "{n} plus/p {k} is {total} .",
        "If you@agent add {k} , you@agent (get|reach) {total} .",
        "{k} more/a makes {total} .",
    ),
    "take": (
        "Take away/t {k} , and {total} (remains|is left/v) .",
        "{n} minus/p {k} is {total} .",
        "(Subtract|Take away/t) {k} from {n} , and (you@agent get|the result@experiencer is) {total} .",
        "Without {k} , {n} becomes {total} .",
    ),
    "times": (
        "{n} times/p {k} is {total} .",
        "Multiply {n} by {k} , and you@agent get {total} .",
        "{k} times/p as/r much/r as/c {n} is {total} .",
    ),
    "halve": (
        "Half/n@quantity of {n} is {total} .",
        "Divide {n} by two , and you@agent get {total} .",
        "{n} divided by two is {total} .",
    ),
    "double": ("Double/v {n} , and you@agent get {total} .", "Twice {n} is {total} .", "{n} plus/p {n} is {total} ."),
}
CHAIN_ENDS = (
    "So/c {first} has/x become {total} (in {steps}|after/p {steps}) .",
    "From {first} we@agent came to/p {total} .",
    "The last/a number@experiencer is {total} ; the first was {first} .",
    "We@agent began with {first} and ended with {total} .",
)
CHAIN_CHECKS = {
    "higher": "The difference@experiencer between {total} and {first} is {gap} .",
    "lower": "{total} is {gap} less/a than {first} .",
    "same": "So/c we@agent are back/r where/c we@agent began .",
}

HOLDINGS = (
    "{hero@experiencer} had/v {n} {item.many@patient} in {box.a@place} .",
    "There/o were {n} {item.many@topic} in {hero@experiencer} 's <container=box.one@place> .",
    "{hero@agent} (collected|gathered|counted) {n} {item.many@patient} (on <weekday@time>|one morning@time|before/p "
    "breakfast@time|) .",
    "One/d {when@time} {hero@agent} put {n} {item.many@patient} on the (table|desk|bench|shelf|window sill|kitchen table)@place .",
)
GAINS = (
    "(Then|Later|In the evening@time) {friend@agent} gave {hero.him@recipient} {k} more/a .",
    "{hero.he@agent} found {k} (more/a|others/n@patient) (under/p the (bed|sofa|rug|stairs)@place|behind the "
    "(sofa|cupboard|curtain|shed)@place|near/p the <tree@place>|in the <room@place>) .",
    "{hero.his} <kin@agent> (brought|sent|bought) {hero.him@recipient} {k} more/a .",
    "{hero.he@agent} won {k} more/a in a game@topic (with {friend@companion}|) .",
    "(On <weekday@time>|The next day@time|After/p lunch@time) {hero.he@agent} got {k} more/a .",
)
LOSSES = (
    "{hero.he@agent} gave {k} (of them@patient|) to/p {friend@recipient} .",
    "(Sadly|Then|Soon) {hero.he@agent} lost/v {k} of them@patient (in the <room@place>|on the way@place home|near/p "
    "the <scenery@place>|) .",
    "{hero.he@agent} (sold|traded|lent) {k} (of them@patient|) (at the fair@place|to/p {hero.his} "
    "<kin@recipient>|to/p {friend@recipient}) .",
    "(The next/a morning@time|On <weekday@time>|Later) {k} of them@patient (rolled under/p the "
    "(bed|sofa|cupboard|piano)@place|fell into the <scenery@place>|were missing/a) .",
)
TOTALS = (
    "(Now|Then) {hero.he@experiencer} had/v {total} .",
    "That/o@agent made {total} .",
    "So/c there/o were {total} .",
    "{hero.he@agent} counted them@patient : {total} .",
)
QUESTIONS = (
    "How many {item.many@patient} did/x {hero@experiencer} have/v (then|in the end@time|at last/n@time) ?",
    "How many {item.many@topic} were there/o now ?",
    "Can you@agent work out/t how many {item.many@patient} {hero@experiencer} had/v (now|after/p that/o@time|by/p then/n@time) ?",
)
ANSWERS = (
    "{working} , so/c the answer@experiencer is {total} {item.many@quantity} .",
    "{working} . {hero@experiencer} had/v {total} {item.many@patient} .",
    "The answer@experiencer is {total} , because {working} .",
)
COMPARISONS = (
    "{friend@experiencer} had/v {m} {item.many@patient} , {gap} {fewer} than {hero@experiencer} .",
    "{friend@experiencer} had/v {gap} {fewer} (than {hero@experiencer}|) , that/o@topic is , {m} .",
)
TOGETHERS = (
    "Together they@experiencer had/v {both} {item.many@patient} .",
    "{hero@agent} and {friend@agent} put them@patient together : {both} {item.many@topic} in all/n@quantity .",
)

SHOP_OPENINGS = (
    "At the (market|fair/n|village shop|corner shop|school shop)@place , (a|one|each) {ware@experiencer} cost "
    "{price} , and (a|one|each) {ware_two@experiencer} cost {price_two} .",
    "{hero@agent} went to/p the (market|fair/n|village shop|corner shop|jumble sale)@place , where/c a "
    "{ware@experiencer} was {price} and a {ware_two@experiencer} was {price_two} .",
    "(A stall@agent at the market@place|The village shop@agent|A shopkeeper@agent in {town@place}) sold "
    "{ware.many@patient} for {price} each/r and {ware_two.many@patient} for {price_two} each/r .",
)
SHOP_ORDERS = (
    "{hero@agent} bought {bought} and {bought_two} .",
    "{hero@agent} (took|chose|wanted) {bought} and {bought_two} (for {hero.his} <kin@recipient>|for a "
    "party@topic|for {hero.his} class@recipient|) .",
)
SHOP_SUMS = (
    "The {ware.many@experiencer} cost {q} times/p {price.number} , which@experiencer is {part} , and the "
    "{ware_two.many@experiencer} cost "
    "{q_two} times/p {price_two.number} , which@experiencer is {part_two} .",
    "{q} times/p {price.number} is {part} . {q_two} times/p {price_two.number} is {part_two} .",
)
SHOP_TOTALS = (
    "{part} plus/p {part_two} is {whole.number} , so/c {hero.he@agent} had/v to/t pay {whole} .",
    "Together that/o@experiencer was {whole} .",
)
SHOP_CHANGES = (
    "{hero@agent} (paid with|gave the clerk@recipient|put down/t) {paid} . How much/r did/x {hero.he@recipient} get "
    "back/t ? "
    "{paid.number} minus/p {whole.number} is {change.number} , so/c {hero.he@recipient} got {change} back/r .",
    "{hero.he@experiencer} had/v {paid} in {hero.his} purse@place . After/p that/o@time , {change} remained , "
    "because {paid.number} "
    "minus/p {whole.number} is {change.number} .",
)

SHARE_OPENINGS = (
    "{hero@agent} wanted to/t share {n} {item.many@patient} (fairly|equally) among/p {k} <person.many@recipient> .",
    "There/o were {n} {item.many@topic} and {k} <person.many@experiencer> . {hero@agent} shared the "
    "{item.many@patient} (fairly|equally) .",
    "{hero@agent} packed {n} {item.many@patient} into {k} <container.many@place> , the same number@patient in each/o@place .",
)
SHARE_WORKINGS = (
    "{k} times/p {each} is {product} , so/c each/o@experiencer (had/v|got) {each} .",
    "{product} divided by {k} is {each} , so/c there/o were {each} for each/o@recipient .",
)
SHARE_LEFT = (
    "{rest} {was} left/v (over/t|) , because {n} minus/p {product} is {rest} .",
    "{n} is {rest} more/a than {product} , so/c {rest} stayed with {hero@companion} .",
)
SHARE_EVEN = ("Nothing@experiencer was left/v over/t .", "It@none came out/t even/a .")

AGES = (
    "{hero@experiencer} is {n} years@quantity old . {hero.his} {kin@experiencer} {friend@experiencer} is {gap} {older} .",
    "{friend@experiencer} is {gap} {older} than {friend.his} {sibling@experiencer} {hero@experiencer} , who@experiencer is {n} .",
)
AGE_WORKINGS = (
    "So/c {friend@experiencer} is {m} , because {n} {sign} {k} is {m} .",
    "{n} {sign} {k} is {m} , so/c {friend@experiencer} is {m} years@quantity old .",
)
AGE_FUTURES = (
    "In {span} {hero@experiencer} will be {n_later} and {friend@experiencer} will be {m_later} .",
    "How old will they@experiencer be in {span} ? {hero@experiencer} will be {n_later} , and {friend@experiencer} "
    "will be {m_later} .",
)
AGE_SUMS = (
    "Together they@experiencer will then be {both} years@quantity old , and the difference@experiencer will still be {gap} .",
    "{n_later} plus/p {m_later} is {both} . The difference@experiencer (between them@topic|) is {gap} , now and always .",
)

# Start, end, and what if: the three sentences of one happening.
CLOCKS = (
    (
        "The {event@agent} (in {town@place}|) began at {start@time} and lasted {length} .",
        "(When did/x it@agent end ? At {end@time}|So/c it@agent ended at {end@time}) .",
        "If it@agent had/x lasted {extra} longer/r , it@agent would have/x ended at {later@time} .",
    ),
    (
        "{hero@agent} left/v home/n@place at {start@time} and <travel.ed> for {length} .",
        "{length} after/p {start@time} it@none is {end@time} , so/c {hero.he@agent} arrived at {end@time} .",
        "Then {hero.he@agent} rested for {extra} , until/p {later@time} .",
    ),
    (
        "A train@agent left/v {town@place} at {start@time} . The journey@agent took {length} .",
        "(At what/d time@time did/x the train@agent arrive ? At {end@time}|The train@agent came in/t at {end@time}) .",
        "A second train@agent was {extra} slower , so/c it@agent arrived at {later@time} .",
    ),
    (
        "{hero@agent} put a <dessert=bake@patient> into the oven@place at {start@time} . It@agent had/v to/t bake for {length} .",
        "{hero.he@agent} took the {bake@patient} out/t at {end@time} .",
        "It@agent cooled for {extra} , and at {later@time} {hero@agent} and {friend@agent} ate it@patient .",
    ),
    (
        "{hero@agent} began to/t <hobby> at {start@time} and stopped after/p {length} .",
        "(When was that/o@topic ? At {end@time}|That/o@topic was at {end@time}) .",
        "{friend@agent} went on/t for {extra} more/a and stopped at {later@time} .",
    ),
    (
        "{hero@agent} promised to/t meet {friend@patient} at {start@time} , but {hero.he@agent} came {length} late/r .",
        "It@none was {end@time} when {hero.he@agent} arrived .",
        "They@agent talked for {extra} and said/v goodbye@topic at {later@time} .",
    ),
)

TABLE_STARTS = (
    "Here is part@topic of the table@topic of {k} .",
    "{hero@agent} learns the table@patient of {k} .",
    "Let us@agent count in steps@manner of {k} .",
)
TABLE_ENDS = (
    "{last} is {first} plus/p {gap} .",
    "From {first} to/p {last} there/o are {steps} of {k} , which@agent makes {gap} .",
)
