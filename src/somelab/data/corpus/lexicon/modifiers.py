"""Adjectives and adverbs by what they say, most frequent first. Every group is a bag of the same name."""

ADJECTIVES = {
    "colour": """red, blue, green, yellow, white, black, brown, orange, purple, pink, grey, golden, silver, violet, scarlet, turquoise, crimson, beige,
        ivory, emerald, maroon, lilac, amber, indigo""",
    "size": "small, little, big, tiny, large, long, tall, short, huge, narrow, wide, enormous",
    "thing_look": """old, new, shiny, striped, plain, spotted, dusty, worn, fancy, simple, handmade, chipped, smooth, faded, polished, painted,
        battered, carved, patched, elegant, rusty, sturdy""",
    "garment_look": "warm, old, striped, long, plain, soft, spotted, thick, faded, patched, new, elegant, fancy, neat, shabby, simple, light",
    "thing_size": "small, little, big, tiny, large, heavy, huge, light",
    "instrument_look": "old, new, small, fine, polished, simple, splendid, beautiful, battered, lovely, antique",
    "tool_look": "old, new, heavy, small, big, battered, sturdy, good, strong",
    "trinket_look": "old, small, shiny, plain, heavy, polished, fine, antique, thin, tiny, battered, new, lovely, simple, splendid",
    "metal": "silver, gold, brass, copper, bronze, tin, iron, steel, pewter",
    "trait": """kind, brave, curious, cheerful, shy, clever, gentle, careful, lively, quiet, patient, honest, friendly, playful, stubborn, polite, dreamy,
        thoughtful, generous, hardworking, bold, forgetful, proud, humble, absent-minded, sensible, cautious, impatient, witty, modest, loyal,
        adventurous, energetic, sincere, inventive""",
    "worker_trait": """careful, honest, patient, friendly, hardworking, polite, clever, cheerful, loyal, punctual, tidy, quick, reliable,
        sensible, inventive, healthy, thorough, discreet""",
    "glad": "happy, glad, delighted, grateful, relieved, pleased, overjoyed, thrilled, joyful, thankful, content",
    "upset": "sad, worried, upset, unhappy, miserable, anxious, gloomy, troubled, heartbroken, disappointed, desperate, distressed, glum",
    "place_look": """old, quiet, sunny, busy, lovely, peaceful, windy, crowded, empty, cold, little, misty, lonely, shady, dark, deserted, famous,
        secluded, silent, familiar""",
    "sky": """sunny, rainy, cloudy, windy, warm, cold, foggy, snowy, bright, grey, stormy, frosty, mild, chilly, misty, breezy, hazy, crisp, humid,
        overcast, drizzly, sweltering, blustery""",
    "sky_any": "rainy, sunny, windy, cloudy, misty, grey, bright, mild, breezy, foggy, drizzly, cool, wet, clear, quiet, dull, blustery",
    "taste": """sweet, fresh, warm, delicious, crisp, juicy, creamy, spicy, sour, salty, tender, crunchy, rich, tangy, sticky, buttery, mild, smoky,
        fragrant, savoury, nutty, bitter, zesty""",
    "quality": """good, fine, lovely, wonderful, beautiful, nice, splendid, perfect, excellent, great, charming, pleasant, marvellous, delightful,
        remarkable, superb, magnificent""",
    "taste_good": "ripe, fat, fresh, sweet, crisp, juicy, perfect, big, shiny",
    "surface": "soft, smooth, rough, clean, dry, damp, hard, flat, dirty, dull, greasy, stained, sticky, dusty, rusty, muddy",
    "size_brush": "broad, thin, flat, wide, round, small, large, narrow, thick, big",
    "age": "young, old, elderly, little, grown-up, middle-aged",
    "difficulty": "easy, hard, difficult, simple, tricky, impossible, tiring, awkward, confusing, exhausting",
    "difficulty_easy": "easy, simple, quick, light, filling, old-fashioned",
    "cloth": "woollen, cotton, silk, linen, velvet, leather, felt, knitted, tweed, denim",
    "matter": "wooden, tin, copper, brass, glass, clay, porcelain, iron",
    "plain": """cosy, narrow, muddy, steep, dusty, wild, green, mossy, misty, oldest, ashamed, fat, rotten, stronger, merry, crooked, dearer, dearest, finer, greatest, lost-property, plastic, beautiful, easier, well-known, angry, cross, comfortable, funny, interesting, sleepy, tasty, gone, used, floured, salted, healthy, firm, beaten, done, slower, second, dense, fierce, gusty, noisy, stout, showery, unsettled, violent, warmest, coldest, hottest, coolest, still, ready, safe, sure, late, early, alone, tired, hungry, thirsty, sick, ill, well, better, best, worse, worst, right, wrong, true, same, different, other, own,
        next, last, first, second, third, fourth, fifth, only, special, favourite, whole, full, open, closed, shut, broken, torn, lost, missing, stuck, wet, hot, cool,
        loud, low, high, deep, thick, thin, heavy, light, strong, weak, fast, slow, quick, sharp, round, square, straight, loose, tight, free, busy, rich, poor, dear,
        possible, important, useful, strange, secret, sudden, clear, fair, gold, cheap, expensive, sore, fresh, ripe, raw, boiling, preheated, remaining, large, medium, extra,
        warmer, colder, milder, drier, wetter, cooler, brighter, windier, calmer, bigger, smaller, longer, taller, older, younger, faster, 
        northern, southern, eastern, western, coastal, local, light, moderate, heavy, scattered, likely, dry, icy, slippery, central, yearly, weekly, new, annual,
        mysterious, famous, precious, gentle, correct, equal, double, single, warm, cold, close, near, far, silent, asleep, awake, alive, curious, amazed, interested, surprised,
        able, willing, welcome, certain, wonderful, terrible, awful, kind, nearby, pale, dizzy, feverish, grown, tidy, left, right, spare, single, thankful, golden-brown, delighted,
        good, bad, nervous, steady, upside-down, even, level, flat, hollow, snug, gentle, careful, clean, happy, sorry, glad, proud, sad, afraid, easy, great, nice, fine, little, old,
        big, small, long, tall, young, quiet, honest, patient, perfect, lovely, excellent, pleasant, polite, brave, clever, generous, shy, lonely, worried, upset, bright, dark, red, blue,
        crisp, soft, smooth, rough, hard, damp, empty, sweet, delicious, sunny, rainy, cloudy, windy, snowy, foggy, stormy, golden, wooden, silver, muddy, shiny, simple, tricky, tiny, huge,
        short, wide, narrow, sincere, faithful, valued, unable, grateful, available, convenient, past, present, latest, final, main, top, upper, bottom, sour, ordinary, perfect,
        serious, mild, calm, frosty, chilly, misty, overcast, breezy, hazy, humid, maximum, minimum, usual, unusual, normal, average""",
}

