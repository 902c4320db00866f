"""Keys, usage and statistics stay fp32: casting a model to bf16 changes their device, not their type."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor


def device_only(move: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """What `Module.to`, `.bfloat16()` and the like do to a tensor, without the change of type."""

    def moved(tensor: Tensor) -> Tensor:
        if tensor.is_meta:  # to_empty(): there is nothing to keep
            return move(tensor)
        return tensor.to(move(tensor.new_empty(0)).device)

    return moved
