"""The decoder: embedding, blocks of attention and a feed-forward part, output head. Shared by every run; the
style of the backbone and the feed-forward block are settings.

Shape letters: B sequences, T tokens, D model width, V vocabulary."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from somelab.config import Config
from somelab.core.gravity import Rule
from somelab.core.layer import GravityReport, SomeLayer, apply_gravity_
from somelab.core.seeded import draw_uniform_, seeded_embedding
from somelab.core.seeding import generator
from somelab.errors import ConfigError
from somelab.model.attention import Attention, Surroundings
from somelab.model.feedforward import FeedForwardOutput, LearnedMixture, Selection, build_feed_forward
from somelab.model.kv_cache import KeyValueCache
from somelab.model.norms import build_norm
from somelab.model.placing import Placement, place
from somelab.model.precision import compute_dtype


def refuse_reading_ahead(config: Config) -> None:
    """Raise for a model without a causal mask, where the next token must be predicted before it is known."""
    if not config.model.causal:
        raise ConfigError(
            "model.causal",
            False,
            "each token has seen the tokens that it is to predict, so there is nothing to generate from",
            "train with model.causal = true",
        )


class DecoderOutput(NamedTuple):
    """A named tuple, since wrappers for several devices search only tuples for tensors."""

    logits_BTV: Tensor | None
    """None if only the hidden states were requested."""
    hidden_BTD: Tensor
    """The input of the head: the last block's output, after the final norm if there is one."""
    aux_loss: Tensor
    """Sum over the layers of what routing adds to the loss, weighted, fp32."""
    routings: tuple[Selection | None, ...]
    """Per layer the experts and gates of the B*T tokens, row by row; None where nothing is routed."""


class BlockOutput(NamedTuple):
    x_BTD: Tensor
    query: Tensor | None
    aux_loss: Tensor | None
    selection: Selection | None


class TokenInfo(NamedTuple):
    """Which tokens count and their places, for the routing statistics."""

    counted_BT: Tensor | None
    token_index_BT: Tensor | None


class Block(nn.Module):
    """Attention, then the feed-forward part, each in a residual branch with its norm (post: outside, pre:
    inside).

    Without a feed-forward part there is no second branch and no norm for it."""

    def __init__(self, config: Config, *, layer: int, seed: int, order: Sequence[Rule] | None = None) -> None:
        super().__init__()
        model = config.model
        self.post_norm = model.part("norm_position") == "post"
        self.attention = Attention(
            model.d_model,
            model.num_heads,
            bias=model.part("bias"),
            layer=layer,
            seed=seed,
            init=model.attention_init,
        )
        self.attention_norm = build_norm(model.part("norm"), model.d_model)
        self.feed_forward = build_feed_forward(config, layer=layer, seed=seed, order=order)
        self.feed_forward_norm = (
            None if self.feed_forward is None else build_norm(model.part("norm"), model.d_model)
        )
        self.dropout = nn.Dropout(model.dropout)
        self.grounded = config.router.grounding > 0

    def forward(
        self, x_BTD: Tensor, previous_query: Tensor | None, surroundings: Surroundings, info: TokenInfo
    ) -> BlockOutput:
        if self.post_norm:
            x_BTD = self.attention_norm(x_BTD + self.dropout(self.attention(x_BTD, surroundings)))
        else:
            x_BTD = x_BTD + self.dropout(self.attention(self.attention_norm(x_BTD), surroundings))
        if self.feed_forward_norm is None:
            return BlockOutput(x_BTD, None, None, None)
        output = self._feed_forward_output(
            x_BTD if self.post_norm else self.feed_forward_norm(x_BTD), previous_query, info
        )
        x_BTD = x_BTD + self.dropout(output.mixture)
        if self.post_norm:
            x_BTD = self.feed_forward_norm(x_BTD)
        return BlockOutput(x_BTD, output.query, output.aux_loss, output.selection)

    def _feed_forward_output(
        self, x_BTD: Tensor, previous_query: Tensor | None, info: TokenInfo
    ) -> FeedForwardOutput:
        part = self.feed_forward
        if isinstance(part, SomeLayer):
            output = part(
                x_BTD,
                counted=info.counted_BT,
                token_index=info.token_index_BT,
                previous_query=previous_query,
                details=True,
            )
            selection = Selection(output.routing.indices_TK, output.routing.gates_TK.detach())
            # Outputs of the block are kept until backward, also under recompute, so the query is returned
            # only if needed.
            return FeedForwardOutput(
                output.mixture, output.query if self.grounded else None, selection, output.aux_loss
            )
        if isinstance(part, LearnedMixture):
            return part(x_BTD, info.counted_BT)
        assert part is not None
        return FeedForwardOutput(part(x_BTD))


