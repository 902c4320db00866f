"""Proper names: people, family names, towns, days and months, most frequent first. Towns are invented."""

FEMALE = """
    Lily Anna Mia Emma Clara Rosa Sophie Nora Ella Ruby Alice Grace Hazel Ivy Daisy Molly Lucy Maya Tara Nina Zoe Leah Iris Penny
    Flora Greta Olga Hanna Ines Freya Maria Elsa Wanda Dora Bella Amira Leila Priya Yuki Mei Amara Zara Salma Ingrid Tess Judith
    Martha Edith Agnes Beatrice Celia Della Eva Fiona Gemma Heidi Jasmine Kira Lola Mabel Naomi Odette Paula Rania Sonia Thea Una
    Vera Willa Yara Zelda
"""
MALE = """
    Tom Ben Sam Max Leo Jack Oscar Finn Hugo Noah Peter Felix Henry Oliver Theo Jacob Adam David Daniel Milo Otto Simon Victor
    Walter Arthur Edgar Frank George Harry Ivan Karl Luca Martin Nathan Omar Paul Ravi Samir Toby Umar Vincent William Yusuf Zack
    Albert Bruno Cedric Diego Elias Fred Gustav Hassan Igor Jonah Kenji Lars Marco Niko Oswald Pablo Quentin Robin Stefan Tariq
    Ugo Viktor Wendell Xavier Yoshi Zeno
"""
FAMILY = """
    Potter Hill Baker Green Brown Taylor Carter Fisher Wood Stone Bell Marsh Cooper Lane Hunt Wright Shaw Webb Field Parker Reed
    Frost Miller Rivers Archer Bishop Clarke Dalton Ellis Farrow Grant Hobbs Irving Jarvis Keller Lowe Mercer Nolan Osman Patel
    Quinn Rossi Santos Turner Upton Vance Walsh Young Zimmer Larkin Okafor Tanaka Novak Lindgren Moreau
"""
PET_NAME = """
    Pip Biscuit Pepper Patch Coco Bramble Nutmeg Pickle Button Smudge Thistle Clover Misty Rusty Toffee Marmalade Whiskers Sooty
    Pebble Waffles Ginger Domino Tulip Muffin Sparky Snowball Cinnamon Dusty Flash Mocha Olive Poppy Socks Teddy Barnaby Bumble
"""
TOWN = """
    Millbrook Ashford Elmwood Riverton Oakdale Greenfield Marston Hillford Brookside Stonebridge Willowdale Fernley Harwick Linden
    Northgate Westbury Claymore Dunham Eastmere Foxton Glenrock Havenport Ivybridge Juniper Kingsley Larkhill Merrow Newbury
    Otterburn Penrose Quarrydale Redcliff Saltmarsh Thornbury Underhill Valewood Winterbourne Yarrow Applecross Birchwood
    Coldwater Driftwood Everdale Farrington Goldcrest Hazelton Icklesham Kelby Lowmoor Maplewick Nettleby Orford Pinehurst
    Rosehill Sandford Tidewell Upwood Wexcombe
"""
WEEKDAY = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
MONTH = "January February March April May June July August September October November December"
