"""somelab export: a trained run as a folder for other tools."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro


@dataclass(frozen=True)
class Arguments:
    """Write a trained run for other tools. hf: a folder that Hugging Face's transformers loads, with model,
    tokenizer, model card and code."""

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run folder."""
    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")]
    """The folder to write; new or empty."""
    to: Literal["hf"] = "hf"
    """For which tool."""
    checkpoint: str = "last"
    """Which checkpoint: last, best, or a step that is kept, such as 200."""
    full_pools: bool = False
    """Also store frozen experts. Without it, they are drawn again from their random seed and verified."""
    json: bool = False
    """Print JSON."""


def run(arguments: Arguments) -> None:
    from somelab.cli.terminal import console, print_json
    from somelab.interop.huggingface.exporting import check_free, check_installed, export
    from somelab.runs import RunFolder
    from somelab.runs.trained import load_trained
    from somelab.training.machine.process import prepare_process

    check_installed()
    check_free(arguments.folder)
    prepare_process()
    trained = load_trained(RunFolder.open(arguments.run), arguments.checkpoint)
    folder = export(trained, arguments.folder, full_pools=arguments.full_pools)
    sizes = {file.name: file.stat().st_size for file in sorted(folder.iterdir())}
    if arguments.json:
        print_json({"folder": str(folder), "step": trained.state.step, "files": sizes})
        return
    out = console()
    out.print(f"{folder}: {sum(sizes.values()) / 1e6:,.1f} MB in {len(sizes)} files", soft_wrap=True)
    for name, size in sizes.items():
        out.print(f"  {name:<24} {size:>13,} bytes", highlight=False)
    out.print("\nin Python:", highlight=False)
    for line in (
        "import somelab  # or pass trust_remote_code=True",
        "from transformers import pipeline",
        f'text = pipeline("text-generation", model="{folder}")',
        'print(text("Once upon a time", max_new_tokens=40)[0]["generated_text"])',
    ):
        out.print(f"  {line}", highlight=False, markup=False, soft_wrap=True)
