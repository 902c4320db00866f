"""Adaptation of a pretrained model: every learner reads the same text, scored before it learns, beside the
frozen model; what it forgets of other text, what it costs, and whether it can be undone to the bit."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from somelab.analysis.intervals import paired
from somelab.pretrained.calibration import mean_loss
from somelab.pretrained.reading import memories
from somelab.pretrained.reading.learners import Credit, DynamicEvaluation, Growth, Learner, Lora
from somelab.pretrained.reading.passes import FrozenPass, fingerprint, frozen_pass

FIRST_RATES = {"dynamic": 0.01, "lora": 1e-3, "growth": 1e-3, "credit": 4.0}
"""Where the search of a rate begins."""
FACTOR = 3.0
MOST_TRIALS = 6
LEARNERS: dict[str, type[Learner]] = {
    "dynamic": DynamicEvaluation,
    "lora": Lora,
    "growth": Growth,
    "credit": Credit,
}
MEMORIES = ("cache", "bigram", "nearest", "memory")
NUM_KEYS = 16
Progress = Callable[[str], None]


def adapt(
    model: Any,
    rows_BS: Tensor,
    tuning_BS: Tensor,
    home_BS: Tensor,
    ways: list[str],
    progress: Progress,
    *,
    old_BS: Tensor | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Read `rows_BS` with each way of learning. Rates and weights are chosen on `tuning_BS`; forgetting is
    measured on `home_BS`. `old_BS`: other text like `home_BS`, for the key of what the model knows."""
    before = fingerprint(model)
    start = time.process_time()
    tuning, test = frozen_pass(model, tuning_BS), frozen_pass(model, rows_BS)
    seconds = (
        (time.process_time() - start)
        * test.nats_BS.numel()
        / max(1, test.nats_BS.numel() + tuning.nats_BS.numel())
    )
    home = mean_loss(model, home_BS)
    frozen_B = test.nats_BS.double().mean(dim=1)
    record: dict[str, Any] = {
        "tokens": test.nats_BS.numel(),
        "segments": len(rows_BS),
        "frozen": {"loss": float(frozen_B.mean()), "home": home, "seconds": seconds},
        "ways": {},
    }
    progress(f"frozen: {float(frozen_B.mean()):.4f}")
    losses: dict[str, list[float]] = {"frozen": frozen_B.tolist()}
    for way in ways:
        one = (
            read_with_memory(way, tuning, test, model.config.vocab_size, seed)
            if way in MEMORIES
            else read_with_learner(way, model, tuning_BS, rows_BS, home_BS, old_BS)
        )
        losses[way] = one.pop("per_segment")
        one["loss"] = sum(losses[way]) / len(losses[way])
        one["gain"] = less(losses["frozen"], losses[way])
        if way in MEMORIES:
            one["home"] = home  # the weights are as they were
        one["forgotten"] = one["home"] - home
        record["ways"][way] = one
        progress(f"{way}: {one['loss']:.4f}")
    for way, one in record["ways"].items():
        if "cache" in losses and way != "cache":
            one["gain_over_cache"] = less(losses["cache"], losses[way])
    after = fingerprint(model)
    record["rollback"] = {"before": before, "after": after, "exact": before == after}
    record["per_segment"] = losses
    return record


def less(base: list[float], values: list[float]) -> dict[str, float]:
    """How far values are below a base, with the 95 % interval over rows."""
    found = paired(base, values)
    return {"mean": found.mean, "low": found.low, "high": found.high}


def read_with_memory(
    way: str, tuning: FrozenPass, test: FrozenPass, vocab_size: int, seed: int
) -> dict[str, Any]:
    """cache: recent words. bigram: recent pairs of words. nearest: all stored states. memory: those that
    routing selects."""

    def remember(seen: FrozenPass) -> memories.Recall:
        buckets = None
        if way == "memory":
            buckets = memories.Buckets(tuning.hidden_BSD.flatten(0, 1), NUM_KEYS, seed)
        sharpnesses = memories.SHARPNESSES if way in ("nearest", "memory") else ()
        backoffs = memories.BACKOFFS if way == "bigram" else ()
        return memories.recall(seen, vocab_size, sharpnesses, buckets=buckets, backoffs=backoffs)

    weights = memories.tuned(tuning.nats_BS.flatten(), remember(tuning))
    start = time.process_time()
    recalled = remember(test)
    nats_N = memories.mixed(test.nats_BS.flatten(), recalled, weights)
    return {
        "per_segment": nats_N.view_as(test.nats_BS).mean(dim=1).tolist(),
        "seconds": time.process_time() - start,
        "settings": weights.chosen(),
        "looked_at": recalled.looked_at,
    }


def read_with_learner(
    way: str, model: Any, tuning_BS: Tensor, rows_BS: Tensor, home_BS: Tensor, old_BS: Tensor | None
) -> dict[str, Any]:
    """The rate with the lowest loss on the tuning text reads the text, and the home text afterwards."""

    def trial(rate: float) -> float:
        learner = LEARNERS[way](model, rate, old_BS)
        try:
            return float(torch.stack([learner.learn_(row_S).mean() for row_S in tuning_BS]).mean())
        finally:
            learner.undo_()

    trials = searched(trial, FIRST_RATES[way])
    best = min(trials, key=lambda rate: trials[rate])
    learner = LEARNERS[way](model, best, old_BS)
    start = time.process_time()
    per_segment = [float(learner.learn_(row_S).double().mean()) for row_S in rows_BS]
    seconds = time.process_time() - start
    home = mean_loss(model, home_BS)
    learner.undo_()
    return {
        "per_segment": per_segment,
        "seconds": seconds,
        "settings": {
            "rate": best,
            "tuned": min(trials) < best < max(trials),
            "trials": {f"{rate:g}": trials[rate] for rate in sorted(trials)},
        },
        "home": home,
    }


def searched(trial: Callable[[float], float], first: float) -> dict[float, float]:
    """The loss by rate: on a geometric grid that grows until the best rate has a worse one on either side, or
    until there are too many trials."""
    found: dict[int, float] = {}

    def look(power: int) -> None:
        loss = trial(rate_of(power))
        found[power] = loss if math.isfinite(loss) else math.inf

    def rate_of(power: int) -> float:
        return float(f"{first * FACTOR**power:.2g}")

    for power in (0, 1):
        look(power)
    while len(found) < MOST_TRIALS:
        best = min(found, key=lambda power: found[power])
        missing = [power for power in (best - 1, best + 1) if power not in found]
        if not missing:
            break
        look(missing[0])
    return {rate_of(power): loss for power, loss in found.items()}
