"""The pools: E small networks whose weights are a function of a random seed. One file per family; a new one
is a line here."""

from somelab.core.experts.dense import DenseExperts
from somelab.core.experts.family import FAMILIES, ExpertFamily, Origin, build_experts, frozen_pools
from somelab.core.experts.hadamard import HadamardExperts, ModulatedExperts

__all__ = [
    "FAMILIES",
    "DenseExperts",
    "ExpertFamily",
    "HadamardExperts",
    "ModulatedExperts",
    "Origin",
    "build_experts",
    "frozen_pools",
]
