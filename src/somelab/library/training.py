"""Train from Python as `somelab train` does: a preset or a configuration in, a trained model in a run folder
out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from somelab.config import Config, ScaleName, from_yaml, override, preset, scaled
from somelab.config.short_names import DEFAULT_PRESET, given_short
from somelab.core.gravity import Rule
from somelab.data.prepare import Progress
from somelab.errors import SomelabError
from somelab.interop.trackers import trackers_of
from somelab.library.language_model import LanguageModel
from somelab.training.callbacks import Callback
from somelab.training.session import free_folder, start


def train(
    what: str | PathLike[str] | Config = DEFAULT_PRESET,
    *,
    data: str | PathLike[str] | None = None,
    steps: int | None = None,
    epochs: float | None = None,
    minutes: float | None = None,
    seed: int | None = None,
    out: str | PathLike[str] | None = None,
    scale: ScaleName = "full",
    settings: Mapping[str, Any] | None = None,
    callbacks: Sequence[Callback] = (),
    rules: Sequence[Rule] = (),
    log: Sequence[str] = (),
    progress: Progress | None = None,
) -> LanguageModel:
    """Train a preset, a YAML file or a configuration, and return the trained model.

        lm = somelab.train("some", data="stories.txt", minutes=5, settings={"experts.num_experts": 64})

    `data`: a file or folder of text, builtin, tinystories, or a Hub dataset. `steps`, `epochs` or `minutes`:
    how long. `out`: the run folder; without it, a new one under runs/. `scale`: make a preset smaller.
    `settings`: changes by dotted name. `callbacks`: called during training. `rules`: further rules that move
    keys. `log`: trackers to log to, among tensorboard, trackio, wandb and mlflow, offline. Ctrl-C saves and
    returns the model as it is (`is_finished` is false); `somelab resume` continues it."""
    name, config = _chosen(what, scale)
    source = None if data is None else str(data)
    given = given_short(data=source, steps=steps, epochs=epochs, minutes=minutes, seed=seed)
    if twice := sorted(given.keys() & (settings or {}).keys()):
        raise SomelabError(
            f"{twice[0]} is given twice: as an argument and in settings; leave one of them out"
        )
    config = override(config, {**given, **(settings or {})})
    folder = Path(out) if out is not None else free_folder(f"{name}-seed{config.train.seed}")
    is_preset = isinstance(what, str) and not what.endswith((".yaml", ".yml"))
    facts = {"name": folder.name, "preset": what if is_preset else None, "scale": scale}
    everyone = [*callbacks, *trackers_of(log)]
    run, _ = start(config, folder, facts, progress, callbacks=everyone, rules=rules)
    return LanguageModel(run)


def _chosen(what: str | PathLike[str] | Config, scale: ScaleName) -> tuple[str, Config]:
    """A label and the configuration."""
    if isinstance(what, Config):
        return "run", scaled(what, scale)
    if str(what).endswith((".yaml", ".yml")):
        return Path(what).stem, scaled(from_yaml(str(what)), scale)
    config = scaled(preset(str(what)).config, scale)
    return (str(what) if scale == "full" else f"{what}-{scale}"), config
