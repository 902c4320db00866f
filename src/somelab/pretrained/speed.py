"""How fast a carved model generates beside the one it was cut from: one token at a time, in turns, so that
both meet the same load of the machine."""

from __future__ import annotations

import statistics
import time
from typing import Any

import torch
from torch import Tensor


@torch.no_grad()
def tokens_per_second(
    models: dict[str, Any], prompt_S: Tensor, *, num_tokens: int = 24, num_turns: int = 5
) -> dict[str, dict[str, float]]:
    """Tokens per second of greedy decoding with a cache: median and best of the turns, for each model."""
    seconds: dict[str, list[float]] = {name: [] for name in models}
    for turn in range(num_turns + 1):
        for name, model in models.items():
            taken = _seconds(model, prompt_S, num_tokens)
            if turn:  # the first turn fills caches and compiles kernels
                seconds[name].append(taken)
    return {
        name: {"median": num_tokens / statistics.median(all_of), "best": num_tokens / min(all_of)}
        for name, all_of in seconds.items()
    }


def _seconds(model: Any, prompt_S: Tensor, num_tokens: int) -> float:
    """Without the prompt, whose tokens are read at once."""
    made = model(input_ids=prompt_S[None], use_cache=True, logits_to_keep=1)
    cache, token = made.past_key_values, made.logits[:, -1:].argmax(dim=-1)
    start = time.perf_counter()
    for _ in range(num_tokens):
        made = model(input_ids=token, past_key_values=cache, use_cache=True)
        cache, token = made.past_key_values, made.logits[:, -1:].argmax(dim=-1)
    return time.perf_counter() - start
