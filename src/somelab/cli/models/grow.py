"""somelab grow: add experts to a trained run, train them alone on new text, and freeze them; or list, name,
remove and copy them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from somelab.errors import ConfigError, SomelabError

if TYPE_CHECKING:
    from somelab.adapt.growth import Grown
    from somelab.runs import RunFolder


COLUMNS = ("name", "experts", "parameters", "bytes", "tokens", "from", "new text", "old text", "state")


@dataclass(frozen=True)
class Arguments:
    """Grow a trained run: its weights stay as they are to the bit; new experts learn the new text, and keys
    select them where such text is read. A killed growth goes on when the command is repeated."""

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run folder; or a pretrained model: smollm2, or a folder of Hugging Face. A pretrained model is
    measured, and nothing is kept."""
    data: Annotated[str | None, tyro.conf.arg(metavar="DATA", help_behavior_hint="")] = None
    """The new text: a file, a folder, or builtin:KIND. Pretrained models: several files, separated by commas,
    one generation each."""
    home: Annotated[str | None, tyro.conf.arg(metavar="DATA", help_behavior_hint="")] = None
    """Pretrained models: text of the kind that it knows, for the base's key and the measurement of
    forgetting. Without it: builtin."""
    name: Annotated[str | None, tyro.conf.arg(metavar="NAME", help_behavior_hint="")] = None
    """Name of the generation. Without it: from the text's file name."""
    experts: Annotated[int, tyro.conf.arg(metavar="N")] = 1
    """Number of new experts."""
    tokens: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """Training tokens. Without it: one pass over the text."""
    steps: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """The same in optimizer steps."""
    learning_rate: Annotated[float | None, tyro.conf.arg(metavar="X", help_behavior_hint="")] = None
    """Peak learning rate. Without it: that of the run."""
    when: Literal["now", "novel"] = "now"
    """now, or only if the text is novel: its loss is at least --novelty above that of the run's own text."""
    novelty: Annotated[float, tyro.conf.arg(metavar="NATS")] = 0.5
    """With --when novel: nats per token that count as novel."""
    list: bool = False
    """List the generations."""
    remove: Annotated[str | None, tyro.conf.arg(metavar="NAME", help_behavior_hint="")] = None
    """Remove a generation."""
    rename: Annotated[tuple[str, str] | None, tyro.conf.arg(metavar="OLD NEW", help_behavior_hint="")] = None
    """Rename a generation."""
    take: Annotated[tuple[str, str] | None, tyro.conf.arg(metavar="RUN NAME", help_behavior_hint="")] = None
    """Copy a generation from another run with the same base."""
    undo: bool = False
    """Go back to before the newest growth, finished or not."""
    json: bool = False
    """Print JSON."""


def run(arguments: Arguments) -> int:
    from somelab.runs import RunFolder

    asked = {
        "--data": arguments.data is not None,
        "--list": arguments.list,
        "--remove": arguments.remove is not None,
        "--rename": arguments.rename is not None,
        "--take": arguments.take is not None,
        "--undo": arguments.undo,
    }
    if sum(asked.values()) != 1:
        given = " ".join(name for name, is_given in asked.items() if is_given) or "nothing"
        raise SomelabError(f"somelab grow: {given} was given; give exactly one of {', '.join(asked)}")
    from somelab.pretrained.source import is_pretrained

    if arguments.data is not None and is_pretrained(str(arguments.run)):
        from somelab.cli.models.grow_pretrained import run as run_pretrained

        return run_pretrained(arguments)
    folder = RunFolder.open(arguments.run)
    if arguments.data is not None:
        return _grow(arguments, folder, arguments.data)
    _change(arguments, folder)
    _show(folder, arguments.json)
    return 0


def _change(arguments: Arguments, folder: RunFolder) -> None:
    """What changes a run without training."""
    from somelab.runs import RunFolder, growth

    if arguments.list:
        return
    with folder.locked():
        if arguments.remove is not None:
            growth.remove(folder, arguments.remove)
        elif arguments.rename is not None:
            growth.rename(folder, *arguments.rename)
        elif arguments.take is not None:
            growth.take(folder, RunFolder.open(Path(arguments.take[0])), arguments.take[1])
        else:
            growth.undo(folder)


