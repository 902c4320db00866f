"""Test-time adaptation of the keys, without gradients: adaptive evaluation, domain shift, continual learning.
The experts never change; every other change is bounded and restored bit for bit."""

from somelab.adapt.reading.mode import Adaptation, adapting
from somelab.adapt.reading.score import Score
from somelab.adapt.settings import AdaptationSettings

__all__ = ["Adaptation", "AdaptationSettings", "Score", "adapting"]
