"""somelab: a library, a command and a visual lab for SoME, the self-organizing mixture of experts.

    SomeLayer         a feed-forward layer of frozen experts, Tensor -> Tensor
    graft             replace the feed-forward blocks of any model by such layers
    attach            have an optimizer's steps followed by steps of their keys
    Config, preset    the settings of a run, and named ones
    train, load       train a language model; use a trained one
    Callback          act while `train` runs
    Rule              a rule by which keys move, to add one of your own
    ExpertFamily      a kind of experts, to add one of your own
    GrownPool         experts added to a frozen model, trained once on new text

Each name is imported when it is first used: `import somelab` alone loads neither torch nor pydantic. Once
transformers is imported as well, its Auto classes know the models that `somelab export` writes."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from somelab.interop.huggingface.registration import watch as _watch_transformers

if TYPE_CHECKING:
    from somelab.config import Config, preset
    from somelab.core.experts import ExpertFamily
    from somelab.core.gravity import Rule
    from somelab.library.attach import Attachment, attach
    from somelab.library.graft import graft
    from somelab.library.language_model import LanguageModel, load
    from somelab.library.layer import LayerOutput, SomeLayer
    from somelab.library.training import train
    from somelab.model.growth import GrownPool
    from somelab.training.callbacks import Callback

__version__ = "0.1.0"

_WHERE = {
    "Attachment": "library.attach",
    "Callback": "training.callbacks",
    "Config": "config",
    "ExpertFamily": "core.experts",
    "GrownPool": "model.growth",
    "LanguageModel": "library.language_model",
    "LayerOutput": "library.layer",
    "Rule": "core.gravity",
    "SomeLayer": "library.layer",
    "attach": "library.attach",
    "graft": "library.graft",
    "load": "library.language_model",
    "preset": "config",
    "train": "library.training",
}

__all__ = [
    "Attachment",
    "Callback",
    "Config",
    "ExpertFamily",
    "GrownPool",
    "LanguageModel",
    "LayerOutput",
    "Rule",
    "SomeLayer",
    "attach",
    "graft",
    "load",
    "preset",
    "train",
]


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'somelab' has no attribute {name!r}; it offers {', '.join(__all__)}")
    found = getattr(import_module(f"somelab.{_WHERE[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


_watch_transformers()
