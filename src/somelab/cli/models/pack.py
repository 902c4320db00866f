"""somelab pack: a trained run as a small folder that can be shipped."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from somelab.errors import ConfigError


@dataclass(frozen=True)
class Arguments:
    """Copy a finished run into a folder of a few megabytes: weights in half precision, no optimizer state,
    thinned journals. Every command opens it like any run; it cannot be trained further."""

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run folder."""
    out: Annotated[Path, tyro.conf.arg(metavar="FOLDER")]
    """The folder to write."""
    replace: bool = False
    """Replace a packed run that is in that folder."""
    megabytes: Annotated[float, tyro.conf.arg(metavar="N")] = 5.0
    """Largest size of the folder; snapshots of the keys fill what the model leaves."""
    checkpoint: str = "last"
    """Which checkpoint: last or best."""
    reads: Annotated[str, tyro.conf.arg(metavar="DATA")] = "builtin:story"
    """The text that the page reads with the packed model, for words and guilds: the run's own text is not
    copied."""


def run(arguments: Arguments) -> None:
    import shutil

    from somelab.config import DataConfig
    from somelab.data.sources import open_source
    from somelab.runs import RunFolder
    from somelab.runs.packing import MEGABYTE, is_packed, pack, size_of

    if not arguments.megabytes > 0:
        raise ConfigError("--megabytes", arguments.megabytes, "is not more than 0", "give a size, such as 5")
    open_source(DataConfig(source=arguments.reads))  # raises for a text that does not exist
    folder, out = RunFolder.open(arguments.run), RunFolder(arguments.out)
    has_old = arguments.replace and (out.path / "run.json").is_file() and is_packed(out)
    target = out.path.with_name(f".{out.path.name}-new") if has_old else out.path
    if has_old and target.exists():
        shutil.rmtree(target)  # left by a kill
    packed = pack(
        folder,
        target,
        reads=arguments.reads,
        megabytes=arguments.megabytes,
        which=arguments.checkpoint,
        name=out.path.name,
    )
    if has_old:
        shutil.rmtree(out.path)
        target.rename(out.path)
        packed = out
    snapshots = len(list(packed.keys.iterdir()))
    print(f"{packed.path}: {size_of(packed) / MEGABYTE:.2f} MB, {snapshots} snapshots of the keys")
    print(f"open it: somelab play {packed.path}")