ADVERBS = {
    "manner": """slowly, quickly, quietly, carefully, happily, gently, softly, bravely, patiently, proudly, calmly, eagerly, cheerfully, sadly, nervously,
        kindly, politely, gladly, anxiously, silently, warmly, thoughtfully, brightly, loudly, wearily, steadily, boldly, merrily, tenderly, briskly,
        shyly, solemnly, hastily, sheepishly""",
    "busily": "slowly, quickly, quietly, carefully, eagerly, steadily, briskly, patiently, calmly, silently, hastily, cautiously, busily",
    "kindly": "kindly, gently, warmly, softly, politely, cheerfully, calmly, quietly, patiently, tenderly, thoughtfully, brightly",
    "politely": "politely, kindly, cheerfully, calmly, quietly, warmly, brightly, slowly, quickly, gently, thoughtfully",
    "gladly": "happily, proudly, cheerfully, gladly, eagerly, merrily, brightly, joyfully, warmly, gratefully",
    "sadly": "sadly, quietly, nervously, softly, anxiously, wearily, shyly, sheepishly, glumly, gloomily",
    "degree": "very, quite, rather, so, really, truly, terribly, extremely",
}
# Adverbs of time take the role `time`, all others `manner`, unless a pattern says otherwise.
TIME_WORDS = """then soon now later again always never often sometimes today tomorrow yesterday tonight already still suddenly finally once early late
    afterwards meanwhile immediately before first next usually ever since yet twice o'clock daily weekly lately recently overnight eventually"""
OTHER_ADVERBS = """faster halfway easily aloud clearly neatly equally fairly indoors onwards outdoors here away home back together alone everywhere nowhere somewhere outside inside upstairs downstairs far near nearby too also only
    just even almost nearly perhaps maybe well better best badly fast hard instead how why where indeed enough more most less least much
    very so really quite rather once exactly certainly surely straight aside apart forward backwards around abroad however therefore 
    otherwise altogether about half there right left likely occasionally mostly partly slightly gradually further evenly thoroughly firmly tightly loosely
    lightly finely roughly well freshly completely ahead luckily sincerely yours truly faithfully kindly upwards downwards overhead anywhere anyway
    besides"""
