"""somelab adapt for a pretrained model: memories, keys of a carved model, dynamic evaluation and a LoRA read
the same text."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from somelab.errors import ConfigError, SomelabError, nearest

if TYPE_CHECKING:
    from somelab.cli.lab.adapt import Arguments

WAYS = ("cache", "bigram", "nearest", "memory", "credit", "growth", "dynamic", "lora")
TOKENS, TUNING_TOKENS, HOME_TOKENS = 4096, 2048, 2048
OLD_TOKENS = 32768  # of text like the home text, which are counted for a key; no model reads them


def run(arguments: Arguments) -> None:
    from somelab.cli.terminal import print_json

    record = _record(arguments, ways_of(arguments))
    print_json(record) if arguments.json else _print(record)


def ways_of(arguments: Arguments) -> list[str] | None:
    """The ways that --rules names; None: all that the model has."""
    if arguments.save is not None:
        raise SomelabError("--save writes an adapted run of somelab; leave it out for a pretrained model")
    if arguments.frozen:
        return []
    if arguments.rules is None:
        return None
    chosen = [word.strip() for word in arguments.rules.split(",") if word.strip()]
    for way in chosen:
        if way not in WAYS:
            raise ConfigError(
                "--rules", way, "is not a way for a pretrained model to learn", nearest(way, WAYS)
            )
    return chosen


def _record(arguments: Arguments, ways: list[str] | None) -> dict[str, Any]:
    from somelab.pretrained.calibration import token_rows
    from somelab.pretrained.reading.study import adapt
    from somelab.pretrained.source import open_model
    from somelab.training.machine.process import prepare_process

    prepare_process()
    model, tokenizer = open_model(str(arguments.run))
    is_carved = model.config.model_type == "somelab_carved" and not model.config.by_gates
    if ways is None:
        ways = [way for way in WAYS if way != "credit" or is_carved]
    elif "credit" in ways and not is_carved:
        raise ConfigError(
            "--rules",
            "credit",
            "moves keys, and this model has none",
            "carve it: somelab carve MODEL --out F",
        )
    rows_BS = token_rows(tokenizer, arguments.data, arguments.tokens or TOKENS)
    tuning_BS = token_rows(tokenizer, arguments.tuning or arguments.data, TUNING_TOKENS, held_out=True)
    home_BS = token_rows(
        tokenizer, arguments.home or "builtin", min(arguments.home_tokens, HOME_TOKENS), held_out=True
    )
    old_BS = token_rows(tokenizer, arguments.home or "builtin", OLD_TOKENS) if "growth" in ways else None
    record = adapt(model, rows_BS, tuning_BS, home_BS, ways, _say, old_BS=old_BS)
    return {
        "model": str(arguments.run),
        "data": arguments.data,
        "home_data": arguments.home or "builtin",
        **record,
    }


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _print(record: dict[str, Any]) -> None:
    from somelab.cli.terminal import console, table

    out = console()
    out.print(
        f"{record['model']} reads {record['tokens']:,} tokens of {record['data']} in {record['segments']} "
        "segments; each is scored before anything learns from it\n",
        soft_wrap=True,
    )
    figures = ("loss", "gain", "over the cache", "forgotten", "seconds")
    shown = table("way", *figures, "settings", numbers=figures)
    frozen = record["frozen"]
    shown.add_row("frozen", f"{frozen['loss']:.4f}", "", "", "", f"{frozen['seconds']:.1f}", "")
    for way, one in record["ways"].items():
        over = one.get("gain_over_cache")
        shown.add_row(
            way,
            f"{one['loss']:.4f}",
            _interval(one["gain"]),
            "" if over is None else _interval(over),
            f"{one['forgotten']:+.4f}",
            f"{one['seconds']:.1f}",
            ", ".join(
                f"{name} {value}"
                for name, value in one["settings"].items()
                if name not in ("trials", "tuned") or (name == "tuned" and not value)
            ),
        )
    out.print(shown)
    out.print(
        "gain: nats per token below the frozen model, with the 95 % interval over segments; forgotten: loss "
        f"on {record['home_data']} after reading, less that before;",
        style="dim",
        soft_wrap=True,
    )
    out.print("seconds: of the processor, memories beside the frozen pass", style="dim")
    exact = record["rollback"]["exact"]
    out.print(f"\nafter rollback the model is {'bit-equal' if exact else 'NOT bit-equal'} to the one before")


def _interval(one: dict[str, float]) -> str:
    return f"{one['mean']:+.4f} ({one['low']:+.4f} to {one['high']:+.4f})"
