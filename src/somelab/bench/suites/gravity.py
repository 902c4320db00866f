"""`somelab bench gravity`: what collecting statistics, credit and moving keys cost, as a share of a training
step, and compared with the notebooks' slot-by-slot rules where they have them. One real block of the preset
is built, so that the largest pools fit.

Shape letters: B sequences, T tokens, D model width."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from somelab.bench import routings
from somelab.bench.measuring import Contender, Measured, Timing, measure
from somelab.bench.notebook import NotebookLayer, check_has_experts, notebook_lacks
from somelab.bench.results import OURS, Result, Row, rows_of, with_ratios
from somelab.bench.settings import Settings
from somelab.config import Config, override
from somelab.core.layer import SomeLayer
from somelab.core.router import Routing
from somelab.model.attention import Surroundings
from somelab.model.decoder import Block, TokenInfo
from somelab.training.loop import micro_rows
from somelab.training.optimizer import build_optimizer

PRESETS = ("a1", "b3")
BLOCK, COLLECT, APPLY, OPTIMIZER = "block, forward + backward", "collecting", "moving keys", "clip + AdamW"
WITH_CREDIT, CREDIT = "block, collecting with credit", "credit"
OUR_WAY, NOTEBOOK = "ours, collecting + moving", "notebook, slot by slot"
PARTS = (BLOCK, OPTIMIZER, COLLECT, WITH_CREDIT, CREDIT, APPLY)
KINDS = {**dict.fromkeys(PARTS, "part"), OUR_WAY: OURS, NOTEBOOK: "notebook"}
REPETITIONS = 9
BUDGET = 45.0


def run(settings: Settings) -> Result:
    names = (settings.preset,) if settings.preset else PRESETS
    rows, ratios, figures = list[Row](), dict[str, float | str | None](), dict[str, float | None]()
    left_out = list[str]()
    for name in names:
        config = override(settings.config(name), {"experts.storage": settings.storage})
        check_has_experts(config, name)
        settings.announce(f"gravity: one block of {name}")
        timings = _with_sums(_measured(config, settings).timings)
        rows += with_ratios(rows_of(f"a block of {name}", Measured(timings, {}), KINDS, _notes(config)))
        seconds = {contender: timing.median for contender, timing in timings.items()}
        figures[f"share_{name}"] = share(
            seconds, num_micro_batches=config.train.batch_size // micro_rows(config, 1)
        )
        if NOTEBOOK in seconds:
            ratios[f"notebook_{name}"] = seconds[NOTEBOOK] / seconds[OUR_WAY]
        else:
            left_out.append(
                f"{name} is not compared with the published notebooks, which have no "
                f"{notebook_lacks(config)}."
            )
    return Result(
        "gravity",
        "Knowledge Gravity's share of a step",
        settings.record(presets=list(names)),
        rows,
        ratios,
        figures,
        notes=[
            (
                "A step is one real block of the preset (attention, router, all its experts): its "
                "micro-batches forward and backward,"
            ),
            (
                "each with collecting, then clip, AdamW and moving keys. Embedding, head and loss are left "
                "out, which makes the share larger than it is."
            ),
            (
                "notebook_* is the notebooks' time for one micro-batch / ours for collecting and moving; "
                "uniform routing for both."
            ),
            *left_out,
        ],
    )


def share(seconds: dict[str, float], num_micro_batches: int) -> float:
    """Gravity's part of a block's step: (n collect + apply) / (n (block + collect) + optimizer + apply),
    credit being collected."""
    gravity = num_micro_batches * (seconds[COLLECT] + seconds.get(CREDIT, 0.0)) + seconds[APPLY]
    return gravity / (num_micro_batches * seconds[BLOCK] + seconds[OPTIMIZER] + gravity)


def _with_sums(timings: dict[str, Timing]) -> dict[str, Timing]:
    """The same with what follows from them, repetition by repetition: credit is the extra time of a block
    with it over one that only collects; ours is everything that gravity does."""
    gravity = [timings[COLLECT], timings[APPLY]]
    if WITH_CREDIT in timings:
        both = zip(
            timings[WITH_CREDIT].seconds, timings[BLOCK].seconds, timings[COLLECT].seconds, strict=True
        )
        timings = {
            **timings,
            CREDIT: Timing(tuple(with_credit - block - collect for with_credit, block, collect in both)),
        }
        gravity.append(timings[CREDIT])
    return {
        **timings,
        OUR_WAY: Timing(tuple(map(sum, zip(*(timing.seconds for timing in gravity), strict=True)))),
    }


def _measured(config: Config, settings: Settings) -> Measured:
    block = Block(config, layer=0, seed=0).train()
    layer = block.feed_forward
    assert isinstance(layer, SomeLayer)
    rng = torch.Generator().manual_seed(0)
    x_BTD, grad_BTD = (
        torch.randn(micro_rows(config, 1), config.model.seq_len, config.model.d_model, generator=rng)
        for _ in range(2)
    )
    x_BTD.requires_grad_()
    trained = [parameter for parameter in block.parameters() if parameter.requires_grad]

    def forward_backward(collects: bool = False) -> tuple[Tensor, ...]:
        layer.collects = collects
        with settings.autocast():
            output_BTD = block(x_BTD, None, Surroundings(), TokenInfo(None, None)).x_BTD
            layer.credit_(grad_BTD)
        return torch.autograd.grad(output_BTD, [x_BTD, *trained], grad_BTD.to(output_BTD.dtype))

    with_credit = Contender(
        WITH_CREDIT, lambda: forward_backward(collects=True), before=layer.statistics.zero_
    )
    contenders = [
        Contender(BLOCK, forward_backward),
        *([with_credit] if layer.statistics.wants_credit else []),
        _optimizer(block, trained, config),
        *_gravity(layer, config, x_BTD.shape[0] * x_BTD.shape[1]),
    ]
    return measure(contenders, settings.times(REPETITIONS), BUDGET)


def _optimizer(block: Block, trained: list[nn.Parameter], config: Config) -> Contender:
    optimizer = build_optimizer(block, config.train)

    def with_gradients() -> None:
        for parameter in trained:
            parameter.grad = torch.full_like(parameter, 1e-3)

    def act() -> None:
        nn.utils.clip_grad_norm_(trained, config.train.clip or math.inf)
        optimizer.step()

    return Contender(OPTIMIZER, act, before=with_gradients)


def _gravity(layer: SomeLayer, config: Config, num_tokens: int) -> list[Contender]:
    """Collecting, moving, and the notebooks' implementation if it has one, on one routing. Keys are restored
    before each."""
    store, seen = layer.keystore, layer.statistics
    routing = routing_of(config, num_tokens)
    start = store.snapshot()
    # As in training, where the end of a document does not count: statistics are weighted per token.
    counted_T = torch.rand(num_tokens, generator=torch.Generator().manual_seed(0)) > 0.005
    index_T = torch.arange(num_tokens)

    def collect() -> None:
        seen.add_(routing, step=store.step, counted_T=counted_T, token_index_T=index_T)

    def ready_to_move() -> None:
        store.restore_(start)
        seen.zero_()
        collect()

    ours = [
        Contender(COLLECT, collect, before=seen.zero_),
        Contender(APPLY, layer.apply_gravity_, before=ready_to_move),
    ]
    if notebook_lacks(config) is not None:
        return ours
    notebook = NotebookLayer(layer)
    notebook.seen = routing.queries_TD, routing.indices_TK

    def rewind_notebook() -> None:
        notebook.keys_ED.copy_(start["keys_ED"])
        notebook.usage_E.copy_(start["usage_E"])

    return [*ours, Contender(NOTEBOOK, notebook.move_keys_, before=rewind_notebook)]


def routing_of(config: Config, num_tokens: int) -> Routing:
    """A uniform routing with random queries of length 1."""
    queries_TD = F.normalize(
        torch.randn(num_tokens, config.model.d_model, generator=torch.Generator().manual_seed(0)), dim=1
    )
    indices_TK = routings.choices("uniform", num_tokens, config.experts.num_experts, config.experts.top_k)
    gates_TK = routings.gates(num_tokens, config.experts.top_k)
    return Routing(indices_TK, gates_TK, queries_TD, queries_TD, torch.zeros(()))


def _notes(config: Config) -> dict[str, str]:
    tokens = micro_rows(config, 1) * config.model.seq_len
    experts = config.experts.num_experts
    return {
        BLOCK: f"{tokens:,} tokens, {experts} experts, nothing collected",
        COLLECT: "n, m, S and C of one micro-batch",
        WITH_CREDIT: "the same with per-expert outputs kept and compared with the error",
        CREDIT: "such a block less one that collects nothing, less collecting: of one micro-batch",
        APPLY: "all rules, once a step",
        OPTIMIZER: "of the block's trained weights, once a step",
        NOTEBOOK: "usage, attraction per slot and peer-pull per pair of slots, for the same tokens",
    }
