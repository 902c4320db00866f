"""Nouns by what they are good for in a sentence, most frequent first (bags are drawn by rank).
`mouse/mice` spells out a plural; the last word of a compound inflects. Every group is a bag of the same name."""

COUNT_NOUNS = {
    "animal": """
        fox, rabbit, bear, mouse/mice, hedgehog, squirrel, cat, dog, duck, goose/geese, frog, owl, badger, otter, deer/deer, pig,
        goat, lamb, pony, donkey, turtle, beaver, mole, raccoon, penguin, crow, swan, chicken, wolf/wolves, monkey, elephant,
        giraffe, zebra, kangaroo, koala, panda, camel, parrot, toad, lizard, hamster, weasel, hare, pelican, stork, yak, walrus,
        seal
    """,
    "rideable": "bicycle, scooter, unicycle, pony, donkey, tricycle, camel, horse, sledge",
    "rescued": "kitten, puppy, duckling, lamb, rabbit, guinea pig, piglet, hamster",
    "thief_animal": "squirrel, raccoon, magpie, badger, weasel, mouse/mice, hedgehog, rat, crow, mole",
    "garden_pest": "rabbit, snail, mole, crow, goat, mouse/mice, caterpillar, goose/geese, hare",
    "garden_dish": "soup, stew, pie, salad, casserole, curry",
    "loot": "bun, biscuit, apple, pancake, sausage, muffin, cheese roll, egg, jam tart, pie, doughnut, pretzel, pear, nut",
    "loot_owner": "baker, grocer, innkeeper, farmer, cook, miller, shopkeeper, mayor",
    "clue": "button, thread, feather, piece of cloth/pieces of cloth, ribbon, tassel, scrap of wool/scraps of wool, patch",
    "souvenir": "shell, pebble, pine cone, feather, acorn, chestnut, mushroom, leaf/leaves, fossil, wild flower",
    "trade": """
        baker, farmer, teacher, gardener, painter, carpenter, tailor, librarian, doctor, potter, shepherd, sailor, clockmaker,
        beekeeper, shoemaker, blacksmith, weaver, nurse, musician, dancer, poet, builder, miller, inventor, engineer, florist,
        photographer, innkeeper, shopkeeper, woodcutter, fiddler, juggler, puppeteer, candlemaker, glassblower, mapmaker,
        astronomer, lighthouse keeper, cheesemaker, basket maker
    """,
    "relative_f": "mother, grandmother, aunt, sister, cousin, godmother",
    "relative_m": "father, grandfather, uncle, brother, cousin, godfather",
    "person": """
        child/children, friend, cousin, neighbour, pupil, guest, boy, girl, sailor, dancer, camper, player, visitor, singer,
        runner, twin
    """,
    "young_kin": "brother, sister, cousin, nephew, niece, son, daughter, grandson, godson, granddaughter",
    "outerwear": """
        coat, jacket, jumper, hat, cap, scarf/scarves, raincoat, shirt, pullover, cardigan, waistcoat, cape, poncho, woollen hat
    """,
    "kin": "mother, father, grandmother, grandfather, aunt, uncle, sister, brother, cousin",
    "greeting_time": "morning, afternoon, evening",
    "part_of_day": "morning, evening, afternoon, night",
    "sweet_gift": """
        jar of jam/jars of jam, box of biscuits/boxes of biscuits, bag of sweets/bags of sweets, bunch of flowers/bunches of
        flowers, pot of honey/pots of honey, basket of apples/baskets of apples, photograph, drawing
    """,
    "close_kin": "mother, father, sister, brother, cousin, neighbour, flatmate, nephew, niece",
    "small_creature": """
        bird, butterfly, bee, beetle, snail, ladybird, cricket, sparrow, robin, kitten, puppy, chick, moth, ant, dragonfly, lark,
        swallow, finch, magpie, tadpole, firefly, wren, grasshopper, blackbird, caterpillar, woodpecker
    """,
    "songbird": """
        sparrow, robin, lark, blackbird, finch, wren, swallow, thrush/thrushes, starling, nightingale, cuckoo, warbler, goldfinch
    """,
    "insect": "bee, butterfly, beetle, cricket, dragonfly, ladybird, moth, grasshopper, bumblebee, gnat",
    "pet": "cat, dog, rabbit, hamster, kitten, puppy, turtle, guinea pig, duckling, mouse/mice, lizard, ferret, tortoise, piglet",
    "toy": """
        ball, kite, doll, drum, puppet, whistle, toy boat, toy train, balloon, puzzle, teddy bear, spinning top, skipping rope,
        marble, toy car, rattle, hoop, pinwheel, music box, toy horse
    """,
    "garment": """
        hat, scarf/scarves, coat, cap, jacket, jumper, cape, apron, waistcoat, shawl, cardigan, raincoat, shirt, beret, pullover,
        poncho, cloak, nightshirt, hood, sweater
    """,
    "trinket": """
        key, ring, watch, locket, bracelet, necklace, brooch, medal, compass, pocket knife/pocket knives, thimble, bell, pendant,
        button, buckle, hairpin, whistle, chain, spoon, badge, earring, cup
    """,
    "collectable": """
        marble, sticker, button, shell, stamp, card, coin, bead, postcard, pebble, acorn, badge, feather, crayon, ribbon,
        chestnut, bottle top, pine cone, photograph, key ring, paper crane, ticket, fossil
    """,
    "container": "box, basket, bag, jar, bowl, tin, drawer, bucket, sack, chest, crate, pouch, suitcase, purse",
    "ware": """
        apple, pencil, candle, orange, book, lemon, balloon, notebook, cup, pear, flower pot, melon, brush, plate, bun, ticket,
        ruler, lamp, towel, pumpkin, sponge, ribbon, pineapple, envelope, teaspoon, jam jar, tennis ball, hairbrush, light bulb
    """,
    "household": """
        cup, lantern, jug, bowl, teapot, plate, mug, clock, mirror, vase, box, bucket, kettle, lamp, tray, flask, jar, picture
        frame, bottle, saucer, candlestick, pan, ladle, birdcage, coffee pot, egg cup
    """,
    "soft_household": "blanket, basket, umbrella, pillow, suitcase, rug, cushion, hammock, quilt, rucksack, picnic basket",
    "stationery": """
        book, notebook, pencil, paintbrush, map, diary, pen, ruler, sketchbook, bookmark, satchel, album, letter opener, globe
    """,
    "instrument": """
        flute, fiddle, drum, guitar, trumpet, piano, harp, accordion, violin, banjo, recorder, cello, clarinet, tambourine,
        xylophone, ukulele, trombone, bagpipe
    """,
    "tool": "hammer, saw, ladder, toolbox, axe, drill, wheelbarrow, crowbar, mallet, spade, workbench",
    "cargo_vehicle": "cart, wagon, wheelbarrow, handcart, trailer, bicycle, hay cart, caravan",
    "building_stuff": "board, plank, nail, beam, brick, stone, post, stake",
    "vehicle": """
        bicycle, cart, wagon, boat, sledge, scooter, tricycle, canoe, rowing boat, van, tractor, motorcycle, lorry, raft, carriage
    """,
    "scenery": """
        mill, pond, bridge, farm, barn, orchard, well, windmill, fountain, statue, tower, chapel, lighthouse, waterfall, cave,
        haystack, campsite, quarry, castle, stable, vineyard, greenhouse, ruin, boathouse, dovecote, watermill, monument, brewery,
        tannery, sawmill, cattle shed, observatory, graveyard, toll house
    """,
    "sight": """
        mill, pond, bridge, farm, windmill, signpost, scarecrow, castle, beehive, waterfall, cave, haystack, chapel, tower, mossy
        log, pear tree, cherry tree, flock of sheep/flocks of sheep, herd of cows/herds of cows, field of poppies/fields of
        poppies, row of poplars/rows of poplars, heap of stones/heaps of stones, broken gate, stone circle, hop garden, rusty
        tractor, bed of reeds/beds of reeds, fallen oak, shepherd's hut
    """,
    "flower": """
        rose, tulip, daisy, lily, poppy, sunflower, violet, daffodil, bluebell, marigold, pansy, primrose, iris, orchid, snowdrop,
        foxglove, buttercup, peony, dahlia, geranium, lupin, crocus, hyacinth, aster
    """,
    "tree": """
        oak, pine, willow, birch, maple, elm, chestnut, beech, poplar, ash, cedar, fir, linden, hawthorn, larch, alder, rowan, yew
    """,
    "crop": """
        pumpkin, carrot, turnip, cabbage, sunflower, melon, cucumber, beetroot, leek, radish, marrow, onion, potato/potatoes,
        tomato/tomatoes, parsnip, lettuce, cauliflower
    """,
    "trip_sight": """
        old castle, market, harbour, museum, cathedral, botanical garden, zoo, lighthouse, palace, waterfall, aquarium, theatre,
        fish market, chocolate factory, railway museum, rose garden, cable car, town wall, glass factory, sailing school
    """,
    "outing": """
        walk, swim, boat trip, bicycle ride, picnic, concert, dance, football match, guided tour, sailing trip, bus ride, fishing
        trip, treasure hunt, pottery class, chess game, cooking class, donkey ride
    """,
    "lodging": "small hotel, cottage, tent, guest house, flat, cabin, farmhouse, youth hostel, caravan, houseboat, inn",
    "furniture": """
        table, chair, bench, shelf/shelves, cupboard, bed, stool, desk, wardrobe, bookcase, drawer, cradle, sofa, chest, cabinet,
        rocking chair, door, fence, gate, dresser
    """,
    "room": """
        kitchen, bedroom, living room, bathroom, hall, attic, cellar, study, dining room, pantry, workshop, nursery, garage, porch
    """,
    "shop": """
        bakery, bookshop, grocery, pharmacy, toy shop, flower shop, shoe shop, post office, bank, butcher's shop, hat shop, sweet
        shop, hardware shop, music shop, tea shop, barber's shop, fish market, cheese shop, clock shop, pet shop
    """,
    "landmark": """
        library, town hall, museum, station, church, school, park, theatre, hospital, harbour, swimming pool, stadium, cinema,
        market, castle, zoo, bus stop, aquarium, gallery, football ground, botanical garden, concert hall, police station, fire
        station, lighthouse
    """,
    "public_event": """
        fair, festival, concert, parade, flower show, street market, exhibition, race, circus, puppet show, carnival, dance, dog
        show
    """,
    "school_subject": "history, geography, science, music, biology, chemistry, drawing, grammar, algebra, geometry, poetry, botany",
    "growable": """
        sunflower, tomato/tomatoes, bean, radish, pea, marigold, strawberry, lettuce, carrot, pansy, pepper, chilli/chillies,
        nasturtium, cucumber
    """,
    "paintable": """
        table, chair, bench, shelf/shelves, cupboard, stool, desk, wardrobe, bookcase, chest, cradle, door, fence, gate, bed,
        cabinet, window frame, flower box, garden bench
    """,
    "craft": """
        lantern, puppet, mask, birdhouse, bookmark, boat, crown, kite, windmill, picture frame, jewellery box, toy car, mobile,
        doll's house, pencil case, fan, mouse, dragon, star
    """,
    "trick_pet": "dog, puppy, cat, rabbit, parrot, pony, ferret, goat, pig",
    "washable_pet": "dog, cat, puppy, guinea pig, rabbit, ferret, pony, lamb",
    "giftable": """
        book, scarf/scarves, teapot, toy car, clock, jumper, vase, puzzle, lamp, ball, jam jar, candle, doll, camera, chess set,
        watch, diary, mug, umbrella, picture, flute, compass
    """,
    "toastable": """
        marshmallow, sausage, apple, potato/potatoes, chestnut, mushroom, slice of bread/slices of bread, corn cob,
        tomato/tomatoes, fish/fish
    """,
    "buildable": "castle, tower, lighthouse, palace, pyramid, dragon, town wall, whale, crocodile, ship",
    "tidy_room": "bedroom, kitchen, workshop, study, cellar, attic, garage, living room, playroom, office, shed",
    "body_part": "hand, arm, leg, foot/feet, knee, elbow, finger, toe, shoulder, ankle, wrist, ear, eye, back, neck, thumb, heel",
    "fruit": """
        apple, pear, plum, peach, orange, banana, cherry, lemon, strawberry, grape, apricot, melon, fig, mango/mangoes, raspberry,
        blueberry, blackberry, kiwi, pineapple, lime, nectarine, date, quince, gooseberry, papaya, pomegranate, tangerine
    """,
    "fruit_large": """
        apple, pear, peach, banana, plum, orange, apricot, mango/mangoes, fig, nectarine, kiwi, quince, tangerine, papaya
    """,
    "vegetable": """
        carrot, potato/potatoes, tomato/tomatoes, pepper, leek, mushroom, courgette, turnip, parsnip, beetroot, aubergine, sweet
        potato/sweet potatoes, artichoke, fennel bulb, swede, green chilli/green chillies, celery stick
    """,
    "diner": "person/people, guest, friend, child/children, neighbour, cousin, hungry child/hungry children",
    "tree_fruit": "apple, pear, plum, cherry, peach, apricot, fig, quince, lemon, orange, almond, walnut",
    "snack": """
        sandwich, bun, biscuit, apple, pear, muffin, boiled egg, pancake, scone, pretzel, roll, waffle, plum, doughnut, tart,
        honey cake, oatcake, sausage, cheese roll, jam tart, peach, walnut
    """,
    "vegetable_raw": "cucumber, tomato/tomatoes, pepper, carrot, radish, avocado, celery stick, spring onion, beetroot, shallot",
    "nut": "walnut, almond, hazelnut, pecan, cashew, peanut, pistachio, chestnut",
    "berry": "strawberry, blueberry, raspberry, cherry, blackberry, cranberry, gooseberry, blackcurrant",
    "dish": """
        tomato soup, mushroom omelette, cheese sandwich, vegetable curry, fish pie, roast chicken, beef stew, bean salad, pumpkin
        risotto, potato gratin, onion tart, spinach pasta, lentil soup, chicken pie, grilled trout, egg salad, vegetable lasagne,
        mushroom pizza, lamb stew, pea soup, rice bowl, salmon steak, noodle soup, stuffed pepper, leek quiche, turkey burger,
        crab cake, bean burrito
    """,
    "dessert": """
        apple pie, lemon tart, chocolate cake, plum crumble, pear sorbet, carrot cake, cherry pie, honey cake, rice pudding, peach
        cobbler, almond cake, fruit salad, vanilla custard, ginger cake, berry trifle, fig tart
    """,
    "drink": """
        tea, coffee, lemonade, milk, apple juice, orange juice, ginger beer, hot chocolate, mint tea, mineral water, cider, tomato
        juice, iced tea, grape juice, peach nectar
    """,
}

