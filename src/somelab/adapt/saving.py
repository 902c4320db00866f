"""An adapted copy of a run: the same folder with other keys, which every other command can open. The run
itself is not touched; the copy is marked as finished, since it cannot be trained further."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from somelab.data.tokenizer import Tokenizer
from somelab.disk import atomic, guarded
from somelab.model import Decoder
from somelab.runs import RunFolder, checkpoint
from somelab.runs.checkpoint import RunState
from somelab.runs.snapshot import LARGEST
from somelab.training.optimizer import build_optimizer

JOURNALS = ("metrics", "layers", "samples", "timing")


def save_adapted(
    run: RunFolder, out: Path, model: Decoder, tokenizer: Tokenizer, state: RunState, adapted: dict[str, Any]
) -> RunFolder:
    """Write the copy. Its journals are the run's, up to the checkpoint; `adapted` records what was read and
    how."""
    environment = run.read_json("environment.json")
    facts = {name: value for name, value in run.facts().items() if name != "format"}
    facts |= {"name": out.name, "adapted": {"from": str(run.path.resolve()), **adapted}}
    copy = RunFolder.create(out, run.config(), facts, environment, tokenizer.to_json())
    lengths: dict[str, int] = {}
    for name in JOURNALS:
        written = copy.journal(name)
        for record in run.records(name):
            written.append(record)
        lengths[name] = written.length()
        written.close()
    run.check_folder(run.keys)
    for snapshot in run.keys.iterdir():
        atomic.write_bytes(
            copy.keys / snapshot.name, guarded.read_bytes(snapshot, limit=LARGEST, inside=run.path)
        )
    # A new optimizer state: the copy is not trained further.
    optimizer = build_optimizer(model, model.config.train)
    ended = replace(state, best_step=state.step, finished=True, journals=lengths)
    checkpoint.save(copy, model, optimizer, ended)
    return copy
