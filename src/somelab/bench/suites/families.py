"""Contenders of `layer` with other arithmetic: a pool born in int8, Hadamard and modulated experts, and
Hadamard experts between their two trained matrices against the dense block of the same trained size.

Shape letters: T tokens, D model width, K experts per token."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from somelab.bench.settings import Shape
from somelab.bench.suites.expert_pass import Entrant, Load, Pass, frozen_pass
from somelab.config import ExpertsConfig
from somelab.core.dispatch.hadamard import next_power_of_two
from somelab.core.dispatch.int8 import multiplies_int8
from somelab.core.dispatch.kernels import registered
from somelab.core.experts import ExpertFamily, build_experts
from somelab.core.rows import rms_rows
from somelab.core.seeded import seeded_linear
from somelab.core.seeding import generator
from somelab.model.feedforward import Dense

INT8_POOL = "int8 pool (auto)"
HADAMARD = "hadamard (auto)"
MODULATED = "modulated (auto)"
HADAMARD_BLOCK = "hadamard block, trained parts included"
DENSE_EQUAL = "dense, trained, equal trained size"


def entrants(shape: Shape, dtype: torch.dtype) -> list[Entrant]:
    int8 = build_experts(shape.d_model, _config(shape, storage="int8"), seed=0, layer=0)
    hadamard, modulated = hadamard_experts(shape), hadamard_experts(shape, family="modulated")
    block = HadamardBlock(shape).to(dtype)
    dense = Dense(shape.d_model, shape.d_model, bias=True, layer=0, seed=0).to(dtype)
    assert _num_trained(block) == _num_trained(dense)
    trained = "query network, experts and mixer; gradients of both matrices; routing given"
    return [
        Entrant(INT8_POOL, "int8", _int8_note(), lambda load: frozen_pass(int8, load), comparable=True),
        Entrant(HADAMARD, "hadamard", _width_note(shape), lambda load: frozen_pass(hadamard, load)),
        Entrant(
            MODULATED,
            "hadamard",
            "the same units for all experts, each expert half of them",
            lambda load: frozen_pass(modulated, load),
        ),
        Entrant(
            HADAMARD_BLOCK,
            "hadamard",
            trained,
            lambda load: _trained_pass(block, load, lambda: block(load.x_TD, load.indices_TK, load.gates_TK)),
        ),
        Entrant(
            DENSE_EQUAL,
            "dense",
            f"hidden width {shape.d_model}: as many trained weights as the hadamard block",
            lambda load: _trained_pass(dense, load, lambda: dense(load.x_TD)),
        ),
    ]


def hadamard_experts(shape: Shape, num_experts: int | None = None, family: str = "hadamard") -> ExpertFamily:
    """Experts whose width is the shape's, to a whole number of blocks."""
    width = next_power_of_two(shape.d_model)
    d_ffn = max(1, round(shape.d_ffn / width)) * width
    config = _config(shape, family=family, mixer=True, d_ffn=d_ffn)
    return build_experts(
        shape.d_model,
        config.model_copy(update={"num_experts": num_experts or shape.num_experts}),
        seed=0,
        layer=0,
    )


class HadamardBlock(nn.Module):
    """What a layer with Hadamard experts computes beside the search for the nearest keys."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        rng = generator(0, "bench")
        self.query = seeded_linear(shape.d_model, shape.d_model, bias=True, rng=rng)
        self.mixer = seeded_linear(shape.d_model, shape.d_model, bias=True, rng=rng)
        self.experts = hadamard_experts(shape)

    def forward(self, x_TD: Tensor, indices_TK: Tensor, gates_TK: Tensor) -> Tensor:
        return self.mixer(self.experts(rms_rows(self.query(x_TD)), indices_TK, gates_TK))


def notes(shape: Shape) -> list[str]:
    """What the ratios of these contenders mean."""
    return [
        "int8_peak is the time of the same products at the machine's peak for integers / the int8 pool's "
        "time: the peak of int8 or of fp32, whichever is faster.",
        "hadamard_frozen is our fp32 frozen engine's time / the Hadamard experts' time.",
        "modulated_hadamard is the Hadamard experts' time / the modulated experts' time.",
        "hadamard_dense_equal is the time of a dense block of the same trained size / the time of Hadamard "
        "experts between their trained matrices: 0.8 means that ours takes a quarter longer.",
    ]


def _config(shape: Shape, **changes: object) -> ExpertsConfig:
    sizes = {"num_experts": shape.num_experts, "d_ffn": shape.d_ffn, "top_k": shape.top_k}
    return ExpertsConfig.model_validate({**sizes, **changes})


def _trained_pass(module: nn.Module, load: Load, forward: Callable[[], Tensor]) -> Pass:
    gates = [] if isinstance(module, Dense) else [load.gates_TK]
    return Pass(forward, (load.x_TD, *gates, *module.parameters()), load.grad_TD)


def _num_trained(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters() if parameter.requires_grad)


def _int8_note() -> str:
    kernels = registered()
    if multiplies_int8():
        how = "int8 products by torch"
    elif kernels is not None and kernels.int8.is_fast:
        how = "compiled products of 7-bit rows with int8"
    else:
        how = "no int8 products here: the integers are multiplied as fp32"
    return f"integers from -127 to 127 and a scale per matrix; {how}"


def _width_note(shape: Shape) -> str:
    width = next_power_of_two(shape.d_model)
    return f"signs and transforms of width {width}; {hadamard_experts(shape).origin.d_ffn} hidden units"
