"""Callbacks that write: per-layer measures and snapshots of the keys, both of bounded size, and samples of
text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from somelab.core.collapse import findings
from somelab.core.meanings import SO_FAR
from somelab.core.measures import spread
from somelab.data.prepare import PreparedData
from somelab.data.tokenizer import END_OF_TEXT_ID
from somelab.disk import atomic
from somelab.model import Decoder
from somelab.model.generate import generate
from somelab.runs.snapshot import packed
from somelab.training.budget import Cadence
from somelab.training.callbacks import Callback, StepRecord
from somelab.training.evaluate import Evaluation
from somelab.training.measuring import of_step
from somelab.training.usage_with_padding import with_usage

if TYPE_CHECKING:
    from somelab.training.loop import Trainer

LAYER_RECORDS = 400
FEWER_ABOVE = 65536  # experts: balance takes a sort of all of them, so that larger pools get fewer records
FEWER_RECORDS = 40
FIRST_CHECK = 0.05  # share of the run before which no collapse is reported
SNAPSHOTS = 50
SNAPSHOT_BYTES = 64_000_000  # for all snapshots of a run; larger pools get fewer of them
ALL_UP_TO = 16384  # experts of a layer; of larger pools a sample is kept
SAMPLE = 4096


class LayerJournal(Callback):
    """Measures of every layer, at most a few hundred times per run, and a warning when one exceeds its
    threshold."""

    def __init__(self) -> None:
        self.cadence = Cadence(None, LAYER_RECORDS)
        self.progress = 0.0
        self.latest: list[dict[str, float]] = []

    def on_start(self, trainer: Trainer) -> None:
        if trainer.config.experts.num_experts > FEWER_ABOVE:
            self.cadence = Cadence(None, FEWER_RECORDS)
        self.progress = trainer.budget.progress(trainer.state.step, trainer.state.seconds)

    def on_step(self, trainer: Trainer, record: StepRecord) -> None:
        before, self.progress = self.progress, record.progress
        layers = trainer.model.some_layers()
        due = self.cadence.is_due(record.step, before, record.progress)
        if not layers or not due or not trainer.side_work.affords("layers"):
            return
        with trainer.side_work.doing("layers"):
            measured = [of_step(layer, report) for layer, report in zip(layers, record.reports, strict=True)]
            self.latest = with_usage(measured, trainer.usage)
            trainer.journals["layers"].append({"step": record.step, "layers": self.latest})
        if record.progress < FIRST_CHECK:
            return
        experts = trainer.config.experts
        sizes = {"num_experts": experts.num_experts, "top_k": experts.top_k, "num_tokens": record.tokens}
        for number, measured in enumerate(self.latest):
            for finding in findings(number, measured, **sizes, over=SO_FAR):
                trainer.warn(finding.sentence, f"{finding.kind}/{number}")


class KeySnapshots(Callback):
    """Keys (half precision), usage and last respawn step of every layer over time, for the maps. Of large
    pools a sample of the experts, always the same."""

    def on_start(self, trainer: Trainer) -> None:
        stores = [layer.keystore for layer in trainer.model.some_layers()]
        keys = [len(shown_experts(store.num_experts)) * store.width * 2 for store in stores]
        times = max(8, min(SNAPSHOTS, SNAPSHOT_BYTES // max(1, sum(keys))))
        self.cadence = Cadence(trainer.config.train.snapshot_every, times)
        self.progress = trainer.budget.progress(trainer.state.step, trainer.state.seconds)
        trainer.run.check_folder(trainer.run.keys)
        for leftover in trainer.run.keys.glob("step-*.safetensors"):
            step = leftover.stem.removeprefix("step-")
            if step.isdecimal() and int(step) > trainer.state.step:
                leftover.unlink(missing_ok=True)
        if keys and trainer.state.step == 0:
            self._write(trainer)

    def on_step(self, trainer: Trainer, record: StepRecord) -> None:
        before, self.progress = self.progress, record.progress
        due = trainer.model.some_layers() and self.cadence.is_due(record.step, before, record.progress)
        if due and (self.cadence.every is not None or trainer.side_work.affords("snapshot")):
            self._write(trainer)

    def _write(self, trainer: Trainer) -> None:
        with trainer.side_work.doing("snapshot"):
            self._write_file(trainer)

    def _write_file(self, trainer: Trainer) -> None:
        tensors: dict[str, torch.Tensor] = {}
        for number, layer in enumerate(trainer.model.some_layers()):
            store = layer.keystore
            expert_X = shown_experts(store.num_experts)
            if len(expert_X) < store.num_experts:
                tensors[f"{number}.experts"] = expert_X.to(torch.int32)
                tensors[f"{number}.pool"] = torch.tensor([store.num_experts], dtype=torch.int32)
            expert_X = expert_X.to(store.usage_E.device)
            tensors[f"{number}.keys"] = store.keys_of(expert_X).half().cpu()
            tensors[f"{number}.usage"] = store.usage_E[expert_X].cpu()
            tensors[f"{number}.mass"] = store.mass_E[expert_X].cpu()
            tensors[f"{number}.born"] = store.born_of(expert_X).to(torch.int32).cpu()
        trainer.run.check_folder(trainer.run.keys)
        atomic.write_bytes(snapshot_path(trainer.run.keys, trainer.state.step), packed(tensors))


def shown_experts(num_experts: int) -> torch.Tensor:
    """The experts whose keys are kept: all, or a sample."""
    return torch.arange(num_experts) if num_experts <= ALL_UP_TO else spread(num_experts, SAMPLE)


def snapshot_path(folder: Path, step: int) -> Path:
    return folder / f"step-{step:08d}.safetensors"


class Samples(Callback):
    """A short text at every evaluation."""

    def on_evaluation(self, trainer: Trainer, evaluation: Evaluation, *, final: bool) -> None:
        if not trainer.config.model.causal:
            return  # it cannot generate
        with trainer.side_work.doing("sample"):
            record = sample_of(trainer.model, trainer.data, step=trainer.state.step)
        trainer.journals["samples"].append(record)


def sample_of(
    model: Decoder, data: PreparedData, *, step: int, prompt_tokens: int = 8, new_tokens: int = 48
) -> dict[str, Any]:
    """A short text from the first words of a validation document."""
    length = max(1, min(prompt_tokens, int(data.val.offsets[1]) - 1))
    prompt = [int(token) for token in data.val.tokens[:length]]
    generation = generate(
        model,
        prompt,
        max_new_tokens=new_tokens,
        temperature=0.8,
        top_k=40,
        seed=model.config.train.seed,
        stop_token=END_OF_TEXT_ID,
    )
    (row,) = generation.tokens
    return {
        "step": step,
        "prompt": data.tokenizer.decode(prompt),
        "text": data.tokenizer.decode(row),
        "tokens": row,
    }
