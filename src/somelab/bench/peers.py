"""Mixture-of-experts libraries from PyPI, given the same tokens, routing, type and size, and frozen like
ours. Their experts have three matrices (gated units), so the hidden width is cut to two thirds: the same
active parameters.

Shape letters: T tokens, D model width, E experts, K experts per token, B groups, N tokens of a group, H their
hidden width."""

from __future__ import annotations

import math
import warnings
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch
from torch import Tensor, nn

from somelab.bench.settings import Shape
from somelab.bench.suites.expert_pass import Entrant, Load, Pass
from somelab.errors import SomelabError

PACKAGES = ("transformers", "st-moe-pytorch")
INSTALL = "pip install 'somelab[bench]'"
CUDA_ONLY = ("deepgemm", "sonicmoe")
WIDTH_MULTIPLE = 16
GROUP = 512
CAPACITY = 1.25
MOST_COPIED = 4_000_000_000


class NotMeasured(SomelabError):
    """Why a library could not be measured."""


def peers(dtype: torch.dtype) -> list[Entrant]:
    """All of them, installed or not; one that cannot be measured raises when it is prepared."""
    return [*_mixtral(dtype), _st_moe(dtype)]


def hidden_width(d_ffn: int) -> int:
    """Two thirds of a plain expert's width, to the nearest multiple of 16: their products need aligned
    rows."""
    return max(WIDTH_MULTIPLE, round(d_ffn * 2 / 3 / WIDTH_MULTIPLE) * WIDTH_MULTIPLE)


def installed(package: str) -> str | None:
    """The version of a package, None if it is missing."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _mixtral(dtype: torch.dtype) -> list[Entrant]:
    """One entrant for each way in which transformers dispatches Mixtral's experts."""
    here = installed("transformers")
    if here is None:
        return [_missing("transformers Mixtral")]
    try:
        known = import_module("transformers.integrations.moe").ALL_EXPERTS_FUNCTIONS.valid_keys()
    except (ImportError, AttributeError) as error:
        return [
            _missing(
                "transformers Mixtral",
                f"transformers {here} has no selectable back ends for experts ({error})",
            )
        ]
    weights = dict[Shape, dict[str, Tensor]]()  # one set for all back ends

    def entrant(backend: str) -> Entrant:
        note = f"transformers {here}; SwiGLU without biases, frozen"
        return Entrant(
            f"Mixtral {backend}", "peer", note, lambda load: _mixtral_pass(load, backend, dtype, weights)
        )

    return [entrant(backend) for backend in sorted({"eager", *known})]


def _mixtral_pass(
    load: Load, backend: str, dtype: torch.dtype, weights: dict[Shape, dict[str, Tensor]]
) -> Pass:
    shape = load.shape
    if backend in CUDA_ONLY and not torch.cuda.is_available():
        raise NotMeasured("needs CUDA")
    width = hidden_width(shape.d_ffn)
    if backend == "batched_mm":
        copied = shape.num_tokens * shape.top_k * 3 * width * shape.d_model * dtype.itemsize
        if copied > MOST_COPIED:
            raise NotMeasured(
                f"would copy an expert for every token and slot: {copied / 1e9:.0f} GB of weights"
            )
    experts = mixtral_experts(shape, backend, "silu", width)
    held = weights.setdefault(
        shape, {name: _drawn(tensor, dtype) for name, tensor in experts.named_parameters()}
    )
    for name, tensor in held.items():
        setattr(experts, name, tensor)
    return Pass(
        lambda: experts(load.x_TD, load.indices_TK, load.gates_TK),
        (load.x_TD, load.gates_TK),
        load.grad_TD,
        _width_note(width, shape),
    )


def mixtral_experts(shape: Shape, backend: str, activation: str, width: int) -> Any:
    """transformers' `MixtralExperts` of that size, without weights (on the meta device)."""
    config = import_module("transformers").MixtralConfig(
        hidden_size=shape.d_model,
        intermediate_size=width,
        num_local_experts=shape.num_experts,
        num_experts_per_tok=shape.top_k,
        hidden_act=activation,
    )
    config._experts_implementation = backend
    with torch.device("meta"):
        return import_module("transformers.models.mixtral.modeling_mixtral").MixtralExperts(config)


