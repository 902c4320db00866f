"""Verbs by the frame they fit, most frequent first. `stop+` doubles its last letter; `write wrote written` is irregular.
Every group is a bag; `plain` holds the verbs that patterns use by name."""

VERBS = {
    # <go.ed> to the market
    "go": """walk, run+ ran run, hurry, march, go went gone, stroll, rush, wander, skip+, trot+, race, jog+, stride strode stridden, dash, head,
        scurry, tiptoe, limp, amble, plod+""",
    # <travel.ed> along the river
    "travel": "walk, wander, travel+, stroll, march, hike, ride rode ridden, trudge, ramble, pedal+, drift, roam",
    # “...,” said
    "say": """say said said, reply, answer, explain, whisper, add, murmur, announce, declare, admit+, insist, mumble, suggest, confess,
        remark, mutter""",
        "exclaim": "cry, shout, call, exclaim, cheer",
    "alarm": "cry, exclaim, gasp, call, shout",
    # sounds and movements of contentment or dismay
    "rejoice": "smile, laugh, cheer, grin+, dance, giggle, clap+, jump, beam, sing sang sung, chuckle, whistle, hum+, twirl",
    "smile": "smile, laugh, grin+, beam, chuckle, giggle",
    "despair": "sigh, cry, sob+, groan, weep wept wept, moan, whimper",
    # <search.ed> the room
    "search": "search, explore, check, examine, inspect, scour, comb",
    # what small creatures do
    "creature_act": "sing sang sung, hop+, chirp, rest, dance, hum+, buzz, flutter, sleep slept slept, play, doze, nibble, wait, snooze",
    # <make.ed> a thing
    "make": "make made made, build built built, paint, carve, sew sewed sewn, draw drew drawn, knit+, weave wove woven, design, invent, craft",
    # <mend.ed> a thing
    "mend": "mend, repair, fix, restore, patch, glue",
    # <cook.en> food, with heat or without
    "cut": "chop+, slice, dice, grate, shred+, mince",
    "mix": "mix, stir+, whisk, beat beat beaten, blend",
    "heat": "cook, simmer, fry, boil, bake, roast, steam, grill, toast, stew, poach",
    # what a pet can learn
    "command": "sit+ sat sat, come came come, wait, jump, fetch, stay, roll, stop+, dance, turn, hop+",
    # household work
    "clean": "clean, wash, scrub+, wipe, polish, rinse, sweep swept swept, dust, brush, dry, tidy, scour",
    # what one does with free time, as a gerund: she enjoys <hobby.ing>
    "hobby": """read read read, swim+ swam swum, paint, dance, sing sang sung, cook, draw drew drawn, garden, knit+, skate, fish, cycle, hike, bake,
        sail, climb, juggle, ski, row, camp, sew sewed sewn, whittle, sketch, fence, surf""",
    # what one can show to others
    "art": "paint, dance, sing sang sung, cook, draw drew drawn, knit+, skate, fish, juggle, row, sew sewed sewn, whittle, garden, bake",
    # a person likes or dislikes a thing
    "like": "like, love, enjoy, adore, admire, treasure, cherish",
    # the sky: it <fall.s>
    "weather_act": "rain, snow, drizzle, pour, hail, clear, brighten, freeze froze frozen, thaw, thunder",
    "plain": """rustle, bang, breathe, ruin, shiver, step+, swallow, wade, blush, own, rattle, sound, excuse, wind wound wound, arrange, unroll, sort, frighten, trim+, halve, quarter, decorate, form, slide slid slid, tip+, toss, bubble, crumble, sweeten, spoon, brown, flour, have had had, do did done, see saw seen, look, find found found, lose lost lost, give gave given, take took taken, bring brought brought,
        come came come, get+ got got, put+ put put, keep kept kept, leave left left, feel felt felt, think thought thought, know knew known, want, need,
        hope, wish, believe, remember, forget+ forgot forgotten, understand understood understood, learn, teach taught taught, try, help, start, stop+,
        begin+ began begun, finish, open, close, shut+ shut shut, lock, unlock, hide hid hidden, wait, stay, live, sit+ sat sat, stand stood stood, lie lay lain,
        fall fell fallen, rise rose risen, climb, carry, hold held held, drop+, pick, push, pull, throw threw thrown, catch caught caught, kick, roll, turn,
        move, pass, cross, follow, lead led led, reach, arrive, return, visit, meet met met, join, share, offer, lend lent lent, borrow, owe, pay paid paid,
        buy bought bought, sell sold sold, spend spent spent, cost cost cost, save, earn, trade, swap+, count, add, subtract, multiply, divide, equal+, total+, double,
        eat ate eaten, drink drank drunk, taste, smell, hear heard heard, listen, watch, notice, touch, show showed shown, point, tell told told, speak spoke spoken,
        talk, thank, promise, apologise, forgive forgave forgiven, agree, invite, greet, hug+, kiss, nod+, shake shook shaken, wave, bow, win+ won won,
        practise, play, work, rest, sleep slept slept, wake woke woken, dream, plant, water, grow grew grown, dig+ dug dug, pick, gather, collect, fill,
        empty, pour, spill, break broke broken, tear tore torn, crack, burn, melt, freeze froze frozen, blow blew blown, shine shone shone, glow, sparkle, rain, snow,
        pack, unpack, wrap+, tie, untie, hang hung hung, fold, press, place, set+ set set, lay laid laid, spread spread spread, cover, sprinkle, season, serve, heat,
        cool, warm, drain, remove, divide, knead, rise rose risen, shape, grease, preheat, squeeze, wear wore worn, dress, change, choose chose chosen, decide, plan+,
        prepare, send sent sent, receive, write wrote written, sign, post, call, order, book, check, measure, mark, cut+ cut cut, attach, fasten, tighten, loosen,
        sand, coat, dip+, soak, rub+, scatter, drip+, test, repeat, avoid, use, store, protect, trust, surprise, worry, mind, matter, seem, become became become,
        belong, miss, happen, end, last, continue, expect, remain, drop+, climb, reach, bend bent bent, stretch, lift, lower, tap+, squeak, creak, ring rang rung, knock,
        shout, whisper, smile, laugh, cry, sigh, yawn, blink, stare, glance, peer, point, guess, solve, discover, search, hunt, chase, escape, steal stole stolen,
        rescue, float, sink sank sunk, swim+ swam swum, row, sail, fly flew flown, land, drive drove driven, ride rode ridden, travel+, slip+, trip+, stumble, hurt hurt hurt,
        limp, ache, cough, suffer, recover, weigh, bathe, feed fed fed, train, reward, stroke, obey, stay, bark, purr, fetch, name, invite, celebrate, dance, sing sang sung,
        act, perform, compete, race, cheer, judge, award, deserve, lose lost lost, hope, admire, praise, scold, blame, admit+, confess, hesitate, deny, pretend, lie lied lied,
        explain, describe, mention, suggest, advise, warn, remind, ask, answer, reply, mean meant meant, say said said, read read read, study, count, equal+, make made made,
        build built built, repair, fix, mend, paint, polish, sew sewed sewn, knit+, carve, glue, nail, hammer, saw sawed sawn, bake, cook, stir+, mix, taste, let+ let let, allow,
        refuse, accept, enjoy, love, like, hate, prefer+, care, wonder, fear, frighten, comfort, encourage, support, trust, settle, flow, drift, swirl, rustle, bloom, fade,
        darken, brighten, clear, pour, flood, leak, drip+, dry, bring brought brought, run+ ran run, walk, wander, hurry, go went gone, jump, leap leapt leapt, hop+, skip+, crawl, creep crept crept,
        leave left left, enter, stop+, circle, surround, face, overlook, lean, rest, perch, doze, snore, nap+, appear, vanish, disappear, spot+, recognise, identify,
        report, forecast forecast forecast, predict, replace, exchange, return, refund, deliver, apply, attend, cancel+, postpone, confirm, recommend, suit, fit+, include, contain,
        manage, succeed, fail, improve, master, balance, wobble, steer, bounce, tune, strum+, pluck, bathe, comb, lather, rinse, wring wrung wrung, iron, thread, stitch, pin+, trim+,
        weed, sow sowed sown, sprout, ripen, harvest, store, crush, slice, chop+, peel, grate, fry, boil, simmer, whisk, beat beat beaten, blend, combine, sift, drizzle, garnish, chill,
        reduce, increase, raise, fasten, buckle, inflate, pump, patch, spin+ spun spun, oil, light lit lit, strike struck struck, blaze, glue, crease, unfold, flip+, wipe, scrub+, sweep swept swept,
        marry, retire, graduate, pass, fail, move, settle, adopt, hatch, cuddle, snuggle, wag+, sniff, growl, howl, hoot, chirp, croak, quack, buzz, hum+, whistle, tick,
        split+ split split, group, bike, hand, welcome, treat, cure, brush, hire, rent, sail, anchor, drown, dry, depend, deal dealt dealt, shade, water, line, layer, top+, blow blew blown""",
}

# States rather than actions: the default role of these is `state`.
STATIVE = """have know want need like love hate prefer+ believe remember forget+ understand feel think hope wish seem belong own cost weigh mean matter mind
    contain include remain live stay deserve trust fear care owe equal+ total+ adore admire treasure cherish enjoy depend last fit+ suit miss expect
    become wonder wear lie sleep worry"""
