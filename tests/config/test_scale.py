"""Scaling down: the table by hand for one preset, ratios over whole series, and validity for all."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from somelab.config import PRESETS, SCALES, Config, override, parse, preset, scaled
from somelab.errors import ConfigError

SMALLER = ["small", "mini", "micro"]
SERIES_A = ["a1", "a2", "a3", "a4", "a5", "a6"]
SERIES_B = ["a4", "b1", "b2", "b3"]


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_valid_at_every_scale_and_never_grows(name: str) -> None:
    config = preset(name).config
    assert scaled(config, "full") is config
    for scale in SMALLER:
        small = scaled(config, scale)
        assert parse(small.model_dump()) == small
        for before, after in [
            (config.model.d_model, small.model.d_model),
            (config.model.num_heads, small.model.num_heads),
            (config.model.seq_len, small.model.seq_len),
            (config.experts.num_experts, small.experts.num_experts),
            (config.experts.top_k, small.experts.top_k),
            (config.train.batch_size, small.train.batch_size),
        ]:
            assert 1 <= after <= before
        head = small.model.d_model // small.model.num_heads
        assert head % 2 == 0
        assert head >= 24 or small.model.num_heads == 1


@pytest.mark.parametrize(
    ("scale", "model", "experts", "others"),
    [
        ("small", (192, 6, 8, 384, 8192), (32, 512, 4), (200, 10_000, 1_000, 32, 4)),
        ("mini", (144, 4, 4, 256, 4096), (32, 384, 4), (100, 5_000, 500, 16, 2)),
        ("micro", (96, 2, 4, 128, 2048), (16, 256, 2), (50, 5_000, 500, 16, 1)),
    ],
)
def test_a1_by_hand(
    scale: str, model: tuple[int, ...], experts: tuple[int, ...], others: tuple[int, ...]
) -> None:
    small = scaled(preset("a1").config, scale)
    shape = small.model
    assert (shape.d_model, shape.num_layers, shape.num_heads, shape.seq_len, shape.vocab_size) == model
    assert (small.experts.num_experts, small.experts.d_ffn, small.experts.top_k) == experts
    data, train = small.data, small.train
    assert (
        small.gravity.warmup_steps,
        data.train_subset_size,
        data.val_subset_size,
        train.batch_size,
        train.epochs,
    ) == others


@pytest.mark.parametrize("scale", SMALLER)
def test_series_a_keeps_its_ratios_of_width(scale: str) -> None:
    base, base_small = preset("a1").config, scaled(preset("a1").config, scale)
    for name in SERIES_A:
        config = preset(name).config
        small = scaled(config, scale)
        assert Fraction(small.model.d_model, base_small.model.d_model) == Fraction(
            config.model.d_model, base.model.d_model
        )
        assert Fraction(small.model.d_model, config.model.d_model) == SCALES[scale].width


@pytest.mark.parametrize("scale", SMALLER)
def test_series_a_keeps_its_ratios_of_depth_to_half_a_layer(scale: str) -> None:
    depths = []
    for name in SERIES_A:
        config = preset(name).config
        small = scaled(config, scale)
        assert abs(small.model.num_layers - config.model.num_layers * SCALES[scale].depth) <= Fraction(1, 2)
        depths.append((config.model.num_layers, small.model.num_layers))
    assert [small for _, small in sorted(depths)] == sorted(small for _, small in depths)
    if scale == "mini":  # 8, 10, 12 and 16 layers all halve
        assert all(full == 2 * small for full, small in depths)


@pytest.mark.parametrize("scale", SMALLER)
def test_series_b_keeps_its_ratios_of_experts(scale: str) -> None:
    counts = [scaled(preset(name).config, scale).experts.num_experts for name in SERIES_B]
    assert [count // counts[0] for count in counts] == [1, 2, 4, 8]


def test_heads_halve_and_else_take_the_next_divisor() -> None:
    def heads(d_model: int, num_heads: int, scale: str) -> int:
        return scaled(parse({"model": {"d_model": d_model, "num_heads": num_heads}}), scale).model.num_heads

    assert heads(384, 12, "small") == 6  # 192 / 12 = 16 is too narrow, 192 / 6 = 32 is not
    assert heads(384, 12, "micro") == 3  # 96 / 3 = 32
    assert heads(512, 16, "mini") == 8  # 192 / 8 = 24
    assert heads(640, 5, "micro") == 5  # 160 / 5 = 32: as it was
    assert heads(448, 7, "micro") == 4  # 112 is too narrow for 7, 3 does not divide it, 112 / 4 = 28


def test_a_band_shrinks_with_the_entropy_that_is_possible() -> None:
    config = override(preset("a1").config, {"router.entropy_band": (0.5, 1.2)})
    assert scaled(config, "mini").router.entropy_band == (0.5, 1.2)  # K stays 4
    low, high = scaled(config, "micro").router.entropy_band or (0, 0)  # K becomes 2: ln 2 is half of ln 4
    assert low == pytest.approx(0.25)
    assert high == pytest.approx(0.6)
    ceiling = override(preset("a1").config, {"router.entropy_band": (0.5, math.log(4))})
    assert (scaled(ceiling, "micro").router.entropy_band or (0, 0))[1] <= math.log(2)


def test_what_is_not_set_stays_so_and_steps_stay() -> None:
    config = override(
        preset("a1").config, {"train.steps": 7, "data.train_subset_size": None, "train.micro_batch_size": 8}
    )
    small = scaled(config, "micro")
    assert (small.train.steps, small.train.epochs, small.data.train_subset_size) == (7, None, None)
    assert small.train.micro_batch_size == 8
    # The largest divisor of 12 up to 8.
    assert scaled(override(config, {"train.batch_size": 24}), "mini").train.micro_batch_size == 6
    dense = override(preset("dense").config, {"model.d_dense": 4096})
    assert scaled(dense, "mini").model.d_dense == 1536
    assert scaled(preset("dense").config, "mini").model.d_dense is None


def test_embeddings_of_one_by_the_root_of_the_width_stay_so() -> None:
    some = preset("some").config
    assert some.model.embedding_std == 0.0625
    assert scaled(some, "micro").model.embedding_std == 0.125
    other = override(some, {"model.embedding_std": 0.02})
    assert scaled(other, "micro").model.embedding_std == 0.02


def test_an_unknown_scale_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean mini"):
        scaled(Config(), "minni")


@given(
    d_head=st.integers(1, 40),
    num_heads=st.integers(1, 20),
    num_layers=st.integers(1, 40),
    num_experts=st.integers(1, 600),
    top_k=st.integers(1, 40),
    seq_len=st.integers(1, 2000),
    batch_size=st.integers(1, 100),
    micro=st.integers(1, 100),
    scale=st.sampled_from(SMALLER),
)
def test_any_configuration_can_be_scaled(
    d_head: int,
    num_heads: int,
    num_layers: int,
    num_experts: int,
    top_k: int,
    seq_len: int,
    batch_size: int,
    micro: int,
    scale: str,
) -> None:
    assume(top_k <= num_experts and batch_size % micro == 0)
    config = parse(
        {
            "model": {
                "d_model": d_head * num_heads,
                "num_heads": num_heads,
                "num_layers": num_layers,
                "seq_len": seq_len,
            },
            "experts": {"num_experts": num_experts, "top_k": top_k},
            "train": {"batch_size": batch_size, "micro_batch_size": micro},
        }
    )
    small = scaled(config, scale)
    assert small.model.d_model <= config.model.d_model
    assert small.model.seq_len <= config.model.seq_len
    assert min(2, top_k) <= small.experts.top_k <= min(top_k, small.experts.num_experts)
    assert small.train.batch_size % (small.train.micro_batch_size or 1) == 0
