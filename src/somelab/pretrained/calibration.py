"""Text as rows of tokens, and what the feed-forward blocks of a model read and compute on it.

Shape letters: B rows, S tokens per row, T tokens, D model width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from somelab.errors import ConfigError

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM

ROW = 512
LETTERS = 12  # of text per token that are encoded at first; more if that is not enough


def token_rows(tokenizer: Any, source: str, num_tokens: int, *, held_out: bool = False) -> Tensor:
    """The first tokens of a source of text, [B, S]: of its training documents, or of those held out.

    Several sources, separated by commas, give the same share each."""
    names = (
        [name for name in source.split(",") if name.strip()] if not source.startswith("builtin") else [source]
    )
    if not names:
        raise ConfigError("--data", source, "names no text", "give a file, a folder or builtin")
    share = max(1, num_tokens // ROW // len(names))
    return torch.cat([_rows(tokenizer, name.strip(), share, held_out=held_out) for name in names])


def _rows(tokenizer: Any, name: str, num_rows: int, *, held_out: bool) -> Tensor:
    from somelab.config import DataConfig
    from somelab.data.sources import open_source

    source = open_source(DataConfig(source=name))
    tokens: list[int] = []
    for document in source.val() if held_out else source.train():
        tokens += tokenizer(document.strip() + "\n", add_special_tokens=False).input_ids
        if len(tokens) >= num_rows * ROW:
            break
    length = ROW if len(tokens) >= ROW else len(tokens)
    if length < 2:
        raise ConfigError("--data", name, "has fewer than two tokens", "give more text")
    rows = min(num_rows, len(tokens) // length)
    return torch.tensor(tokens[: rows * length]).view(rows, length)


@dataclass(frozen=True)
class BlockInputs:
    """What one block read in the calibration text."""

    x_TD: Tensor
    residual_T: Tensor
    """Squared length of the residual stream behind the block."""


@torch.no_grad()
def block_inputs(model: LlamaForCausalLM, rows_BS: Tensor) -> list[BlockInputs]:
    """The inputs of every feed-forward block, from one pass over the rows."""
    layers: list[Any] = list(model.model.layers)
    seen: list[tuple[list[Tensor], list[Tensor]]] = [([], []) for _ in layers]

    def keep_input(number: int) -> Any:
        def keep(module: Any, given: tuple[Tensor, ...]) -> None:
            seen[number][0].append(given[0].flatten(0, -2))

        return keep

    def keep_length(number: int) -> Any:
        def keep(module: Any, given: Any, made: Any) -> None:
            behind = made[0] if isinstance(made, tuple) else made
            seen[number][1].append(behind.flatten(0, -2).square().sum(dim=1))

        return keep

    hooks = [layer.mlp.register_forward_pre_hook(keep_input(i)) for i, layer in enumerate(layers)]
    hooks += [layer.register_forward_hook(keep_length(i)) for i, layer in enumerate(layers)]
    try:
        for row_S in rows_BS:
            model.model(input_ids=row_S[None], use_cache=False)
    finally:
        for hook in hooks:
            hook.remove()
    return [BlockInputs(torch.cat(inputs), torch.cat(lengths)) for inputs, lengths in seen]


@torch.no_grad()
def mean_loss(model: Any, rows_BS: Tensor) -> float:
    """Nats per predicted token. Rows are read one after the other, none sees another."""
    total, count = 0.0, 0
    for row_S in rows_BS:
        logits_SV = model(input_ids=row_S[None], use_cache=False).logits[0, :-1].float()
        total += float(torch.nn.functional.cross_entropy(logits_SV, row_S[1:], reduction="sum"))
        count += row_S.numel() - 1
    return total / count
