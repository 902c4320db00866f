"""An adapted copy of a run: the same folder with other keys, which every other command can open. The run
itself is not touched; the copy is marked as finished, since it cannot be trained further."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from somelab.data.tokenizer import Tokenizer
from somelab.model import Decoder
from somelab.runs import RunFolder, checkpoint
from somelab.runs.checkpoint import RunState
from somelab.training.optimizer import build_optimizer

JOURNALS = ("metrics", "layers", "samples", "timing")


def save_adapted(
    run: RunFolder, out: Path, model: Decoder, tokenizer: Tokenizer, state: RunState, adapted: dict[str, Any]
) -> RunFolder:
    """Write the copy. Its journals are the run's, up to the checkpoint; `adapted` records what was read and
    how."""
    environment = json.loads((run.path / "environment.json").read_text(encoding="utf-8"))
    facts = {name: value for name, value in run.facts().items() if name != "format"}
    facts |= {"name": out.name, "adapted": {"from": str(run.path.resolve()), **adapted}}
    copy = RunFolder.create(out, run.config(), facts, environment, tokenizer.to_json())
    for name in JOURNALS:
        if (run.path / f"{name}.jsonl").is_file():
            shutil.copyfile(run.path / f"{name}.jsonl", copy.path / f"{name}.jsonl")
    for snapshot in run.keys.iterdir():
        shutil.copyfile(snapshot, copy.keys / snapshot.name)
    # A new optimizer state: the copy is not trained further.
    optimizer = build_optimizer(model, model.config.train)
    checkpoint.save(copy, model, optimizer, replace(state, best_step=state.step, finished=True))
    return copy
