"""Pools born in int8: what is stored, that every engine computes the same integers, and how near the integer
products come to the fp32 pool of these integers.

Shape letters: T tokens, D model width, F hidden width, E experts, K experts per token."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

import somelab
from somelab.config import ExpertsConfig, override, preset
from somelab.core.dispatch import ENGINES, ExpertWeights
from somelab.core.dispatch.int8 import quantised
from somelab.core.experts import DenseExperts
from somelab.errors import ConfigError
from somelab.model.count import count_parameters
from tests.core.builders import random
from tests.training.builders import SMALL


def make_pool(**settings: Any) -> DenseExperts:
    usual: dict[str, Any] = {"num_experts": 6, "d_ffn": 40, "top_k": 2, "storage": "int8"}
    return DenseExperts(24, ExpertsConfig(**{**usual, **settings}), seed=1, layer=0)


def plain(pool: DenseExperts) -> ExpertWeights:
    """The fp32 pool of the same integers."""
    return pool.weights().in_type(torch.float32)


def run(
    name: str, weights: ExpertWeights, num_tokens: int = 70, dtype: torch.dtype = torch.float32
) -> list[Tensor]:
    """Outputs, gradients of tokens and gates, per-expert outputs."""
    rng = random(0)
    x_TD = torch.randn(num_tokens, 24, generator=rng).to(dtype).requires_grad_()
    indices_TK = torch.rand(num_tokens, 6, generator=rng).topk(2).indices
    gates_TK = torch.rand(num_tokens, 2, generator=rng).requires_grad_()
    outputs_TKO = torch.zeros(num_tokens, 2, weights.d_out, dtype=dtype)
    output = ENGINES[name](x_TD, indices_TK, gates_TK, weights, outputs_TKO)
    grad = torch.randn(output.shape, generator=rng).to(output.dtype)
    return [output.detach(), *torch.autograd.grad(output, (x_TD, gates_TK), grad), outputs_TKO]


def test_the_pool_is_integers_with_a_scale_per_expert_and_matrix() -> None:
    pool, exact = make_pool(), make_pool(storage="float32")
    assert pool.down_EFD.dtype == torch.int8
    assert pool.up_EDF is not None
    assert exact.up_EDF is not None
    assert pool.down_EFD.abs().amax(dim=(1, 2)).tolist() == [127] * 6
    weights = plain(pool)
    assert weights.up_EDF is not None
    for rounded, drawn in ((weights.down_EFD, exact.down_EFD), (weights.up_EDF, exact.up_EDF)):
        step_E = drawn.abs().amax(dim=(1, 2)) / 127
        assert ((rounded - drawn).abs() <= step_E[:, None, None] * 0.5001).all()
    assert pool.is_frozen
    assert pool.digest() == make_pool().digest() != exact.digest()


@pytest.mark.parametrize("trainability", ["frozen", "readout"])
@pytest.mark.parametrize("name", ["reference", "grouped", "grouped_mm", "frozen", "native", "auto"])
def test_engines_in_fp32_compute_the_pool_of_these_integers(
    name: str, trainability: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # `auto` multiplies integers where the processor can; the test below covers that engine.
    monkeypatch.setattr("somelab.core.dispatch.choice.multiplies_int8", lambda: False)
    pool = make_pool(trainability=trainability)
    for got, wanted in zip(run(name, pool.weights()), run("reference", plain(pool))):
        torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("trainability", ["frozen", "readout"])
@pytest.mark.parametrize("num_tokens", [1, 7, 130])
def test_integer_products_are_near_the_fp32_pool_of_these_integers(
    num_tokens: int, trainability: str
) -> None:
    pool = make_pool(trainability=trainability)
    wanted = run("reference", plain(pool), num_tokens)
    for got, right in zip(run("int8", pool.weights(), num_tokens), wanted):
        assert got.shape == right.shape
        assert float((got - right).norm() / right.norm()) < 0.02
        assert float(F.cosine_similarity(got.flatten(), right.flatten(), dim=0)) > 0.9998


def test_where_rows_are_integers_already_the_first_product_is_exact() -> None:
    pool = make_pool(trainability="readout")
    x_TD = torch.randint(-127, 128, (9, 24), generator=random(0)).float()
    x_TD[:, 0] = 127
    indices_TK, gates_TK = torch.arange(9)[:, None] % 6, torch.ones(9, 1)
    got = ENGINES["int8"](x_TD, indices_TK, gates_TK, pool.weights())
    torch.testing.assert_close(got, ENGINES["reference"](x_TD, indices_TK, gates_TK, plain(pool)))


def test_rows_are_rounded_by_their_own_scale() -> None:
    x_NW = torch.tensor([[127.0, -3.4, 0.0], [0.0, 0.0, 0.0], [-2.54, 1.27, 0.02]])
    integers, scale_N = quantised(x_NW)
    assert integers.tolist() == [[127, -3, 0], [0, 0, 0], [-127, 64, 1]]
    torch.testing.assert_close(scale_N, torch.tensor([1.0, 0.0, 0.02]))


def test_bf16_tokens() -> None:
    pool = make_pool()
    got, wanted = run("int8", pool.weights(), dtype=torch.bfloat16), run("reference", plain(pool))
    assert got[0].dtype == torch.bfloat16
    for value, right in zip(got, wanted):
        assert float(F.cosine_similarity(value.float().flatten(), right.flatten(), dim=0)) > 0.999


def test_no_tokens_and_no_graph() -> None:
    weights = make_pool().weights()
    assert [tuple(result.shape) for result in run("int8", weights, 0)] == [
        (0, 24),
        (0, 24),
        (0, 2),
        (0, 2, 24),
    ]
    with torch.no_grad():
        arguments = (torch.ones(3, 24), torch.zeros(3, 1, dtype=torch.int64), torch.ones(3, 1))
        assert ENGINES["int8"](*arguments, weights).abs().sum() > 0


def test_it_is_refused_where_there_are_no_integers() -> None:
    with pytest.raises(ConfigError, match=r"experts\.engine = 'int8': .*set experts\.storage to int8"):
        run("int8", make_pool(storage="float32").weights())
    with pytest.raises(ConfigError, match=r"experts\.engine = 'int8': .*choose auto or grouped"):
        run("int8", make_pool(trainability="gains").weights())


def test_bytes_are_counted_and_b3_takes_a_byte_per_parameter() -> None:
    config = override(preset("b3").config, {"experts.storage": "int8"})
    counted, floats = count_parameters(config), count_parameters(preset("b3").config)
    scales = 2 * config.model.num_layers * config.experts.num_experts
    assert (counted.total, counted.frozen) == (floats.total, floats.frozen)
    assert counted.trainable == floats.trainable
    assert counted.bytes == floats.bytes - 3 * floats.frozen + 4 * scales
    assert 5.0e9 < counted.bytes < 5.8e9


def test_a_model_trains_and_its_checkpoint_has_no_integer(text: Path, tmp_path: Path) -> None:
    from safetensors import safe_open

    settings = {
        **SMALL,
        "experts.family": "dense",
        "experts.storage": "int8",
        "experts.engine": "int8",
        "gravity.credit": 0.1,
    }
    trained = somelab.train("demo", data=text, out=tmp_path / "run", settings=settings)
    with safe_open(tmp_path / "run" / "checkpoints" / "last" / "model.safetensors", "pt") as file:
        assert not [name for name in file.keys() if "_EFD" in name or "scale_E" in name]  # noqa: SIM118
    again = somelab.load(tmp_path / "run")
    assert again.layers[0].experts.digest() == trained.layers[0].experts.digest()
    assert again.generate("the", max_new_tokens=4) == trained.generate("the", max_new_tokens=4)
