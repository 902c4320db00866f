"""Parameter superposition: one network for several contexts, kept apart by random signs.

Source: Cheung et al. (2019), "Superposition of many models into one", arXiv 1902.05522. Shape letters: B
sequences, T tokens, D model width, C contexts, I inputs of a matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from somelab.adapt.continual.dense import Dense, blocks_of
from somelab.adapt.reading.score import Score
from somelab.core.seeding import generator
from somelab.data.batch import Batch
from somelab.model import Decoder


class Superposition(Dense):
    """All weights are trained; the input of every matrix of the blocks is multiplied by random signs, y =
    W (s_c * x), which differ from context to context, so that what is learned in one is noise of mean zero in
    the others.

    The first context has no signs: it is the base. An experience begins a new context while it is learned.
    Else the context of a token is that whose mean embedding is nearest to the mean of the sequence so far:
    no labels. Embedding and head are shared by all contexts."""

    def __init__(self, model: Decoder, learning_rate: float, seed: int) -> None:
        super().__init__(model, learning_rate, seed)
        self.table_VD = model.embedding.weight.detach().clone()
        """The base's embedding, by which contexts are told apart: it does not change."""
        self.means_CD = self.table_VD.new_zeros(0, self.table_VD.shape[1])
        self.scale_D = self.table_VD.std(dim=0).clamp(min=1e-6)
        self.learning: int | None = None
        """The context that is being learned."""
        self.context_BT: Tensor | int = 0
        self.num_contexts = 0
        self.signs_CI: dict[nn.Module, Tensor] = {}
        for block, ffn in blocks_of(model):
            for part in (block.attention.qkv, block.attention.out, ffn.down, ffn.up):
                self.signs_CI[part] = part.weight.new_ones(0, part.weight.shape[1])
                part.register_forward_pre_hook(self._signed)
        model.register_forward_pre_hook(self._route)
        self._add_()

    def _add_(self) -> None:
        """One more context; the first has no signs."""
        for number, (part, known_CI) in enumerate(self.signs_CI.items()):
            rng = generator(self.seed, "context", layer=number, step=self.num_contexts)
            bits_I = torch.randint(2, (known_CI.shape[1],), generator=rng).to(known_CI)
            signs_I = 2 * bits_I - 1 if self.num_contexts else torch.ones_like(bits_I)
            self.signs_CI[part] = torch.cat([known_CI, signs_I[None]])
        self.num_contexts += 1

    def _signed(self, part: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (inputs[0] * self.signs_CI[part][self.context_BT], *inputs[1:])

    def _route(self, model: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        self.context_BT = self.contexts(inputs[0]) if self.learning is None else self.learning

    def contexts(self, tokens_BT: Tensor) -> Tensor:
        """[B, T]: of every token the context whose mean is nearest to the mean of the sequence so far."""
        if len(self.means_CD) < 2:
            return torch.zeros_like(tokens_BT)
        sums_BTD = (self.table_VD[tokens_BT] / self.scale_D).cumsum(dim=1)
        place_T1 = torch.arange(1, tokens_BT.shape[1] + 1, device=tokens_BT.device)[:, None]
        means_CD = self.means_CD / self.scale_D
        return torch.cdist(sums_BTD / place_T1, means_CD.expand(len(tokens_BT), -1, -1)).argmin(dim=-1)

    def learn(self, batches: Iterable[Batch]) -> Iterator[Score]:
        if len(self.means_CD) == self.num_contexts:
            self._add_()
        self.learning = self.num_contexts - 1
        yield from super().learn(batches)
        self.learning = None

    def finish(self, batches: Callable[[], Iterable[Batch]]) -> None:
        """The mean embedding of the experience, by which its text is recognised."""
        found = [
            self.table_VD[batch.to(self.device).tokens_BT].flatten(0, 1).mean(dim=0) for batch in batches()
        ]
        self.means_CD = torch.cat([self.means_CD, torch.stack(found).mean(dim=0)[None]])

    @property
    def stored_bytes(self) -> int:
        """The means; signs are drawn again from the seed."""
        return self.means_CD.numel() * self.means_CD.element_size()

    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "num_contexts": self.num_contexts}