MASS_NOUNS = {
    "pet_food": """
        carrots, cheese, lettuce, apples, bread crumbs, seeds, porridge, nuts, ham, biscuits, cucumber, corn, dried fish, boiled
        rice
    """,
    "season": "spring, summer, autumn, winter",
    "side": """
        bread, rice, salad, toast, garlic bread, green salad, potatoes, fresh bread, brown bread, cucumber salad, fried potatoes,
        rye bread
    """,
    "sweet_side": """
        cream, custard, ice cream, tea, cold milk, coffee, apple sauce, hot chocolate, cherry jam, lemon tea, fresh fruit, vanilla
        sauce
    """,
    "baking": "flour, sugar, butter, milk, oil, salt, cream, honey, yeast, cocoa, baking powder, water, yoghurt, oatmeal",
    "spice": """
        salt, cinnamon, nutmeg, ginger, paprika, cumin, thyme, basil, parsley, rosemary, mint, oregano, turmeric, dill, sage,
        coriander, saffron, cardamom, tarragon, marjoram, fennel
    """,
    "spice_sweet": "cinnamon, ginger, vanilla, nutmeg, cardamom, aniseed, lemon peel, orange peel, saffron, allspice",
    "milk_like": "milk, orange juice, apple juice, coconut milk, oat milk, almond milk, coconut water, pear juice",
    "dip_savoury": "yoghurt, sour cream, tomato sauce, pesto, hummus, mustard, cream cheese, mint sauce",
    "cheese": "cheddar, feta, mozzarella, parmesan, goat cheese, cream cheese, brie, gouda, ricotta, blue cheese",
    "leaf": "spinach, lettuce, kale, rocket, watercress, chard, cabbage, endive",
    "pulse": "lentils, chickpeas, white beans, kidney beans, split peas, black beans, green peas, butter beans",
    "liquid": "water, vegetable stock, chicken stock, coconut milk, beef stock, mushroom stock, fish stock",
    "fat": "butter, oil, olive oil, sunflower oil, coconut oil",
    "sweetener": "sugar, honey, brown sugar, maple syrup, golden syrup, cane sugar",
    "meat": "beef, chicken, lamb, pork, turkey, sausage meat, bacon, duck",
    "noodle": "spaghetti, macaroni, penne, tagliatelle, ravioli, gnocchi, linguine, fusilli",
    "craft_material": "cardboard, paper, wood, felt, cork, leather, tin, plywood, cloth, clay, foam, birch bark, linen, plastic",
    "mending_stuff": "glue, string, wire, tape, wax, leather straps, small screws, copper nails",
    "sewing_stuff": "thread, wool, small stitches, yarn, silk thread, golden thread",
    "cleaner": "soap, vinegar, baking soda, lemon juice, salt, polish, shampoo, washing powder, white spirit, chalk",
    "grain": "rice, barley, pasta, couscous, quinoa, millet, bulgur, polenta",
}

