"""Settings shared by all benchmarks: shapes, number type, repetitions.

Shape letters: D model width, F expert hidden width, E experts, K experts per token, T tokens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import torch

from somelab.config import Config, override, preset, scaled
from somelab.training.machine.precision import autocast, resolve

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Shape:
    """The size of one layer and of its input."""

    d_model: int = 512
    d_ffn: int = 1024
    num_experts: int = 64
    top_k: int = 4
    num_tokens: int = 8192

    @property
    def frozen_flops(self) -> int:
        """Floating-point operations of the products that a frozen pass cannot do without, forward and
        backward.

        Forward has two products of T*K rows with D x F, backward two more (no gradient of a weight): 4 x
        2*T*K*D*F."""
        return 4 * self.product_flops

    @property
    def product_flops(self) -> int:
        return 2 * self.num_tokens * self.top_k * self.d_model * self.d_ffn

    @property
    def active_parameters(self) -> int:
        """Weights of the matrices that one token uses."""
        return 2 * self.top_k * self.d_model * self.d_ffn


QUICK_SHAPE = Shape(64, 96, 8, 2, 256)
QUICK_BATCH: dict[str, Any] = {"model.seq_len": 32, "train.batch_size": 4, "train.micro_batch_size": None}


@dataclass(frozen=True)
class Settings:
    """The flags of `somelab bench`, resolved."""

    preset: str | None = None
    dtype: str = "auto"
    repetitions: int | None = None
    quick: bool = False
    big: bool = False
    data: str | None = None
    family: str = "all"
    """Of the experts that `scaling` measures: dense, int8, hadamard, all."""
    announce: Callable[[str], None] = lambda doing: None
    """Called with what is being measured."""

    @property
    def compute(self) -> torch.dtype:
        """The type that matrices are multiplied in. auto: bf16 where the hardware multiplies it natively,
        else fp32."""
        return resolve(self.dtype, CPU)

    @property
    def compute_name(self) -> str:
        return "bf16" if self.compute == torch.bfloat16 else "fp32"

    @property
    def storage(self) -> Literal["float32", "bfloat16"]:
        """Storage type of frozen weights where a layer alone is measured: that of the products."""
        return "bfloat16" if self.compute == torch.bfloat16 else "float32"

    def shape(self) -> Shape:
        """One layer's: the default, or the preset's with as many tokens."""
        if self.preset is None:
            return QUICK_SHAPE if self.quick else Shape()
        config, tokens = (
            self.config(self.preset),
            QUICK_SHAPE.num_tokens if self.quick else Shape().num_tokens,
        )
        experts = config.experts
        return Shape(config.model.d_model, experts.d_ffn, experts.num_experts, experts.top_k, tokens)

    def config(self, default: str) -> Config:
        """A whole model's: the preset's, or that of `default`; tiny in a quick run."""
        config = preset(self.preset or default).config
        config = override(config, {"train.precision": self.compute_name})
        return override(scaled(config, "micro"), QUICK_BATCH) if self.quick else config

    def name(self, default: str) -> str:
        """The preset's name, for tables."""
        return f"{self.preset or default}{' --scale micro' if self.quick else ''}"

    def times(self, usual: int) -> int:
        """Repetitions: as given, else the benchmark's default; two in a quick run."""
        return self.repetitions or (2 if self.quick else usual)

    def autocast(self) -> Any:
        return autocast(self.compute, CPU)

    def record(self, **more: Any) -> dict[str, Any]:
        """The settings needed to repeat it."""
        return {"dtype": self.compute_name, "quick": self.quick, "threads": torch.get_num_threads(), **more}


def shape_record(shape: Shape) -> dict[str, int]:
    return asdict(shape)
