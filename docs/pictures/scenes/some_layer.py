"""The first picture: what a SoME layer is at one glance, and the loop that moves its keys. The map is a real
run's."""

from __future__ import annotations

from drawing.canvas import Canvas, Point, number, outline
from drawing.icons import lock, network, sign
from drawing.palette import CARD, EDGE, FAINT, GREEN, INK, MUTED, NIGHT, NIGHT_TEXT, ORANGE, SKY, STAR, ramp
from galaxy import NUM_EXPERTS, TOP_K, Galaxy, galaxy

LINE = 252  # the height on which a token travels from left to right
MAP = (300.0, 116.0, 430.0, 272.0)
EXPERTS_X, EXPERTS_Y, EXPERT_PITCH = 790.0, 116.0, 71.0
SUM: Point = (984, LINE)
PLUS: Point = (1062, LINE)
FROZEN, PALE = "#7C8AA3", "#9FB0CE"
RULES = (
    ("attraction", "towards the queries", "that chose a key"),
    ("peer-pull", "towards keys chosen", "by the same tokens"),
    ("norm", "length after moving:", "unit, clamped or free"),
    ("decay", "keys of too little", "use shrink"),
    ("rebirth", "vanished keys begin", "again at a query"),
)


def draw() -> Canvas:
    canvas = Canvas(
        1200,
        618,
        "A SoME layer",
        "Tokens find frozen experts by their keys; gravity, not gradient, moves the keys.",
        heading=False,
    )
    canvas.text(36, 50, "A SoME layer", size=26, weight=700)
    canvas.text(36, 76, canvas.about, size=14.5, fill=MUTED)
    _draw_legend(canvas)
    sky = galaxy(token=244)
    _draw_residual(canvas)
    _draw_tokens(canvas)
    _draw_query_network(canvas)
    _draw_map(canvas, sky)
    _draw_experts(canvas, sky)
    _draw_sum(canvas)
    _draw_loop(canvas)
    return canvas


def _draw_legend(canvas: Canvas) -> None:
    for x, colour, words in (
        (778, ORANGE, "trained by gradient"),
        (946, FROZEN, "frozen"),
        (1032, GREEN, "moved by gravity"),
    ):
        canvas.circle((x, 46), 5.5, fill=colour)
        canvas.text(x + 12, 50.5, words, size=13, fill=MUTED)


def _draw_residual(canvas: Canvas) -> None:
    """The token's own way past the layer, drawn first so that all else lies on top."""
    x, top = 136.0, 98.0
    steps = f"M{x} {LINE} V{top + 12} a12 12 0 0 1 12 -12 H{PLUS[0] - 12} a12 12 0 0 1 12 12 V{LINE - 24}"
    canvas.path(steps, stroke=FAINT, width=1.8)
    canvas.arrow([(PLUS[0], LINE - 26), (PLUS[0], LINE - 13)], stroke=FAINT, width=1.8)
    canvas.text(PLUS[0] - 14, top + 20, "residual", size=12, fill=MUTED, anchor="end")


def _draw_tokens(canvas: Canvas) -> None:
    for index, word in enumerate(("the", "little", "fox", "ran", "home")):
        y, here = LINE + (index - 2) * 42, word == "fox"
        canvas.rect(36, y - 16, 74, 32, radius=8, fill=INK if here else CARD, stroke=None if here else EDGE)
        canvas.text(
            73,
            y + 5,
            word,
            size=14,
            weight=600 if here else 400,
            fill=CARD if here else MUTED,
            anchor="middle",
        )
    canvas.text(73, LINE + 128, "tokens", size=13, weight=600, anchor="middle")
    canvas.arrow([(110, LINE), (158, LINE)], stroke=INK)


