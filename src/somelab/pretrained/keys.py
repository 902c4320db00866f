"""Keys of a carved model, set from a few thousand tokens without a gradient, and moved by credit.

A key scores a token by q . k + o: q is the centred (and whitened) input of the block, o the group's mean
importance. Shape letters: T tokens, D model width, E groups."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from somelab.core.seeding import generator

SHRINKAGE = 0.3  # of the covariance towards a multiple of the identity
PASSES = 8
CHUNK = 256  # tokens between two movements of the keys
RATE = 12.0


@dataclass(frozen=True)
class Router:
    """A linear score for each group: x . keys + offset."""

    keys_ED: Tensor
    offset_E: Tensor

    def score(self, x_TD: Tensor) -> Tensor:
        return torch.addmm(self.offset_E, x_TD, self.keys_ED.T)


@dataclass(frozen=True)
class Queries:
    """The map from the input of a block to queries: (x - mean) @ whitening. Two additive statistics of the
    inputs determine it, the mean and the covariance; it is the same for all groups."""

    mean_D: Tensor
    whitening_DD: Tensor

    @classmethod
    def of(cls, x_TD: Tensor, shrinkage: float = SHRINKAGE) -> Queries:
        """Whitening with the covariance, shrunk towards a multiple of the identity."""
        mean_D = x_TD.mean(dim=0)
        centred_TD = (x_TD - mean_D).double()
        covariance_DD = centred_TD.T @ centred_TD / x_TD.shape[0]
        level = shrinkage * covariance_DD.diagonal().mean()
        values_D, vectors_DD = torch.linalg.eigh(covariance_DD)
        whitening_DD = vectors_DD * (values_D.clamp(min=0) + level).rsqrt() @ vectors_DD.T
        return cls(mean_D, whitening_DD.float())

    @classmethod
    def plain(cls, x_TD: Tensor) -> Queries:
        """Centred only."""
        return cls(x_TD.mean(dim=0), torch.eye(x_TD.shape[1]))

    def __call__(self, x_TD: Tensor) -> Tensor:
        return (x_TD - self.mean_D) @ self.whitening_DD

    def router(self, keys_ED: Tensor, offset_E: Tensor) -> Router:
        """The same scores straight from x: the map is folded into the keys, so that it costs nothing."""
        folded_ED = keys_ED @ self.whitening_DD.T
        return Router(folded_ED.contiguous(), offset_E - folded_ED @ self.mean_D)


def mean_keys(q_TD: Tensor, importance_TE: Tensor) -> tuple[Tensor, Tensor]:
    """k_i = a_i mean_t (I_ti - mean I_i) q_t, and the offset mean I_i: attraction, weighted by how much more
    than usual the group contributed to the token.

    a_i scales the key so that its score predicts the importance with the least square error, a regression on
    one number per group."""
    offset_E = importance_TE.mean(dim=0)
    advantage_TE = importance_TE - offset_E
    keys_ED = advantage_TE.T @ q_TD / q_TD.shape[0]
    score_TE = q_TD @ keys_ED.T
    slope_E = (advantage_TE * score_TE).sum(dim=0) / score_TE.square().sum(dim=0).clamp(min=1e-20)
    return keys_ED * slope_E[:, None], offset_E


def moved_by_credit(
    q_TD: Tensor, importance_TE: Tensor, start: tuple[Tensor, Tensor], num_used: int, *, seed: int, layer: int
) -> tuple[Tensor, Tensor]:
    """k_i += r sum_t m_ti q_t, m_ti the merit of group i for token t: how far its importance is above the
    bar of the token if it was wrongly left out, below it (negative) if it was wrongly used, else 0.

    The bar is the importance of the K-th group in hindsight. The rate decays to zero over the passes. Only
    queries, importances and the choice are used; no derivative of the model's loss is taken."""
    keys_ED, offset_E = start[0].clone(), start[1].clone()
    num_groups = keys_ED.shape[0]
    if num_used >= num_groups:
        return keys_ED, offset_E
    num_tokens = q_TD.shape[0]
    if num_tokens < CHUNK:
        return keys_ED, offset_E
    scale = float(importance_TE.std(dim=0).mean().clamp(min=1e-20))
    # The step does not depend on the units of the queries.
    unit = 1 / float(q_TD.square().sum(dim=1).mean().clamp(min=1e-20))
    bar_T1 = importance_TE.topk(num_used + 1, dim=1).values[:, -2:].mean(dim=1, keepdim=True)
    wanted_TE = importance_TE > bar_T1
    margin_TE = (importance_TE - bar_T1) / scale
    num_steps, step = PASSES * (num_tokens // CHUNK), 0
    mean_keys_ED, mean_offset_E, num_averaged = torch.zeros_like(keys_ED), torch.zeros_like(offset_E), 0
    for number in range(PASSES):
        order = torch.randperm(num_tokens, generator=generator(seed, "carve credit", layer, number))
        for chosen in order.split(CHUNK):
            if chosen.numel() < CHUNK:
                continue
            score_TE = torch.addmm(offset_E, q_TD[chosen], keys_ED.T)
            used_TE = torch.zeros_like(score_TE, dtype=torch.bool)
            used_TE.scatter_(1, score_TE.topk(num_used, dim=1).indices, True)
            merit_TE = margin_TE[chosen] * (wanted_TE[chosen] != used_TE)
            rate = RATE * scale * (1 - step / num_steps) / CHUNK
            keys_ED += rate * unit * merit_TE.T @ q_TD[chosen]
            offset_E += rate / q_TD.shape[1] * merit_TE.sum(dim=0)
            step += 1
            if number >= PASSES // 2:
                mean_keys_ED += keys_ED
                mean_offset_E += offset_E
                num_averaged += 1
    if not num_averaged:
        return keys_ED, offset_E
    return mean_keys_ED / num_averaged, mean_offset_E / num_averaged


def ridge_router(x_TD: Tensor, importance_TE: Tensor, shrinkage: float = SHRINKAGE) -> Router:
    """The linear regression of importance on the input, with a penalty: the router that keys are compared
    with."""
    mean_D, offset_E = x_TD.mean(dim=0), importance_TE.mean(dim=0)
    centred_TD = (x_TD - mean_D).double()
    covariance_DD = centred_TD.T @ centred_TD / x_TD.shape[0]
    penalty = shrinkage * covariance_DD.diagonal().mean()
    together_DE = centred_TD.T @ (importance_TE - offset_E).double() / x_TD.shape[0]
    fitted_DE = torch.linalg.solve(covariance_DD + penalty * torch.eye(x_TD.shape[1]).double(), together_DE)
    keys_ED = fitted_DE.T.float().contiguous()
    return Router(keys_ED, offset_E - keys_ED @ mean_D)
