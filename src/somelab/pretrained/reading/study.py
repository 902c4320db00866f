"""Adaptation of a pretrained model: every learner reads the same text, scored before it learns, beside the
frozen model; what it forgets of other text, what it costs, and whether it can be undone to the bit."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from somelab.analysis.intervals import paired
from somelab.pretrained.calibration import mean_loss
from somelab.pretrained.reading import memories
from somelab.pretrained.reading.learners import Credit, DynamicEvaluation, Learner, Lora
from somelab.pretrained.reading.passes import FrozenPass, fingerprint, frozen_pass

RATES: dict[str, tuple[float, ...]] = {
    "dynamic": (0.003, 0.01, 0.03),
    "lora": (3e-4, 1e-3, 3e-3),
    "credit": (1.0, 4.0, 16.0),
}
LEARNERS: dict[str, type[Learner]] = {"dynamic": DynamicEvaluation, "lora": Lora, "credit": Credit}
MEMORIES = ("cache", "nearest", "memory")
NUM_KEYS = 16
TRIAL_ROWS = 2  # on which learners with a rate choose it; each trial costs a forward and a backward pass
Progress = Callable[[str], None]


def adapt(
    model: Any,
    rows_BS: Tensor,
    tuning_BS: Tensor,
    home_BS: Tensor,
    ways: list[str],
    progress: Progress,
    *,
    seed: int = 0,
) -> dict[str, Any]:
    """Read `rows_BS` with each way of learning. Rates and weights are chosen on `tuning_BS`."""
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
            else read_with_learner(way, model, tuning_BS, rows_BS, home_BS)
        )
        losses[way] = one.pop("per_segment")
        one["loss"] = sum(losses[way]) / len(losses[way])
        one["gain"] = _shown(losses["frozen"], losses[way])
        if way in MEMORIES:
            one["home"] = home  # the weights are as they were
        one["forgotten"] = one["home"] - home
        record["ways"][way] = one
        progress(f"{way}: {one['loss']:.4f}")
    for way, one in record["ways"].items():
        if "cache" in losses and way != "cache":
            one["gain_over_cache"] = _shown(losses["cache"], losses[way])
    after = fingerprint(model)
    record["rollback"] = {"before": before, "after": after, "exact": before == after}
    record["per_segment"] = losses
    return record


def _shown(base: list[float], values: list[float]) -> dict[str, float]:
    found = paired(base, values)
    return {"mean": found.mean, "low": found.low, "high": found.high}


def read_with_memory(
    way: str, tuning: FrozenPass, test: FrozenPass, vocab_size: int, seed: int
) -> dict[str, Any]:
    """cache: recent words. nearest: all stored states. memory: those that routing selects."""

    def remember(seen: FrozenPass) -> memories.Recall:
        buckets = None
        if way == "memory":
            buckets = memories.Buckets(tuning.hidden_BSD.flatten(0, 1), NUM_KEYS, seed)
        sharpnesses = () if way == "cache" else memories.SHARPNESSES
        return memories.recall(seen, vocab_size, sharpnesses, buckets=buckets)

    weights = memories.tuned(tuning.nats_BS.flatten(), remember(tuning), cache=way == "cache")
    start = time.process_time()
    recalled = remember(test)
    nats_N = memories.mixed(test.nats_BS.flatten(), recalled, weights)
    return {
        "per_segment": nats_N.view_as(test.nats_BS).mean(dim=1).tolist(),
        "seconds": time.process_time() - start,
        "settings": vars(weights),
        "looked_at": recalled.looked_at,
    }


def read_with_learner(
    way: str, model: Any, tuning_BS: Tensor, rows_BS: Tensor, home_BS: Tensor
) -> dict[str, Any]:
    """The rate with the lowest loss on the tuning text reads the text, and the home text afterwards."""
    trials: dict[float, float] = {}
    for rate in RATES[way]:
        learner = LEARNERS[way](model, rate)
        trials[rate] = float(
            torch.stack([learner.learn_(row_S).mean() for row_S in tuning_BS[:TRIAL_ROWS]]).mean()
        )
        learner.undo_()
    best = min(trials, key=lambda rate: trials[rate])
    learner = LEARNERS[way](model, best)
    start = time.process_time()
    per_segment = [float(learner.learn_(row_S).double().mean()) for row_S in rows_BS]
    seconds = time.process_time() - start
    home = mean_loss(model, home_BS)
    learner.undo_()
    return {
        "per_segment": per_segment,
        "seconds": seconds,
        "settings": {"rate": best, "trials": {str(rate): loss for rate, loss in trials.items()}},
        "home": home,
    }
