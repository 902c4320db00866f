"""The pool: how many experts, how they are drawn, and which part of them is trained (by default none)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from somelab.config.base import Group, Positive, Size, at_most, refuse

Pool = Annotated[int, Field(ge=1), at_most(2**20)]
Init = Literal["default", "orthogonal", "sparse", "unit"]
Trainability = Literal["frozen", "gains", "readout", "lora", "full"]
Engine = Literal["auto", "reference", "grouped", "grouped_mm", "frozen", "native", "int8"]


TRANSFORMS = ("hadamard", "modulated")
"""Families whose experts are blocks of a Walsh-Hadamard transform."""


def transform_width(d_model: int) -> int:
    """The width of a transform, and of a block of hidden units: the model's to the next power of two."""
    return 1 << (d_model - 1).bit_length()


class ExpertsConfig(Group):
    num_experts: Pool = 64
    """Experts in each layer's pool (E)."""
    d_ffn: Size = 1024
    """Hidden width of one expert (F)."""
    top_k: Pool = 4
    """Experts selected per token (K)."""
    family: str = "dense"
    """The kind of experts. dense: W_up gelu(W_down x); hadamard: random signs and a Walsh-Hadamard transform
    in place of both matrices, with `experts.mixer`; modulated: the same units for all experts of a layer,
    each expert a random half of them; others may be added (`somelab.ExpertFamily`)."""
    init: Init = "default"
    """default: as nn.Linear; orthogonal; sparse: half of each column zero, the rest N(0, 0.01); unit: an
    expert's output for a unit-rms token has rms 1."""
    trainability: Trainability = "frozen"
    """frozen | gains: a factor per hidden unit | readout: one trained up-projection shared by the layer |
    lora | full."""
    lora_rank: Size = 4
    """Rank of both low-rank updates of an expert, with trainability lora."""
    reads: Literal["token", "query"] = "token"
    """The input of the experts: the token's state, or the query scaled to rms 1. With query, the query
    network that selects experts also computes their input: a trained input projection in front of frozen
    experts."""
    mixer: bool = False
    """A trained D x D matrix on the layer's mixture, shared by all of its experts: a trained output
    projection behind frozen experts."""
    output_gain: Positive = 1.0
    """Factor on the layer's mixture before the residual sum."""
    train_output_gain: bool = False
    """Train that factor, one per layer."""
    storage: Literal["float32", "bfloat16", "int8"] = "float32"
    """Storage type of frozen weights, which are rounded once, when they are drawn. bfloat16 halves memory;
    int8 quarters it: integers from -127 to 127 and one scale per expert and matrix."""
    engine: Engine = "auto"
    """The dispatch engine that computes the experts. auto: the fastest on this machine. frozen and native
    (frozen with compiled kernels): only where no expert is trained. int8: integer products, with storage int8
    alone; tokens and gradients are rounded to 7 or 8 bits per row on the way."""

    @model_validator(mode="after")
    def _enough_experts(self) -> ExpertsConfig:
        if self.top_k > self.num_experts:
            refuse(
                "top_k",
                self.top_k,
                f"is more than num_experts = {self.num_experts}",
                f"choose a top_k from 1 to {self.num_experts}",
            )
        return self
