"""The learners by name: what each may change, and how."""

from somelab.adapt.continual.adapters import Adapters
from somelab.adapt.continual.base import Learner
from somelab.adapt.continual.dense import Consolidation, Dense, Joint, Replay
from somelab.adapt.continual.growing import Growing
from somelab.adapt.continual.some import KeysAndMemory, KeysAndQuery, KeysOnly
from somelab.adapt.continual.superposition import Superposition

LEARNERS: dict[str, type[Learner]] = {
    "some-keys": KeysOnly,
    "some-memory": KeysAndMemory,
    "some-keys+query": KeysAndQuery,
    "some-all": Learner,
    "some-grow": Growing,
    "dense": Dense,
    "dense-ewc": Consolidation,
    "dense-superposition": Superposition,
    "dense-replay": Replay,
    "dense-adapters": Adapters,
    "joint": Joint,
}

__all__ = ["LEARNERS", "Consolidation", "Joint", "Learner", "Replay"]
