"""A trained model from a run folder: weights from a checkpoint, frozen pools redrawn and verified, the
tokenizer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from somelab.config import Config
from somelab.config.files import override
from somelab.core.gravity import ORDER, extra_names
from somelab.data.tokenizer import Tokenizer
from somelab.model import Decoder
from somelab.native import load as load_native
from somelab.runs import checkpoint
from somelab.runs.checkpoint import RunState
from somelab.runs.folder import RunError, RunFolder


@dataclass(frozen=True)
class TrainedModel:
    """A model in evaluation mode, with what is needed to use it."""

    run: RunFolder
    config: Config
    model: Decoder
    tokenizer: Tokenizer
    state: RunState


def load_trained(
    run: RunFolder, which: str = "last", *, settings: Mapping[str, Any] | None = None
) -> TrainedModel:
    """Read a run's checkpoint. `settings` may change what does not touch the weights, e.g.
    router.eval_temperature."""
    config = run.config()
    if settings:
        config = override(config, settings)
    load_native()
    # Rules do not act here, so user-defined ones are not needed.
    known = extra_names(ORDER)
    extra = {name: value for name, value in config.gravity.extra.items() if name in known}
    model = Decoder(override(config, {"gravity.extra": extra}) if extra != config.gravity.extra else config)
    state = checkpoint.load(run, model, which=which)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return TrainedModel(run, config, model.to(device).eval(), _tokenizer(run), state)


def _tokenizer(run: RunFolder) -> Tokenizer:
    try:
        return Tokenizer.from_json(run.read_text(run.tokenizer.name))
    except ValueError:
        raise RunError(f"{run.tokenizer} is not a tokenizer; restore the file") from None
