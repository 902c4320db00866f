"""A small model of someone else's, in which a SoME layer is the feed-forward block."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from somelab import SomeLayer

WIDTH, VOCABULARY = 16, 11


class Small(nn.Module):
    """Embedding, two residual blocks, head."""

    def __init__(self, num_layers: int = 2, **settings: Any) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(
            SomeLayer(WIDTH, {"num_experts": 8, "top_k": 2}, layer=layer, num_layers=num_layers, **settings)
            for layer in range(num_layers)
        )
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        for block in self.blocks:
            x = x + block(self.norm(x))
        return self.head(x)

    @property
    def layers(self) -> list[SomeLayer]:
        return [block for block in self.blocks if isinstance(block, SomeLayer)]


def small(**settings: Any) -> Small:
    torch.manual_seed(0)
    return Small(**settings)


def tokens(seed: int, rows: int = 4) -> Tensor:
    return torch.randint(VOCABULARY, (rows, 9), generator=torch.Generator().manual_seed(seed))


def loss_of(model: nn.Module, batch: Tensor) -> Tensor:
    return F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())


def optimizer_of(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW([weight for weight in model.parameters() if weight.requires_grad], lr=1e-2)


def train_(model: nn.Module, optimizer: torch.optim.Optimizer, steps: range, accumulation: int = 1) -> None:
    for step in steps:
        for part in tokens(step).chunk(accumulation):
            (loss_of(model, part) / accumulation).backward()
        optimizer.step()
        optimizer.zero_grad()


def keys_of(model: Small) -> list[Tensor]:
    return [layer.keys.clone() for layer in model.layers]
