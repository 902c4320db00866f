"""How the weights of an expert are drawn. Each initialiser fills one expert's two matrices from a given
generator.

Shape letters: D model width, F expert hidden width. Matrices are (out, in): down_FD, up_DF. Biases start at
0."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

Initialiser = Callable[[Tensor, Tensor, torch.Generator], None]

# E[gelu(z)^2] for z ~ N(0, 1): what one hidden unit contributes to the variance of the output.
GELU_SECOND_MOMENT = 0.42522


def default_(down_FD: Tensor, up_DF: Tensor, rng: torch.Generator) -> None:
    """As nn.Linear: uniform within 1/sqrt(inputs). Outputs have about a tenth of the residual stream's
    rms."""
    for weight in (down_FD, up_DF):
        bound = 1 / math.sqrt(weight.shape[1])
        weight.uniform_(-bound, bound, generator=rng)


def orthogonal_(down_FD: Tensor, up_DF: Tensor, rng: torch.Generator) -> None:
    """Orthonormal rows or columns, whichever are fewer (Q of a Gaussian matrix, signs fixed by R's
    diagonal)."""
    for weight in (down_FD, up_DF):
        rows, columns = weight.shape
        gaussian = torch.empty(max(rows, columns), min(rows, columns)).normal_(generator=rng)
        q, r = torch.linalg.qr(gaussian)
        q = q * torch.sign(torch.diagonal(r))
        weight.copy_(q if rows >= columns else q.T)


def sparse_(down_FD: Tensor, up_DF: Tensor, rng: torch.Generator) -> None:
    """Half of each column zero, the rest N(0, 0.01^2).

    The zeros of all columns come from one partial sort; torch's own sparse_ permutes column by column, which
    is slow."""
    for weight in (down_FD, up_DF):
        rows, columns = weight.shape
        weight.normal_(0, 0.01, generator=rng)
        draws = torch.empty(columns, rows).uniform_(generator=rng)
        zeroed = draws.topk(math.ceil(rows / 2), dim=1, sorted=False).indices
        weight.T.scatter_(1, zeroed, 0.0)


def unit_(down_FD: Tensor, up_DF: Tensor, rng: torch.Generator) -> None:
    """Gaussian, scaled so that each expert maps a token of rms 1 to an output of rms 1.

    Hidden inputs then have variance 1, and gelu leaves a second moment of 0.425, for which the up-projection
    compensates. A uniform mixture of K independent experts has rms 1/sqrt(K)."""
    num_hidden, num_inputs = down_FD.shape
    down_FD.normal_(0, 1 / math.sqrt(num_inputs), generator=rng)
    up_DF.normal_(0, 1 / math.sqrt(num_hidden * GELU_SECOND_MOMENT), generator=rng)


INITIALISERS: dict[str, Initialiser] = {
    "default": default_,
    "orthogonal": orthogonal_,
    "sparse": sparse_,
    "unit": unit_,
}
