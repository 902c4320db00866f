"""Cross-entropy over the vocabulary in chunks of tokens, so that the fp32 logits of a whole batch never
exist. Forward computes the gradient of each chunk (softmax minus one-hot) and keeps only its product with the
head.

Shape letters: B sequences, T tokens, N counted tokens, D model width, V vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from somelab.core.dispatch.kernels import CompiledKernels, registered
from somelab.model.precision import compute_dtype

if TYPE_CHECKING:
    from somelab.model.decoder import Decoder

TOKENS_PER_CHUNK = 512


class LossSum(NamedTuple):
    nats: Tensor
    """Sum over the counted tokens, fp32, with gradient."""
    num_tokens: int
    error_BTD: Tensor | None = None
    """The negative gradient of the loss with respect to the hidden states: the head's vector of the target,
    minus the mean under the prediction. Zero for tokens that do not count; None if no gradient is needed."""
    nats_N: Tensor | None = None
    """Those of each counted token, without gradient; None if no gradient is needed."""


def next_token_loss(
    model: Decoder,
    hidden_BTD: Tensor,
    targets_BT: Tensor,
    counted_BT: Tensor | None = None,
    chunk: int = TOKENS_PER_CHUNK,
    *,
    with_error: bool = False,
) -> LossSum:
    """Sum of -log p(target) over the tokens that count (None: all). `targets_BT` is already shifted: target t
    follows token t."""
    hidden_ND, targets_N = hidden_BTD.flatten(0, -2), targets_BT.flatten()
    counted_N: Tensor | None = None
    if counted_BT is not None and not bool(counted_BT.all()):
        counted_N = counted_BT.flatten().nonzero()[:, 0]
        hidden_ND, targets_N = hidden_ND.index_select(0, counted_N), targets_N.index_select(0, counted_N)
    weight_VD, bias_V = model.head_parameters()
    if torch.is_grad_enabled():
        nats, slope_ND, nats_N = _ChunkedCrossEntropy.apply(hidden_ND, targets_N, weight_VD, bias_V, chunk)
        return LossSum(
            nats,
            targets_N.numel(),
            _own(model, _error(hidden_BTD, slope_ND, counted_N)) if with_error else None,
            nats_N,
        )
    return LossSum(_sweep(hidden_ND, targets_N, weight_VD, bias_V, chunk, None).sum(), targets_N.numel())


@torch.no_grad()
def _error(hidden_BTD: Tensor, slope_ND: Tensor, counted_N: Tensor | None) -> Tensor:
    if counted_N is None:
        return -slope_ND.view_as(hidden_BTD)
    error_TD = torch.zeros_like(hidden_BTD).flatten(0, -2)
    return error_TD.index_copy_(0, counted_N, -slope_ND.to(error_TD.dtype)).view_as(hidden_BTD)


def _own(model: Decoder, error_BTD: Tensor) -> Tensor:
    """Without the columns that a grown pool adds to the hidden state: credit concerns the model's own."""
    return error_BTD[..., : model.config.model.d_model]


@torch.no_grad()
def token_nats(
    model: Decoder, hidden_BTD: Tensor, targets_BT: Tensor, chunk: int = TOKENS_PER_CHUNK
) -> Tensor:
    """-log p(target) of every token, [B, T] fp32, for evaluation: one pass serves every way of averaging."""
    weight_VD, bias_V = model.head_parameters()
    return _sweep(hidden_BTD.flatten(0, -2), targets_BT.flatten(), weight_VD, bias_V, chunk, None).view(
        targets_BT.shape
    )


@torch.no_grad()
def token_nats_and_errors(
    model: Decoder, hidden_BTD: Tensor, targets_BT: Tensor, chunk: int = TOKENS_PER_CHUNK
) -> tuple[Tensor, Tensor]:
    """The same with the error of every token, as in `LossSum.error_BTD`: used by test-time adaptation without
    gradients."""
    weight_VD, bias_V = model.head_parameters()
    hidden_ND = hidden_BTD.flatten(0, -2)
    slopes = _Gradients(hidden_ND, None, None)
    nats_N = _sweep(hidden_ND, targets_BT.flatten(), weight_VD, bias_V, chunk, slopes)
    return nats_N.view(targets_BT.shape), _own(model, -slopes.hidden_ND.view_as(hidden_BTD))


