"""What a learner adds to its base: parameters that were not there, and bytes that have to be stored after the
stream. Tensors are compared by content, so that a module may move to another place in the model."""

from __future__ import annotations

import hashlib

import torch
from torch import nn

Content = tuple[str, tuple[int, ...], bytes]


def contents(model: nn.Module) -> set[Content]:
    """The tensors of a model: type, shape and a digest of the values."""
    return {_content(tensor) for tensor in model.state_dict().values()}


def added(before: set[Content], num_before: int, model: nn.Module) -> tuple[int, int]:
    """Parameters more than the base has, and bytes of all tensors that the base does not have, since those
    have to be stored: new ones and changed ones."""
    tensors = {_content(tensor): tensor for tensor in model.state_dict().values()}
    num_bytes = sum(
        tensor.numel() * tensor.element_size() for content, tensor in tensors.items() if content not in before
    )
    return num_parameters(model) - num_before, num_bytes


def num_parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def _content(tensor: torch.Tensor) -> Content:
    values = tensor.detach().cpu().contiguous()
    data = values.view(torch.uint8) if values.dim() else values.reshape(1).view(torch.uint8)
    digest = hashlib.blake2b(data.numpy().tobytes(), digest_size=16).digest()
    return str(tensor.dtype), tuple(tensor.shape), digest
