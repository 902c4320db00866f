"""The loop: batches in, optimizer steps and key movements out, everything on disk that is needed to resume.

One step: forward and backward over the micro-batches, clip, AdamW, then gravity. Everything optional (views,
samples, snapshots) is a callback. All randomness is a function of (seed, step), so that a resumed run draws
the same numbers."""

from __future__ import annotations

import contextlib
import math
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from somelab.config import Config
from somelab.config.model import READS_AHEAD
from somelab.core.dispatch import keep_loops_uncompiled_
from somelab.core.gravity import Rule
from somelab.core.seeding import derive
from somelab.data.batch import Batch
from somelab.data.batches import EvaluationLoader, Loader
from somelab.data.prepare import PreparedData
from somelab.disk import atomic
from somelab.model import Decoder
from somelab.model.loss import next_token_loss
from somelab.runs import RunFolder, checkpoint
from somelab.runs.checkpoint import CheckpointError, RunState, Unsound
from somelab.runs.state import name_of
from somelab.training.budget import Budget, Cadence
from somelab.training.callbacks import Callback, StepRecord
from somelab.training.evaluate import Evaluation, evaluate, in_layout, validation, with_padding_loss
from somelab.training.machine.precision import autocast, resolve
from somelab.training.machine.world import World
from somelab.training.optimizer import build_optimizer, learning_rate, set_learning_rate_
from somelab.training.padding import attended_documents
from somelab.training.rules import order_of
from somelab.training.side_work import SideWork
from somelab.training.stopping import Diverged, StopRequest
from somelab.training.usage_with_padding import UsageWithPadding, with_usage

JOURNALS = ("metrics", "layers", "samples", "timing")
EVALUATIONS = 10
MICRO_TOKENS = 8192
SECONDS_BETWEEN_CHECKPOINTS = 120.0


class TrainingLoss(nn.Module):
    """The module under DDP and compile: from a batch to the two sums that are differentiated."""

    def __init__(self, decoder: Decoder, usage: UsageWithPadding | None = None) -> None:
        super().__init__()
        self.decoder, self.usage = decoder, usage

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        output = self.decoder(
            batch.tokens_BT,
            documents_BT=attended_documents(batch, padding_in_loss=self.decoder.config.data.padding_in_loss),
            counted_BT=batch.moving_BT(with_padding=self.decoder.config.gravity.count_padding),
            token_index_BT=batch.token_index_BT,
            hidden_only=True,
        )
        loss = next_token_loss(
            self.decoder,
            output.hidden_BTD,
            batch.targets_BT,
            batch.counted_BT,
            with_error=self.decoder.wants_error,
        )
        if loss.error_BTD is not None:
            self.decoder.credit_(loss.error_BTD)
        if self.usage is not None:
            # A decorated method, whose type torch does not say.
            self.usage.add_(output.routings, batch, loss.nats_N)  # pyright: ignore[reportAttributeAccessIssue]
        return loss.nats, output.aux_loss


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    reason: str
    """finished | interrupted"""
    evaluation: Evaluation | None
    """None if the run was interrupted, and on all ranks but the first."""
    state: RunState
    is_first: bool
    """Whether this is the first rank, which reports for all."""


