"""somelab carve: cut a pretrained model into frozen experts with keys, and measure it at several shares in
use."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from somelab.errors import ConfigError, SomelabError, nearest

if TYPE_CHECKING:
    from somelab.pretrained.carving import CarveSettings


@dataclass(frozen=True)
class Arguments:
    """Cut each feed-forward block of a pretrained model into groups of neurons, set a key for each group
    without a gradient from a few thousand tokens, and write a folder that generates with some of the groups.
    Prints the loss on held-out text at several shares in use, beside other ways to choose the groups."""

    model: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="MODEL")]
    """smollm2 (SmolLM2-135M; the extra smollm), or a folder of Hugging Face with a Llama model."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """The folder to write; new or empty. Without it: only measure."""
    experts: Annotated[int, tyro.conf.arg(metavar="N")] = 48
    """Groups of each feed-forward block."""
    use: Annotated[float, tyro.conf.arg(metavar="SHARE")] = 0.75
    """Share of the feed-forward weights that the written model reads for a token, over all layers."""
    data: Annotated[str, tyro.conf.arg(metavar="DATA")] = "builtin"
    """Text for calibration (and its held-out documents for the test): files or folders, separated by commas,
    or builtin."""
    test: Annotated[str | None, tyro.conf.arg(metavar="DATA", help_behavior_hint="")] = None
    """Text for the test. Without it: the held-out documents of DATA."""
    tokens: Annotated[int, tyro.conf.arg(metavar="N")] = 8192
    """Tokens for calibration."""
    test_tokens: Annotated[int, tyro.conf.arg(metavar="N")] = 4096
    """Tokens for the test."""
    compare: Annotated[str, tyro.conf.arg(metavar="WAY,...")] = "all"
    """Which ways to measure: all, none, or some of hindsight, gates, keys, keys-whitened,
    keys-unmoved, ridge, static, random, pruned-activation, pruned-weights."""
    shares: Annotated[str, tyro.conf.arg(metavar="SHARE,...")] = "0.75,0.5,0.25"
    """Shares in use to measure."""
    rank: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """Rank of the linear map that stands for skipped groups; it counts as weights in use. 0: their mean.
    Without it: 64, or 32 by gates."""
    common: Annotated[float, tyro.conf.arg(metavar="SHARE")] = 0.25
    """Share of the groups that hold the neurons with the largest contributions; the rest is clustered."""
    by_gates: bool = False
    """Choose single neurons, each by its own gate, instead of groups by keys. All gates are read, a third of
    the weights."""
    whiten: bool = False
    """Compare keys with inputs that are whitened by their covariance."""
    even: bool = False
    """Use equally many groups in each layer, instead of dividing the budget by estimated harm."""
    speed: bool = False
    """Also measure how fast it generates at each share, in turns with the full model."""
    seed: int = 0
    """Random seed of the clusters."""
    seeds: Annotated[int, tyro.conf.arg(metavar="N")] = 1
    """Number of random seeds for the table, from --seed on. The first is that of the written model."""
    json: bool = False
    """Print JSON."""


def run(arguments: Arguments) -> None:
    from somelab.cli.terminal import print_json

    shares, ways = _shares(arguments.shares), _ways(arguments.compare, arguments.by_gates)
    if arguments.seeds < 1:
        raise ConfigError("--seeds", arguments.seeds, "measures nothing", "choose 1 or more")
    if arguments.tokens < 2 or arguments.test_tokens < 2:
        raise SomelabError("--tokens and --test-tokens must be 2 or more")
    record = _record(arguments, shares, ways)
    print_json(record) if arguments.json else _print(record)


def _shares(text: str) -> list[float]:
    try:
        shares = [float(word) for word in text.split(",") if word.strip()]
    except ValueError:
        raise ConfigError("--shares", text, "is not a list of numbers", "write 0.75,0.5") from None
    for share in shares:
        if not 0 < share <= 1:
            raise ConfigError("--shares", share, "is not a share", "choose values above 0, up to 1")
    return shares


def _ways(text: str, by_gates: bool) -> list[str]:
    from somelab.pretrained.ways import ways_of

    known_ways = ways_of(by_gates)
    if text in ("all", "none"):
        return known_ways if text == "all" else []
    chosen = [word.strip().replace("-", " ") for word in text.split(",") if word.strip()]
    for way in chosen:
        if way not in known_ways:
            known = [name.replace(" ", "-") for name in known_ways]
            raise ConfigError("--compare", way, "is not a way to choose", nearest(way, known))
    return chosen


def _record(arguments: Arguments, shares: list[float], ways: list[str]) -> dict[str, Any]:
    import time

    from somelab.interop.huggingface.exporting import check_free
    from somelab.pretrained.calibration import block_inputs, token_rows
    from somelab.pretrained.carving import carve_from
    from somelab.pretrained.comparison import compare
    from somelab.pretrained.exporting import export
    from somelab.pretrained.source import open_model
    from somelab.pretrained.ways import WITHOUT_SEED
    from somelab.training.machine.process import prepare_process

    if arguments.out is not None:
        check_free(arguments.out)
    prepare_process()
    model, tokenizer = open_model(arguments.model)
    settings = _settings(arguments, model.config.intermediate_size)
    for share in {settings.use, *shares}:
        replace(settings, use=share).check(model.config.intermediate_size)
    rows_BS = token_rows(tokenizer, arguments.data, arguments.tokens)
    start = time.perf_counter()
    inputs = block_inputs(model, rows_BS)
    carving = carve_from(model, inputs, settings, progress=_say)
    record: dict[str, Any] = {
        "model": arguments.model,
        "experts": settings.num_groups,
        "use": settings.use,
        "rank": carving.rank,
        "data": arguments.data,
        "tokens": rows_BS.numel(),
        "groups_in_use": {str(share): carving.groups_for(share) for share in {settings.use, *shares}},
        "seconds": round(time.perf_counter() - start, 1),
        "table": [],
    }
    if ways and shares:
        test = arguments.test or arguments.data
        names = [test] if test.startswith("builtin") else [name for name in test.split(",") if name]
        held_out = arguments.test is None
        rows = {
            name: token_rows(tokenizer, name, arguments.test_tokens // len(names), held_out=held_out)
            for name in names
        }
        record["test_tokens"] = sum(part.numel() for part in rows.values())
        record["table"] = compare(carving, rows, shares, ways, _say)
        others = [way for way in ways if way not in WITHOUT_SEED]
        for seed in range(settings.seed + 1, settings.seed + arguments.seeds if others else 0):
            other = carve_from(model, inputs, replace(settings, seed=seed), progress=_say)
            found = compare(other, rows, shares, others, _say)
            record["table"] += [{**one, "seed": seed} for one in found if one["way"] in others]
    if arguments.speed:
        record["speed"] = _speed(carving, model, shares, rows_BS[0, :32])
    if arguments.out is not None:
        folder = export(carving, tokenizer, arguments.out, arguments.model, _markdown(record["table"]))
        record["folder"] = str(folder)
        record["bytes"] = sum(file.stat().st_size for file in folder.iterdir())
    return record


def _settings(arguments: Arguments, num_neurons: int) -> CarveSettings:
    from somelab.pretrained.carving import CarveSettings

    given: dict[str, Any] = {
        "use": arguments.use,
        "common": arguments.common,
        "even": arguments.even,
        "whiten": arguments.whiten,
        "seed": arguments.seed,
        **({} if arguments.rank is None else {"rank": arguments.rank}),
    }
    if arguments.by_gates:
        return CarveSettings.gates(num_neurons, **given)
    return CarveSettings(num_groups=arguments.experts, **given)


def _speed(carving: Any, model: Any, shares: list[float], prompt_S: Any) -> list[dict[str, Any]]:
    from somelab.interop.huggingface.carved.decoding import compiled
    from somelab.pretrained.speed import tokens_per_second

    rows: list[dict[str, Any]] = []
    for share in shares:
        carving.use_(share)
        found = tokens_per_second({"full": model, "carved": carving.model}, prompt_S)
        ratio = found["carved"]["median"] / found["full"]["median"]
        rows.append({"use": share, **found, "ratio": ratio, "compiled": compiled() is not None})
        _say(f"generation at {share:.0%}: {ratio:.2f} times as fast as the full model")
    carving.use_(carving.settings.use)
    return rows


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _cells(records: list[dict[str, Any]]) -> tuple[list[float], dict[str, dict[float, list[float]]]]:
    """The shares, and the losses by way and share, one for each random seed."""
    shares = list(dict.fromkeys(one["use"] for one in records if one["way"] != "full model"))
    by_way: dict[str, dict[float, list[float]]] = {}
    for one in records:
        by_way.setdefault(one["way"], {}).setdefault(one["use"], []).append(one["mean"])
    return shares, by_way


def _shown(losses: list[float]) -> str:
    """The mean, with the 95 % interval over seeds if there are several."""
    from somelab.analysis.intervals import interval

    found = interval(losses)
    return f"{found.mean:.4f}" + (f" ± {found.mean - found.low:.4f}" if len(losses) > 1 else "")


def _markdown(records: list[dict[str, Any]]) -> str:
    if not records:
        return ""
    shares, by_way = _cells(records)
    lines = [
        "| groups chosen by | " + " | ".join(f"{share:.0%}" for share in shares) + " |",
        "|---" * (len(shares) + 1) + "|",
    ]
    for way, losses in by_way.items():
        cells = [_shown(losses.get(share) or losses[1.0]) for share in shares]
        lines.append(f"| {way} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _print(record: dict[str, Any]) -> None:
    from somelab.cli.terminal import console, table

    out = console()
    out.print(
        f"{record['model']}: {record['experts']} groups in each block, calibrated on {record['tokens']:,} "
        f"tokens of {record['data']}, {record['seconds']:.0f} s",
        soft_wrap=True,
    )
    if record["table"]:
        shares, by_way = _cells(record["table"])
        heads = tuple(f"{share:.0%}" for share in shares)
        shown = table("groups chosen by", *heads, numbers=heads)
        full = record["table"][0]["mean"]
        for way, losses in by_way.items():
            if way == "full model":
                shown.add_row(way, *[f"{full:.4f}"] * len(shares))
            else:
                above = [sum(losses[share]) / len(losses[share]) - full for share in shares]
                cells = [
                    f"{_shown(losses[share])} ({one:+.3f})" for share, one in zip(shares, above, strict=True)
                ]
                shown.add_row(way, *cells)
        out.print(f"\nloss on {record['test_tokens']:,} other tokens, by share of the weights in use:")
        out.print(shown)
    for row in record.get("speed", []):
        out.print(
            f"generation at {row['use']:.0%}: {row['carved']['median']:.1f} tokens/s, full model "
            f"{row['full']['median']:.1f} ({row['ratio']:.2f} times"
            f"{'' if row['compiled'] else ', without compiled kernels'})",
            soft_wrap=True,
        )
    if "folder" in record:
        out.print(f"\n{record['folder']}: {record['bytes'] / 1e6:,.0f} MB. In Python:", soft_wrap=True)
        for line in (
            "import somelab  # or pass trust_remote_code=True",
            "from transformers import pipeline",
            f'text = pipeline("text-generation", model="{record["folder"]}")',
        ):
            out.print(f"  {line}", soft_wrap=True)
