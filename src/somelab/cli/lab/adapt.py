"""somelab adapt: test-time adaptation of a trained run on other text, compared with the same run with frozen
keys."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from somelab.errors import SomelabError

if TYPE_CHECKING:
    from somelab.adapt import AdaptationSettings
    from somelab.runs.trained import TrainedModel

SPARKS = "▁▂▃▄▅▆▇█"
HOME_TOKENS = 50_000


@dataclass(frozen=True)
class Arguments:
    """Test-time adaptation: read other text with moving keys, without gradients, compared with the same run
    with frozen keys. A token is scored before it may move a key, and the run itself is not changed."""

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run folder; or a pretrained model: smollm2, or a folder of Hugging Face (also a carved one)."""
    data: Annotated[str, tyro.conf.arg(metavar="DATA")]
    """The new text, encoded by the run's tokenizer: builtin:KIND, a file or folder, or a Hub dataset."""
    frozen: bool = False
    """Read with frozen keys only."""
    active: bool = False
    """Read with moving keys only."""
    both: bool = False
    """Read both ways, one after the other: the default."""
    rules: Annotated[str | None, tyro.conf.arg(metavar="RULE,...", help_behavior_hint="")] = None
    """What moves: attraction, credit, peer_pull, repulsion, decay, respawn, load_bias, centring (keys and
    routing), temperature, gain, memory (word memory per expert); not part of SoME: cache (one word memory),
    bigram (one per preceding word). Without it: the rules of the run. Pretrained models: cache, bigram,
    nearest (a memory of hidden states), memory (the same, selected by keys), credit (keys of a carved model),
    growth (a new expert), dynamic (dynamic evaluation), lora."""
    rate: Annotated[float, tyro.conf.arg(metavar="X")] = 1.0
    """Factor on the rates of the rules; 1: as in training, per token."""
    schedule: Annotated[str, tyro.conf.arg(metavar="NAME")] = "constant"
    """constant, sqrt (decays with 1/sqrt(update)) or burst (the same, restarting at each shift of the
    text)."""
    trust: Annotated[float, tyro.conf.arg(metavar="DISTANCE")] = 0.5
    """How far a key may be from its checkpoint value; below 0: no bound."""
    reversion: Annotated[float, tyro.conf.arg(metavar="SHARE")] = 0.0
    """Share of the way back to its checkpoint value that a key moves at every update."""
    mask: Annotated[str, tyro.conf.arg(metavar="NAME")] = "all"
    """Which tokens move keys: all, surprising (loss above the running median) or none."""
    every: Annotated[int, tyro.conf.arg(metavar="TOKENS")] = 4096
    """Tokens between two updates."""
    tokens: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """Tokens of the new text to read. Without it: all."""
    home_tokens: Annotated[int, tyro.conf.arg(metavar="N")] = HOME_TOKENS
    """Tokens of the run's validation text for each measurement of forgetting."""
    home: Annotated[str | None, tyro.conf.arg(metavar="DATA", help_behavior_hint="")] = None
    """Pretrained models: the text for the measurement of forgetting. Without it: builtin."""
    tuning: Annotated[str | None, tyro.conf.arg(metavar="DATA", help_behavior_hint="")] = None
    """Pretrained models: the text on which rates are chosen (its held-out documents). Without it: DATA."""
    checkpoint: str = "last"
    """Which checkpoint: last, best, or a step that is kept, such as 200."""
    save: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """Write the adapted run to a new folder."""
    json: bool = False
    """Print JSON."""


def run(arguments: Arguments) -> None:
    from somelab.cli.terminal import print_json

    readings = _readings(arguments)
    _check_source(arguments.data)  # before torch and the model are loaded, which takes seconds
    from somelab.pretrained.source import is_pretrained

    if is_pretrained(str(arguments.run)):
        from somelab.cli.lab.adapt_pretrained import run as run_pretrained

        run_pretrained(arguments)
        return
    settings = settings_of(arguments)
    record = _record(arguments, settings, readings)
    print_json(record) if arguments.json else print_shift(record)


def _check_source(data: str) -> None:
    """Raise for a source that does not exist."""
    from somelab.config import DataConfig
    from somelab.data.sources import open_source

    open_source(DataConfig(source=data))


def settings_of(arguments: Arguments) -> AdaptationSettings:
    """The flags as settings of the library."""
    from somelab.adapt import AdaptationSettings

    given = arguments.rules
    return AdaptationSettings(
        rules=None
        if given is None
        else tuple(rule.strip().replace("-", "_") for rule in given.split(",") if rule.strip()),
        rate=arguments.rate,
        schedule=arguments.schedule,
        trust_region=None if arguments.trust < 0 else arguments.trust,
        reversion=arguments.reversion,
        every=arguments.every,
        mask=arguments.mask,
    )


