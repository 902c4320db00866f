"""The loss of a carved model at several shares in use, with its keys and with other ways to choose: the best
choice in hindsight, a fitted router, the same groups for every token, chance, and pruned neurons.

All ways use the same groups, the same number of them per layer, and a stand-in for what they skip that is
fitted to their own choice; pruning by weights alone has none. Shape letters: T tokens, E groups, N neurons
per group, D model width."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from somelab.core.seeding import generator
from somelab.pretrained.calibration import mean_loss
from somelab.pretrained.carving import CarvedLayer, Carving, Progress, fit_linear_, importance, with_always
from somelab.pretrained.keys import Router, ridge_router


@torch.no_grad()
def compare(
    carving: Carving, rows: dict[str, Tensor], shares: list[float], ways: list[str], progress: Progress
) -> list[dict[str, Any]]:
    """One record for each share and way, with the loss on each text. Leaves the model as it was set up."""
    records: list[dict[str, Any]] = []

    def measure(way: str, use: float) -> None:
        losses = {name: mean_loss(carving.model, part) for name, part in rows.items()}
        mean = sum(losses.values()) / len(losses)
        records.append({"way": way, "use": use, "loss": losses, "mean": mean})
        progress(f"{way} at {use:.0%}: {mean:.4f}")

    carving.use_(1.0)
    measure("full model", 1.0)
    for use in shares:
        for way in ways:
            with _chosen_by(carving, way, use):
                measure(way, use)
    carving.use_(carving.settings.use)
    full = records[0]["mean"]
    for record in records:
        record["above_full"] = record["mean"] - full
    return records


@contextmanager
def _chosen_by(carving: Carving, way: str, use: float) -> Generator[None]:
    """The model with its groups chosen in this way."""
    if way in ("keys", "gates"):
        carving.use_(use)
        yield
        return
    carving.model.use_(carving.groups_for(use))
    saved = [(layer.block.down.data, layer.block.scores) for layer in carving.layers]
    for layer in carving.layers:
        layer.block.scores = None
        if way.startswith("pruned"):
            _prune_(layer, by_weight=way == "pruned weights", rank=carving.rank)
            continue
        if way in _ROUTERS:
            layer.route_(_ROUTERS[way](layer))
        else:
            layer.block.scores = _scores(way, layer)
        layer.stand_in_(carving.rank)
    yield
    for layer, (down, scores) in zip(carving.layers, saved, strict=True):
        layer.block.down.data, layer.block.scores = down, scores


_ROUTERS: dict[str, Callable[[CarvedLayer], Router]] = {
    "keys whitened": lambda layer: layer.moved_router(layer.block.num_used, whitened=True),
    "keys unmoved": lambda layer: layer.first_router,
    "ridge": lambda layer: with_always(ridge_router(layer.inputs.x_TD, layer.importance_TE)),
    "static": lambda layer: Router(
        torch.zeros_like(layer.block.keys), layer.importance_TE.square().mean(dim=0).sqrt()
    ),
}


def _scores(way: str, layer: CarvedLayer) -> Any:
    random = generator(layer.seed, "carve random", layer.number)

    def scores(x_TD: Tensor, hidden_TEN: Tensor) -> Tensor:
        if way == "hindsight":
            return importance(hidden_TEN, layer.block.down)
        return torch.rand(*hidden_TEN.shape[:2], generator=random)

    return scores


def _prune_(layer: CarvedLayer, *, by_weight: bool, rank: int) -> None:
    """Remove the neurons with the smallest weights, or contributions, from the block for good."""
    block = layer.block
    num_kept = block.num_used * block.down.shape[1]
    block.num_used = block.num_groups
    hidden_TEN = layer.hidden_TEN
    length_EN = block.down.norm(dim=2)
    value_EN = (
        block.gate_up.norm(dim=3).prod(dim=1) * length_EN
        if by_weight
        else hidden_TEN.square().mean(dim=0).sqrt() * length_EN
    )
    kept_EN = torch.zeros_like(value_EN).flatten()
    kept_EN[value_EN.flatten().topk(num_kept).indices] = 1.0
    kept_EN = kept_EN.view_as(value_EN)
    missing_TD = (hidden_TEN * (1 - kept_EN)).flatten(1) @ block.down.flatten(0, 1)
    whole_bias_D = block.mean_hidden.flatten() @ block.down.flatten(0, 1)
    block.down.data = block.down.data * kept_EN[:, :, None]
    block.linear_in.zero_()
    block.linear_out.zero_()
    if by_weight:  # as usual for pruning: what is removed is zero
        block.bias.copy_(block.mean_hidden.flatten() @ block.down.flatten(0, 1))
    else:
        block.bias.copy_(whole_bias_D)
        fit_linear_(block, layer.regression, missing_TD, rank)
