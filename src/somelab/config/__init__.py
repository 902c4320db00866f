"""The typed tree of settings, its files, presets and scales. No torch here: `somelab --help` stays fast."""

from somelab.config.data import DataConfig
from somelab.config.experts import ExpertsConfig
from somelab.config.files import digest, digest_of_changes, from_yaml, override, parse, to_yaml
from somelab.config.gravity import GravityConfig
from somelab.config.model import ModelConfig
from somelab.config.presets import PRESETS, Preset, Published, preset
from somelab.config.router import RouterConfig
from somelab.config.scale import SCALES, ScaleName, scaled
from somelab.config.train import TrainConfig
from somelab.config.tree import Config
from somelab.config.versions import VERSIONS, version_settings

__all__ = [
    "PRESETS",
    "SCALES",
    "VERSIONS",
    "Config",
    "DataConfig",
    "ExpertsConfig",
    "GravityConfig",
    "ModelConfig",
    "Preset",
    "Published",
    "RouterConfig",
    "ScaleName",
    "TrainConfig",
    "digest",
    "digest_of_changes",
    "from_yaml",
    "override",
    "parse",
    "preset",
    "scaled",
    "to_yaml",
    "version_settings",
]