def _readings(arguments: Arguments) -> tuple[str, ...]:
    if arguments.frozen + arguments.active + arguments.both > 1:
        raise SomelabError("--frozen, --active and --both exclude each other; give one of them")
    chosen = ("frozen",) if arguments.frozen else ("active",) if arguments.active else ("frozen", "active")
    if arguments.save is not None and "active" not in chosen:
        raise SomelabError("--save writes the adapted keys; leave out --frozen")
    for name in ("tokens", "home_tokens"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise SomelabError(f"--{name.replace('_', '-')} = {value}: is too small; give 1 or more")
    return chosen


def _record(arguments: Arguments, settings: AdaptationSettings, readings: tuple[str, ...]) -> dict[str, Any]:
    from dataclasses import asdict

    from somelab.adapt.domain_shift.reading import frozen, read_shift, with_source
    from somelab.adapt.reading.mode import Adaptation, check_kept
    from somelab.cli.summary import progress_printer
    from somelab.data.prepare import prepare, prepare_with
    from somelab.runs import RunFolder
    from somelab.runs.trained import load_base
    from somelab.training.evaluate import validation
    from somelab.training.machine.process import prepare_process

    prepare_process()
    folder = RunFolder.open(arguments.run)
    if arguments.save is not None:
        RunFolder(arguments.save).check_free()
    trained = load_base(folder, arguments.checkpoint)
    config = trained.config
    Adaptation(trained.model, settings)  # raise for bad settings before text is prepared
    if arguments.save is not None:
        check_kept(settings.resolved(config))
    own = prepare(config, progress=progress_printer())
    folder.check_data(own.digest)
    other = with_source(config, arguments.data)
    new = prepare_with(trained.tokenizer, other, progress=progress_printer(), whole=True)
    record: dict[str, Any] = {
        "run": str(folder.path),
        "checkpoint": arguments.checkpoint,
        "step": trained.state.step,
        "data": arguments.data,
        "home_data": config.data.source,
        "settings": {**asdict(settings), "rules": list(settings.resolved(config))},
    }
    for name in readings:
        saving = _saver(arguments, trained) if name == "active" and arguments.save is not None else None
        record[name] = read_shift(
            trained.model,
            lambda: validation(new, other),
            lambda: validation(own, config),
            frozen(settings) if name == "frozen" else settings,
            max_tokens=arguments.tokens,
            home_tokens=arguments.home_tokens,
            on_end=saving,
        )
    if len(readings) == 2:
        gain = record["frozen"]["val_loss"] - record["active"]["val_loss"]
        record["gain"] = {
            "nats_per_token": gain,
            "val_ppl": record["frozen"]["val_ppl"] - record["active"]["val_ppl"],
        }
    if arguments.save is not None:
        record["saved"] = str(arguments.save)
    return record


def _saver(arguments: Arguments, trained: TrainedModel) -> Any:
    from somelab.adapt import Adaptation
    from somelab.adapt.saving import save_adapted

    def save(adaptation: Adaptation) -> None:
        assert arguments.save is not None
        adapted = {
            "data": arguments.data,
            "num_tokens": adaptation.num_tokens,
            "rules": list(adaptation.rules),
            "rate": arguments.rate,
        }
        save_adapted(trained.run, arguments.save, trained.model, trained.tokenizer, trained.state, adapted)

    return save


def print_shift(record: dict[str, Any]) -> None:
    """A row for each way of reading, the curve over time, and the loss on the run's own text."""
    from somelab.cli.terminal import console, table

    out = console()
    readings = [name for name in ("frozen", "active") if name in record]
    num_tokens = record[readings[0]]["num_tokens"]
    out.print(f"{record['run']} reads {num_tokens:,} tokens of {record['data']}", soft_wrap=True)
    out.print(f"what moves: {', '.join(record['settings']['rules']) or 'nothing'}\n", soft_wrap=True)
    figures = (
        "val_loss",
        "val_ppl",
        "2nd half",
        "bits/byte",
        "own text before",
        "after",
        "reverted",
        "angle",
        "largest",
    )
    shown = table("keys", *figures, "val_loss over time", numbers=figures)
    low, high = _range([window["val_loss"] for name in readings for window in record[name]["windows"]])
    for name in readings:
        one = record[name]
        home, moved = one["home"], one["movement"]
        reverted = home.get("after_reversion")
        shown.add_row(
            name,
            f"{one['val_loss']:.4f}",
            f"{one['val_ppl']:.2f}",
            f"{one['second_half']['val_loss']:.4f}",
            f"{one['bits_per_byte']:.4f}",
            f"{home['before']['val_loss']:.4f}",
            f"{home['after']['val_loss']:.4f}",
            f"{reverted['val_loss']:.4f}" if reverted else "-",
            f"{moved['mean_angle']:.2f}°",
            f"{moved['max_angle']:.1f}°",
            sparkline([window["val_loss"] for window in one["windows"]], low, high),
        )
    out.print(shown)
    out.print(
        "2nd half: loss on the later half of the text; angle: how far keys moved, mean and largest;",
        style="dim",
    )
    out.print("reverted: the run's own text after reversion of the keys", style="dim")
    if "gain" in record:
        gain = record["gain"]["nats_per_token"]
        verdict = "lower" if gain > 0 else "higher" if gain < 0 else "no different"
        out.print(f"\nactive is {abs(gain):.4f} nats per token {verdict} on the new text", soft_wrap=True)
    if "saved" in record:
        out.print(f"the adapted run: {record['saved']}", soft_wrap=True)


def _range(values: list[float]) -> tuple[float, float]:
    return (min(values), max(values)) if values else (0.0, 0.0)


def sparkline(values: list[float], low: float, high: float) -> str:
    """A curve in one line of text, from `low` to `high`.

    >>> sparkline([0.0, 0.5, 1.0], 0.0, 1.0)
    '▁▅█'
    """
    span = (high - low) or 1.0
    return "".join(SPARKS[min(len(SPARKS) - 1, int((value - low) / span * len(SPARKS)))] for value in values)
