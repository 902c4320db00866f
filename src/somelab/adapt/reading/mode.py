"""Test-time adaptation of the keys, without gradients. Each chunk of a stream is scored completely before any
of its tokens may move a key. On exit everything is restored bit for bit.

Shape letters: B sequences, T tokens, N counted tokens, E experts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from types import TracebackType
from typing import Any

import torch
from torch import Tensor

from somelab.adapt.reading.chunks import chunks
from somelab.adapt.reading.levers import GainLever, TemperatureLever
from somelab.adapt.reading.masks import TokenMask
from somelab.adapt.reading.movement import movement
from somelab.adapt.reading.reward import Expectation
from somelab.adapt.reading.rules import is_finite, order_for, reverted
from somelab.adapt.reading.schedules import Pace
from somelab.adapt.reading.score import Score, total
from somelab.adapt.reading.word_memory import BIGRAM_BACKOFF, MemorySlots, WordMemory, bigram_slots
from somelab.adapt.settings import (
    BASELINES,
    GRAVITY_RULES,
    KEPT,
    AdaptationSettings,
    gravity_of,
    paced,
    steps_per_update,
)
from somelab.core.gravity import KeyState, Moment, apply_rules
from somelab.core.keystore import KeyStore
from somelab.core.layer import SomeLayer
from somelab.core.router import Routing
from somelab.core.statistics import RoutingStatistics
from somelab.data.batch import Batch
from somelab.errors import ConfigError, SomelabError
from somelab.model import Decoder
from somelab.model.loss import token_nats, token_nats_and_errors
from somelab.training.machine.precision import autocast, resolve
from somelab.training.padding import attended_documents

TOKENS_PER_PASS = 8192


def adapting(model: Decoder, **settings: Any) -> Adaptation:
    """Test-time adaptation of the keys, without gradients:
    `with adapting(model, rules=..., rate=...) as adaptation:`.

    On exit everything is restored bit for bit, unless `adaptation.keep()` was called. Settings:
    `AdaptationSettings`."""
    known = [field.name for field in fields(AdaptationSettings)]
    for name, value in settings.items():
        if name not in known:
            raise ConfigError(
                f"adapting({name})", value, "is not a setting of adaptation", f"known: {', '.join(known)}"
            )
    return Adaptation(model, AdaptationSettings(**settings))


@dataclass(frozen=True)
class Reading:
    """One chunk: its losses per token, and what followed."""

    score: Score
    nats_N: Tensor
    """Of the counted tokens in order, scored before anything moved."""
    moved: bool


def flat_store(layer: SomeLayer) -> KeyStore:
    """The keys of a layer, one per expert; raises for pairs of sub-keys."""
    if not isinstance(layer.keystore, KeyStore):
        problem = "test-time adaptation moves one key per expert, and these experts share sub-keys"
        raise ConfigError("router.keys", "product", problem, "train a run with router.keys = flat")
    return layer.keystore


class LayerPlace:
    """The state of one layer in an adaptation: its start, its statistics since the last update, and what else
    adapts."""

    def __init__(self, layer: SomeLayer, adaptation: Adaptation) -> None:
        self.layer, self.store = layer, flat_store(layer)
        store, settings, rules = self.store, adaptation.settings, adaptation.rules
        self.snapshot = store.snapshot()
        state = store.state()
        self.home = KeyState(**{field.name: getattr(state, field.name).clone() for field in fields(state)})
        self.gravity = gravity_of(adaptation.model.config, rules)
        self.moves = any(rule in GRAVITY_RULES for rule in rules)
        self.seen = RoutingStatistics(
            store.keys_ED.shape[0],
            store.keys_ED.shape[1],
            self.gravity,
            centre=layer.router.config.centre_queries and "centring" in rules,
            seed=store.seed,
            layer=store.layer,
        ).to(store.keys_ED.device)
        self.order = order_for(settings, self.home)
        self.temperature = TemperatureLever(layer) if "temperature" in rules else None
        self.gain = GainLever(layer) if "gain" in rules else None
        self.routing: Routing | None = None
        self.expert_input_TD: Tensor | None = None
        """The input of the experts in the last pass."""
        known = float(store.usage_E.sum())
        self.usage_scale = settings.every * layer.router.top_k / known if known > 0 else 1.0
        """Usage is counted per update here and per step in the store: the rules use it multiplied by this."""

    def see_(self, batch: Batch, selected_BT: Tensor, step: int, error_BTD: Tensor | None) -> None:
        """Add a pass to the statistics, with the tokens that may move keys."""
        if self.moves and self.routing is not None:
            selected_T, index_T = selected_BT.reshape(-1), batch.token_index_BT.reshape(-1)
            self.seen.add_(self.routing, step=step, counted_T=selected_T, token_index_T=index_T)
            if error_BTD is not None and self.expert_input_TD is not None:
                merit_TK = self.layer.merits(error_BTD, self.expert_input_TD, self.routing)
                self.seen.add_credit_(
                    self.routing, merit_TK, step=step, counted_T=selected_T, token_index_T=index_T
                )

    def reward_(self, advantage_N: Tensor, selected_BT: Tensor) -> None:
        for lever in (self.temperature, self.gain):
            if lever is not None and self.routing is not None:
                lever.see_(self.routing, advantage_N, selected_BT.reshape(-1))

    def move_(self, tempo: float, pace: float, step: int) -> bool:
        """Apply the rules. A state with a number that is not finite is rejected as a whole, and False
        returned."""
        for lever in (self.temperature, self.gain):
            if lever is not None:
                lever.move_(tempo)
        if not self.moves:
            return True
        store = self.store
        before = self._scaled(store.state(), self.usage_scale)
        now = Moment(
            paced(self.gravity, pace), store.layer, store.num_layers, step, 1.0, store.seed, before.keys_ED
        )
        after = apply_rules(before, self.seen, now, self.order)
        self.seen.zero_()
        if not is_finite(after):
            return False
        store.respawns += int((after.born_E != before.born_E).sum())
        store.write_(self._scaled(after, 1 / self.usage_scale))
        return True

    @staticmethod
    def _scaled(state: KeyState, factor: float) -> KeyState:
        return replace(state, usage_E=state.usage_E * factor, mass_E=state.mass_E * factor)

    def revert_(self, share: float) -> None:
        self.store.write_(reverted(self.store.state(), self.home, share))
        for lever in (self.temperature, self.gain):
            if lever is not None:
                lever.revert_(share)

    def restore_(self) -> None:
        self.store.restore_(self.snapshot)


class Adaptation:
    """A model under test-time adaptation; a context manager. Plain calls of the model inside it use the
    current keys."""

    def __init__(self, model: Decoder, settings: AdaptationSettings) -> None:
        self.model, self.settings = model, settings
        self.rules = settings.resolved(model.config)
        self.device = next(model.parameters()).device
        self.dtype = resolve(model.config.train.precision, self.device)
        for layer in model.some_layers():
            flat_store(layer)
        needs_layers = [rule for rule in self.rules if rule not in BASELINES]
        if needs_layers and not model.some_layers():
            feed_forward = model.config.model.feed_forward
            raise ConfigError(
                "rules",
                needs_layers[0],
                f"a model with {feed_forward} layers has no keys",
                "give cache, bigram, or none",
            )
        if "centring" in self.rules and not model.config.router.centre_queries:
            raise ConfigError(
                "rules", "centring", "the run does not centre its queries", "leave centring out"
            )
        self.num_updates = self.num_rejected = self.num_tokens = 0
        self.places: list[LayerPlace] = []
        self.kept = self._inside = False

    def __enter__(self) -> Adaptation:
        if self._inside:
            raise SomelabError("this adaptation has been entered already; call adapting(model) again")
        model = self.model
        self._inside, self._was_training = True, model.training
        model.eval()
        self.places = [LayerPlace(layer, self) for layer in model.some_layers()]
        self._hooks = [place.layer.router.register_forward_hook(self._hook(place)) for place in self.places]
        if "credit" in self.rules:
            self._hooks += [
                place.layer.experts.register_forward_pre_hook(self._input_hook(place))
                for place in self.places
            ]
        self._error_BTD: Tensor | None = None
        self._mask, self._pace = (
            TokenMask(self.settings.mask),
            Pace(self.settings.schedule, self.settings.rate),
        )
        self._scale = steps_per_update(model.config, self.settings.every)
        rewarded = any(rule in self.rules for rule in ("temperature", "gain"))
        vocab_size = model.config.model.vocab_size
        self._expectation = Expectation(vocab_size, self.device) if rewarded else None
        self.memory = self._word_memory(vocab_size)
        self._carried, self._since, self._capturing = 0, Score(), False
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for hook in self._hooks:
            hook.remove()
        for place in self.places:
            for lever in (place.temperature, place.gain):
                if lever is not None:
                    lever.undo_()
            if not self.kept or error is not None:
                place.restore_()
        self.model.train(self._was_training)
        self._inside = False

    def keep(self) -> None:
        """Keep the adapted keys when the context ends. An exception afterwards still restores them."""
        check_kept(self.rules)
        self.kept = True

    def _hook(self, place: LayerPlace) -> Callable[..., Routing | None]:
        def routed(router: Any, inputs: Any, routing: Routing) -> Routing | None:
            if self._capturing:
                place.routing = routing
            return None if place.gain is None else place.gain.act(routing)

        return routed

    def _input_hook(self, place: LayerPlace) -> Callable[..., None]:
        def hook(experts: Any, inputs: tuple[Tensor, ...]) -> None:
            if self._capturing:
                place.expert_input_TD = inputs[0]

        return hook

    @torch.no_grad()
    def read(self, batches: Iterable[Batch], max_tokens: int | None = None) -> Iterator[Reading]:
        """Score the stream chunk by chunk, with an update after each. A rest too short for an update is
        carried to the next call.

        `max_tokens`: end with the chunk in which this many have been read."""
        self._check_inside()
        num_tokens = 0
        for chunk in chunks(batches, self.settings.every, self._carried):
            reading = self._read_chunk_(chunk.batch.to(self.device), complete=chunk.complete)
            yield reading
            num_tokens += reading.score.num_tokens
            if max_tokens is not None and num_tokens >= max_tokens:
                return

    @torch.no_grad()
    def measure(self, batches: Iterable[Batch], max_tokens: int | None = None) -> Score:
        """Score text without moving anything."""
        self._check_inside()
        scores: list[Score] = []
        for batch in batches:
            scores += [
                score_of(self._score(part, capturing=False)[1], part)
                for part in passes(batch.to(self.device))
            ]
            if max_tokens is not None and total(scores).num_tokens >= max_tokens:
                break
        self._forget_routings_()
        return total(scores)

    def revert_(self, share: float = 0.1, times: int = 1) -> None:
        """Move the keys a share of the way back to the checkpoint, as the rule reversion does, several
        times."""
        self._check_inside()
        if not 0 <= share <= 1:
            raise ConfigError("revert_(share)", share, "is not a share", "choose a value from 0 to 1")
        for _ in range(times):
            for place in self.places:
                place.revert_(share)
            if self.memory is not None:
                self.memory.revert_(share)

    def forget_pending_(self) -> None:
        """Discard the statistics since the last update."""
        self._carried, self._since = 0, Score()
        for place in self.places:
            place.seen.zero_()

    def movement(self) -> dict[str, Any]:
        """How far keys are from the checkpoint."""
        return movement([(place.store.keys_ED.detach(), place.home.keys_ED) for place in self.places])

    def levers(self) -> dict[str, Any]:
        """The state of everything but the keys."""
        return {
            "temperature_factors": [
                float(torch.tensor(p.temperature.offset).exp()) for p in self.places if p.temperature
            ],
            "largest_gain_change": max(
                (float(p.gain.log_gain_E.abs().max().exp()) for p in self.places if p.gain), default=1.0
            ),
            "cache_weight": None if self.memory is None else self.memory.weight,
            "num_shifts": self._pace.num_shifts,
        }

    def _check_inside(self) -> None:
        if not self._inside:
            raise SomelabError(
                "an adaptation reads only inside its context; write `with adapting(model, ...) as "
                "adaptation:`"
            )

    def _read_chunk_(self, batch: Batch, *, complete: bool) -> Reading:
        score, all_nats = Score(), list[Tensor]()
        for part in passes(batch):
            nats_BT, mixed_BT = self._score(part, capturing=True)
            if self.rules:
                self._note_(part, nats_BT, mixed_BT)
            score = score + score_of(mixed_BT, part)
            all_nats.append(mixed_BT[part.counted_BT])
        self.num_tokens += score.num_tokens
        self._carried += score.num_tokens
        self._since = self._since + score
        if complete:
            self._update_()
        return Reading(score, torch.cat(all_nats), complete and bool(self.rules))

    def _score(self, batch: Batch, *, capturing: bool) -> tuple[Tensor, Tensor]:
        """Nats of every token, without and with the word memory. Nothing moves here."""
        self._capturing = (
            capturing and any(rule not in BASELINES for rule in self.rules)
        ) or "memory" in self.rules
        try:
            if capturing and "credit" in self.rules:
                nats_BT, self._error_BTD = nats_and_errors_of(self.model, batch, self.dtype)
            else:
                nats_BT = nats_of(self.model, batch, self.dtype)
        finally:
            self._capturing = False
        if self.memory is None:
            return nats_BT, nats_BT
        return nats_BT, self.memory.mixed(
            nats_BT, batch.targets_BT, batch.counted_BT, self._memory_slots(batch)
        )

    def _word_memory(self, vocab_size: int) -> WordMemory | None:
        if "bigram" in self.rules:
            return WordMemory(vocab_size, self.device, bigram_slots(vocab_size), BIGRAM_BACKOFF)
        if "memory" in self.rules:
            return WordMemory(vocab_size, self.device, self.model.config.experts.num_experts)
        return WordMemory(vocab_size, self.device) if "cache" in self.rules else None

    def _memory_slots(self, batch: Batch) -> MemorySlots | None:
        """The memories used by the tokens of the last pass: those of their words, or of the experts of the
        first layer, whose routing depends most on the words."""
        assert self.memory is not None
        if "bigram" in self.rules:
            return MemorySlots.of_words(batch.tokens_BT, len(self.memory.count_SV))
        if "memory" not in self.rules:
            return None
        routing = self.places[0].routing
        assert routing is not None
        return MemorySlots.of_routing(routing.indices_TK, routing.gates_TK, batch.tokens_BT.shape)

    def _note_(self, batch: Batch, nats_BT: Tensor, mixed_BT: Tensor) -> None:
        """Record a scored pass. Nothing moves before the interval is full."""
        selected_BT = self._mask.select(nats_BT, batch.counted_BT)
        num_selected = int(selected_BT.sum())
        if num_selected:
            targets_N, nats_N = batch.targets_BT[selected_BT], nats_BT[selected_BT]
            advantage_N = self._expectation.advantage(nats_N, targets_N) if self._expectation else None
            for place in self.places:
                place.see_(batch, selected_BT, self.num_updates, self._error_BTD)
                if advantage_N is not None:
                    place.reward_(advantage_N, selected_BT)
            if self.memory is not None:
                self.memory.see_(selected_BT, nats_BT, mixed_BT, batch.targets_BT, self._memory_slots(batch))
        self._forget_routings_()

    def _forget_routings_(self) -> None:
        self._error_BTD = None
        for place in self.places:
            place.routing = place.expert_input_TD = None

    def _update_(self) -> None:
        """The update at the end of an interval, from the statistics since the last one."""
        loss, self._since, self._carried = self._since.loss, Score(), 0
        if not self.rules:
            return
        tempo = self._pace.next(loss)
        for place in self.places:
            self.num_rejected += not place.move_(tempo, tempo * self._scale, self.num_updates)
        if self.memory is not None:
            self.memory.move_()
        self.num_updates += 1


def check_kept(rules: tuple[str, ...]) -> None:
    """Raise for rules whose state a checkpoint cannot hold."""
    for rule in rules:
        if rule not in KEPT:
            raise ConfigError(
                "rules", rule, "a checkpoint cannot hold its state", "leave it out, or keep nothing"
            )


def passes(batch: Batch) -> list[Batch]:
    """A batch in pieces of a size that fits memory and caches."""
    return batch.micro_batches(max(1, TOKENS_PER_PASS // batch.tokens_BT.shape[1]))


@torch.no_grad()
def nats_of(model: Decoder, batch: Batch, dtype: torch.dtype) -> Tensor:
    """-log p of every token, [B, T]. The model is in evaluation mode and is not changed."""
    with autocast(dtype, batch.tokens_BT.device):
        return token_nats(model, _hidden(model, batch), batch.targets_BT)


@torch.no_grad()
def nats_and_errors_of(model: Decoder, batch: Batch, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """The same with the error of the hidden states, [B, T, D], for credit."""
    with autocast(dtype, batch.tokens_BT.device):
        return token_nats_and_errors(model, _hidden(model, batch), batch.targets_BT)


def _hidden(model: Decoder, batch: Batch) -> Tensor:
    return model(
        batch.tokens_BT, documents_BT=attended_documents(batch, padding_in_loss=False), hidden_only=True
    ).hidden_BTD


def score_of(nats_BT: Tensor, batch: Batch) -> Score:
    return Score(float(nats_BT[batch.counted_BT].double().sum()), batch.num_counted, batch.num_bytes)