class Trainer:
    """One run, from its current state to its end."""

    def __init__(
        self,
        run: RunFolder,
        config: Config,
        data: PreparedData,
        world: World,
        callbacks: Sequence[Callback] = (),
        rules: Sequence[Rule] = (),
    ) -> None:
        """`rules`: further rules that move keys, beside somelab's."""
        self.run, self.config, self.data, self.world = run, config, data, world
        self.callbacks = list(callbacks) if world.is_first else []
        self.dtype = resolve(config.train.precision, world.device)
        self.model = Decoder(config, order=order_of(rules)).to(world.device)
        self.optimizer = build_optimizer(self.model, config.train)
        self.loader = Loader(data, config, rank=world.rank, world_size=world.size, device=world.device)
        self.micro_rows = micro_rows(config, world.size)
        self.budget = Budget.of(config.train, self.loader.num_batches_per_epoch)
        self.side_work = SideWork(self.budget, self._final_tokens)
        self.evaluations = Cadence(config.train.eval_every, EVALUATIONS)
        self.state = RunState(loader=self.loader.state_dict())
        self.stop = StopRequest()
        self.journals = {name: run.journal(name) for name in JOURNALS} if world.is_first else {}
        self.first_loss: float | None = None
        self._batches: Iterator[Batch] | None = None
        self._progress = 0.0
        self._warned: set[str] = set()
        self._compiled = False
        self._last_checkpoint = time.monotonic()
        self.usage = UsageWithPadding.of(config, len(self.model.some_layers()), world.device)
        self.loss = TrainingLoss(self.model, self.usage)
        self._loss: nn.Module = self.loss
        if world.size > 1:
            # Keys are equal on all ranks because all apply the same sums; DDP's buffer sync would overwrite
            # statistics.
            with warnings.catch_warnings():
                # Torch 2.13 has another name for this switch, 2.10 has not.
                warnings.simplefilter("ignore", FutureWarning)
                self._loss = DistributedDataParallel(self._loss, broadcast_buffers=False)

    def resume_(self, which: str = "last") -> None:
        """Restore a checkpoint: tensors, clock, data position, and the journals as they were then."""
        if self.world.is_first:
            for folder in (self.run.path, self.run.keys, self.run.checkpoints):
                atomic.clear_leftovers(folder)
        if which == "last" and not checkpoint.is_any(self.run):
            self._forget_()  # killed before its first checkpoint: start again
            return
        self.state = checkpoint.load(self.run, self.model, self.optimizer, which=which)
        self._restore_position_()
        if self.world.is_first:
            checkpoint.go_back(self.run, self.state)
            atomic.clear_leftovers(self.run.checkpoints / name_of(self.state.step))
        for name, file in self.journals.items():
            file.cut((self.state.journals or {}).get(name, 0))
        for record in self.run.records("metrics"):
            if record.get("kind") == "warning":
                self._warned.add(str(record.get("key")))
            elif record.get("kind") == "train" and self.first_loss is None:
                self.first_loss = float(record["loss"])

    def _restore_position_(self) -> None:
        try:
            self.loader.load_state_dict(self.state.loader or {})
            if self.usage is not None and self.state.usage_with_padding is not None:
                self.usage.load_(self.state.usage_with_padding)
        except (KeyError, TypeError, ValueError):
            raise CheckpointError(
                f"run {self.run.path}: the position in the data of step {self.state.step} is damaged; use "
                "another checkpoint with --checkpoint, or train again"
            ) from None

    def _forget_(self) -> None:
        for file in self.journals.values():
            file.cut(0)

    def fit(self) -> Outcome:
        """Train to the end of the budget, or until a stop is requested."""
        self.model.train()
        evaluation, ended = None, "failed"
        try:
            with self.stop.listening():
                for callback in self.callbacks:
                    callback.on_start(self)
                if self.world.is_first and not self.config.model.causal:
                    self.warn(READS_AHEAD.upper(), "no causal mask")
                reason = self._steps()
            if reason == "finished":
                evaluation = self.evaluate_(final=True)
                self.state.finished = True
            self._save_()
            ended = reason
        except Diverged as error:
            # Nothing is saved: the state that led here is not to be trusted.
            raise error.with_remedy(self.run, self.state.step, writes=self.world.is_first) from None
        finally:
            for callback in self.callbacks:
                callback.on_end(self, ended)
        self.world.barrier()
        return Outcome(reason, evaluation, self.state, self.world.is_first)

    def _steps(self) -> str:
        judged = self.budget.progress(self.state.step, self.state.seconds)
        while True:
            # The first rank's clock and any rank's stop request decide for all.
            mine = (
                (self.state.seconds, self.side_work.allowing().reserve) if self.world.is_first else (0.0, 0.0)
            )
            clock, reserve, stop_requested = self.world.sum(*mine, float(self.stop.requested))
            self.state.seconds, self.budget = clock, replace(self.budget, reserve=reserve)
            if self.budget.is_over(self.state.step, clock):
                return "finished"
            if stop_requested:
                return "interrupted"
            started = time.perf_counter()
            record = self._step_()
            self._note_(record)
            over = self.budget.is_over(self.state.step, self.state.seconds)
            due = self.evaluations.is_due(self.state.step, judged, record.progress)
            if not over and due and self._affords_evaluation():
                self.evaluate_(final=False)
                self._save_()
            elif self._checkpoint_due():
                self._save_()
            judged = record.progress
            # Evaluations and checkpoints count towards the time budget.
            self.state.seconds = clock + time.perf_counter() - started

    def _affords_evaluation(self) -> bool:
        """An evaluation that the settings ask for is always made."""
        config = self.config.train
        num_tokens = min(config.eval_tokens or self.data.val.num_tokens, self.data.val.num_tokens)
        return config.eval_every is not None or self.side_work.affords("evaluation", num_tokens)

    def _final_tokens(self) -> int:
        """Positions of the last evaluation: the validation text packed, then padded."""
        sequences = sum(
            EvaluationLoader(self.data, in_layout(self.config, layout)).num_sequences
            for layout in ("pack", "pad")
        )
        return sequences * self.config.model.seq_len

    def _step_(self) -> StepRecord:
        started = time.perf_counter()
        state, config = self.state, self.config.train
        rate = learning_rate(config, self.budget.progress(state.step + 0.5, state.seconds))
        set_learning_rate_(self.optimizer, rate)
        self.model.set_progress_(state.step, self.budget.num_steps(state.step, state.seconds))
        self._compile_when_due_()
        torch.manual_seed(derive(config.seed, "dropout", self.world.rank, state.step))
        nats, aux_loss, num_tokens = self._forward_backward_()
        grad_norm = self.clip_()
        loss = nats / max(1, num_tokens)
        self._check(loss, grad_norm)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        reports = self.model.apply_gravity_()
        without = None if self.usage is None else self.usage.finish_step_(self.world)
        seconds = time.perf_counter() - started
        self.side_work.trained_(seconds, num_tokens)
        self.state = replace(
            state,
            step=state.step + 1,
            tokens=state.tokens + num_tokens,
            seconds=state.seconds + seconds,
            loader=self.loader.state_dict(),
        )
        return StepRecord(
            step=self.state.step,
            loss=loss,
            learning_rate=rate,
            grad_norm=grad_norm,
            tokens=self.state.tokens,
            aux_loss=aux_loss,
            step_tokens=num_tokens,
            step_seconds=seconds,
            progress=self._progressed(),
            loss_without_padding=without,
            reports=reports,
        )

    def _progressed(self) -> float:
        """Share of the run that is over; it never falls, though the estimate of the last evaluation may."""
        self._progress = max(self._progress, self.budget.progress(self.state.step, self.state.seconds))
        return self._progress

    def _forward_backward_(self) -> tuple[float, float, int]:
        """Nats, weighted routing loss and counted tokens of the global batch; gradients are stored in the
        parameters."""
        whole = self.next_batch_()
        num_tokens = max(1, whole.num_counted_global)
        nats, aux_loss = 0.0, 0.0
        batches = whole.micro_batches(self.micro_rows)
        for number, batch in enumerate(batches):
            with (
                self._gradient_sync(last=number == len(batches) - 1),
                autocast(self.dtype, self.world.device),
            ):
                batch_nats, batch_aux = self._loss(batch)
                share = batch.num_counted / num_tokens
                # DDP averages over ranks; the loss is a mean over all tokens, so the sum is needed.
                loss = (batch_nats / num_tokens + share * batch_aux) * self.world.size
                loss.backward()
            nats, aux_loss = nats + float(batch_nats.detach()), aux_loss + share * float(batch_aux.detach())
        total_nats, total_aux = self.world.sum(nats, aux_loss)
        return total_nats, total_aux, whole.num_counted_global

    def next_batch_(self) -> Batch:
        """This rank's share of the next global batch."""
        if self._batches is None:
            self._batches = iter(self.loader)
        return next(self._batches)

    def clip_(self) -> float:
        """Clip the gradient to `train.clip`; returns its norm before."""
        return float(nn.utils.clip_grad_norm_(self._trained(), self.config.train.clip or math.inf))

    def _gradient_sync(self, *, last: bool) -> contextlib.AbstractContextManager[None]:
        if isinstance(self._loss, DistributedDataParallel) and not last:
            return self._loss.no_sync()
        return contextlib.nullcontext()

    def _trained(self) -> Iterator[nn.Parameter]:
        return (parameter for parameter in self.model.parameters() if parameter.requires_grad)

    def _check(self, loss: float, grad_norm: float) -> None:
        if not math.isfinite(loss) or not math.isfinite(grad_norm):
            raise Diverged(f"loss {loss} and gradient norm {grad_norm} at step {self.state.step + 1}")
        if self.first_loss is None:
            self.first_loss = loss
        if loss > 2 * max(self.first_loss, math.log(self.config.model.vocab_size)):
            raise Diverged(f"loss rose to {loss:.2f} at step {self.state.step + 1}")

    def _compile_when_due_(self) -> None:
        config = self.config.train
        if config.compile and not self._compiled and self.state.step >= config.compile_after:
            self._compiled = True
            keep_loops_uncompiled_()
            self._loss.compile(mode="reduce-overhead" if self.world.device.type == "cuda" else None)

    def _note_(self, record: StepRecord) -> None:
        if not self.world.is_first:
            return
        self.journals["metrics"].append(record.metrics())
        timing = {
            "step": record.step,
            "seconds": self.state.seconds,
            "step_seconds": record.step_seconds,
            "step_tokens": record.step_tokens,
        }
        self.journals["timing"].append(timing)
        for callback in self.callbacks:
            callback.on_step(self, record)

    def warn(self, sentence: str, key: str) -> None:
        """Journal a warning, once per key."""
        if key in self._warned:
            return
        self._warned.add(key)
        self.journals["metrics"].append(
            {"kind": "warning", "step": self.state.step, "sentence": sentence, "key": key}
        )
        for callback in self.callbacks:
            callback.on_warning(self, sentence)

    def evaluate_(self, *, final: bool) -> Evaluation | None:
        """Evaluate on the first rank; the others wait at their next collective.

        No barrier here: whether an evaluation is due may depend on each rank's clock, so ranks may
        disagree."""
        if not self.world.is_first:
            return None
        for callback in self.callbacks:
            callback.on_evaluation_begin(self, final=final)
        with self.side_work.doing("evaluation"):
            evaluation = self._measured(final=final)
            if not math.isfinite(evaluation.val_loss):
                raise Diverged(f"validation loss {evaluation.val_loss} after step {self.state.step}")
            if self.state.best_val_loss is None or evaluation.val_loss < self.state.best_val_loss:
                self.state.best_val_loss, self.state.best_step = evaluation.val_loss, self.state.step
            evaluation = replace(evaluation, layers=with_usage(evaluation.layers, self.usage))
            kind = "final" if final else "evaluation"
            self.journals["metrics"].append(
                {"kind": kind, "step": self.state.step, "tokens": self.state.tokens, **evaluation.record()}
            )
            for callback in self.callbacks:
                callback.on_evaluation(self, evaluation, final=final)
        return evaluation

    def _measured(self, *, final: bool) -> Evaluation:
        started = time.perf_counter()
        max_tokens = None if final else self.config.train.eval_tokens
        evaluation = evaluate(
            self.model, validation(self.data, self.config), dtype=self.dtype, max_tokens=max_tokens
        )
        self.side_work.evaluated_(time.perf_counter() - started, evaluation.num_tokens)
        if final or self.config.train.eval_with_padding:
            return with_padding_loss(evaluation, self.model, self.data, self.config, dtype=self.dtype)
        return evaluation

    def _checkpoint_due(self) -> bool:
        every = self.config.train.checkpoint_every
        if every is not None:
            return self.state.step % every == 0
        return time.monotonic() - self._last_checkpoint > SECONDS_BETWEEN_CHECKPOINTS

    def _save_(self) -> None:
        if not self.world.is_first:
            return
        with self.side_work.doing("checkpoint"):
            self.state.journals = {name: file.length() for name, file in self.journals.items()}
            self.state.usage_with_padding = None if self.usage is None else self.usage.state()
            try:
                checkpoint.save(self.run, self.model, self.optimizer, self.state)
            except Unsound as error:
                raise Diverged(f"{error} after step {self.state.step}") from None
            self._last_checkpoint = time.monotonic()
            for callback in self.callbacks:
                callback.on_checkpoint(self)


def micro_rows(config: Config, num_ranks: int) -> int:
    """Sequences in one forward pass of one rank: as set, or as many as give MICRO_TOKENS tokens or less."""
    share = config.train.batch_size // num_ranks
    if config.train.micro_batch_size is not None:
        return min(config.train.micro_batch_size, share)
    fitting = max(1, MICRO_TOKENS // config.model.seq_len)
    return max(rows for rows in range(1, share + 1) if share % rows == 0 and rows <= fitting)
