"""The version map, held against the table that defines it, line by line."""

from __future__ import annotations

import pytest

from somelab.config import VERSIONS, parse, version_settings
from somelab.config.presets.preset import nested
from somelab.errors import ConfigError

# scoring, usage, pair inertia, norm, respawn threshold (None: off), router, padding in the loss
TABLE = {
    "v1": ("dot", "cumulative", "min", "unit", None, "linear", True),
    "v2": ("cosine", "ema", "min", "unit", None, "linear", True),
    "v3": ("cosine", "ema", "min", "unit", None, "linear", True),
    "v3.5": ("cosine", "ema", "min", "none", 0.1, "linear", True),
    "v4": ("cosine", "ema", "min", "unit", None, "mlp", True),
    "v5": ("cosine", "ema", "max", "unit", None, "linear", False),
    "v6": ("cosine", "ema", "max", "unit_used", 0.1, "mlp", False),
    "v7": ("cosine", "ema", "max", "clamp", 0.1, "mlp", False),
}


@pytest.mark.parametrize("version", TABLE)
def test_a_version_is_its_line_of_the_table(version: str) -> None:
    config = parse(nested(version_settings(version)))
    router, gravity = config.router, config.gravity
    respawn = gravity.respawn_threshold if gravity.respawn else None
    line = (
        router.scoring,
        gravity.usage,
        gravity.inertia,
        gravity.norm,
        respawn,
        router.kind,
        config.data.padding_in_loss,
    )
    assert line == TABLE[version]
    assert gravity.count_padding == config.data.padding_in_loss
    assert config.data.layout == "pad"
    assert router.kind != "mlp" or router.width == 2


def test_what_only_some_versions_set() -> None:
    assert VERSIONS["v1"]["gravity.theta"] == 200
    assert VERSIONS["v7"]["gravity.delta"] == 0.005
    assert set(VERSIONS) == set(TABLE)


def test_the_map_cannot_be_changed_through_a_copy() -> None:
    version_settings("v4")["router.kind"] = "none"
    assert VERSIONS["v4"]["router.kind"] == "mlp"
    with pytest.raises(ConfigError, match="did you mean v7"):
        version_settings("V7")
