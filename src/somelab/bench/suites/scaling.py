"""`somelab bench scaling`: does a step get slower with more experts at the same K and tokens? A layer's
forward, backward and gravity, for pools from 64 to 512 experts; with `--family hadamard` also the experts
alone, routing given, for pools of up to a million."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from somelab.bench import routings
from somelab.bench.measuring import Contender, measure
from somelab.bench.results import OURS, Result, Row, ratio, rows_of, with_ratios
from somelab.bench.settings import Settings, Shape, shape_record
from somelab.bench.suites.expert_pass import frozen_pass, load_of
from somelab.bench.suites.families import hadamard_experts
from somelab.config import ExpertsConfig, GravityConfig, RouterConfig
from somelab.core.layer import SomeLayer

POOLS = (64, 128, 256, 512)
QUICK_POOLS = (8, 16)
REPETITIONS = 7
BUDGET = 40.0
CASE = "a layer's step"
GIVEN_CASE = "the experts alone, routing given"
GIVEN_POOLS = (64, 512, 65_536, 1_000_000)
QUICK_GIVEN_POOLS = (8, 5000)


def run(settings: Settings) -> Result:
    shape = settings.shape()
    pools = QUICK_POOLS if settings.quick else POOLS
    contenders = list[Contender]()
    for num_experts in pools:
        settings.announce(f"scaling: a pool of {num_experts}")
        contenders.append(_contender(_name(num_experts), shape, num_experts, settings))
    settings.announce("scaling: forward + backward + gravity")
    measured = measure(contenders, settings.times(REPETITIONS), BUDGET)
    kinds = {_name(num_experts): OURS if num_experts == pools[0] else "other" for num_experts in pools}
    rows = with_ratios(rows_of(CASE, measured, kinds))
    times = [measured.timings[_name(num_experts)].median for num_experts in pools]
    ratios: dict[str, float | str | None] = {"largest_over_smallest": ratio(times[-1], times[0])}
    if settings.family == "hadamard":
        given, given_ratios = _given_routing(shape, settings)
        rows, ratios = [*rows, *given], {**ratios, **given_ratios}
    sizes = {name: value for name, value in shape_record(shape).items() if name != "num_experts"}
    return Result(
        "scaling",
        f"From {pools[0]} to {pools[-1]} experts",
        settings.record(**sizes, pools=list(pools), family=settings.family),
        rows,
        ratios,
        notes=[
            (
                f"largest_over_smallest is the time with {pools[-1]} experts / the time with {pools[0]}: "
                "smaller is better."
            ),
            (
                "The router is a linear layer that passes tokens on, each token is a sum of K keys: "
                "routing is uniform in every pool."
            ),
        ],
    )


def _given_routing(shape: Shape, settings: Settings) -> tuple[list[Row], dict[str, float | str | None]]:
    """The expert pass alone: a pool of any size costs the same, and the search for keys is left out."""
    pools = QUICK_GIVEN_POOLS if settings.quick else GIVEN_POOLS
    settings.announce("scaling: the experts alone")
    loads = {
        number: load_of(replace(shape, num_experts=number), "uniform", settings.compute) for number in pools
    }
    contenders = [
        Contender(_name(number), frozen_pass(hadamard_experts(shape, number), load).run_both)
        for number, load in loads.items()
    ]
    measured = measure(contenders, settings.times(REPETITIONS), BUDGET)
    kinds = {_name(number): OURS if number == pools[0] else "other" for number in pools}
    times = {number: measured.timings[_name(number)].median for number in pools}
    ratios = {
        f"experts_{number}_over_{pools[0]}": ratio(times[number], times[pools[0]]) for number in pools[1:]
    }
    return with_ratios(rows_of(GIVEN_CASE, measured, kinds)), {**ratios}


def _name(num_experts: int) -> str:
    return f"{num_experts} experts"


def _contender(name: str, shape: Shape, num_experts: int, settings: Settings) -> Contender:
    layer = SomeLayer(
        shape.d_model, _experts(shape, num_experts, settings), RouterConfig(kind="linear"), GravityConfig()
    ).train()
    pass_on_(layer)
    x_TD = tokens_near_keys(layer, shape.num_tokens)
    grad_TD = torch.randn(x_TD.shape, generator=torch.Generator().manual_seed(1))
    x_TD.requires_grad_()
    trained = [parameter for parameter in layer.parameters() if parameter.requires_grad]
    start = layer.keystore.snapshot()

    def step() -> None:
        with settings.autocast():
            mixture = layer(x_TD)
        torch.autograd.grad(mixture, [x_TD, *trained], grad_TD.to(mixture.dtype))
        layer.apply_gravity_()

    return Contender(name, step, before=lambda: layer.keystore.restore_(start))


def _experts(shape: Shape, num_experts: int, settings: Settings) -> ExpertsConfig:
    if settings.family == "hadamard":
        return hadamard_experts(shape, num_experts).config
    return ExpertsConfig(
        num_experts=num_experts, d_ffn=shape.d_ffn, top_k=shape.top_k, storage=settings.storage
    )


@torch.no_grad()
def pass_on_(layer: SomeLayer) -> None:
    """Make the query network the identity, at its usual cost, so that routing depends on the tokens alone."""
    linear = layer.router.linears[0]
    assert isinstance(linear, nn.Linear)
    linear.weight.copy_(torch.eye(linear.in_features))
    linear.bias.zero_()


def tokens_near_keys(layer: SomeLayer, num_tokens: int) -> Tensor:
    """x_TD: each token the sum of K keys, drawn uniformly, with decreasing weights, so that it is routed to
    them in this order."""
    keys_ED, top_k = layer.keystore.keys_ED, layer.router.top_k
    indices_TK = routings.choices("uniform", num_tokens, len(keys_ED), top_k)
    strengths_K = torch.linspace(1.3, 1.0, top_k)
    x_TD = torch.einsum("tkd,k->td", keys_ED[indices_TK], strengths_K)
    return F.normalize(x_TD, dim=1) * keys_ED.shape[1] ** 0.5