# Nouns that patterns use by name and no bag holds.
PLAIN_NOUNS = """
    addition, advice, air, anorak, answer, background, balcony, bark, batter, beach, bedtime, beginner, birthday, bit, blender,
    bloom, boil, boot, bottom, bow, branch, breakfast, breath, breeze, broom, bubble, burrow, bus, cake, campfire, canal, car,
    care, carpet, centre, change, chimney, chunk, circle, class, clerk, cloud, clue, coast, collar, command, corner, cotton,
    course, cover, crossroads/crossroads, crowd, crumb, cry, cube, curtain, customer, cyclist, dancing, dark, dawn, day, den,
    dessert, difference, dinner, dish, ditch, doorstep, doorway, dough, drink, driver, drop, dusk, dust, earth, edge, end,
    example, family, fault, field, filling, fire, flag, floor, flower, fog, food, forecast, fork, fridge, friendship, front,
    frost, fruit, fun, fur, game, garden, gauge, glass, glove, grass, gravel, greeting, ground, gust, half/halves, handful, hay,
    head, heap, heart, heat, hedge, help, hill, hole, holiday, home, hook, hotel, hour, house, hug, hundred, hurry, hut, ice,
    ingredient, journey, juice, jumble, kind, kindness, kiss, knife/knives, knock, knot, label, lake, language, laugh, layer,
    left, lesson, letter, lever, lid, lie, life/lives, light, line, list, loaf/loaves, lock, log, lot, love, luck, lunch,
    lunchtime, match, matter, meat, medicine, meeting, menu, message, middle, midnight, minute, mist, mistake, moment, money,
    month, moon, moss, mud, name, napkin, needle, nest, news, newspaper, nod, noon, north, nose, note, notice, number, oar,
    officer, omelette, oven, pain, paint, pair, parcel, part, party, pastry, path, patience, paw, pet, phone, piece, place,
    plant, platform, pleasure, plenty, pocket, pot, practice, present, price, prize, promise, puddle, pump, quarter, rack, rain,
    rainbow, reading, recipe, regard, rest, restaurant, result, right, river, road, roadside, rock, roof, rooftop, room, root,
    rope, row, rubbish, rule, sale, sand, sandpaper, scissors/scissors, scratch, screw, sea, secret, seed, seedling, shade,
    shadow, shape, sheet, shoe, shop, shopping, shower, shutter, side, silk, sill, size, sky, sleeve, smell, smile, smoke,
    smoothie, sock, soil, song, sound, south, spot, square, stair, stairs, stall, start, stem, step, stick, stitch, stomach,
    storm, story, stove, stranger, strap, straw, stream, street, strip, stripe, stroke, sun, sunrise, sunset, sunshine,
    surprise, tablecloth, tail, tear, teatime, temperature, thank-you, thermometer, thief/thieves, thing, thorn, thunder, time,
    tongue, tool, tooth/teeth, toothbrush, top, total, town, track, trail, train, tram, treasure, tree, trunk, truth, try, tub,
    tube, tummy, tune, turn, twig, tyre, village, voice, waiter, waiting, walker, wall, washing, watering, way, weather, week,
    wheel, while, whisker, wind, window, winner, wish, wool, word, work, yard, year
"""