def _draw_query_network(canvas: Canvas) -> None:
    canvas.rect(160, LINE - 46, 98, 92, radius=12, fill=CARD, stroke=ORANGE, stroke_width=2)
    network(canvas, (209, LINE), ORANGE, EDGE)
    canvas.text(209, LINE + 70, "query network", size=13, weight=600, anchor="middle")
    canvas.arrow([(258, LINE), (298, LINE)], stroke=INK)


def _draw_map(canvas: Canvas, sky: Galaxy) -> None:
    x, y, width, height = MAP
    canvas.rect(x, y, width, height, radius=14, fill=NIGHT, stroke=GREEN, stroke_width=2)
    canvas.text(x + 18, y + 28, "key store", size=14, weight=700, fill=NIGHT_TEXT)
    canvas.text(x + 104, y + 28, f"{NUM_EXPERTS} keys", size=12.5, fill=PALE)
    places = [_place(sky, point) for point in sky.keys_EP.tolist()]
    chosen = [int(expert) for expert in sky.chosen_K]
    query = _place(sky, sky.query_P.tolist())
    for point in sky.queries_TP.tolist():
        canvas.circle(_place(sky, point), 0.9, fill=STAR, opacity=0.45)
    canvas.circle(query, 46, fill=SKY, opacity=0.14)
    for expert in chosen:
        canvas.line([query, places[expert]], stroke=NIGHT_TEXT, width=1.2)
    for expert in sky.usage_E.argsort().tolist():
        share = float(sky.usage_E[expert] / sky.usage_E.max())
        canvas.circle(places[expert], 2.6 + 4 * share, fill=ramp(share**0.5), opacity=0.95)
    for expert in chosen:
        canvas.circle(places[expert], 8.5, stroke=NIGHT_TEXT, stroke_width=1.6)
    _draw_query(canvas, query)
    for step in range(5):
        canvas.circle((x + 98 + step * 14, y + height - 20), 2.6 + step, fill=ramp((step / 4) ** 0.5))
    canvas.text(x + 18, y + height - 16, "little used", size=12, fill=PALE)
    canvas.text(x + 172, y + height - 16, "much used", size=12, fill=PALE)
    canvas.circle((x + width - 142, y + height - 20), 1.2, fill=STAR)
    canvas.text(x + width - 18, y + height - 16, "queries of a batch", size=12, fill=PALE, anchor="end")


def _draw_query(canvas: Canvas, at: Point) -> None:
    """A four-pointed star, larger than any key."""
    x, y = at
    points = [(0, -11), (2.6, -2.6), (11, 0), (2.6, 2.6), (0, 11), (-2.6, 2.6), (-11, 0), (-2.6, -2.6)]
    canvas.path(outline([(x + dx, y + dy) for dx, dy in points], closed=True), fill=CARD)
    canvas.text(x + 16, y - 6, "query", size=12.5, weight=600, fill=CARD)


def _place(sky: Galaxy, point: list[float]) -> Point:
    """Pixels on the map; both axes are stretched to fill it."""
    reach = sky.keys_EP.abs().amax(dim=0).tolist()
    x, y, width, height = MAP
    return x + width / 2 + point[0] / reach[0] * (width / 2 - 26), y + height / 2 + 4 - point[1] / reach[
        1
    ] * (height / 2 - 46)