def _grow(arguments: Arguments, folder: RunFolder, data: str) -> int:
    import sys

    from somelab.adapt.growth import GrowthPlan, grow
    from somelab.cli.summary import progress_printer
    from somelab.training.machine.process import prepare_process

    prepare_process()
    train = folder.config().train
    plan = GrowthPlan(
        source=data,
        name=arguments.name or name_of(data),
        learning_rate=train.learning_rate if arguments.learning_rate is None else arguments.learning_rate,
        num_steps=_num_steps(arguments, folder),
        num_experts=arguments.experts,
        seed=train.seed,
    )

    def report(step: int, num_steps: int, loss: float) -> None:
        if step in (1, num_steps) or step % max(1, num_steps // 10) == 0:
            print(f"step {step}/{num_steps}  loss {loss:.4f}", file=sys.stderr, flush=True)

    threshold = arguments.novelty if arguments.when == "novel" else None
    grown = grow(folder, plan, if_novel=threshold, progress=progress_printer(), report=report)
    if arguments.json:
        from somelab.cli.terminal import print_json

        print_json(_record(grown))
    else:
        _say(grown)
    return 0


def _num_steps(arguments: Arguments, folder: RunFolder) -> int | None:
    if arguments.steps is not None and arguments.tokens is not None:
        raise ConfigError("--tokens", arguments.tokens, "--steps says how long already", "give one of them")
    if arguments.tokens is None:
        return arguments.steps
    if arguments.tokens < 1:
        raise ConfigError("--tokens", arguments.tokens, "trains nothing", "choose 1 or more")
    config = folder.config()
    return max(1, arguments.tokens // (config.train.batch_size * config.model.seq_len))


def name_of(data: str) -> str:
    """A name from a file or a kind of built-in text."""
    stem = data.partition(":")[2] if data.startswith("builtin:") else Path(data).stem
    return "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in stem)[:64]


def _record(grown: Grown) -> dict[str, Any]:
    made = grown.generation
    return {"grown": None if made is None else made.content(), "steps": grown.step, "losses": grown.losses}


def _say(grown: Grown) -> None:
    losses, made = grown.losses, grown.generation
    if made is None:
        print(
            f"not novel: the loss on the new text is {losses['new_before']:.4f}, on the old "
            f"{losses['old_before']:.4f}; nothing was grown"
        )
        return
    print(f"{made.name}: {made.num_parameters:,} parameters, {made.num_bytes:,} bytes with keys")
    for text in ("new", "old"):
        before, after = losses[f"{text}_before"], losses[f"{text}_after"]
        print(f"  {text} text  {before:.4f} -> {after:.4f} nats per token")


def _show(folder: RunFolder, as_json: bool) -> None:
    from somelab.cli.terminal import console, print_json, table
    from somelab.runs import growth

    manifest = growth.read_manifest(folder)
    entries = [] if manifest is None else manifest["generations"]
    if as_json:
        print_json({"run": str(folder.path), "generations": entries})
        return
    if not entries:
        print("nothing has been grown")
        return
    shown = table(*COLUMNS, numbers=("experts", "parameters", "bytes", "tokens"))
    for entry in entries:
        shown.add_row(
            entry["name"],
            str(entry["num_experts"]),
            f"{entry['num_parameters']:,}",
            f"{entry['num_bytes']:,}",
            f"{entry['num_tokens']:,}",
            entry["start_from"],
            _pair(entry["losses"], "new"),
            _pair(entry["losses"], "old"),
            "settled" if entry["settled"] else "unfinished",
        )
    console().print(shown)


def _pair(losses: dict[str, float], text: str) -> str:
    return " -> ".join(
        f"{losses[key]:.4f}" for when in ("before", "after") if (key := f"{text}_{when}") in losses
    )
