"""Keys, usage and statistics are fp32, always: a model cast to bf16 takes them along to its device, not to its type."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor


def device_only(move: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """What `Module.to`, `.bfloat16()` and the like would do to a tensor, less the change of type."""

    def moved(tensor: Tensor) -> Tensor:
        if tensor.is_meta:  # to_empty(): there is nothing to keep
            return move(tensor)
        return tensor.to(move(tensor.new_empty(0)).device)

    return moved
