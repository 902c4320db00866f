"""The process of a growth: measure, add a generation, train it on new text, freeze it, measure again. A
killed process goes on from its last save, to the same bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from somelab.adapt.continual.growing import Growing
from somelab.config import Config
from somelab.data.batch import Batch
from somelab.data.batches import Loader
from somelab.data.prepare import PreparedData, Progress, prepare, prepare_with
from somelab.errors import ConfigError
from somelab.model.growth import GrownPool, GrowthSettings
from somelab.model.growth.record import Generation
from somelab.runs import RunFolder, growth
from somelab.runs.trained import load_trained
from somelab.training.evaluate import validation

BASE_TOKENS = 200_000
"""Of the run's own text, which the base's key reads before the first growth."""
EVAL_TOKENS = 16_384
WARMUP = 0.1
"""Share of the steps in which the rate rises."""
FALL = 0.3
"""Share at the end in which it falls to zero; constant in between. Along a cosine, short growths learn
less."""


@dataclass(frozen=True)
class GrowthPlan:
    """What is grown: two plans with the same fields give the same bits."""

    source: str
    name: str
    learning_rate: float
    num_steps: int | None = None
    """None: one pass over the text."""
    num_experts: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.num_steps is not None and self.num_steps < 1:
            raise ConfigError("--steps", self.num_steps, "trains nothing", "choose 1 or more")
        if not (self.learning_rate > 0 and math.isfinite(self.learning_rate)):
            remedy = "choose a number above 0"
            raise ConfigError("--learning-rate", self.learning_rate, "is no learning rate", remedy)


@dataclass(frozen=True)
class Grown:
    """The end of a process."""

    generation: Generation | None
    """None: the text was not novel, or the process was stopped before its end."""
    step: int
    num_steps: int
    losses: dict[str, float]


def grow(
    run: RunFolder,
    plan: GrowthPlan,
    *,
    settings: GrowthSettings | None = None,
    if_novel: float | None = None,
    save_every: int = 50,
    stop_after: int | None = None,
    progress: Progress | None = None,
    report: Callable[[int, int, float], None] | None = None,
) -> Grown:
    """Grow a run, or go on with an unfinished growth of the same plan. `settings`: of a run's first growth;
    later ones have the same. `if_novel`: grow only if the loss on the new text is at least so many nats above
    that on the old. `stop_after`: save and stop after that many steps. `report`: called with step, number of
    steps and loss."""
    with run.locked():
        growing = _Growing(run, plan, settings, progress)
        if growing.step is None:
            losses = growing.measured("before")
            if if_novel is not None and losses["new_before"] <= losses["old_before"] + if_novel:
                return Grown(None, 0, growing.num_steps, losses)
            growing.begin_(losses)
        assert growing.step is not None
        for step, batch in enumerate(growing.batches(), start=growing.step + 1):
            loss = growing.train_(batch)
            if report is not None:
                report(step, growing.num_steps, loss)
            is_stop = stop_after is not None and step >= stop_after
            if step < growing.num_steps and (step % save_every == 0 or is_stop):
                growing.save_()
            if is_stop and step < growing.num_steps:
                return Grown(None, step, growing.num_steps, dict(growing.pool.generations[-1].losses))
        return growing.finish_()


class _Growing:
    """One growth of one run."""

    def __init__(
        self, run: RunFolder, plan: GrowthPlan, settings: GrowthSettings | None, progress: Progress | None
    ) -> None:
        self.run, self.plan = run, plan
        manifest = growth.read_manifest(run)
        self.trained = load_trained(run, grown=False)
        config = self.trained.config
        self.config = _on(config, plan.source)
        self.new = prepare_with(self.trained.tokenizer, self.config, progress=progress)
        self.old = prepare(config, progress=progress)
        run.check_data(self.old.digest)
        self.loader = Loader(self.new, self.config, seed=plan.seed)
        self.num_steps = plan.num_steps or max(1, self.loader.num_batches_per_epoch)
        self.step: int | None = None
        """Steps that are done; None before the growth has begun."""
        self.pool = self._pool(manifest, settings)
        self.learner = Growing(self.trained.model, plan.learning_rate, plan.seed, self.pool)
        if manifest is None:
            self._set_base_key_()
        elif manifest["unfinished"] is not None:
            self._go_on_(manifest)

    def _pool(self, manifest: dict[str, Any] | None, settings: GrowthSettings | None) -> GrownPool:
        model, step = self.trained.model, self.trained.state.step
        if manifest is None:
            return GrownPool.attach(model, settings=settings, seed=self.trained.config.train.seed)
        if manifest["step"] != step:
            problem = f"grew at step {manifest['step']}, and its last checkpoint is of step {step}"
            raise growth.GrowthError(f"run {self.run.path}: {problem}; remove {growth.folder_of(self.run)}")
        if settings is not None and settings.content() != manifest["settings"]:
            remedy = "leave the settings out, or remove what it has grown"
            raise growth.GrowthError(f"run {self.run.path}: has grown with other settings; {remedy}")
        return growth.attach(self.run, model, manifest, unfinished=True)

    def _set_base_key_(self) -> None:
        """From the text that the base was trained on, in the order of training."""
        config = self.trained.config
        loader = Loader(self.old, config)
        num_batches = max(1, BASE_TOKENS // (config.train.batch_size * config.model.seq_len))
        for batch in islice(iter(loader), min(num_batches, max(1, loader.num_batches_per_epoch))):
            self.learner.read_(batch.to(self.learner.device))

    def begin_(self, losses: dict[str, float]) -> None:
        """Add the generation. Several experts share the parts of the best one as their start."""
        first = next(iter(Loader(self.new, self.config, seed=self.plan.seed)))
        self.learner.grow_(first.to(self.learner.device), self.plan.num_experts, self.plan.name)
        self.pool.note_(text=self.plan.source, losses=losses)
        self.step = 0

    def _go_on_(self, manifest: dict[str, Any]) -> None:
        """Restore an unfinished growth, which must be of this plan."""
        unfinished = manifest["unfinished"]
        here = {**asdict(self.plan), "num_steps": self.num_steps, "data": self.new.digest}
        for name, value in here.items():
            if unfinished["plan"].get(name) != value:
                was = f"with {name} = {unfinished['plan'].get(name)!r}, not {value!r}"
                remedy = "repeat that command to finish it, or drop it with --undo"
                problem = f"has an unfinished growth {was}"
                raise growth.GrowthError(f"run {self.run.path}: {problem}; {remedy}")
        self.learner.open_()
        self.step = self.learner.step = int(unfinished["step"])
        optimizer = self.learner.optimizer
        assert optimizer is not None
        for name, tensor in growth.read_moments(self.run, manifest).items():
            number, _, key = name.partition("/")
            parameter = self.learner.parameters[int(number)]
            optimizer.state[parameter][key] = tensor.to(parameter.device if key != "step" else "cpu")

    def batches(self) -> Any:
        """The batches that are left."""
        assert self.step is not None
        self.loader.num_sequences = self.step * self.loader.batch_size
        return islice(iter(self.loader), self.num_steps - self.step)

    def train_(self, batch: Batch) -> float:
        """One step; returns the loss before it."""
        batch = batch.to(self.learner.device)
        assert self.step is not None
        progress = (self.step + 0.5) / self.num_steps
        share = min(1.0, progress / WARMUP, (1 - progress) / FALL)
        loss = self.learner.train_(batch, self.plan.learning_rate * share)
        self.step += 1
        return loss

    def save_(self) -> None:
        optimizer = self.learner.optimizer
        assert optimizer is not None
        assert self.step is not None
        moments: dict[str, Tensor] = {}
        for number, parameter in enumerate(self.learner.parameters):
            for key, value in optimizer.state.get(parameter, {}).items():
                moments[f"{number}/{key}"] = value if isinstance(value, Tensor) else torch.tensor(value)
        plan = {**asdict(self.plan), "num_steps": self.num_steps, "data": self.new.digest}
        unfinished = {"plan": plan, "step": self.step, "moments": moments}
        growth.write(self.run, self.pool, self.trained.state.step, unfinished)

    def finish_(self) -> Grown:
        self.pool.settle_()
        losses = {**self.pool.generations[-1].losses, **self.measured("after")}
        record = self.pool.note_(losses=losses)
        growth.write(self.run, self.pool, self.trained.state.step)
        return Grown(record, self.num_steps, self.num_steps, losses)

    def measured(self, when: str) -> dict[str, float]:
        """Loss on validation text of the new and the old kind, experts selected by keys."""
        texts: dict[str, tuple[PreparedData, Config]] = {
            "new": (self.new, self.config),
            "old": (self.old, self.trained.config),
        }
        return {
            f"{name}_{when}": self.learner.measure(validation(data, config), EVAL_TOKENS).loss
            for name, (data, config) in texts.items()
        }


def _on(config: Config, source: str) -> Config:
    return config.model_copy(update={"data": config.data.model_copy(update={"source": source})})
