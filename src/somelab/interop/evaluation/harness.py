"""Runs tasks of the lm-evaluation-harness on a trained run: those that ship with somelab, and any other that
the harness knows."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from somelab.errors import ConfigError, SomelabError, nearest
from somelab.interop.extras import needed
from somelab.interop.huggingface.exporting import to_model, to_tokenizer
from somelab.runs.trained import TrainedModel

OWN = {"story": "somelab_story", "word_class": "somelab_word_class"}
"""Short names of the tasks that ship with somelab."""
CHANCE = {"somelab_story": 0.25, "somelab_word_class": 0.5}
FOLDER = Path(__file__).parent / "tasks"
ROWS = 16
NO_LIMIT = 1_000_000_000
"""Of the tokenizer, which warns otherwise: the harness itself cuts contexts to the model's length."""


def evaluate_tasks(trained: TrainedModel, names: Sequence[str], limit: int | None = None) -> dict[str, Any]:
    """The metrics of each task with standard errors, and how many items it has. `limit`: only so many."""
    if limit is not None and limit < 1:
        raise ConfigError("--limit", limit, "leaves no item", "choose 1 or more")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    harness = needed("lm_eval", "eval", "--tasks")
    task_manager = needed("lm_eval.tasks", "eval", "--tasks").TaskManager
    wrapper = needed("lm_eval.models.huggingface", "eval", "--tasks").HFLM
    wanted = _named(names)
    # The index of all tasks of the harness takes long, and our own need none.
    manager = task_manager(include_path=str(FOLDER), include_defaults=not set(wanted) <= set(OWN.values()))
    _check_known(wanted, set(manager.all_tasks))
    length = trained.config.model.seq_len
    device = str(next(trained.model.parameters()).device)
    model: Any = to_model(trained)
    wrapped = wrapper(
        pretrained=model.to(device),
        tokenizer=to_tokenizer(trained.tokenizer, NO_LIMIT),
        max_length=length,
        batch_size=ROWS,
        device=device,
    )
    try:
        found: Any = harness.simple_evaluate(
            wrapped, tasks=list(wanted), limit=limit, task_manager=manager, log_samples=False
        )
    except AssertionError:  # raised by the harness for an answer that does not fit into the model
        problem = "an answer of these tasks is longer than the model's sequences"
        raise ConfigError("model.seq_len", length, problem, "evaluate a run with longer ones") from None
    except (OSError, ConnectionError, ValueError) as error:
        problem = " ".join(str(error).split())[:300]
        raise SomelabError(
            f"--tasks {','.join(wanted)}: the harness failed ({problem}); tasks that are not somelab's own "
            f"download their data; without a network use {', '.join(OWN)}"
        ) from None
    return {task: _task_record(task, found) for task in found["results"]}


def _named(names: Sequence[str]) -> list[str]:
    """The names by which the harness knows the tasks."""
    stripped = dict.fromkeys(name.strip() for name in names)
    wanted = [OWN.get(name, name) for name in stripped if name]
    if not wanted:
        raise ConfigError("--tasks", "", "names no task", f"choose among {', '.join(OWN)}")
    return wanted


def _check_known(wanted: Sequence[str], known: set[str]) -> None:
    for name in wanted:
        if name not in known:
            close = nearest(name, {*OWN, *OWN.values()})
            raise ConfigError("--tasks", name, "is no task of the harness", close)


def _task_record(task: str, found: dict[str, Any]) -> dict[str, Any]:
    """acc,none and acc_stderr,none become acc and acc_stderr."""
    record: dict[str, Any] = {
        name.split(",")[0]: value
        for name, value in found["results"][task].items()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and "," in name
    }
    counted = found.get("n-samples", {}).get(task, {})
    if "effective" in counted:
        record["num_items"] = int(counted["effective"])
    if task in CHANCE:
        record["chance"] = CHANCE[task]
    return record
