"""Growth of a run: a generation of experts is trained on new text, frozen, and stored beside the run's
checkpoints."""

from somelab.adapt.growth.process import Grown, GrowthPlan, grow

__all__ = ["Grown", "GrowthPlan", "grow"]