class Decoder(nn.Module):
    """A language model of `config`. Its weights are a function of the random seed; torch's global generator
    is not used."""

    def __init__(
        self, config: Config, *, seed: int | None = None, order: Sequence[Rule] | None = None
    ) -> None:
        """`order`: the rules of the SoME layers; None: somelab's own."""
        super().__init__()
        self.config = config
        self.seed = config.train.seed if seed is None else seed
        model = config.model
        rng = generator(self.seed, "embedding")
        self.embedding = seeded_embedding(
            model.vocab_size, model.d_model, std=model.part("embedding_std"), rng=rng
        )
        self.dropout = nn.Dropout(model.dropout)
        self.blocks = nn.ModuleList(
            Block(config, layer=layer, seed=self.seed, order=order) for layer in range(model.num_layers)
        )
        self.final_norm = (
            build_norm(model.part("norm"), model.d_model) if model.part("final_norm") else nn.Identity()
        )
        # A tied head has no weight, so that state, counts and checkpoints hold the matrix once.
        tied, bias = model.part("tied_head"), model.part("bias")
        self.head_weight = None if tied else nn.Parameter(torch.empty(model.vocab_size, model.d_model))
        self.head_bias = nn.Parameter(torch.empty(model.vocab_size)) if bias else None
        rng = generator(self.seed, "head")
        for parameter in (self.head_weight, self.head_bias):
            if parameter is not None:
                draw_uniform_(parameter, model.d_model, rng)
        self.grown_head: Callable[[Tensor], Tensor] | None = None
        """Set by a grown pool: adds columns to the head's weight, for the features that it adds to the hidden
        state."""

    def forward(
        self,
        tokens_BT: Tensor,
        *,
        documents_BT: Tensor | None = None,
        counted_BT: Tensor | None = None,
        token_index_BT: Tensor | None = None,
        positions_BT: Tensor | None = None,
        cache: KeyValueCache | None = None,
        hidden_only: bool = False,
    ) -> DecoderOutput:
        """`documents_BT`: ids of packed documents, which then have separate attention and positions;
        `counted_BT`: tokens that carry loss; `token_index_BT`: their places in the global batch; `cache`:
        continue it."""
        if cache is not None and not (documents_BT is None and positions_BT is None):
            raise ConfigError(
                "cache",
                "given",
                "it holds one document a row and counts positions",
                "leave out documents and positions",
            )
        placement = place(
            self.config.model,
            tokens_BT,
            documents_BT,
            positions_BT,
            cache,
            compute_dtype(self.embedding.weight),
        )
        info = TokenInfo(counted_BT, token_index_BT)
        output = self.read(self.embed(tokens_BT, placement), placement, info, hidden_only=hidden_only)
        if cache is not None:
            cache.advance_(tokens_BT.shape[1])
        return output

    def read(
        self, x_BTD: Tensor, placement: Placement, info: TokenInfo, *, hidden_only: bool = False
    ) -> DecoderOutput:
        """All that follows the embedding, with positions and masks that are given."""
        query: Tensor | None = None
        aux_losses: list[Tensor] = []
        routings: list[Selection | None] = []
        for block in self.blocks:
            output = self._run(block, x_BTD, query, placement.surroundings, info)
            x_BTD, query = output.x_BTD, output.query
            routings.append(output.selection)
            if output.aux_loss is not None:
                aux_losses.append(output.aux_loss)
        hidden_BTD = self.final_norm(x_BTD)
        aux_loss = (
            torch.stack(aux_losses).sum() if aux_losses else hidden_BTD.new_zeros((), dtype=torch.float32)
        )
        return DecoderOutput(
            None if hidden_only else self.head(hidden_BTD), hidden_BTD, aux_loss, tuple(routings)
        )

    def embed(self, tokens_BT: Tensor, placement: Placement) -> Tensor:
        """The tokens' vectors, with their positions where these are added to them."""
        x_BTD = self.embedding(tokens_BT)
        if self.config.model.part("scale_embedding"):
            x_BTD = x_BTD * math.sqrt(self.config.model.d_model)
        if placement.sinusoid_BTD is not None:
            x_BTD = x_BTD + placement.sinusoid_BTD.to(x_BTD.dtype)
        return self.dropout(x_BTD)

    def _run(
        self,
        block: nn.Module,
        x_BTD: Tensor,
        query: Tensor | None,
        surroundings: Surroundings,
        info: TokenInfo,
    ) -> BlockOutput:
        if self.config.train.recompute and self.training and torch.is_grad_enabled():
            return checkpoint(block, x_BTD, query, surroundings, info, use_reentrant=False)
        return block(x_BTD, query, surroundings, info)

    def head(self, hidden: Tensor) -> Tensor:
        """Hidden states to logits over the vocabulary."""
        weight_VD, bias_V = self.head_parameters()
        return F.linear(hidden, weight_VD, bias_V)

    def head_parameters(self) -> tuple[Tensor, Tensor | None]:
        """Weight [V, D] (the embedding's where the head is tied) and bias [V]."""
        weight_VD = self.embedding.weight if self.head_weight is None else self.head_weight
        return weight_VD if self.grown_head is None else self.grown_head(weight_VD), self.head_bias

    def new_cache(self, num_rows: int) -> KeyValueCache:
        """An empty cache for `num_rows` sequences."""
        refuse_reading_ahead(self.config)
        return KeyValueCache(self.config.model.num_layers, num_rows)

    def some_layers(self) -> list[SomeLayer]:
        """The SoME layers from first to last; none in a baseline."""
        return [module for module in self.modules() if isinstance(module, SomeLayer)]

    def set_progress_(self, step: int, num_steps: int) -> None:
        """Set the progress of training in every layer, for top-k warm-up and annealing."""
        for layer in self.some_layers():
            layer.set_progress_(step, num_steps)

    @property
    def wants_error(self) -> bool:
        """Whether any layer's keys move by the error of the prediction, which the loss then passes to
        `credit_`."""
        return any(layer.wants_error for layer in self.some_layers())

    def credit_(self, error_BTD: Tensor) -> None:
        """Pass the error of the last forward pass to all layers, which compute credit from it."""
        for layer in self.some_layers():
            layer.credit_(error_BTD)

    def apply_gravity_(self, group: dist.ProcessGroup | None = None) -> list[GravityReport | None]:
        """Move the keys of all layers, after backward, once per optimizer step. One collective sums all
        statistics."""
        return apply_gravity_(self.some_layers(), group)
