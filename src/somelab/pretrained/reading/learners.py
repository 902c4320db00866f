"""What changes while a model reads, beside memories: the weights by gradient (dynamic evaluation, LoRA), a
grown expert, or the keys of a carved model by credit. Every learner can be undone, bit for bit.

Shape letters: S tokens per row, D model width, E groups, R rank."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from somelab.core.seeding import generator
from somelab.model.growth import GrownPool, GrowthSettings
from somelab.pretrained.carving import importance, num_always
from somelab.pretrained.reading.passes import token_nats

LORA_RANK = 8
LORA_PLACES = ("q_proj", "v_proj")
SMALL_EXPERT = GrowthSettings(width=32, rank=8, embedding_rank=0, head_rank=0)
"""A grown expert of a pretrained model: the words are known, so it has no part in embedding and head."""


class Learner:
    """Scores a row, then learns from it. `undo_` restores what the model was."""

    def __init__(self, model: Any, rate: float, old_BS: Tensor | None = None) -> None:
        """`old_BS`: text of the kind that the model knows, for a learner that tells it from new text."""
        self.model, self.rate = model, rate

    def learn_(self, row_S: Tensor) -> Tensor:
        """-log p of each token but the first, as the model was before it learnt from this row."""
        raise NotImplementedError

    def undo_(self) -> None:
        raise NotImplementedError


class DynamicEvaluation(Learner):
    """One step of plain gradient descent on all weights after each row (Krause et al. 2018)."""

    def __init__(self, model: Any, rate: float, old_BS: Tensor | None = None) -> None:
        super().__init__(model, rate, old_BS)
        self.saved = [weight.detach().clone() for weight in model.parameters()]
        self.needed = [weight.requires_grad for weight in model.parameters()]
        for weight in model.parameters():
            weight.requires_grad_(True)

    def learn_(self, row_S: Tensor) -> Tensor:
        weights = list(self.model.parameters())
        with torch.enable_grad():
            nats_S = token_nats(self.model, row_S)
            gradients = list[Tensor | None](torch.autograd.grad(nats_S.mean(), weights, allow_unused=True))
        length = torch.stack([one.norm() for one in gradients if one is not None]).norm()
        step = self.rate / max(1.0, float(length))  # clipped to length 1
        with torch.no_grad():
            for weight, gradient in zip(weights, gradients, strict=True):
                if gradient is not None:
                    weight.sub_(gradient, alpha=step)
        return nats_S.detach()

    def undo_(self) -> None:
        with torch.no_grad():
            for weight, saved, needed in zip(self.model.parameters(), self.saved, self.needed, strict=True):
                weight.copy_(saved)
                weight.requires_grad_(needed)


class Lora(Learner):
    """A low-rank addition to the queries and values of every attention, by Adam, one step a row."""

    def __init__(self, model: Any, rate: float, old_BS: Tensor | None = None) -> None:
        super().__init__(model, rate, old_BS)
        self.parts: list[Tensor] = []
        self.hooks: list[Any] = []
        for number, layer in enumerate(model.model.layers):
            for place in LORA_PLACES:
                self._attach_(getattr(layer.self_attn, place), number)
        self.optimizer = torch.optim.Adam(self.parts, lr=rate)

    def _attach_(self, linear: nn.Linear, number: int) -> None:
        random = generator(0, "lora", number, len(self.parts))
        into_RD = torch.randn(LORA_RANK, linear.in_features, generator=random) / linear.in_features**0.5
        out_OR = torch.zeros(linear.out_features, LORA_RANK)
        into_RD.requires_grad_(True)
        out_OR.requires_grad_(True)
        self.parts += [into_RD, out_OR]

        def add(module: nn.Module, given: tuple[Tensor, ...], made: Tensor) -> Tensor:
            return made + given[0] @ into_RD.T @ out_OR.T

        self.hooks.append(linear.register_forward_hook(add))

    def learn_(self, row_S: Tensor) -> Tensor:
        with torch.enable_grad():
            nats_S = token_nats(self.model, row_S)
            gradients = torch.autograd.grad(nats_S.mean(), self.parts)
        for part, gradient in zip(self.parts, gradients, strict=True):
            part.grad = gradient
        self.optimizer.step()
        return nats_S.detach()

    def undo_(self) -> None:
        for hook in self.hooks:
            hook.remove()


class Growth(Learner):
    """One grown expert, by Adam, one step a row; keys decide where it acts, and the model stays frozen. It is
    scored as it will be used: by its keys, before they have read the row."""

    def __init__(self, model: Any, rate: float, old_BS: Tensor | None = None) -> None:
        super().__init__(model, rate, old_BS)
        self.pool = GrownPool.attach(model, settings=SMALL_EXPERT)
        if old_BS is not None:
            self.pool.read_(old_BS)
        self.pool.grow_(name="new")
        self.optimizer = torch.optim.Adam(self.pool.open_parameters(), lr=rate)

    def learn_(self, row_S: Tensor) -> Tensor:
        with torch.no_grad():
            scored_S = token_nats(self.model, row_S)
        self.train_(row_S)
        return scored_S

    def train_(self, row_S: Tensor) -> float:
        """One step, which the key is attracted by; the loss before it."""
        self.pool.read_(row_S[None])
        with torch.enable_grad(), self.pool.only("new"):
            loss = token_nats(self.model, row_S).mean()
            loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return float(loss.detach())

    def undo_(self) -> None:
        self.pool.remove_("new")
        self.pool.detach_()


class Credit(Learner):
    """The keys of a carved model: towards inputs for which a group would have been among the best, away from
    those for which it was used and was not. No gradient and no labels, only the lengths of what the groups
    compute."""

    def __init__(self, model: Any, rate: float, old_BS: Tensor | None = None) -> None:
        super().__init__(model, rate, old_BS)
        self.saved = [(block.keys.clone(), block.offset.clone()) for block in model.blocks()]

    @torch.no_grad()
    def learn_(self, row_S: Tensor) -> Tensor:
        seen: list[tuple[Tensor, Tensor]] = []
        blocks = self.model.blocks()

        def watching(block: Any) -> Any:
            def score(x_TD: Tensor, hidden_TEN: Tensor) -> Tensor:
                seen.append((x_TD, importance(hidden_TEN, block.down)))
                return block.score(x_TD)

            return score

        for block in blocks:
            block.scores = watching(block)
        try:
            nats_S = token_nats(self.model, row_S)
        finally:
            for block in blocks:
                block.scores = None
        moving = [block for block in blocks if block.num_used < block.num_groups]
        for block, (x_TD, importance_TE) in zip(moving, seen, strict=True):
            self._move_(block, x_TD, importance_TE)
        return nats_S

    def _move_(self, block: Any, x_TD: Tensor, importance_TE: Tensor) -> None:
        always = num_always(block.num_groups)
        num_used = block.num_used - always
        if num_used < 1:
            return
        rest_TE = importance_TE[:, always:]
        bar_T1 = rest_TE.topk(num_used + 1, dim=1).values[:, -2:].mean(dim=1, keepdim=True)
        score_TE = block.score(x_TD)[:, always:]
        used_TE = torch.zeros_like(score_TE, dtype=torch.bool)
        used_TE.scatter_(1, score_TE.topk(num_used, dim=1).indices, True)
        merit_TE = (rest_TE - bar_T1) * ((rest_TE > bar_T1) != used_TE)
        centred_TD = x_TD - x_TD.mean(dim=0)
        unit = 1 / float(centred_TD.square().sum(dim=1).mean().clamp(min=1e-20))
        rate = self.rate / x_TD.shape[0]
        moved_ED = rate * unit * merit_TE.T @ centred_TD
        block.keys[always:] += moved_ED
        # The score of the mean input stays, but for what the offset itself is credited with.
        block.offset[always:] += rate / x_TD.shape[1] * merit_TE.sum(dim=0) - moved_ED @ x_TD.mean(dim=0)

    def undo_(self) -> None:
        for block, (keys_ED, offset_E) in zip(self.model.blocks(), self.saved, strict=True):
            block.keys.copy_(keys_ED)
            block.offset.copy_(offset_E)
