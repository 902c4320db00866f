"""Serving while learning: an adapter that a server holds. Many threads read, one writes, and nobody sees half an update.

Readers answer from a published version: a model of its own that shares every weight and has addresses that never change. The writer
works on addresses of its own, under a lock, and publishes by swapping one reference. Shape letters: B sequences, T tokens."""

from __future__ import annotations

import copy
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from somelab.adapt.mode import Adaptation, nats_of, passes, score_of
from somelab.adapt.score import Score, total
from somelab.adapt.settings import AdaptationSettings
from somelab.data.batch import Batch, batch_of
from somelab.errors import ConfigError, SomelabError, nearest
from somelab.model import Decoder

MAX_SNAPSHOTS = 16
State = tuple[dict[str, Tensor], ...]


@dataclass(frozen=True)
class AdapterStats:
    """What an adapter has done so far."""

    version: int
    """Publications since it was made; 0: the checkpoint's own addresses."""
    num_tokens: int
    num_updates: int
    num_rejected: int
    """Updates of a layer that would not have been finite, and were not made."""
    num_refused: int
    """Texts that were turned away unread."""
    score: Score
    """Of everything learned from, each token as it was scored before it could move anything."""
    mean_angle: float
    max_angle: float
    snapshots: tuple[str, ...]


def sharing_copy(model: Decoder, state: State | None = None) -> Decoder:
    """A copy with addresses of its own and all other weights shared; `state`: the addresses it is to have."""
    addresses = {id(tensor) for layer in model.some_layers() for tensor in layer.keystore.parameters()}
    shared = {id(tensor): tensor for tensor in model.parameters() if id(tensor) not in addresses}
    made = copy.deepcopy(model, memo=dict(shared)).eval()
    for layer, stored in zip(made.some_layers(), state or (), strict=False):
        layer.keystore.restore_(stored)
    return made


class Adapter:
    """A model that serves and learns. Snapshots are bounded: beyond `max_snapshots` a new name is refused, since dropping one
    in silence would take away what a caller counts on; `forget` makes room. Only rules that a checkpoint can hold may act."""

    def __init__(self, model: Decoder, *, max_snapshots: int = MAX_SNAPSHOTS, **settings: Any) -> None:
        if max_snapshots < 1:
            raise ConfigError("max_snapshots", max_snapshots, "leaves no room for a snapshot", "choose 1 or more")
        self._writing = threading.Lock()
        self._model = sharing_copy(model)
        self._adaptation = Adaptation(self._model, AdaptationSettings(**settings)).__enter__()
        for rule in ("temperature", "gain", "memory", "cache"):
            if rule in self._adaptation.rules:
                raise ConfigError("rules", rule, "moves what no published version holds", "use rules of gravity")
        self._plain = sharing_copy(model)
        """Without the writer's hooks: what published versions are copied from."""
        self._snapshots: OrderedDict[str, State] = OrderedDict()
        self._max_snapshots = max_snapshots
        self._version, self._num_refused, self._score = 0, 0, Score()
        self._published = sharing_copy(self._plain)

    @property
    def model(self) -> Decoder:
        """The published version, to read with: forward, generate, evaluate. It never changes; the next one is another object."""
        return self._published

    def learn(self, batches: Iterable[Batch]) -> Score:
        """Score text, let it move the addresses, publish. One writer at a time; a text that cannot be read is refused whole."""
        with self._writing:
            checked = list(batches)
            try:
                for batch in checked:
                    self._check(batch)
            except SomelabError:
                self._num_refused += 1
                raise
            readings = [reading.score for reading in self._adaptation.read(checked)]
            self._score = self._score + total(readings)
            self._publish_()
            return total(readings)

    def _check(self, batch: Batch) -> None:
        vocab_size, longest = self._model.config.model.vocab_size, self._model.config.model.seq_len
        if batch.tokens_BT.dtype.is_floating_point:
            raise ConfigError("tokens", str(batch.tokens_BT.dtype), "are not token ids", "give integers")
        for name in ("tokens_BT", "targets_BT"):
            values = getattr(batch, name)
            if values.numel() and (int(values.min()) < 0 or int(values.max()) >= vocab_size):
                worst = int(values.max()) if int(values.max()) >= vocab_size else int(values.min())
                raise ConfigError("tokens", worst, f"is outside the vocabulary of {vocab_size}", "use the run's tokenizer")
        if batch.tokens_BT.shape[1] > longest and self._model.config.model.part("positions") == "sinusoidal":
            raise ConfigError("tokens", batch.tokens_BT.shape[1], f"is longer than the trained {longest}", "cut the text")

    def _publish_(self) -> None:
        self._version += 1
        self._published = sharing_copy(self._plain, self._state())  # one reference: readers have the old version or the new

    def snapshot(self, name: str) -> None:
        """Remember the addresses as they are now; a known name is overwritten."""
        with self._writing:
            if name not in self._snapshots and len(self._snapshots) >= self._max_snapshots:
                problem = f"{len(self._snapshots)} snapshots are kept already"
                raise ConfigError("snapshot", name, problem, "forget one, or overwrite a name")
            self._snapshots[name] = self._state()

    def restore(self, name: str) -> None:
        """Go back to a snapshot, to the bit, and publish it. What was read but had not moved anything yet is forgotten."""
        with self._writing:
            state = self._known(name)
            for layer, stored in zip(self._model.some_layers(), state, strict=True):
                layer.keystore.restore_(stored)
            self._adaptation.forget_pending_()
            self._publish_()

    def forget(self, name: str) -> None:
        with self._writing:
            self._known(name)
            del self._snapshots[name]

    def _known(self, name: str) -> State:
        if name not in self._snapshots:
            remedy = nearest(name, self._snapshots) if self._snapshots else "make one with snapshot(name)"
            raise ConfigError("snapshot", name, "there is none of that name", remedy)
        return self._snapshots[name]

    def _state(self) -> State:
        return tuple(layer.keystore.snapshot() for layer in self._model.some_layers())

    def stats(self) -> AdapterStats:
        with self._writing:
            moved = self._adaptation.movement()
            return AdapterStats(
                version=self._version,
                num_tokens=self._adaptation.num_tokens,
                num_updates=self._adaptation.num_updates,
                num_rejected=self._adaptation.num_rejected,
                num_refused=self._num_refused,
                score=self._score,
                mean_angle=moved["mean_angle"],
                max_angle=moved["max_angle"],
                snapshots=tuple(self._snapshots),
            )

    @torch.no_grad()
    def read(self, batches: Iterable[Batch]) -> Score:
        """Score text with the published version; from any thread, at any time."""
        published, dtype, device = self._published, self._adaptation.dtype, self._adaptation.device
        parts = (part for batch in batches for part in passes(batch.to(device)))
        return total(score_of(nats_of(published, part, dtype), part) for part in parts)


def batch_of_tokens(tokens_BS: Tensor, num_bytes_V: Tensor | None = None) -> Batch:
    """Token rows as a client sends them, S = T + 1 long and one text a row, as a batch."""
    if tokens_BS.dim() != 2 or tokens_BS.shape[1] < 2 or tokens_BS.dtype.is_floating_point:
        raise ConfigError("tokens", tuple(tokens_BS.shape), "are not rows of two or more token ids", "give [rows, tokens] integers")
    largest = max(1, int(tokens_BS.max()) + 1) if tokens_BS.numel() else 1
    sizes = torch.ones(largest, dtype=torch.int64) if num_bytes_V is None else num_bytes_V
    return batch_of(tokens_BS.cpu().numpy(), sizes.cpu().numpy(), packed=False)