def _st_moe(dtype: torch.dtype) -> Entrant:
    here = installed("st-moe-pytorch")
    if here is None:
        return _missing("st-moe-pytorch")
    held = dict[Shape, Any]()

    def prepare(load: Load) -> Pass:
        if load.shape.top_k < 2:
            raise NotMeasured("needs at least two experts a token")
        if load.shape not in held:
            held[load.shape] = st_moe_layer(load.shape).to(dtype).requires_grad_(False)
        return _st_moe_pass(load, held[load.shape], dtype)

    note = f"version {here}; GEGLU, frozen; tokens move by products with one-hot tables"
    return Entrant("st-moe-pytorch", "peer", note, prepare)


def st_moe_layer(shape: Shape, capacity: float = CAPACITY) -> Any:
    """st-moe-pytorch's `MoE` of that size, without random dropping of selections."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecation warnings about type hints
        return import_module("st_moe_pytorch").MoE(
            dim=shape.d_model,
            num_experts=shape.num_experts,
            gating_top_n=shape.top_k,
            expert_hidden_mult=shape.d_ffn / shape.d_model,
            threshold_train=0.0,
            threshold_eval=0.0,
            capacity_factor_train=shape.top_k * capacity,
            capacity_factor_eval=shape.top_k * capacity,
        )


def _st_moe_pass(load: Load, layer: Any, dtype: torch.dtype) -> Pass:
    shape = load.shape
    group = math.gcd(GROUP, shape.num_tokens)
    logits = GivenLogits(load, group)
    layer.gate.to_gates = logits
    x_BND = load.x_TD.detach().view(-1, group, shape.d_model).requires_grad_()
    with torch.no_grad():
        combine = layer.gate(x_BND)[1]
        dropped = 1 - int((combine > 0).sum()) / load.indices_TK.numel()
        del combine
    width = int(shape.d_ffn * 2 / 3)
    note = (
        f"{_width_note(width, shape)}; groups of {group}, capacity {CAPACITY} x the even share: "
        f"{dropped:.1%} of selections dropped"
    )

    def forward() -> Tensor:
        layer.gate.to_gates = logits
        # Its one-hot tables are always fp32; autocast runs it in bf16.
        with torch.autocast("cpu", dtype, enabled=dtype != torch.float32):
            return layer(x_BND).outputs

    with torch.no_grad():
        grad = load.grad_TD.view_as(x_BND).to(forward().dtype)
    return Pass(forward, (x_BND, logits.logits_BNE), grad, note)


class GivenLogits(nn.Module):
    """Replaces the gating network: scores that produce exactly the given routing."""

    def __init__(self, load: Load, group: int) -> None:
        super().__init__()
        logits_TE = torch.full((load.shape.num_tokens, load.shape.num_experts), -30.0)
        logits_TE.scatter_(1, load.indices_TK, load.gates_TK.detach().log())
        self.logits_BNE = nn.Parameter(logits_TE.view(-1, group, load.shape.num_experts))

    def forward(self, x_BND: Tensor) -> Tensor:
        return self.logits_BNE


def _drawn(like: Tensor, dtype: torch.dtype) -> nn.Parameter:
    bound = like.shape[-1] ** -0.5
    weight = torch.empty(like.shape).uniform_(
        -bound, bound, generator=torch.Generator().manual_seed(like.numel())
    )
    return nn.Parameter(weight.to(dtype), requires_grad=False)


def _width_note(width: int, shape: Shape) -> str:
    share = 3 * width / (2 * shape.d_ffn)
    return f"three matrices of hidden width {width}: {share:.1%} of the active parameters"


def _missing(name: str, reason: str = f"not installed: {INSTALL}") -> Entrant:
    def prepare(load: Load) -> Pass:
        raise NotMeasured(reason)

    return Entrant(name, "peer", "", prepare)
