"""One set of adapters per experience on a frozen base, chosen by oracle labels: an upper bound for learners
that have to find out by themselves which text they read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from somelab.adapt.continual.dense import Dense, blocks_of
from somelab.adapt.reading.score import Score
from somelab.core.seeding import derive, generator
from somelab.data.batch import Batch
from somelab.model import Decoder
from somelab.model import feedforward as blocks

ATTENTION_RANK = 16
TABLE_RANK = 32
"""Of the additions to embedding and head."""


class LowRank(nn.Module):
    """W + U_k V_k for the adapter k in use; W where there is none. U starts at zero."""

    def __init__(self, rank: int, name: str, seed: int) -> None:
        super().__init__()
        self.rank, self.name, self.seed = rank, name, seed
        self.ups, self.downs = nn.ParameterList(), nn.ParameterList()
        self.active: int | None = None

    def forward(self, weight: Tensor) -> Tensor:
        if self.active is None:
            return weight
        return weight + self.ups[self.active] @ self.downs[self.active]

    def add_(self, weight: Tensor) -> list[nn.Parameter]:
        rows, columns = weight.shape
        rng = generator(self.seed, f"adapter/{self.name}", step=len(self.ups))
        down = torch.randn(self.rank, columns, generator=rng) / columns**0.5
        self.ups.append(nn.Parameter(weight.new_zeros(rows, self.rank)))
        self.downs.append(nn.Parameter(down.to(weight)))
        return [self.ups[-1], self.downs[-1]]


class Offset(nn.Module):
    """b + o_k for the adapter k in use."""

    def __init__(self) -> None:
        super().__init__()
        self.offsets = nn.ParameterList()
        self.active: int | None = None

    def forward(self, bias: Tensor) -> Tensor:
        return bias if self.active is None else bias + self.offsets[self.active]

    def add_(self, bias: Tensor) -> list[nn.Parameter]:
        self.offsets.append(nn.Parameter(torch.zeros_like(bias)))
        return [self.offsets[-1]]


class ParallelBlock(nn.Module):
    """A feed-forward block, and beside it one more of the same shape per adapter, which starts at zero."""

    def __init__(self, base: blocks.Dense, layer: int, seed: int) -> None:
        super().__init__()
        self.base, self.layer, self.seed = base, layer, seed
        self.more = nn.ModuleList()
        self.active: int | None = None

    def forward(self, x_BTD: Tensor) -> Tensor:
        output = self.base(x_BTD)
        return output if self.active is None else output + self.more[self.active](x_BTD)

    def add_(self) -> list[nn.Parameter]:
        d_hidden, d_model = self.base.down.weight.shape
        seed = derive(self.seed, "adapter/block", step=len(self.more))
        block = blocks.Dense(
            d_model,
            d_hidden,
            bias=any(name.endswith("bias") for name, _ in self.base.named_parameters()),
            layer=self.layer,
            seed=seed,
        )
        with torch.no_grad():
            for parameter in block.up.parameters():
                parameter.zero_()
        self.more.append(block.to(self.base.down.weight))
        return list(block.parameters())


class Adapters(Dense):
    """The base is frozen. Each experience trains adapters of its own: low-rank additions to attention,
    embedding and head, and one more feed-forward block per layer. Labels say which experience is read, in the
    evaluation too: an upper bound for growing without labels."""

    needs_base = True

    def __init__(self, model: Decoder, learning_rate: float, seed: int) -> None:
        super().__init__(model, learning_rate, seed)
        self.experience = 0
        self.slots: dict[int, int] = {}
        """The adapter of each experience that has one."""
        self.all: list[nn.Parameter] = []
        self._added: list[tuple[LowRank | Offset, Tensor]] = []
        """With the frozen tensor that each is added to."""
        self._parallel: list[ParallelBlock] = []
        for layer, (block, ffn) in enumerate(blocks_of(model)):
            for name, part in (("qkv", block.attention.qkv), ("out", block.attention.out)):
                self._adapt_(part, "weight", LowRank(ATTENTION_RANK, f"{layer}/{name}", seed))
            self._parallel.append(ParallelBlock(ffn, layer, seed))
            block.register_module("feed_forward", self._parallel[-1])
        self._adapt_(model.embedding, "weight", LowRank(TABLE_RANK, "embedding", seed))
        if model.head_weight is not None:  # else it is the embedding's
            self._adapt_(model, "head_weight", LowRank(TABLE_RANK, "head", seed))
        if model.head_bias is not None:
            self._adapt_(model, "head_bias", Offset())

    def _adapt_(self, part: nn.Module, name: str, added: LowRank | Offset) -> None:
        self._added.append((added, getattr(part, name)))
        parametrize.register_parametrization(part, name, added)

    def chosen(self) -> list[nn.Parameter]:
        return []

    def tell(self, experience: int) -> None:
        self.experience = experience
        self._use_(self.slots.get(experience))

    def _use_(self, slot: int | None) -> None:
        for part in (*(added for added, _ in self._added), *self._parallel):
            part.active = slot

    def learn(self, batches: Iterable[Batch]) -> Iterator[Score]:
        if self.experience not in self.slots:
            self._add_()
        yield from super().learn(batches)

    def _add_(self) -> None:
        """A new set of adapters, which alone is trained."""
        for parameter in self.all:
            parameter.requires_grad_(False)
        self.parameters = [parameter for added, weight in self._added for parameter in added.add_(weight)]
        self.parameters += [parameter for block in self._parallel for parameter in block.add_()]
        self.all += self.parameters
        self.optimizer = self.optimizer_of(self.parameters)
        self.slots[self.experience] = len(self.slots)
        self._use_(self.slots[self.experience])

    @property
    def num_trainable(self) -> int:
        return sum(parameter.numel() for parameter in self.all)

    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "num_adapters": len(self.slots)}