def _draw_experts(canvas: Canvas, sky: Galaxy) -> None:
    """The chosen experts from top to bottom as their keys lie on the map, so that no two ways cross."""
    order = sorted(range(TOP_K), key=lambda slot: _place(sky, sky.keys_EP[sky.chosen_K[slot]].tolist())[1])
    for row, slot in enumerate(order):
        expert, gate = int(sky.chosen_K[slot]), float(sky.gates_K[slot])
        y = EXPERTS_Y + row * EXPERT_PITCH
        start, middle = (MAP[0] + MAP[2] + 1, LINE + (row - 1.5) * 22), y + 28
        half, end = (start[0] + EXPERTS_X) / 2, EXPERTS_X - 7
        bends = ((half, start[1]), (half, middle), (end, middle))
        steps = outline([start]) + " C" + " ".join(f"{number(x)} {number(level)}" for x, level in bends)
        canvas.path(steps, stroke=FAINT, width=1.6)
        canvas.arrow([(EXPERTS_X - 9, middle), (EXPERTS_X - 1, middle)], stroke=FAINT)
        canvas.rect(EXPERTS_X, y, 124, 56, radius=10, fill=CARD, stroke=FROZEN, stroke_width=1.6)
        lock(canvas, (EXPERTS_X + 22, y + 20), FROZEN)
        canvas.text(EXPERTS_X + 40, y + 24, f"expert {expert}", size=13, weight=600)
        canvas.rect(EXPERTS_X + 40, y + 35, 40, 7, radius=3.5, fill=EDGE)
        canvas.rect(EXPERTS_X + 40, y + 35, 40 * gate, 7, radius=3.5, fill=INK)
        canvas.text(EXPERTS_X + 112, y + 43, f"{gate:.2f}", size=12, fill=MUTED, anchor="end")
        canvas.line(
            [(EXPERTS_X + 124, middle), (EXPERTS_X + 138, middle), (SUM[0] - 18, LINE + (row - 1.5) * 7)],
            stroke=FAINT,
            width=1.6,
        )
    canvas.text(
        EXPERTS_X + 62,
        EXPERTS_Y + 4 * EXPERT_PITCH + 6,
        f"the {TOP_K} nearest are selected",
        size=13,
        weight=600,
        anchor="middle",
    )


def _draw_sum(canvas: Canvas) -> None:
    for at, words in ((SUM, "Σ"), (PLUS, "+")):
        canvas.circle(at, 18 if words == "Σ" else 12, fill=CARD, stroke=INK, stroke_width=1.8)
        canvas.text(at[0], at[1] + 6, words, size=17, weight=600, anchor="middle")
    canvas.text(SUM[0], LINE + 40, "gated", size=13, weight=600, anchor="middle")
    canvas.text(SUM[0], LINE + 57, "sum", size=13, weight=600, anchor="middle")
    canvas.arrow([(SUM[0] + 18, LINE), (PLUS[0] - 13, LINE)], stroke=INK)
    canvas.arrow([(PLUS[0] + 12, LINE), (1104, LINE)], stroke=INK)
    canvas.rect(1106, LINE - 16, 58, 32, radius=8, fill=INK)
    canvas.text(1135, LINE + 5, "fox", size=14, weight=600, fill=CARD, anchor="middle")
    canvas.text(1135, LINE + 36, "next block", size=12, fill=MUTED, anchor="middle")


def _draw_loop(canvas: Canvas) -> None:
    top = 440.0
    bottom_of_map = MAP[1] + MAP[3]
    canvas.rect(36, top, 1128, 150, radius=14, fill=CARD, stroke=GREEN, stroke_width=2)
    canvas.arrow([(430, bottom_of_map + 3), (430, top - 3)], stroke=GREEN, width=2.2, head=9)
    canvas.text(418, top - 21, "which experts, by which queries", size=12, fill=MUTED, anchor="end")
    canvas.arrow([(600, top - 3), (600, bottom_of_map + 3)], stroke=GREEN, width=2.2, head=9)
    canvas.text(612, top - 21, "moved keys", size=12, fill=MUTED)
    canvas.lines(
        60,
        top + 46,
        ("After each", "optimizer step,", "gravity moves", "the keys"),
        size=15.5,
        weight=700,
        leading=1.4,
    )
    for index, (name, first, second) in enumerate(RULES):
        x = 232 + index * 188
        sign(canvas, name, (x + 26, top + 46))
        canvas.text(x, top + 96, name, size=14.5, weight=700)
        canvas.lines(x, top + 114, (first, second), size=12, fill=MUTED, leading=1.35)
        if index:
            canvas.arrow([(x - 118, top + 46), (x - 18, top + 46)], stroke=EDGE, width=1.6)
