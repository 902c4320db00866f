"""How far keys are from their checkpoint values: angles in degrees, and lengths.

Shape letters: D model width, E experts."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


def angles(keys_ED: Tensor, home_ED: Tensor) -> Tensor:
    """The angle of each key to its place in the checkpoint, in radians. By half-sums, since arccos is
    inaccurate for small angles."""
    first_ED, second_ED = F.normalize(keys_ED.double(), dim=1), F.normalize(home_ED.double(), dim=1)
    return 2 * torch.atan2((first_ED - second_ED).norm(dim=1), (first_ED + second_ED).norm(dim=1))


def movement(pairs: list[tuple[Tensor, Tensor]]) -> dict[str, Any]:
    """Mean and largest angle over all layers' (keys, home), per layer too, and the longest and shortest
    key."""
    if not pairs:
        return {"mean_angle": 0.0, "max_angle": 0.0, "layers": []}
    degrees = [angles(keys_ED, home_ED) * (180 / math.pi) for keys_ED, home_ED in pairs]
    lengths = torch.cat([keys_ED.norm(dim=1) for keys_ED, _ in pairs])
    return {
        "mean_angle": float(torch.cat(degrees).mean()),
        "max_angle": float(torch.cat(degrees).max()),
        "longest_key": float(lengths.max()),
        "shortest_key": float(lengths.min()),
        "layers": [{"mean_angle": float(layer.mean()), "max_angle": float(layer.max())} for layer in degrees],
    }
