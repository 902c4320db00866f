"""somelab play: the model that comes with somelab, in the browser at once: prompts, traces, moving keys."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from somelab.errors import SomelabError

if TYPE_CHECKING:
    from somelab.runs import RunFolder

TOKENS = 10_000
"""That the model reads for words and guilds."""


@dataclass(frozen=True)
class Arguments:
    """Open the model that comes with somelab in the browser: continue a prompt, see the experts of every
    token, watch the keys move through training. Nothing is downloaded or trained. It is a run folder like any
    other."""

    run: Annotated[
        Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="[RUN]", help_behavior_hint="")
    ] = None
    """Another run folder to open instead."""
    port: int = 0
    """The port; 0 takes any free one."""
    no_open: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the address, and do not open the browser."""
    where: bool = False
    """Print the folder of the model and end; other commands take it, such as `somelab generate`."""


def run(arguments: Arguments) -> None:
    from somelab.cli.models import serve

    path = arguments.run or shipped()
    if arguments.where:
        print(path)
        return
    from somelab.cli.opening import has_display
    from somelab.runs import RunFolder

    serve.check_installed("play")
    folder = RunFolder.open(path)
    from somelab.view.page.groups import run_ids
    from somelab.view.page.heavy import Options

    for line in introduction(folder):
        print(line)
    # UMAP would take the time of many prompts.
    options = Options(maps=("pca", "tsne"), tokens=TOKENS)
    is_open = has_display() and not arguments.no_open
    served = serve.Arguments(port=arguments.port, open=is_open)
    serve.serve((path,), options, served, view=f"galaxies/{run_ids([path])[0]}")


def shipped() -> Path:
    """The folder of the model that comes with somelab."""
    folder = Path(str(files("somelab"))) / "shipped" / "stories"
    if not folder.is_dir():
        raise SomelabError(f"{folder}: the model is missing from this installation; reinstall somelab")
    return folder


def introduction(run: RunFolder) -> list[str]:
    """What is opened, from its own records."""
    facts, config = run.facts(), run.config()
    weights = {name: facts["parameters"][name] / 1e6 for name in ("trainable", "frozen")}
    final = next((record for record in reversed(run.records("metrics")) if "val_loss" in record), None)
    layers = f"{config.model.num_layers} layers"
    lines = [f"{facts['name']}: {layers}, {weights['trainable']:.1f} million trained weights"]
    if config.model.feed_forward == "some":
        num_experts = config.model.num_layers * config.experts.num_experts
        frozen = f"{weights['frozen']:.1f} million weights"
        stored = (
            f"whose {frozen} were never trained" if weights["frozen"] else "without weights, never trained"
        )
        lines.append(f"{num_experts:,} random experts {stored}")
    if final is not None:
        lines.append(
            f"{final['tokens'] / 1e6:.1f} million tokens of {facts['data']['source']}; validation loss "
            f"{final['val_loss']:.2f} nats per token ({final['bits_per_byte']:.2f} bits per byte)"
        )
    return [*lines, "Traces continues a prompt of yours, Galaxies shows the keys move.", ""]
