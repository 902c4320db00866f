"""somelab generate: text from a trained run, and optionally the experts of each token."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

if TYPE_CHECKING:
    from somelab.model.generate import Trace
    from somelab.runs.trained import TrainedModel


MOST_TOKENS = 1_000_000
# Closer to 0, scores divided by the temperature leave the range of fp32.
COLDEST, HOTTEST = 1e-4, 1e4
GAP = "  "
EXPERT_WIDTH = len("123 0.45" + GAP)
"""Of an expert and its gate in a trace."""


@dataclass(frozen=True)
class Arguments:
    """Continue a prompt with a trained run."""

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run folder."""
    prompt: str = "Once upon a time"
    """The text to continue."""
    max_new_tokens: int = 100
    """Tokens to generate at most; a text may end before."""
    temperature: float = 0.8
    """Sampling temperature; 0 takes the likeliest token."""
    top_k: Annotated[int | None, tyro.conf.arg(metavar="K")] = 40
    """Draw from this many likeliest tokens."""
    top_p: Annotated[float | None, tyro.conf.arg(metavar="P", help_behavior_hint="")] = None
    """Draw from the fewest likeliest tokens that reach this share."""
    seed: int = 0
    """Random seed of the sampling."""
    checkpoint: str = "last"
    """Which checkpoint: last, best, or a step that is kept, such as 200."""
    trace: bool = False
    """Show the experts of every token."""
    layers: str | None = None
    """Which layers the trace shows, e.g. 0,2,5. Without it: the first, the middle and the last."""
    json: bool = False
    """Print JSON."""


def run(arguments: Arguments) -> None:
    from somelab.cli.terminal import print_json, say
    from somelab.data.tokenizer import END_OF_TEXT_ID
    from somelab.model.generate import generate
    from somelab.runs import RunFolder
    from somelab.runs.trained import load_trained
    from somelab.training.machine.process import prepare_process

    _check(arguments)
    prepare_process()
    trained = load_trained(RunFolder.open(arguments.run), arguments.checkpoint)
    prompt = trained.tokenizer.encode(arguments.prompt)
    layers = shown_layers(trained, arguments.layers)
    made = generate(
        trained.model,
        prompt,
        max_new_tokens=arguments.max_new_tokens,
        temperature=arguments.temperature,
        top_k=arguments.top_k,
        top_p=arguments.top_p,
        seed=arguments.seed,
        stop_token=END_OF_TEXT_ID,
        trace=arguments.trace,
    )
    (tokens,) = made.tokens
    text = trained.tokenizer.decode([token for token in tokens if token != END_OF_TEXT_ID])
    trace = made.traces[0] if made.traces else None
    if arguments.json:
        record: dict[str, Any] = {"prompt": arguments.prompt, "text": text, "tokens": tokens}
        if trace is not None:
            record["trace"] = [
                {
                    "token": trained.tokenizer.decode([token], special=True),
                    "experts": [[expert for expert, _ in chosen] for chosen in ranked(trace, i)],
                    "gates": [[gate for _, gate in chosen] for chosen in ranked(trace, i)],
                }
                for i, token in enumerate(tokens[: trace.experts_NLK.shape[0]])
            ]
        print_json(record)
        return
    say(text)
    if trace is not None:
        print_trace(trained, tokens, trace, layers)


def _check(arguments: Arguments) -> None:
    """What can be refused before a model is read."""
    from somelab.errors import ConfigError

    temperature, top_k, top_p = arguments.temperature, arguments.top_k, arguments.top_p
    if temperature and not COLDEST <= temperature <= HOTTEST:
        remedy = f"choose 0 (the likeliest token), or {COLDEST:g} to {HOTTEST:g}"
        raise ConfigError("--temperature", temperature, "is not a temperature to sample at", remedy)
    if top_k is not None and top_k < 1:
        raise ConfigError("--top-k", top_k, "leaves no token to draw", "choose 1 or more")
    if top_p is not None and not 0 < top_p <= 1:
        remedy = "choose a value above 0 and up to 1"
        raise ConfigError("--top-p", top_p, "is not a share of the probability", remedy)
    if not 1 <= arguments.max_new_tokens <= MOST_TOKENS:
        remedy = f"choose 1 to {MOST_TOKENS:,}"
        raise ConfigError("--max-new-tokens", arguments.max_new_tokens, "cannot be generated", remedy)
    if not arguments.prompt:
        raise ConfigError("--prompt", arguments.prompt, "is empty", "give at least one character")


def shown_layers(trained: TrainedModel, wanted: str | None) -> tuple[int, ...]:
    from somelab.errors import ConfigError

    num_layers = trained.config.model.num_layers
    if wanted is None:
        return tuple(dict.fromkeys((0, num_layers // 2, num_layers - 1)))
    known = {str(layer): layer for layer in range(num_layers)}
    names = [name.strip() for name in wanted.split(",")]
    if any(name not in known for name in names):
        raise ConfigError(
            "--layers", wanted, f"the model has layers 0 to {num_layers - 1}", "choose among them, e.g. 0,1"
        )
    return tuple(known[name] for name in names)


def ranked(trace: Trace, position: int) -> list[list[tuple[int, float]]]:
    """The experts of a token in every layer with their gates, the strongest first. The router selects by
    scores with a load bias, so that its own order may differ."""
    experts, gates = trace.experts_NLK[position].tolist(), trace.gates_NLK[position].tolist()
    return [
        sorted(zip(*layer, strict=True), key=lambda chosen: -chosen[1])
        for layer in zip(experts, gates, strict=True)
    ]


def print_trace(trained: TrainedModel, tokens: list[int], trace: Trace, layers: tuple[int, ...]) -> None:
    """A row per token: its K experts in each of the layers, the strongest first; as many as the width
    allows."""
    from somelab.cli.terminal import console, say, table

    num_positions, _, top_k = trace.experts_NLK.shape
    texts = [repr(trained.tokenizer.decode([token], special=True))[1:-1] for token in tokens[:num_positions]]
    out = console()
    taken = max(len("token"), *map(len, texts)) + 1
    num_shown = min(top_k, max(1, ((out.width - taken) // len(layers) - 1 + len(GAP)) // EXPERT_WIDTH))
    left_out = "" if num_shown == top_k else f"; {num_shown} of {top_k}, a wider terminal shows more"
    say(f"\nExperts of each token with their gates, the strongest first{left_out}:\n")
    shown = table("token", *(f"layer {layer}" for layer in layers))
    for position, text in enumerate(texts):
        chosen = ranked(trace, position)
        cells = [
            GAP.join(f"{expert:>3} {gate:.2f}" for expert, gate in chosen[layer][:num_shown])
            for layer in layers
        ]
        shown.add_row(text, *cells)
    out.print(shown)
