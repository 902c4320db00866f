"""Grow experts on a pretrained model, one generation for each text: each is trained alone, with everything
older frozen, and settled; keys select among them. Nothing of the model changes.

Shape letters: B rows, S tokens per row."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from somelab.model.growth import GrownPool, GrowthSettings
from somelab.pretrained.reading.learners import SMALL_EXPERT
from somelab.pretrained.reading.passes import fingerprint, token_nats
from somelab.pretrained.reading.study import less

WARMUP, FALL = 0.1, 0.3  # shares of the steps in which the rate rises, and in which it falls to zero
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Texts:
    """Rows of one kind of text, of different documents."""

    train_BS: Tensor
    test_BS: Tensor


def grow(
    model: Any,
    home: Texts,
    texts: dict[str, Texts],
    rate: float,
    progress: Progress,
    *,
    settings: GrowthSettings = SMALL_EXPERT,
) -> tuple[GrownPool, dict[str, Any]]:
    """One generation for each of the texts, in order. The pool stays attached; the record has the loss of
    every text after every growth, by row, and digests that show what stayed as it was."""
    before = fingerprint(model)
    pool = GrownPool.attach(model, settings=settings)
    pool.read_(home.train_BS)
    tests = {"home": home.test_BS, **{name: text.test_BS for name, text in texts.items()}}
    matrix = [{name: row_losses(model, rows_BS) for name, rows_BS in tests.items()}]
    generations: list[dict[str, Any]] = []
    kept: dict[str, str] = {}
    exact = True
    for name, text in texts.items():
        start = time.process_time()
        train_(pool, name, text.train_BS, rate, progress)
        exact = exact and all(digest_of(pool, other) == digest for other, digest in kept.items())
        kept[name] = digest_of(pool, name)
        generations.append({**pool.generation(name).content(), "seconds": time.process_time() - start})
        matrix.append({name: row_losses(model, rows_BS) for name, rows_BS in tests.items()})
        progress(
            f"after {name}: " + ", ".join(f"{one} {_mean(rows):.4f}" for one, rows in matrix[-1].items())
        )
    shares = {name: served(pool, rows_BS) for name, rows_BS in tests.items()}
    return pool, {
        "rate": rate,
        "generations": generations,
        "per_row": matrix,
        "loss": [{name: _mean(rows) for name, rows in after.items()} for after in matrix],
        "change": {name: less(matrix[-1][name], matrix[0][name]) for name in tests},
        "served": shares,
        "old_experts_exact": exact,
        "model_exact": fingerprint(model) == before,
    }


def train_(pool: GrownPool, name: str, rows_BS: Tensor, rate: float, progress: Progress) -> None:
    """A generation that begins as a copy of the expert with the lowest loss on the first row; then one step
    of Adam a row, and it is frozen for good."""
    losses: dict[str, float] = {}
    for known in pool.names:
        with pool.only(known), torch.no_grad():
            losses[known] = float(token_nats(pool.model, rows_BS[0]).mean())
    pool.grow_(name=name, start_from=min(losses, key=lambda known: losses[known]))
    optimizer = torch.optim.Adam(pool.open_parameters(), lr=rate)
    num_steps = len(rows_BS)
    for step, row_S in enumerate(rows_BS):
        rises, falls = (step + 1) / max(1.0, WARMUP * num_steps), (num_steps - step) / (FALL * num_steps)
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1.0, rises, falls)
        pool.read_(row_S[None])
        with pool.only(name):
            loss = token_nats(pool.model, row_S).mean()
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if (step + 1) % max(1, num_steps // 4) == 0:
            progress(f"{name}: step {step + 1} of {num_steps}, loss {float(loss.detach()):.4f}")
    pool.settle_()


@torch.no_grad()
def row_losses(model: Any, rows_BS: Tensor) -> list[float]:
    """Nats per token of each row, with the experts that the keys select."""
    return [float(token_nats(model, row_S).double().mean()) for row_S in rows_BS]


def served(pool: GrownPool, rows_BS: Tensor) -> dict[str, float]:
    """The share of the tokens that each expert serves."""
    return dict(zip(pool.names, pool.gates(rows_BS).mean(dim=(0, 1)).tolist(), strict=True))


def digest_of(pool: GrownPool, name: str) -> str:
    """Of all bits of a generation: parts and keys."""
    found = hashlib.sha256()
    for path, tensor in sorted(pool.tensors(name).items()):
        found.update(path.encode())
        found.update(tensor.detach().contiguous().view(torch.uint8).numpy().tobytes())
    return found.hexdigest()


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
