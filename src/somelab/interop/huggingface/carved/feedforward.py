"""A gated feed-forward block cut into groups of neurons, of which each token uses a few: keys score the
groups, the best K are computed, the others are replaced by their mean and a small linear map.

    y = b + B A x + sum over the K best groups e of D_e (h_e - mean h_e),   h_e = act(G_e x) * (U_e x)

With K = E this is the block that was cut. Where neurons are chosen by their own gates, every neuron is a
group and its gate vector is its key: all gates are read, and the other two thirds of the neurons in use. One
token at a time (generation) reads the weights of its groups only; several tokens are computed with all groups
and a mask. Shape letters: T tokens, D model width, E groups, N neurons per group, K groups in use, R rank of
the linear map."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

Scores = Callable[[Tensor, Tensor], Tensor]
"""From inputs [T, D] and deviations of the hidden values from their means [T, E, N] to scores [T, E]."""


class CarvedFeedForward(nn.Module):
    """Frozen groups of neurons, keys as buffers, and how many groups a token uses."""

    def __init__(
        self,
        width: int,
        num_groups: int,
        group_size: int,
        rank: int,
        act: Callable[[Tensor], Tensor],
        *,
        by_gates: bool = False,
    ) -> None:
        super().__init__()
        assert group_size == 1 or not by_gates
        self.by_gates = by_gates
        self.act, self.num_used = act, num_groups
        self.silu = isinstance(act, nn.SiLU) or type(act).__name__ == "SiLUActivation"
        self.gate_up = _frozen(num_groups, 2, group_size, width)
        self.down = _frozen(num_groups, group_size, width)
        self.register_buffer("keys", torch.zeros(0 if by_gates else num_groups, width))
        self.register_buffer("offset", torch.zeros(0 if by_gates else num_groups))
        self.register_buffer("square", torch.zeros(3, num_groups if by_gates else 0))
        self.register_buffer("mean_hidden", torch.zeros(num_groups, group_size))
        self.register_buffer("bias", torch.zeros(width))
        self.register_buffer("linear_in", torch.zeros(rank, width))
        self.register_buffer("linear_out", torch.zeros(rank, width))
        self.keys: Tensor
        self.offset: Tensor
        self.square: Tensor
        """The score of a neuron by its gate: a g^2 + b g + c, the expected square of what it adds."""
        self.mean_hidden: Tensor
        self.bias: Tensor
        self.linear_in: Tensor
        self.linear_out: Tensor
        self.scores: Scores | None = None
        """Another router than the keys, for comparisons."""

    @property
    def num_groups(self) -> int:
        return self.down.shape[0]

    def forward(self, x: Tensor) -> Tensor:
        x_TD = x.reshape(-1, x.shape[-1])
        if x_TD.shape[0] == 1 and self.scores is None and not torch.is_grad_enabled():
            return self.one_token(x_TD[0]).view_as(x)
        hidden_TEN = self.hidden(x_TD) - self.mean_hidden
        if self.num_used < self.num_groups:
            hidden_TEN = hidden_TEN * self.mask(x_TD, hidden_TEN)[:, :, None]
        y_TD = torch.addmm(self.bias, hidden_TEN.flatten(1), self.down.flatten(0, 1))
        return (y_TD + self.linear(x_TD)).view_as(x)

    def hidden(self, x_TD: Tensor) -> Tensor:
        """The hidden values of all groups."""
        both_TE2N = (x_TD @ self.gate_up.flatten(0, 2).T).unflatten(1, self.gate_up.shape[:3])
        return self.act(both_TE2N[:, :, 0]) * both_TE2N[:, :, 1]

    def score(self, x_TD: Tensor) -> Tensor:
        """How well the keys match, [T, E], in fp32."""
        if self.by_gates:
            gate_TE = self.act(x_TD @ self.gate_up[:, 0, 0].T).float()
            a_E, b_E, c_E = self.square
            return (a_E * gate_TE + b_E) * gate_TE + c_E
        return torch.addmm(self.offset, x_TD.float(), self.keys.T)

    def mask(self, x_TD: Tensor, hidden_TEN: Tensor) -> Tensor:
        """1 for the groups in use, [T, E]."""
        score_TE = self.score(x_TD) if self.scores is None else self.scores(x_TD, hidden_TEN)
        used_TK = score_TE.topk(self.num_used, dim=1).indices
        return torch.zeros_like(score_TE, dtype=x_TD.dtype).scatter_(1, used_TK, 1.0)

    def linear(self, x_TD: Tensor) -> Tensor:
        """The linear map that stands for what is skipped."""
        return (x_TD @ self.linear_in.T) @ self.linear_out

    def one_token(self, x_D: Tensor) -> Tensor:
        """The same for one token, reading only the weights of the groups in use."""
        from somelab.interop.huggingface.carved.decoding import add_groups_

        y_D = self.bias.clone()
        if self.linear_in.shape[0]:
            y_D.addmv_(self.linear_out.T, torch.mv(self.linear_in, x_D))
        if self.num_used < self.num_groups:
            score_E = (
                self.score(x_D[None])[0]
                if self.by_gates
                else torch.addmv(self.offset, self.keys, x_D.float())
            )
            used_K = score_E.topk(self.num_used, sorted=False).indices.sort().values
        else:
            used_K = torch.arange(self.num_groups, device=x_D.device)
        add_groups_(y_D, x_D.contiguous(), used_K, self)
        return y_D

    def extra_repr(self) -> str:
        groups, size, width = self.down.shape
        return f"{self.num_used} of {groups} groups of {size} neurons, width {width}"


def _frozen(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.zeros(*shape), requires_grad=False)
