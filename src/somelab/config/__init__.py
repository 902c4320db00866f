"""The typed tree of settings, its files, presets and scales. No torch here: `somelab --help` stays fast."""

from somelab.config.data import DataConfig
from somelab.config.experts import ExpertsConfig
from somelab.config.gravity import GravityConfig
from somelab.config.model import ModelConfig
from somelab.config.router import RouterConfig
from somelab.config.train import TrainConfig
from somelab.config.tree import Config

__all__ = ["Config", "DataConfig", "ExpertsConfig", "GravityConfig", "ModelConfig", "RouterConfig", "TrainConfig"]
