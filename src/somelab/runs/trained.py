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
from somelab.errors import notice
from somelab.model import Decoder
from somelab.model.growth import GrownPool
from somelab.native import load as load_native
from somelab.runs import checkpoint, growth
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
    pool: GrownPool | None = None
    """What the run has grown, already attached to the model; None if nothing."""


def load_trained(
    run: RunFolder, which: str = "last", *, settings: Mapping[str, Any] | None = None, grown: bool = True
) -> TrainedModel:
    """Read a run's checkpoint. `settings` may change what does not touch the weights, e.g.
    router.eval_temperature. `grown`: with what the run has grown on this checkpoint."""
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
    model = model.to(device).eval()
    pool = growth.open_pool(run, model, state.step) if grown else None
    return TrainedModel(run, config, model, _tokenizer(run), state, pool)


def _tokenizer(run: RunFolder) -> Tokenizer:
    try:
        return Tokenizer.from_json(run.read_text(run.tokenizer.name))
    except ValueError:
        raise RunError(f"{run.tokenizer} is not a tokenizer; restore the file") from None


def load_base(run: RunFolder, which: str = "last") -> TrainedModel:
    """The same without what the run has grown, for uses that cannot hold it; a line on stderr says so."""
    if growth.read_manifest(run) is not None:
        notice(f"run {run.path}: the experts that it has grown are left out here")
    return load_trained(run, which, grown=False)
