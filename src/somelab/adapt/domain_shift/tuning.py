"""Test-time adaptation by gradient, for comparison: one optimizer step per interval, on the router alone or
on all that is trained. The same passes and the same order as without gradients: a chunk is scored, then
learned from. On exit everything is restored bit for bit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import TracebackType

import torch
from torch import nn

from somelab.adapt.reading.chunks import chunks
from somelab.adapt.reading.mode import nats_of, passes, score_of
from somelab.adapt.reading.score import Score, total
from somelab.core.layer import SomeLayer
from somelab.data.batch import Batch
from somelab.errors import ConfigError
from somelab.model import Decoder
from somelab.model.loss import next_token_loss
from somelab.training.machine.precision import autocast, resolve
from somelab.training.padding import attended_documents

PARTS = ("router", "all")
USUAL_RATES = {"router": 1e-3, "all": 6e-4}


class Tuning:
    """Test-time training by gradient. `router`: query networks and temperatures; where there is no query
    network, the layers' output gains and temperatures. `all`: everything that training trains. Keys do not
    move."""

    def __init__(
        self, model: Decoder, part: str, learning_rate: float | None = None, every: int = 4096
    ) -> None:
        if part not in PARTS:
            raise ConfigError(
                "part", part, "is not a part that is tuned", f"choose one of {', '.join(PARTS)}"
            )
        if part == "router" and not model.some_layers():
            raise ConfigError("part", part, "a model without SoME layers has no SoME router", "choose all")
        self.model, self.part, self.every = model, part, every
        self.learning_rate = USUAL_RATES[part] if learning_rate is None else learning_rate
        self.device = next(model.parameters()).device
        self.dtype = resolve(model.config.train.precision, self.device)

    def __enter__(self) -> Tuning:
        model = self.model
        self._was_training = model.training
        model.eval()
        self._gains = (
            {layer: layer.output_gain for layer in model.some_layers()} if self.part == "router" else {}
        )
        for layer, gain in self._gains.items():
            if not layer.router.linears and isinstance(gain, float):
                layer.output_gain = nn.Parameter(torch.tensor(gain, device=self.device))
        self.tuned = list(self._tuned())
        self._before = [parameter.detach().clone() for parameter in self.tuned]
        self._switches = {parameter: parameter.requires_grad for parameter in model.parameters()}
        for parameter in model.parameters():
            parameter.requires_grad_(any(parameter is tuned for tuned in self.tuned))
        self._optimizer = torch.optim.AdamW(
            self.tuned, lr=self.learning_rate, betas=(0.9, 0.95), weight_decay=0.0
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with torch.no_grad():
            for parameter, before in zip(self.tuned, self._before, strict=True):
                parameter.copy_(before)
        for parameter, switch in self._switches.items():
            parameter.grad = None
            parameter.requires_grad_(switch)
        for layer, gain in self._gains.items():
            if isinstance(gain, float):
                del layer.output_gain
                layer.output_gain = gain
        self.model.train(self._was_training)

    def _tuned(self) -> Iterator[nn.Parameter]:
        if self.part == "all":
            yield from (parameter for parameter in self.model.parameters() if parameter.requires_grad)
            return
        for layer in self.model.some_layers():
            yield from _router_parameters(layer)

    @property
    def num_tuned(self) -> int:
        """Parameters that the gradient may move."""
        return sum(parameter.numel() for parameter in self.tuned)

    def read(self, batches: Iterable[Batch], max_tokens: int | None = None) -> Iterator[Score]:
        """Score chunk by chunk, with an optimizer step after each complete one."""
        num_tokens = 0
        for chunk in chunks(batches, self.every):
            batch = chunk.batch.to(self.device)
            score = total(score_of(nats_of(self.model, part, self.dtype), part) for part in passes(batch))
            if chunk.complete:
                self._step_(batch)
            yield score
            num_tokens += score.num_tokens
            if max_tokens is not None and num_tokens >= max_tokens:
                return

    def measure(self, batches: Iterable[Batch], max_tokens: int | None = None) -> Score:
        """Score text without learning."""
        found = Score()
        for batch in batches:
            found = found + total(
                score_of(nats_of(self.model, part, self.dtype), part)
                for part in passes(batch.to(self.device))
            )
            if max_tokens is not None and found.num_tokens >= max_tokens:
                break
        return found

    def _step_(self, batch: Batch) -> None:
        for part in passes(batch):
            with torch.enable_grad(), autocast(self.dtype, self.device):
                documents_BT = attended_documents(part, padding_in_loss=False)
                output = self.model(
                    part.tokens_BT, documents_BT=documents_BT, counted_BT=part.counted_BT, hidden_only=True
                )
                nats = next_token_loss(self.model, output.hidden_BTD, part.targets_BT, part.counted_BT).nats
                (nats / max(1, batch.num_counted)).backward()
        nn.utils.clip_grad_norm_(self.tuned, 1.0)
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)


def _router_parameters(layer: SomeLayer) -> Iterator[nn.Parameter]:
    yield from layer.router.parameters()
    if not layer.router.linears and isinstance(layer.output_gain, nn.Parameter):
        yield layer.output_gain
