"""A page of any size from a seed, without training anything: for sizes that no test could train, and for work
on the page. `python -m tests.browser.synthetic 10 512 50 page.html` writes one with 10 layers, 512 experts
and 50 snapshots."""

from __future__ import annotations

import base64
import gzip
import math
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from somelab.view.schema import page as schema

STATIC = Path(schema.__file__).parent / "static" / "index.html"
CLASSES = ("noun", "verb", "adjective", "name", "determiner", "preposition", "punctuation")
WORDS = (
    "the",
    "a",
    "and",
    "was",
    "to",
    "he",
    "she",
    "lily",
    "dog",
    "ball",
    "little",
    "big",
    "happy",
    "tree",
    "park",
    "said",
    "went",
    "saw",
    "play",
    "ran",
    "with",
    ".",
    ",",
    "mom",
    "sun",
    "red",
)
NAMES = {0: "Lexicon", 1: "Mind's Eye", 2: "Storyteller"}


def packed(array: NDArray[Any]) -> schema.Packed:
    little = array.astype(array.dtype.newbyteorder("<"))
    return schema.Packed(
        dtype=str(array.dtype), shape=list(array.shape), data=base64.b64encode(little.tobytes()).decode()
    )  # pyright: ignore[reportArgumentType]


def inline(page: schema.Page, template: str) -> str:
    """The page with its data inside, as a report has it."""
    data = base64.b64encode(gzip.compress(page.model_dump_json().encode(), mtime=0)).decode()
    return re.sub(
        r'(<script type="application/octet-stream" id="data">)(</script>)',
        lambda found: found[1] + data + found[2],
        template,
    )


def word_uses(rng: np.random.Generator, number: int = 6) -> list[schema.WordUse]:
    chosen = rng.choice(len(WORDS), number, replace=False)
    return [
        schema.WordUse(word=WORDS[i], count=int(rng.integers(5, 900)), lift=float(9.0 / (n + 1)))
        for n, i in enumerate(chosen)
    ]


