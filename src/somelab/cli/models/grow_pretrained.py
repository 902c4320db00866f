"""somelab grow for a pretrained model: a generation of experts for each text, and what it does to the
others."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from somelab.errors import ConfigError

if TYPE_CHECKING:
    from somelab.cli.models.grow import Arguments

TOKENS, TEST_TOKENS, HOME_TOKENS = 12_288, 2_560, 32_768
RATE = 3.3e-4  # found by the search of `somelab adapt smollm2` for one expert


def run(arguments: Arguments) -> int:
    from somelab.cli.models.grow import name_of
    from somelab.cli.terminal import print_json
    from somelab.pretrained.calibration import token_rows
    from somelab.pretrained.growing import Texts, grow
    from somelab.pretrained.source import open_model
    from somelab.training.machine.process import prepare_process

    for flag, given in (("--when", arguments.when == "novel"), ("--experts", arguments.experts != 1)):
        if given:
            remedy = "leave it out for a pretrained model"
            raise ConfigError(flag, getattr(arguments, flag[2:]), "is for runs of somelab", remedy)
    assert arguments.data is not None
    sources = [one.strip() for one in arguments.data.split(",") if one.strip()]
    names = [name_of(one) for one in sources] if arguments.name is None else arguments.name.split(",")
    if len(names) != len(sources) or len({*names, "home"}) != len(names) + 1:
        raise ConfigError("--name", ",".join(names), "does not name each text", "give one name for each")
    prepare_process()
    model, tokenizer = open_model(str(arguments.run))
    num_tokens = arguments.tokens or TOKENS

    def texts(source: str, num: int) -> Texts:
        test_BS = token_rows(tokenizer, source, TEST_TOKENS, held_out=True)
        return Texts(token_rows(tokenizer, source, num), test_BS)

    home = texts(arguments.home or "builtin", HOME_TOKENS)
    new = {name: texts(source, num_tokens) for name, source in zip(names, sources, strict=True)}
    pool, record = grow(model, home, new, arguments.learning_rate or RATE, _say)
    pool.detach_()
    print_json(record) if arguments.json else _print(record)
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _print(record: dict[str, Any]) -> None:
    from somelab.cli.terminal import console, table

    out = console()
    texts = tuple(record["loss"][0])
    shown = table("after", *texts, "parameters", "seconds", numbers=(*texts, "parameters", "seconds"))
    stages: list[dict[str, Any]] = [{"name": "nothing"}, *record["generations"]]
    for stage, losses in zip(stages, record["loss"], strict=True):
        added = (
            [f"{stage['num_parameters']:,}", f"{stage['seconds']:.0f}"] if "seconds" in stage else ["", ""]
        )
        shown.add_row(stage["name"], *(f"{losses[text]:.4f}" for text in texts), *added)
    change = [record["change"][text] for text in texts]
    cells = [f"{one['mean']:+.4f} ({one['low']:+.4f} to {one['high']:+.4f})" for one in change]
    shown.add_row("change", *cells, "", "")
    out.print(shown)
    for text, shares in record["served"].items():
        parts = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
        out.print(f"{text} is served by {parts}", soft_wrap=True)
    exact = record["model_exact"] and record["old_experts_exact"]
    out.print(f"the model and all older experts are {'bit-equal' if exact else 'NOT bit-equal'} to before")
