"""One pass of a frozen model over rows of text, with all that memories need: the loss of each token and the
hidden state that predicted it. Every memory is then a function of this, and costs no further pass.

Shape letters: B rows, S tokens per row, D model width."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class FrozenPass:
    """What a model said about rows of text. Position s predicts the token s + 1 of its row."""

    nats_BS: Tensor
    hidden_BSD: Tensor
    targets_BS: Tensor

    @property
    def previous_BS(self) -> Tensor:
        """The token before each target; -1 for the first of a row, whose predecessor is not kept."""
        return F.pad(self.targets_BS[:, :-1], (1, 0), value=-1)

    def rows(self, first: int, last: int) -> FrozenPass:
        return FrozenPass(self.nats_BS[first:last], self.hidden_BSD[first:last], self.targets_BS[first:last])


@torch.no_grad()
def frozen_pass(model: Any, rows_BS: Tensor) -> FrozenPass:
    """Read every row once. Nothing changes."""
    nats: list[Tensor] = []
    hidden: list[Tensor] = []
    for row_S in rows_BS:
        hidden_SD = model.model(input_ids=row_S[None, :-1], use_cache=False).last_hidden_state[0]
        nats.append(row_nats(model, hidden_SD, row_S))
        hidden.append(hidden_SD)
    return FrozenPass(torch.stack(nats), torch.stack(hidden), rows_BS[:, 1:])


def row_nats(model: Any, hidden_SD: Tensor, row_S: Tensor) -> Tensor:
    """-log p of each token but the first."""
    return F.cross_entropy(model.lm_head(hidden_SD).float(), row_S[1:], reduction="none")


def token_nats(model: Any, row_S: Tensor) -> Tensor:
    """The same from the tokens, with whatever changes the model: -log p of each token but the first."""
    logits_SV = model(input_ids=row_S[None, :-1], use_cache=False).logits[0].float()
    return F.cross_entropy(logits_SV, row_S[1:], reduction="none")


def fingerprint(model: nn.Module) -> str:
    """A digest of every tensor of a model, bit for bit."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
