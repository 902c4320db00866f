"""What each of two ranks does in the distributed tests: its share of the tokens, one collective, the rules, a
DDP training. Started once for all tests of the folder, since starting a process costs more than everything it
does here.

Shape letters: T tokens, D model width."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.multiprocessing.spawn import spawn
from torch.nn.parallel import DistributedDataParallel

from somelab.core.layer import SomeLayer, apply_gravity_
from somelab.core.router import Routing
from somelab.core.statistics import all_reduce_
from somelab.library.attach import attach
from tests.core.builders import small_layer, tokens_of

WORLD_SIZE, D_MODEL, NUM_TOKENS, NUM_STEPS = 2, 16, 64, 4

# Rates that move keys visibly without fusing them: keys in one place make ties, and rounding would decide the
# routing.
LIVELY: dict[str, Any] = {
    "alpha": 0.005,
    "beta": 0.001,
    "delta": 0.3,
    "warmup_steps": 0,
    "theta_percentile": 0.4,
    "norm": "clamp",
    "respawn": True,
    "respawn_threshold": 0.6,
    "load_bias": 0.01,
}
# Each world: the gravity of the two layers, and how many of the tokens are rank 0's.
WORLDS: dict[str, tuple[list[dict[str, Any]], int]] = {
    "tables": ([{**LIVELY, "pairs": "dense"}] * 2, 32),
    "lists": ([{**LIVELY, "pairs": "sparse"}] * 2, 32),
    "one of each": ([{**LIVELY, "pairs": "dense", "respawn": False}, {**LIVELY, "pairs": "sparse"}], 32),
    "uneven shares": (
        [{**LIVELY, "pairs": "sparse", "attraction_by": "gate"}, {**LIVELY, "attraction_by": "winner"}],
        50,
    ),
    "a rank without tokens": ([{**LIVELY, "pairs": "sparse"}, LIVELY], 64),
    "a share of the tokens": ([{**LIVELY, "token_fraction": 0.5}] * 2, 32),
    "credit": ([{**LIVELY, "credit": 0.03}] * 2, 40),
}


def make_layers(world: str) -> list[SomeLayer]:
    settings, _ = WORLDS[world]
    return [
        small_layer(D_MODEL, router={"centre_queries": True}, gravity=gravity, layer=layer, num_layers=2)
        for layer, gravity in enumerate(settings)
    ]


def counted_of(step: int) -> Tensor:
    return torch.rand(NUM_TOKENS, generator=torch.Generator().manual_seed(step)) < 0.8


def smallest_gap(layer: SomeLayer, routing: Routing) -> float:
    """How near any token was to another choice: its K-th score less the next one."""
    scores_TE = routing.queries_TD.detach() @ layer.keystore.routing_keys_ED.T + layer.keystore.load_bias_E
    sorted_TE = scores_TE.sort(dim=1, descending=True).values
    top_k = routing.indices_TK.shape[1]
    gap_T = sorted_TE[:, top_k - 1] - sorted_TE[:, top_k]
    return float(gap_T.min()) if gap_T.numel() else float("inf")


def gather_step(layers: list[SomeLayer], step: int, share: slice) -> list[dict[str, Any]]:
    """Forward over a share of the batch, then (on ranks) the collective. Returns what the statistics hold."""
    index_T = torch.arange(NUM_TOKENS)
    gaps: list[float] = []
    for layer in layers:
        x_TD = tokens_of(NUM_TOKENS, D_MODEL, seed=step)[share]
        output = layer(x_TD, counted=counted_of(step)[share], token_index=index_T[share], details=True)
        gaps.append(smallest_gap(layer, output.routing))
        layer.credit_(tokens_of(NUM_TOKENS, D_MODEL, seed=1000 + step)[share])
    if dist.is_initialized():
        all_reduce_([part for layer in layers for part in layer.statistics.parts()])
    return [
        {
            **{name: getattr(layer.statistics, name).clone() for name in layer.statistics.additive},
            "pairs": layer.statistics.pairs.dense().clone(),
            "draws": layer.statistics.kept.draw_Q.clone(),
            "queries": layer.statistics.kept.query_QD.clone(),
            "gap": gap,
        }
        for layer, gap in zip(layers, gaps)
    ]


def run_world(world: str, share: slice) -> dict[str, Any]:
    """A few steps of two layers. Statistics of each step, and the stores at the end."""
    layers = make_layers(world)
    seen = []
    for step in range(NUM_STEPS):
        seen.append(gather_step(layers, step, share))
        for layer in layers:
            layer.apply_gravity_()
    return {
        "seen": seen,
        "keys": [layer.keystore.keys_ED.clone() for layer in layers],
        "born": [layer.keystore.born_E.clone() for layer in layers],
        "digests": [layer.keystore.digest() for layer in layers],
    }


class Block(nn.Module):
    """A layer with a residual, as DDP sees it."""

    def __init__(self) -> None:
        super().__init__()
        self.some = small_layer(
            D_MODEL, router={"kind": "mlp", "temperature": 0.5}, gravity={"alpha": 0.005, "beta": 0.001}
        )

        self.gap = float("inf")

    def forward(self, x_TD: Tensor, index_T: Tensor) -> Tensor:
        output = self.some(x_TD, token_index=index_T, details=True)
        self.gap = min(self.gap, smallest_gap(self.some, output.routing))
        return x_TD + output.mixture


def train_block(share: slice) -> dict[str, Any]:
    """AdamW on the query network, gravity on the keys; under DDP where ranks exist."""
    block = Block()
    wrapped: nn.Module = (
        DistributedDataParallel(block, broadcast_buffers=False) if dist.is_initialized() else block
    )
    optimizer = torch.optim.AdamW([p for p in block.parameters() if p.requires_grad], lr=1e-3)
    for step in range(NUM_STEPS):
        x_TD, target_TD = (
            tokens_of(NUM_TOKENS, D_MODEL, seed=step),
            tokens_of(NUM_TOKENS, D_MODEL, seed=100 + step),
        )
        (wrapped(x_TD[share], torch.arange(NUM_TOKENS)[share]) - target_TD[share]).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if dist.is_initialized():
            all_reduce_(block.some.statistics.parts())
        block.some.apply_gravity_()
    return {
        "keys": block.some.keystore.keys_ED.clone(),
        "usage": block.some.keystore.usage_E.clone(),
        "digest": block.some.keystore.digest(),
        "gap": block.gap,
        "trained": {name: p.detach().clone() for name, p in block.named_parameters() if p.requires_grad},
    }


def move_product(share: slice) -> dict[str, Any]:
    """Gravity on sub-keys, with credit; one collective a step."""
    layer = small_layer(
        D_MODEL,
        experts={"num_experts": 16},
        router={"keys": "product", "centre_queries": True},
        gravity={**LIVELY, "credit": 0.03},
    )
    for step in range(NUM_STEPS):
        x_TD, error_TD = (tokens_of(NUM_TOKENS, D_MODEL, seed=seed + step)[share] for seed in (0, 1000))
        layer(x_TD, token_index=torch.arange(NUM_TOKENS)[share])
        layer.credit_(error_TD)
        apply_gravity_([layer])
    return {"keys": layer.keys.clone(), "usage": layer.keystore.usage_E, "digest": layer.keystore.digest()}


def train_attached(share: slice) -> dict[str, Any]:
    """A user's loop: DDP as it comes, which synchronizes buffers, two micro-batches a step, and `attach`."""
    layer = SomeLayer(D_MODEL, {"family": "dense", "num_experts": 8, "top_k": 2, "d_ffn": 24})
    wrapped: nn.Module = DistributedDataParallel(layer) if dist.is_initialized() else layer
    optimizer = torch.optim.AdamW([p for p in layer.parameters() if p.requires_grad], lr=1e-3)
    attach(wrapped, optimizer, num_steps=NUM_STEPS, accumulation=2)
    counts: list[Tensor] = []
    for step in range(NUM_STEPS):
        for part in range(2):
            x_TD, target_TD = (
                tokens_of(NUM_TOKENS, D_MODEL, seed=seed + 2 * step + part)[share] for seed in (0, 100)
            )
            ((x_TD + wrapped(x_TD) - target_TD).square().mean() / 2).backward()
        counts.append(layer.statistics.count_E.sum())
        optimizer.step()
        optimizer.zero_grad()
    return {"keys": layer.keys.clone(), "digest": layer.keystore.digest(), "counts": counts}


def work(rank: int, folder: str) -> None:
    """The life of one rank."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=WORLD_SIZE)
    results: dict[str, Any] = {}
    for world, (_, cut) in WORLDS.items():
        results[world] = run_world(world, slice(0, cut) if rank == 0 else slice(cut, NUM_TOKENS))
    half = NUM_TOKENS // 2
    results["ddp"] = train_block(slice(half * rank, half * rank + half))
    results["attached"] = train_attached(slice(half * rank, half * rank + half))
    results["product"] = move_product(slice(half * rank, half * rank + half))
    torch.save(results, Path(folder) / f"rank{rank}.pt")
    dist.destroy_process_group()


def both_ranks(folder: Path) -> list[dict[str, Any]]:
    """Start the two ranks and return what each of them found."""
    spawn(work, args=(str(folder),), nprocs=WORLD_SIZE)
    return [torch.load(folder / f"rank{rank}.pt") for rank in range(WORLD_SIZE)]
