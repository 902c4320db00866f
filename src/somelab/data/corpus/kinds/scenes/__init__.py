"""The scenes of the dialogues."""

from somelab.data.corpus.kinds.scenes.asking import ASKING
from somelab.data.corpus.kinds.scenes.buying import BUYING
from somelab.data.corpus.kinds.scenes.friends import FRIENDS
from somelab.data.corpus.kinds.scenes.scene import Scene

SCENES = (*BUYING, *ASKING, *FRIENDS)

__all__ = ["SCENES", "Scene"]
