"""Matching initialisers: the gain at which their outputs have equal rms.

Shape letters: T tokens, D model width, K experts per token."""

from __future__ import annotations

from functools import lru_cache

from somelab.config import Config

TOKENS = 512


def matched_gain(config: Config, init: str) -> float:
    """The output_gain at which the outputs of another initialiser have the rms of this configuration's own.

    To three digits: the value is part of the configuration and must not depend on rounding."""
    ratio = _output_rms(config, config.experts.init) / _output_rms(config, init)
    return float(f"{config.experts.output_gain * ratio:.3g}")


def _output_rms(config: Config, init: str) -> float:
    experts = config.experts
    return _measured_rms(config.model.d_model, experts.d_ffn, experts.top_k, init)


@lru_cache
def _measured_rms(d_model: int, d_ffn: int, top_k: int, init: str) -> float:
    """Root mean square of the mean output of K experts for tokens of rms 1."""
    import torch

    from somelab.config import ExpertsConfig
    from somelab.core.experts import build_experts

    config = ExpertsConfig.model_validate(
        {"num_experts": top_k, "top_k": top_k, "d_ffn": d_ffn, "init": init}
    )
    pool = build_experts(d_model, config, seed=0, layer=0)
    x_TD = torch.randn(TOKENS, d_model, generator=torch.Generator().manual_seed(0))
    indices_TK = torch.arange(top_k).expand(TOKENS, top_k).contiguous()
    gates_TK = torch.full((TOKENS, top_k), 1 / top_k)
    with torch.no_grad():
        return float(pool(x_TD, indices_TK, gates_TK).square().mean().sqrt())
