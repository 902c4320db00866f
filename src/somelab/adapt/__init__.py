"""Reading while addresses move and no gradient flows: adaptive evaluation, domain shift, continual learning, serving.
The experts never change here; whatever else moves is bounded, and goes back to the bit."""

from somelab.adapt.mode import Adaptation, adapting
from somelab.adapt.score import Score
from somelab.adapt.settings import AdaptationSettings

__all__ = ["Adaptation", "AdaptationSettings", "Score", "adapting"]