class _Gradients:
    """Gradients of the sum of nats, filled chunk by chunk. The head's are summed in fp32, whatever the type
    of the products; without a weight and a bias, they are left out."""

    def __init__(self, hidden_ND: Tensor, weight_VD: Tensor | None, bias_V: Tensor | None) -> None:
        self.hidden_ND = torch.empty_like(hidden_ND)
        self.weight_VD = None if weight_VD is None else torch.zeros_like(weight_VD, dtype=torch.float32)
        self.bias_V = None if bias_V is None else torch.zeros_like(bias_V, dtype=torch.float32)


def _sweep(
    hidden_ND: Tensor,
    targets_N: Tensor,
    weight_VD: Tensor,
    bias_V: Tensor | None,
    chunk: int,
    gradients: _Gradients | None,
) -> Tensor:
    """nats_N of all tokens; with `gradients`, also fills them: d nats / d logits = softmax(logits) -
    one_hot(target)."""
    dtype = compute_dtype(weight_VD)
    head_VD, head_bias_V = weight_VD.to(dtype), None if bias_V is None else bias_V.to(dtype)
    nats_N = torch.empty(targets_N.numel(), device=hidden_ND.device)
    with torch.autocast(hidden_ND.device.type, enabled=False):
        for start in range(0, targets_N.numel(), chunk):
            rows = slice(start, start + chunk)
            nats_N[rows] = _nats_of_chunk(
                hidden_ND[rows].to(dtype), targets_N[rows, None], head_VD, head_bias_V, rows, gradients
            )
    return nats_N


def _nats_of_chunk(
    states_ND: Tensor,
    targets_N1: Tensor,
    head_VD: Tensor,
    bias_V: Tensor | None,
    rows: slice,
    gradients: _Gradients | None,
) -> Tensor:
    """nats_N of one chunk. A function, so that its [N, V] tensors are freed before the next chunk: at most
    two exist."""
    native = _native(states_ND)
    if native is not None:
        slopes_NV, nats_N = F.linear(states_ND, head_VD), torch.empty(len(targets_N1))
        native.cross_entropy_(slopes_NV, bias_V, targets_N1[:, 0].contiguous(), nats_N)
    else:
        # log_softmax would make the fp32 copy itself, and keep the logits as well.
        log_probabilities_NV = F.log_softmax(F.linear(states_ND, head_VD, bias_V).float(), dim=1)
        nats_N = -log_probabilities_NV.gather(1, targets_N1)[:, 0]
        if gradients is None:
            return nats_N
        slopes_NV = log_probabilities_NV.exp_().scatter_add_(
            1, targets_N1, torch.full_like(nats_N[:, None], -1.0)
        )
    if gradients is None:
        return nats_N
    if gradients.bias_V is not None:
        gradients.bias_V += slopes_NV.sum(dim=0)
    slopes_NV = slopes_NV.to(states_ND.dtype)
    gradients.hidden_ND[rows] = slopes_NV @ head_VD
    if gradients.weight_VD is not None:
        gradients.weight_VD += slopes_NV.T @ states_ND
    return nats_N


def _native(states_ND: Tensor) -> CompiledKernels | None:
    """The compiled kernels where they compute the cross-entropy: in fp32 on a CPU, in two thirds of torch's
    time at small widths."""
    if states_ND.device.type != "cpu" or states_ND.dtype != torch.float32 or torch.compiler.is_compiling():
        return None
    return registered()


class _ChunkedCrossEntropy(torch.autograd.Function):
    """The sum of nats as one node of the graph. Its gradients exist before backward, which only scales them;
    that of the hidden states is returned beside the sum, and so are the nats of each token."""

    @staticmethod
    def forward(
        ctx: Any, hidden_ND: Tensor, targets_N: Tensor, weight_VD: Tensor, bias_V: Tensor | None, chunk: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        gradients = _Gradients(hidden_ND, weight_VD, bias_V) if any(ctx.needs_input_grad) else None
        nats_N = _sweep(hidden_ND, targets_N, weight_VD, bias_V, chunk, gradients)
        if gradients is not None:
            ctx.save_for_backward(gradients.hidden_ND, gradients.weight_VD, gradients.bias_V)
            ctx.dtypes = hidden_ND.dtype, weight_VD.dtype, None if bias_V is None else bias_V.dtype
        slope_ND = hidden_ND.new_zeros(0) if gradients is None else gradients.hidden_ND
        ctx.mark_non_differentiable(slope_ND, nats_N)
        return nats_N.sum(), slope_ND, nats_N

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        hidden, weight, bias = (
            None if saved is None else (saved * grad_outputs[0]).to(dtype)
            for saved, dtype in zip(ctx.saved_tensors, ctx.dtypes)
        )
        return hidden, None, weight, bias, None
