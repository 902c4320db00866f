"""`somelab bench scaling`: does a step get slower with more experts at the same K and tokens? A layer's
forward, backward and gravity: dense pools of 64 to 512 experts in the type of the products and in int8,
Hadamard experts up to a million with product keys; and Hadamard experts alone, routing given."""

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

POOLS = {"dense": (64, 128, 256, 512), "int8": (64, 512), "hadamard": (64, 512, 65_536, 1_000_000)}
QUICK_POOLS = {"dense": (8, 16), "int8": (8, 16), "hadamard": (8, 16, 40_000)}
PREFIX = {"dense": "", "int8": "int8_", "hadamard": "hadamard_"}
"""Of the ratios of a family."""
REPETITIONS = 7
BUDGET = 30.0
GIVEN_CASE = "Hadamard experts alone, routing given"
Ratios = dict[str, float | str | None]


def run(settings: Settings) -> Result:
    shape = settings.shape()
    families = list(POOLS) if settings.family == "all" else [settings.family]
    rows, ratios = list[Row](), Ratios()
    for family in families:
        more_rows, more_ratios = _layers(shape, family, settings)
        rows, ratios = [*rows, *more_rows], {**ratios, **more_ratios}
    if "hadamard" in families:
        given, given_ratios = _given_routing(shape, settings)
        rows, ratios = [*rows, *given], {**ratios, **given_ratios}
    sizes = {name: value for name, value in shape_record(shape).items() if name != "num_experts"}
    return Result(
        "scaling",
        "More experts",
        settings.record(**sizes, families=families),
        rows,
        ratios,
        notes=[
            "Ratios are the time with more experts / the time with the fewest: smaller is better.",
            (
                "The router is a linear layer that passes tokens on, each token is a sum of K keys: "
                "routing is uniform in every pool."
            ),
            (
                "Layers of Hadamard experts have the recommended settings: a trained mixer, experts that "
                "read the query, credit, load bias, centred queries. Above 16,384 experts keys are pairs "
                "of sub-keys."
            ),
        ],
    )


def _layers(shape: Shape, family: str, settings: Settings) -> tuple[list[Row], Ratios]:
    """A layer's step with pools of this family."""
    pools = (QUICK_POOLS if settings.quick else POOLS)[family]
    contenders = list[Contender]()
    for num_experts in pools:
        settings.announce(f"scaling: {family}, a pool of {num_experts}")
        layer = _layer(shape, num_experts, family, settings)
        contenders.append(_contender(_name(num_experts), layer, shape, settings))
    settings.announce(f"scaling: {family}, forward + backward + gravity")
    measured = measure(contenders, settings.times(REPETITIONS), BUDGET)
    kinds = {_name(number): OURS if number == pools[0] else "other" for number in pools}
    times = [measured.timings[_name(number)].median for number in pools]
    prefix = PREFIX[family]
    if family == "hadamard":
        ratios = {
            f"{prefix}{number}_over_{pools[0]}": ratio(time, times[0])
            for number, time in zip(pools[1:], times[1:], strict=True)
        }
    else:
        ratios = {f"{prefix}largest_over_smallest": ratio(times[-1], times[0])}
    return with_ratios(rows_of(f"a layer's step, {family}", measured, kinds)), {**ratios}


def _given_routing(shape: Shape, settings: Settings) -> tuple[list[Row], Ratios]:
    """The expert pass alone: a pool of any size costs the same, and the search for keys is left out."""
    pools = (QUICK_POOLS if settings.quick else POOLS)["hadamard"]
    settings.announce("scaling: Hadamard experts alone")
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
    return f"{num_experts:,} experts"


def _contender(name: str, layer: SomeLayer, shape: Shape, settings: Settings) -> Contender:
    pass_on_(layer)
    x_TD = tokens_near_keys(layer, shape.num_tokens)
    grad_TD = torch.randn(x_TD.shape, generator=torch.Generator().manual_seed(1))
    x_TD.requires_grad_()
    trained = [parameter for parameter in layer.parameters() if parameter.requires_grad]
    start = layer.keystore.snapshot()

    def step() -> None:
        with settings.autocast():
            mixture = layer(x_TD)
        assert isinstance(mixture, Tensor)
        torch.autograd.grad(mixture, [x_TD, *trained], grad_TD.to(mixture.dtype))
        layer.apply_gravity_()

    return Contender(name, step, before=lambda: layer.keystore.restore_(start))


def _layer(shape: Shape, num_experts: int, family: str, settings: Settings) -> SomeLayer:
    if family == "hadamard":
        sizes = hadamard_experts(shape, num_experts).config
        experts = {name: getattr(sizes, name) for name in ("family", "num_experts", "d_ffn", "top_k")}
        return SomeLayer(shape.d_model, experts).train()
    storage = "int8" if family == "int8" else settings.storage
    experts = ExpertsConfig(num_experts=num_experts, d_ffn=shape.d_ffn, top_k=shape.top_k, storage=storage)
    return SomeLayer(shape.d_model, experts, RouterConfig(kind="linear"), GravityConfig()).train()


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
    store, top_k = layer.keystore, layer.router.top_k
    indices_TK = routings.choices("uniform", num_tokens, store.num_experts, top_k)
    strengths_K = torch.linspace(1.3, 1.0, top_k)
    keys_TKD = store.keys_of(indices_TK.flatten()).view(*indices_TK.shape, store.width)
    x_TD = torch.einsum("tkd,k->td", keys_TKD, strengths_K)
    return F.normalize(x_TD, dim=1) * store.width**0.5
