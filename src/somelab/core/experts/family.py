"""What a family of experts has to provide, so that routing, rules, counting, checkpoints and benchmarks work
with it. A family is one file and one line in `experts/__init__.py`; a subclass outside the package registers
itself by its name.

Shape letters: T tokens, D model width, O width of an expert's output, E experts, K experts per token."""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from somelab.core.dispatch.weights import compute_dtype
from somelab.errors import ConfigError, nearest

if TYPE_CHECKING:
    from somelab.config import ExpertsConfig

FAMILIES: dict[str, type[ExpertFamily]] = {}
"""Every family by the name that `experts.family` gives it."""


class Origin(NamedTuple):
    """What determines the drawn weights of a pool. A checkpoint stores this in their place, under the key
    "recipe"."""

    seed: int
    layer: int
    init: str
    num_experts: int
    d_model: int
    d_ffn: int
    storage: str
    family: str = "dense"


class ExpertFamily(nn.Module, ABC):
    """A pool of E experts of one kind, whose weights are a function of a seed. Subclasses define a name and
    four methods.

        class Diagonal(ExpertFamily, name="diagonal"): ...

    Each expert is drawn from a generator of its own, so that a pool has the same bits whether it is made
    whole, in blocks, or one shard per rank."""

    name: ClassVar[str]
    engines: ClassVar[Sequence[str]] = ("auto",)
    """Values of `experts.engine` that can compute it."""
    retains_outputs: ClassVar[bool] = True
    """Whether per-expert outputs are kept until credit needs them. False where `recomputed_alignment` is
    cheap."""

    def __init_subclass__(cls, *, name: str, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.name = name
        FAMILIES[name] = cls

    def __init__(self, d_model: int, config: ExpertsConfig, *, seed: int, layer: int) -> None:
        super().__init__()
        self.config = config
        sizes = (config.num_experts, d_model, config.d_ffn, config.storage)
        self.origin = Origin(seed, layer, config.init, *sizes, self.name)
        if config.engine not in self.engines:
            problem = f"cannot compute experts of family {self.name}"
            raise ConfigError(
                "experts.engine", config.engine, problem, f"choose among {', '.join(self.engines)}"
            )

    @abstractmethod
    def drawn_weights(self) -> Iterator[tuple[str, Tensor]]:
        """The tensors that `origin` determines, [E, ...] each. A checkpoint leaves them out if they are
        frozen."""

    @abstractmethod
    def draw_one_(self, expert: int) -> None:
        """Draw the weights of one expert from `generator(seed, "expert", layer, expert)`."""

    @abstractmethod
    def forward(
        self, x_TD: Tensor, indices_TK: Tensor, gates_TK: Tensor, outputs_TKO: Tensor | None = None
    ) -> Tensor:
        """sum_k g_k expert_k(x), [T, D]. No token is dropped at any skew.

        `outputs_TKO`: `empty_outputs`, to be filled with the per-expert outputs, without gradient; credit
        needs them."""

    @abstractmethod
    def num_products(self) -> int:
        """Multiply-adds of a token's K experts."""

    def reset_trained_(self) -> None:
        """Initialise what is trained beside the drawn weights."""

    def reset_(self) -> None:
        """Draw the pool and initialise what is trained. Does nothing on the meta device."""
        if any(weight.is_meta for weight in self.parameters()):
            return
        self.draw_(range(self.origin.num_experts))
        with torch.no_grad():
            self.reset_trained_()

    def _apply(self, fn: Any, recurse: bool = True) -> ExpertFamily:
        was_empty = any(weight.is_meta for weight in self.parameters())
        super()._apply(fn, recurse)
        if was_empty:
            self.reset_()  # `to_empty` leaves garbage; the pool is a function of its seed
        return self

    def draw_(self, experts: range) -> None:
        """Draw a block of experts. In parallel threads: experts are independent of each other.

        Each uses one torch thread, since the last bits of a QR decomposition depend on the number of
        threads."""
        num_threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with ThreadPoolExecutor(max_workers=os.cpu_count()) as workers:
                list(workers.map(self.draw_one_, experts))
        finally:
            torch.set_num_threads(num_threads)

    @property
    def is_frozen(self) -> bool:
        """Whether the drawn weights are never trained, so that `origin` is enough to redraw them."""
        return not any(weight.requires_grad for _, weight in self.drawn_weights())

    def digest(self) -> str:
        """Fingerprint of the drawn weights' bits: a hash over one hash per expert, taken in threads."""

        def of(expert: int) -> bytes:
            state = hashlib.blake2b(digest_size=16)
            for _, weight in self.drawn_weights():
                rows = weight[expert : expert + 1].detach().cpu().contiguous()
                state.update(rows.view(torch.uint8).numpy().data)
            return state.digest()

        with ThreadPoolExecutor(max_workers=os.cpu_count()) as workers:
            parts = workers.map(of, range(self.origin.num_experts))
            return hashlib.blake2b(b"".join(parts), digest_size=16).hexdigest()

    def num_active(self) -> int:
        """Parameters that one token uses: those of a pool with K experts, so that shared parts count once."""
        selected = self.config.model_copy(update={"num_experts": self.config.top_k})
        with torch.device("meta"):
            pool = type(self)(self.origin.d_model, selected, seed=self.origin.seed, layer=self.origin.layer)
        return sum(weight.numel() for weight in pool.parameters())

    def output_width(self) -> int:
        """O: the width of an expert's output."""
        return self.origin.d_model

    def empty_outputs(self, x_TD: Tensor, indices_TK: Tensor) -> Tensor:
        """[T, K, O] memory for per-expert outputs."""
        return torch.empty(
            *indices_TK.shape, self.output_width(), dtype=compute_dtype(x_TD), device=x_TD.device
        )

    def alignment(self, outputs_TKO: Tensor, wanted_TD: Tensor) -> Tensor:
        """[T, K] <expert_k(x), wanted>: how far each expert's output points in the wanted direction."""
        return (outputs_TKO * wanted_TD[:, None]).sum(dim=2, dtype=torch.float32)

    def recomputed_alignment(self, x_TD: Tensor, indices_TK: Tensor, wanted_TD: Tensor) -> Tensor:
        """The same where no outputs were retained: from the input of the experts."""
        outputs_TKO = self.empty_outputs(x_TD, indices_TK)
        gates_TK = torch.zeros(indices_TK.shape, device=x_TD.device)  # outputs do not depend on gates
        self(x_TD, indices_TK, gates_TK, outputs_TKO)
        return self.alignment(outputs_TKO, wanted_TD)

    def extra_repr(self) -> str:
        return f"{self.origin}, trainability={self.config.trainability}"


def build_experts(d_model: int, config: ExpertsConfig, *, seed: int, layer: int) -> ExpertFamily:
    """The pool that `experts.family` names."""
    if config.family not in FAMILIES:
        raise ConfigError(
            "experts.family", config.family, "is no family of experts", nearest(config.family, FAMILIES)
        )
    return FAMILIES[config.family](d_model, config, seed=seed, layer=layer)


def frozen_pools(model: nn.Module) -> dict[str, ExpertFamily]:
    """The pools of a model by name whose weights `origin` determines."""
    pools = {name: module for name, module in model.named_modules() if isinstance(module, ExpertFamily)}
    return {name: pool for name, pool in pools.items() if pool.is_frozen}
