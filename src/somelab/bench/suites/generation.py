"""`somelab bench generate`: greedy continuation with the cache of keys and values, against running the whole
text through the model again for every token."""

from __future__ import annotations

import torch
from torch import Tensor

from somelab.bench.measuring import Contender, Timing, measure
from somelab.bench.results import OURS, Result, Row, timed_row, with_ratios
from somelab.bench.settings import Settings
from somelab.config import override
from somelab.model.decoder import Decoder
from somelab.model.generate import generate

DEFAULT = "a1"
BATCHES = (1, 8)
NUM_PROMPT, NUM_NEW = 8, 256
QUICK_NEW = 16
STRIDES = {1: 16, 8: 64}
"""Of the full forward passes every n-th is timed: their cost grows smoothly with the length."""
REPETITIONS = {1: 5, 8: 2}
BUDGET = 30.0


def run(settings: Settings) -> Result:
    config = settings.config(DEFAULT)
    num_new = QUICK_NEW if settings.quick else NUM_NEW
    rows, ratios = list[Row](), dict[str, float | str | None]()
    runs = [("", config, num_rows) for num_rows in BATCHES]
    if config.model.feed_forward == "some" and config.experts.family == "dense":
        runs.append(("int8_", override(config, {"experts.storage": "int8"}), 1))
    model, made_for = None, None
    for prefix, settled, num_rows in runs:
        if model is None or made_for is not settled:
            model, made_for = None, settled  # frees the other one first
            model = Decoder(settled).eval()
        settings.announce(f"generate: {num_rows} x {num_new} tokens{', int8' if prefix else ''}")
        stride = 4 if settings.quick else STRIDES[num_rows]
        text_BT = _text(num_rows, NUM_PROMPT + num_new, config.model.vocab_size)
        contenders = _contenders(model, text_BT, num_new, stride, settings)
        measured = measure(contenders, settings.times(REPETITIONS[num_rows]), BUDGET).timings
        again = Timing(tuple(seconds * stride for seconds in measured["again"].seconds))
        case = f"batch {num_rows}{', int8' if prefix else ''}"
        note = f"every {stride}th of its {num_new} passes is timed, and the sum multiplied by {stride}"
        speed = {
            name: num_rows * num_new / timing.median
            for name, timing in (("cache", measured["cache"]), ("again", again))
        }
        rows += with_ratios(
            [
                timed_row(
                    case,
                    "ours, with the cache",
                    OURS,
                    measured["cache"],
                    details={"tokens_per_second": speed["cache"]},
                ),
                timed_row(
                    case,
                    "full forward for each token",
                    "other",
                    again,
                    note=note,
                    details={"tokens_per_second": speed["again"]},
                ),
            ]
        )
        ratios[f"{prefix}rerun_batch_{num_rows}"] = again.median / measured["cache"].median
    return Result(
        "generate",
        f"Greedy generation of {num_new} tokens",
        settings.record(preset=settings.name(DEFAULT), num_prompt_tokens=NUM_PROMPT, num_new_tokens=num_new),
        rows,
        ratios,
    )


def _contenders(
    model: Decoder, text_BT: Tensor, num_new: int, stride: int, settings: Settings
) -> list[Contender]:
    prompt_BT = text_BT[:, :NUM_PROMPT]
    return [
        Contender(
            "cache",
            lambda: _with_cache(model, prompt_BT, num_new, settings),
            warm_up=lambda: _with_cache(model, prompt_BT, NUM_PROMPT, settings),
        ),
        Contender(
            "again",
            lambda: _again(model, text_BT, num_new, stride, settings),
            warm_up=lambda: _again(model, text_BT, num_new, num_new, settings),
        ),
    ]


def _text(num_rows: int, num_tokens: int, vocab_size: int) -> Tensor:
    return torch.randint(2, vocab_size, (num_rows, num_tokens), generator=torch.Generator().manual_seed(0))


def _with_cache(model: Decoder, prompt_BT: Tensor, num_new: int, settings: Settings) -> None:
    with settings.autocast():
        generate(model, prompt_BT, max_new_tokens=num_new, temperature=0)


@torch.no_grad()
def _again(model: Decoder, text_BT: Tensor, num_new: int, stride: int, settings: Settings) -> None:
    """The passes for every stride-th new token, from the middle of each stride: the whole text before it."""
    with settings.autocast():
        for number in range(stride // 2, num_new, stride):
            hidden_BTD = model(text_BT[:, : NUM_PROMPT + number], hidden_only=True).hidden_BTD
            model.head(hidden_BTD[:, -1]).argmax(dim=-1)
