"""Every published run, the studies that the reports propose, baselines and a demo: one function each, by
name."""

from __future__ import annotations

from collections.abc import Callable

from somelab.config.presets import (
    baselines,
    comparison,
    mvp,
    notebooks,
    recipe,
    series_a,
    series_b,
    studies,
    v2_v3,
    v5_v7,
)
from somelab.config.presets.demo import demo
from somelab.config.presets.preset import Preset, Published
from somelab.errors import ConfigError, nearest

PRESETS: dict[str, Callable[[], Preset]] = {
    "some": recipe.some,
    "some-frozen": recipe.some_frozen,
    "demo": demo,
    "mvp-v2": mvp.mvp_v2,
    "mvp-v3": mvp.mvp_v3,
    "mvp-v4": mvp.mvp_v4,
    "mvp-v5": mvp.mvp_v5,
    "mvp-v6": mvp.mvp_v6,
    "v1-notebook": notebooks.v1_notebook,
    "v2-baseline": notebooks.v2_baseline,
    "v2-speedrun": notebooks.v2_speedrun,
    "v2-pro": v2_v3.v2_pro,
    "v2-pro-k16": v2_v3.v2_pro_k16,
    "v2-pro-no-beta": v2_v3.v2_pro_no_beta,
    "v3-sanity": v2_v3.v3_sanity,
    "v3-medium": v2_v3.v3_medium,
    "v3-capacity": v2_v3.v3_capacity,
    "v3-vocabulary": v2_v3.v3_vocabulary,
    "v3-diversity": v2_v3.v3_diversity,
    "v3-depth-vs-width": v2_v3.v3_depth_vs_width,
    "v3-batch-vs-sequence": v2_v3.v3_batch_vs_sequence,
    "v3-default": v2_v3.v3_default,
    "v3-orthogonal": v2_v3.v3_orthogonal,
    "v3-sparse": v2_v3.v3_sparse,
    "v3-length-768": v2_v3.v3_length_768,
    "v3-length-1024": v2_v3.v3_length_1024,
    "v3-eight-layers": v2_v3.v3_eight_layers,
    "v3-ten-layers": v2_v3.v3_ten_layers,
    "v3-width-512": v2_v3.v3_width_512,
    "v3-width-768": v2_v3.v3_width_768,
    "v3r-v1": v2_v3.v3r_v1,
    "v3r-v2": v2_v3.v3r_v2,
    "v3r-v3": v2_v3.v3r_v3,
    "v3.5": v2_v3.v3_5,
    "a1": series_a.a1,
    "a2": series_a.a2,
    "a3": series_a.a3,
    "a4": series_a.a4,
    "a5": series_a.a5,
    "a6": series_a.a6,
    "b1": series_b.b1,
    "b2": series_b.b2,
    "b3": series_b.b3,
    "c-base": series_b.c_base,
    "c1": series_b.c1,
    "c2": series_b.c2,
    "c3": series_b.c3,
    "d1": studies.d1,
    "d2": studies.d2,
    "d3": studies.d3,
    "v5-linear": v5_v7.v5_linear,
    "v5-mlp": v5_v7.v5_mlp,
    "v6": v5_v7.v6,
    "v7": v5_v7.v7,
    "gpt2-some": comparison.gpt2_some,
    "gpt2-dense": comparison.gpt2_dense,
    "gpt2-textbooks-some": comparison.gpt2_textbooks_some,
    "gpt2-textbooks-dense": comparison.gpt2_textbooks_dense,
    "no-ffn": baselines.no_ffn,
    "dense": baselines.dense,
    "frozen-dense": baselines.frozen_dense,
    "moe": baselines.moe,
    "fixed-keys": baselines.fixed_keys,
    "gradient-keys": baselines.gradient_keys,
    "modern": baselines.modern,
}


def preset(name: str) -> Preset:
    """The preset of that name."""
    if name not in PRESETS:
        raise ConfigError("preset", name, "is not a preset", nearest(name.lower(), PRESETS))
    return PRESETS[name]()


__all__ = ["PRESETS", "Preset", "Published", "preset"]
