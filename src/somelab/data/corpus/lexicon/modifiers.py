"""Adjectives and adverbs by what they say, most frequent first. Every group is a bag of the same name."""

ADJECTIVES = {
    "colour": """
        red, blue, green, yellow, white, black, brown, orange, purple, pink, grey, golden, silver, violet, scarlet, turquoise,
        crimson, beige, ivory, emerald, maroon, lilac, amber, indigo
    """,
    "thing_look": """
        old, new, shiny, striped, plain, spotted, dusty, worn, fancy, simple, handmade, chipped, smooth, faded, polished, painted,
        battered, carved, patched, elegant, rusty, sturdy
    """,
    "fur": "brown, black, white, grey, golden, spotted, cream, striped, ginger",
    "garment_look": """
        warm, old, striped, long, plain, soft, spotted, thick, faded, patched, new, elegant, fancy, neat, shabby, simple, light
    """,
    "thing_size": "small, little, big, tiny, large, heavy, huge, light",
    "instrument_look": "old, new, small, fine, polished, simple, splendid, beautiful, battered, lovely, antique",
    "tool_look": "old, new, heavy, small, big, battered, sturdy, good, strong",
    "trinket_look": "old, small, shiny, plain, heavy, polished, fine, antique, thin, tiny, battered, new, lovely, simple, splendid",
    "metal": "silver, gold, brass, copper, bronze, tin, iron, steel, pewter",
    "trait": """
        kind, brave, curious, cheerful, shy, clever, gentle, careful, lively, quiet, patient, honest, friendly, playful, stubborn,
        polite, dreamy, thoughtful, generous, hardworking, bold, forgetful, proud, humble, absent-minded, sensible, cautious,
        impatient, witty, modest, loyal, adventurous, energetic, sincere, inventive
    """,
    "worker_trait": """
        careful, honest, patient, friendly, hardworking, polite, clever, cheerful, loyal, punctual, tidy, quick, reliable,
        sensible, inventive, healthy, thorough, discreet
    """,
    "glad": "happy, glad, delighted, grateful, relieved, pleased, overjoyed, thrilled, joyful, thankful, content",
    "upset": """
        sad, worried, upset, unhappy, miserable, anxious, gloomy, troubled, heartbroken, disappointed, desperate, distressed, glum
    """,
    "place_look": """
        old, quiet, sunny, busy, lovely, peaceful, windy, crowded, empty, cold, little, misty, lonely, shady, dark, deserted,
        famous, secluded, silent, familiar
    """,
    "sky_any": """
        rainy, sunny, windy, cloudy, misty, grey, bright, mild, breezy, foggy, drizzly, cool, wet, clear, quiet, dull, blustery
    """,
    "quality": """
        good, fine, lovely, wonderful, beautiful, nice, splendid, perfect, excellent, great, charming, pleasant, marvellous,
        delightful, remarkable, superb, magnificent
    """,
    "taste_good": "ripe, fat, fresh, sweet, crisp, juicy, perfect, big, shiny",
    "size_brush": "broad, thin, flat, wide, round, small, large, narrow, thick, big",
    "difficulty": "easy, hard, difficult, simple, tricky, impossible, tiring, awkward, confusing, exhausting",
    "difficulty_easy": "easy, simple, quick, light, filling, old-fashioned",
    "cloth": "woollen, cotton, silk, linen, velvet, leather, felt, knitted, tweed, denim",
    "matter": "wooden, tin, copper, brass, glass, clay, porcelain, iron",
}

ADVERBS = {
    "busily": """
        slowly, quickly, quietly, carefully, eagerly, steadily, briskly, patiently, calmly, silently, hastily, cautiously, busily
    """,
    "kindly": "kindly, gently, warmly, softly, politely, cheerfully, calmly, quietly, patiently, tenderly, thoughtfully, brightly",
    "politely": "politely, kindly, cheerfully, calmly, quietly, warmly, brightly, slowly, quickly, gently, thoughtfully",
    "sadly": "sadly, quietly, nervously, softly, anxiously, wearily, shyly, sheepishly, glumly, gloomily",
}

# Adjectives and adverbs that patterns use by name and no bag holds.
PLAIN_ADJECTIVES = """
    afraid, alone, angry, ashamed, asleep, bad, beaten, best, better, broken, calm, cheap, clean, close, coldest, comfortable,
    coolest, cosy, creamy, crooked, cross, damp, dear, dearer, dearest, deep, delicious, dense, dirty, done, double, dry, early,
    easier, faithful, favourite, finer, firm, first, floured, free, frosty, full, funny, gone, greatest, gusty, high, hollow,
    hot, hottest, hungry, ill, important, interesting, known, last, late, left, longer, loose, lost, lost-property, loud, low,
    merry, missing, muddy, near, necessary, nervous, next, noisy, older, oldest, open, other, own, pale, plastic, poor,
    possible, preheated, ready, right, safe, salted, same, second, secret, sharp, short, showery, single, sleepy, slow, slower,
    smaller, snowy, sore, sorry, special, square, stained, steady, steep, stormy, stout, strange, stronger, stuck, sudden, tall,
    tasty, tender, terrible, tight, tired, torn, unsettled, upside-down, used, violent, warmer, warmest, weak, welcome, well,
    well-, well-known, whole, wild, worse, wrong, young, younger
"""
PLAIN_ADVERBS = """
    about ahead almost aloud also altogether away back backwards better certainly clearly easily enough equally even everywhere
    extremely fairly faithfully far fast faster finely firmly forward gladly halfway hard here home how however indoors inside
    instead just left loosely more most much nearby neatly only onwards outside quite rather right roughly sincerely so
    somewhere straight surely terribly there tightly together too very well where why
"""
# Adverbs of time take the role `time`, all others `manner`, unless a pattern says otherwise.
TIME_WORDS = """
    afterwards again already always before early ever finally first late later meanwhile never next now o'clock often once
    overnight sometimes soon still suddenly then today tomorrow tonight twice usually yesterday
"""
# In a compound noun (boiled egg) these are adjectives; every other word before the head is a noun (egg cup).
COMPOUND_ADJECTIVES = """
    black blue boiled botanical broken brown cold dried fallen fresh fried golden green grilled guided hollow hot hungry iced
    mineral mossy old roast ruined rusty small smoked sour stuffed sweet white wild wooden woollen
"""
