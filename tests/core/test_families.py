"""A family of experts of one's own: one class, and routing, credit, counting, checkpoints and training work
with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import somelab
from somelab.config import ExpertsConfig, override
from somelab.core.experts import FAMILIES, ExpertFamily, build_experts
from somelab.core.seeding import generator
from somelab.errors import ConfigError
from somelab.model.count import count_parameters
from tests.training.builders import SMALL


class Diagonal(ExpertFamily, name="diagonal"):
    """expert(x) = out * gelu(in * x): two vectors an expert."""

    def __init__(self, d_model: int, config: ExpertsConfig, *, seed: int, layer: int) -> None:
        super().__init__(d_model, config, seed=seed, layer=layer)
        self.in_ED, self.out_ED = (
            nn.Parameter(torch.empty(config.num_experts, d_model), requires_grad=False) for _ in range(2)
        )
        self.reset_()

    def drawn_weights(self) -> Iterator[tuple[str, nn.Parameter]]:
        yield from (("in_ED", self.in_ED), ("out_ED", self.out_ED))

    @torch.no_grad()
    def draw_one_(self, expert: int) -> None:
        rng = generator(self.origin.seed, "expert", self.origin.layer, expert)
        for _, weight in self.drawn_weights():
            weight[expert].copy_(torch.randn(self.origin.d_model, generator=rng))

    def forward(
        self, x_TD: Tensor, indices_TK: Tensor, gates_TK: Tensor, outputs_TKO: Tensor | None = None
    ) -> Tensor:
        each_TKD = self.out_ED[indices_TK] * F.gelu(self.in_ED[indices_TK] * x_TD[:, None])
        if outputs_TKO is not None:
            outputs_TKO.copy_(each_TKD.detach())
        return (each_TKD * gates_TK[:, :, None]).sum(dim=1)

    def num_products(self) -> int:
        return 2 * self.config.top_k * self.origin.d_model


@pytest.fixture(autouse=True, scope="module")
def registered() -> Iterator[None]:
    yield
    del FAMILIES["diagonal"]


def test_it_routes_and_earns_credit() -> None:
    layer = somelab.SomeLayer(16, {"family": "diagonal", "num_experts": 8, "top_k": 2})
    assert isinstance(layer.experts, Diagonal)
    layer(torch.randn(20, 16, generator=torch.Generator().manual_seed(0))).square().sum().backward()
    assert float(layer.statistics.credit_ED.norm()) > 0
    report = layer.apply_gravity_()
    assert report is not None
    assert report.mean_drift > 0


def test_it_is_counted() -> None:
    config = override(somelab.Config(), {**SMALL, "experts.family": "diagonal"})
    dense, diagonal = (
        count_parameters(override(config, {"experts.family": "dense"})),
        count_parameters(config),
    )
    d_model, num_experts, num_layers = 32, 8, 2
    assert diagonal.frozen == num_layers * num_experts * 2 * d_model
    assert diagonal.trainable == dense.trainable
    assert diagonal.total - diagonal.active == num_layers * (num_experts - 2) * 2 * d_model
    top_k, d_ffn = 2, 32
    assert dense.flops_per_token - diagonal.flops_per_token == 2 * num_layers * top_k * 2 * d_model * (
        d_ffn - 1
    )


def test_it_trains_and_its_checkpoint_has_the_seed_alone(text: Path, tmp_path: Path) -> None:
    settings = {**SMALL, "experts.family": "diagonal", "gravity.credit": 0.1}
    trained = somelab.train("demo", data=text, out=tmp_path / "run", settings=settings)
    from safetensors import safe_open

    stored = tmp_path / "run" / "checkpoints" / "last" / "model.safetensors"
    with safe_open(stored, "pt") as file:
        assert not [name for name in file.keys() if "in_ED" in name or "out_ED" in name]  # noqa: SIM118
    again = somelab.load(tmp_path / "run")
    assert again.layers[0].experts.digest() == trained.layers[0].experts.digest()
    assert again.generate("the", max_new_tokens=4) == trained.generate("the", max_new_tokens=4)


def test_a_pool_is_the_same_whole_or_in_parts() -> None:
    config = ExpertsConfig(family="diagonal", num_experts=8, top_k=2)
    whole = build_experts(16, config, seed=1, layer=0)
    with torch.device("meta"):
        parts = build_experts(16, config, seed=1, layer=0)
    parts.to_empty(device="cpu")
    assert parts.digest() == whole.digest()


def test_what_is_not_there_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"experts\.family = 'diagnal': is no family of experts; did you mean diagonal\?"
    ):
        somelab.SomeLayer(16, {"family": "diagnal"})
    with pytest.raises(
        ConfigError, match=r"experts\.engine = 'native': cannot compute experts of family diagonal"
    ):
        somelab.SomeLayer(16, {"family": "diagonal", "engine": "native"})


def test_a_family_that_lacks_a_method_is_refused() -> None:
    empty: Any = type("Empty", (ExpertFamily,), {}, name="empty")
    try:
        with pytest.raises(TypeError, match="abstract"):
            empty(16, ExpertsConfig(), seed=0, layer=0)
    finally:
        del FAMILIES["empty"]