def galaxy(
    rng: np.random.Generator,
    layer: int,
    num_layers: int,
    num_experts: int,
    num_frames: int,
    methods: tuple[str, ...],
) -> schema.Galaxy:
    """Keys that begin as a cloud and gather around a dozen centres; some are respawned on the way."""
    guild = rng.integers(0, 9, num_experts)
    centres = rng.normal(size=(9, 2)) * 0.55
    start, end = (
        rng.normal(size=(num_experts, 2)) * 0.5,
        centres[guild] + rng.normal(size=(num_experts, 2)) * 0.08,
    )
    share = (1 - np.cos(np.linspace(0, math.pi, num_frames)))[:, None, None] / 2
    places = start * (1 - share) + end * share
    usage = (
        np.sort(rng.pareto(1.2, num_experts))[::-1]
        * np.linspace(0.2, 1, num_frames)[:, None]
        * rng.uniform(0.7, 1.3, (num_frames, num_experts))
    )
    most = float(usage.max())
    steps = [round(i * 1000 / max(1, num_frames - 1)) for i in range(num_frames)]
    born = np.zeros((num_frames, num_experts), np.int32)
    for expert in rng.choice(num_experts, max(1, num_experts // 20), replace=False):
        frame = int(rng.integers(1, num_frames)) if num_frames > 1 else 0
        born[frame:, expert] = steps[frame]
        places[:frame, expert] = rng.normal(size=2) * 0.7
    scale = float(np.abs(places).max()) / 32000
    xy = packed((places / scale).astype(np.int16))
    classes: list[str | None] = [CLASSES[g % len(CLASSES)] if rng.random() < 0.8 else None for g in guild]
    return schema.Galaxy(
        layer=layer,
        name=NAMES.get({0: 0, num_layers // 2: 1, num_layers - 1: 2}.get(layer, -1)),
        num_experts=num_experts,
        steps=steps,
        maps=[
            schema.KeyMap(method=method, xy=xy, scale=scale, note="made up, not projected")
            for method in methods
        ],  # pyright: ignore[reportArgumentType]
        left_out=[]
        if len(methods) == 3
        else [schema.LeftOut(name="umap", reason="umap-learn is not installed")],
        usage=packed((np.log1p(usage) / math.log1p(most) * 255).round().astype(np.uint8)),
        usage_most=most,
        born=packed(born),
        length=packed(np.full((num_frames, num_experts), 255, np.uint8)),
        length_most=1.0,
        guild=guild.tolist(),
        word_class=classes,
        neighbours=packed(rng.integers(0, min(num_experts, 65535), (num_experts, 6)).astype(np.uint16)),
        words=[word_uses(rng) for _ in range(num_experts)] if num_experts <= 2000 else [],
        way=share.ravel().tolist(),
    )


def trace(
    rng: np.random.Generator, num_layers: int, num_experts: int, top_k: int, text: list[str]
) -> schema.Trace:
    gates = np.sort(rng.dirichlet(np.ones(top_k) * 3, (num_layers, len(text))), axis=-1)[..., ::-1]
    return schema.Trace(
        kind="sample",
        title="sample at step 1,000",
        step=1000,
        read_at_step=1000,
        num_prompt_tokens=6,
        tokens=text,
        word_class=[CLASSES[len(word) % len(CLASSES)] for word in text],
        layers=list(range(num_layers)),
        experts=rng.integers(0, num_experts, (num_layers, len(text), top_k)).tolist(),
        gates=gates.round(4).tolist(),
    )


def layer_guilds(
    rng: np.random.Generator, layer: int, num_layers: int, num_experts: int
) -> schema.LayerGuilds:
    shares = np.sort(rng.dirichlet(np.ones(6)))[::-1]
    members = np.array_split(rng.permutation(num_experts), 6)
    nmi = schema.MutualInformation(
        value=0.08 + 0.03 * layer,
        low=0.07 + 0.03 * layer,
        high=0.1 + 0.03 * layer,
        shuffled_mean=0.011,
        shuffled_low=0.009,
        shuffled_high=0.013,
        p_value=0.005,
        by_word_mean=0.03,
        by_word_low=0.02,
        by_word_high=0.05,
        by_word_p_value=0.01,
        num_permutations=200,
        num_tokens=20000,
        num_documents=120,
    )
    matrix = rng.integers(0, 40, (num_experts, num_experts)).astype(np.uint8) if num_experts <= 256 else None
    return schema.LayerGuilds(
        layer=layer,
        name=NAMES.get({0: 0, num_layers // 2: 1, num_layers - 1: 2}.get(layer, -1)),
        method="made up",
        num_tokens=20000,
        modularity=0.41,
        labels="builtin",
        labels_note="true labels of the built-in corpus",
        guild_nmi=nmi,
        expert_nmi=nmi,
        guilds=[
            schema.Guild(
                id=i,
                experts=[int(e) for e in members[i][:64]],
                share=float(shares[i]),
                words=word_uses(rng, 8),
                word_class=CLASSES[i],
                classes={CLASSES[i]: 0.6, CLASSES[i + 1]: 0.3},
            )
            for i in range(6)
        ],
        pair_matrix=None if matrix is None else packed(matrix),
        pair_order=list(range(num_experts)) if matrix is not None else [],
    )


def balance(rng: np.random.Generator, num_layers: int, num_experts: int) -> schema.Balance:
    steps = list(range(0, 1000, 5))
    kinds = {
        "gini": (0, 1, ""),
        "entropy_bits": (0, math.log2(num_experts), "bits"),
        "coverage": (0, num_experts, "experts"),
        "dead_share": (0, 1, ""),
        "crowding": (-1, 1, "cosine"),
        "gate_entropy": (0, math.log(4), "nats"),
    }
    walk = {
        name: [
            [
                float(low + (high - low) * min(1, max(0, 0.4 + 0.1 * layer + v)))
                for v in rng.normal(0, 0.01, 200).cumsum()
            ]
            for layer in range(num_layers)
        ]
        for name, (low, high, _) in kinds.items()
    }
    return schema.Balance(
        info=[
            schema.MeasureInfo(
                name=n, title=n.replace("_", " "), unit=u, help="made up", least=low, most=high
            )
            for n, (low, high, u) in kinds.items()
        ],
        lines={"crowding": schema.Line(value=0.95, side="above", sentence="keys have fused")},
        training=schema.Series(steps=steps, measures=walk),
        evaluation=schema.Series(
            steps=steps[::40], measures={n: [row[::40] for row in rows] for n, rows in walk.items()}
        ),
        usage=[
            schema.LayerUsage(count=(u := rng.pareto(1.2, num_experts) * 50).tolist(), mass=(u / 4).tolist())
            for _ in range(num_layers)
        ],
    )


def run(
    num_layers: int,
    num_experts: int,
    num_frames: int,
    *,
    seed: int = 0,
    methods: tuple[str, ...] = ("pca", "tsne", "umap"),
    words: list[str] | None = None,
) -> schema.Run:
    rng = np.random.default_rng(seed)
    text = words or [" " + WORDS[int(i)] for i in rng.integers(0, len(WORDS), 60)]
    steps = list(range(1, 1001))
    loss = [5.2 * math.exp(-step / 260) + 1.9 + float(rng.normal()) * 0.06 for step in steps]
    at = steps[99::100]
    evaluated = schema.EvaluationCurve(
        step=at,
        tokens=[s * 4096 for s in at],
        val_loss=[loss[s - 1] for s in at],
        val_ppl=[math.exp(loss[s - 1]) for s in at],
        bits_per_byte=[loss[s - 1] / 2.7 for s in at],
        ppl_with_padding=[None] * 9 + [2.4],
    )
    curves = schema.Curves(
        train=schema.TrainCurve(
            thinned=1,
            step=steps,
            tokens=[s * 4096 for s in steps],
            loss=loss,
            learning_rate=[6e-4 * (1 - s / 1001) for s in steps],
            grad_norm=[1.0 / s**0.1 for s in steps],
        ),
        evaluation=evaluated,
        timing=schema.TimingCurve(
            thinned=1, step=steps, tokens_per_second=[3000 + 90 * math.sin(s / 30) for s in steps]
        ),
    )
    final = schema.Final(
        step=1000,
        tokens=4096000,
        train_loss=loss[-1],
        val_loss=loss[-1],
        val_ppl=math.exp(loss[-1]),
        bits_per_byte=loss[-1] / 2.7,
        ppl_with_padding=2.4,
        best_val_loss=loss[-1],
        tokens_per_second=3000,
        gini=0.4,
        entropy_bits=4.2,
        crowding=0.8,
        combination_entropy_bits=6.1,
        gate_entropy=1.2,
    )
    return schema.Run(
        id=f"synthetic-{seed}",
        name=f"synthetic-{seed}",
        path=f"runs/synthetic-{seed}",
        status="finished",
        problem=None,
        verdict="Made up: all layers are healthy.",
        findings=[],
        preset="a1",
        scale="mini",
        seed=seed,
        feed_forward="some",
        num_layers=num_layers,
        num_experts=num_experts,
        top_k=4,
        num_steps=1000,
        layer_names=[None] * num_layers,
        config=[schema.Setting(field="model.d_model", value="144", help="Width", usual="512", changed=True)],
        data=None,
        parameters=schema.Parameters(
            total=16_076_992,
            trainable=1_853_632,
            frozen=14_223_360,
            active=3_631_552,
            bytes=64_461_888,
            flops_per_token=6_377_472,
        ),
        environment=[schema.Fact(name="torch", value="2.13.0")],
        command="somelab train a1",
        started=None,
        final=final,
        curves=curves,
        warnings=[],
        balance=balance(rng, num_layers, num_experts),
        galaxies=[
            galaxy(rng, layer, num_layers, num_experts, num_frames, methods) for layer in range(num_layers)
        ],
        traces=[trace(rng, num_layers, num_experts, 4, text)],
        guilds=[layer_guilds(rng, layer, num_layers, num_experts) for layer in range(num_layers)],
        left_out=[],
    )


def page(
    num_layers: int,
    num_experts: int,
    num_frames: int,
    *,
    num_runs: int = 1,
    methods: tuple[str, ...] = ("pca", "tsne", "umap"),
    words: list[str] | None = None,
) -> schema.Page:
    runs = [
        run(num_layers, num_experts, num_frames, seed=seed, methods=methods, words=words)
        for seed in range(num_runs)
    ]
    return schema.Page(
        format=schema.FORMAT,
        made_by_version="0",
        made_at="2026-01-01T00:00:00+00:00",
        title="made up",
        runs=runs,
        groups=[],
        published=[],
    )


if __name__ == "__main__":
    made = page(*(int(number) for number in sys.argv[1:4]))
    Path(sys.argv[4]).write_text(inline(made, STATIC.read_text(encoding="utf-8")), encoding="utf-8")
