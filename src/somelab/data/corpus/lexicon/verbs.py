"""Verbs by the frame they fit, most frequent first. `stop+` doubles its last letter; `write wrote written` is irregular.
Every group is a bag of the same name."""

VERBS = {
    # they <go.ed> to the market
    "go": """
        walk, run+ ran run, hurry, march, go went gone, stroll, rush, wander, skip+, trot+, race, jog+, stride strode stridden,
        dash, head, scurry, tiptoe, limp, amble, plod+
    """,
    # they <travel.ed> along the river
    "travel": "walk, wander, travel+, stroll, march, hike, ride rode ridden, trudge, ramble, pedal+, drift, roam",
    # “Here it is!” he <exclaim.ed>
    "exclaim": "cry, shout, call, exclaim, cheer",
    # “Oh no!” she <alarm.ed>
    "alarm": "cry, exclaim, gasp, shout",
    # loud joy, and a quiet kind of it
    "rejoice": "smile, laugh, cheer, grin+, dance, giggle, clap+, jump, beam, sing sang sung, chuckle, whistle, hum+, twirl",
    "smile": "smile, laugh, grin+, beam, chuckle, giggle",
    # “I have lost it,” he <despair.ed>
    "despair": "sigh, cry, sob+, groan, weep wept wept, moan, whimper",
    # they <search.ed> every corner
    "search": "search, explore, check, examine, inspect, scour, comb",
    # they <mend.ed> the lamp
    "mend": "mend, repair, fix, restore",
    # what a cook does with a knife, and with a spoon
    "cut": "chop+, slice, dice, grate, shred+, mince",
    "mix": "mix, stir+, whisk, beat beat beaten, blend",
    # what a pet can learn
    "command": "sit+ sat sat, come came come, wait, jump, fetch, stay, roll, stop+, dance, turn, hop+",
    # what one does with free time
    "hobby": """
        read read read, swim+ swam swum, paint, dance, sing sang sung, cook, draw drew drawn, garden, knit+, skate, fish, cycle,
        hike, bake, sail, climb, juggle, ski, row, camp, sew sewed sewn, whittle, sketch, fence, surf
    """,
    # what one can show to others
    "art": """
        paint, dance, sing sang sung, cook, draw drew drawn, knit+, skate, fish, juggle, row, sew sewed sewn, whittle, garden,
        bake
    """,
}

# Verbs that patterns use by name and no bag holds.
PLAIN_VERBS = """
    add, admire, agree, allow, answer, appear, argue, arrange, arrive, ask, bang, become became become, begin+ began begun,
    believe, belong, bend bent bent, bloom, blow blew blown, blush, boil, borrow, break broke broken, breathe, bring brought,
    brought, brown, brush, bubble, build built built, burn, buy bought bought, carry, catch caught caught, celebrate, change,
    chill, chirp, choose chose chosen, circle, clean, clear, close, collect, combine, cool, cost cost cost, count, cover, crack,
    creak, creep crept crept, crumble, cut+ cut cut, decorate, describe, dig+ dug dug, dip+, disappear, divide, do did done,
    double, drain, drink drank drunk, drive drove driven, drizzle, drop+, dry, dust, eat ate eaten, empty, end, enjoy, enter,
    excuse, expect, explain, fall fell fallen, feel felt felt, fill, find found found, finish, fit+, flip+, flour, flown, fly
    flew, fold, follow, forget+ forgot forgotten, forgive forgave forgiven, form, frighten, fry, gather, gave given, get+ got
    got, give, glue, grease, grow grew grown, guess, hail, hammer, hang hung hung, happen, have had had, hear heard heard, heat,
    help, hidden, hide hid, hold held held, hope, howl, hug+, hurt hurt hurt, invite, iron, join, keep kept kept, knead, knock,
    know knew known, lain, last, lay laid laid, lead led led, lean, learn, leave left left, lend lent lent, let+ let let, lie
    lay, lift, light lit, like, line, listen, lit, live, look, lose lost lost, love, make made made, mark, matter, measure, meet
    met met, melt, mind, miss, move, multiply, murmur, name, need, nod+, notice, obey, open, order, own, pack, paid paid, pass,
    patch, pay, perch, pick, pin+, place, plan+, plant, play, post, pour, practise, praise, prefer+, press, promise, pull, pump,
    push, put+ put put, rain, rang rung, rattle, reach, recommend, remain, remember, repeat, replace, reply, rescue, rest,
    return, ring, rinse, rise, roast, rose risen, rub+, ruin, rustle, sand, save, saw sawed sawn, say said said, scatter, scold,
    scrub+, season, see saw, seen, sell sold sold, send sent sent, serve, set+ set set, shake shook shaken, shape, share, shine,
    shiver, shone shone, show, showed shown, shut+ shut shut, sift, simmer, sleep slept slept, slide slid slid, slip+, smell,
    snow, soak, sort, sound, sparkle, speak spoke spoken, spend spent spent, spoon, spread spread spread, sprinkle, squeeze,
    stand stood stood, start, steal stole stolen, step+, stitch, store, strike struck struck, stroke, study, subtract, suit,
    swallow, swap+, sweep swept, sweeten, swept, take took taken, talk, taste, teach taught taught, tear tore torn, tell told,
    test, thank, think, thought thought, thread, throw threw thrown, tidy, tie, tip+, toast, told, top+, toss, trade, trip+,
    trust, try, tune, understand, understood understood, unpack, unroll, use, visit, wade, want, warm, wash, watch, water, wave,
    wear wore worn, whisper, win+, wind wound wound, wipe, wish, won won, wonder, work, worry, wrap+, write wrote written
"""

# States rather than actions: the default role of these is `state`.
STATIVE = """
    admire become believe belong cost enjoy expect feel fit forget have hope know last lie like live love matter mind miss need
    own prefer remain remember sleep stay suit think trust understand want wear wish wonder worry
"""
