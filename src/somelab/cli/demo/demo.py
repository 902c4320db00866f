"""somelab demo: a SoME model and a dense one learn to write recipes in the same three minutes; a text, a
comparison and a page at the end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from somelab.errors import ConfigError

if TYPE_CHECKING:
    from somelab.cli.demo.pair import Learner

MINUTES = 2.25
"""Of training. Preparing the text, the last evaluation and the page take the rest of three minutes."""
TOKENS_OF_THE_PAGE = 10_000


@dataclass(frozen=True)
class Arguments:
    """Train a small SoME model on built-in recipes, and beside it a model with a dense block of the same
    trained size, for the same time on half of the cores each. Ends with a text, a comparison and a page.
    About three minutes."""

    minutes: Annotated[float, tyro.conf.arg(metavar="N")] = MINUTES
    """How long both train."""
    seed: Annotated[int, tyro.conf.arg(metavar="N")] = 0
    """Random seed of both runs."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """Where both run folders and the page go. Without it: a new one under runs/."""
    no_open: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Do not open the page in the browser."""


def run(arguments: Arguments) -> int:
    if not 0 < arguments.minutes < math.inf:
        raise ConfigError("--minutes", arguments.minutes, "is not more than 0", "give a number of minutes")
    from somelab.cli.demo.pair import training
    from somelab.cli.demo.watching import watch
    from somelab.cli.summary import INTERRUPTED, progress_printer
    from somelab.config import override, preset
    from somelab.data.prepare import prepare
    from somelab.runs import RunFolder
    from somelab.training.session import free_folder

    out = arguments.out or free_folder("demo")
    learners = pair_of(out, arguments)
    for learner in learners:
        RunFolder(learner.folder).check_free()
    _print_beginning(arguments.minutes)
    # Once, before both: they would do it at the same time.
    prepare(override(preset("demo").config, {"train.seed": arguments.seed}), progress=progress_printer())
    with training(learners) as pair:
        try:
            watch(pair, 60 * arguments.minutes)
        except KeyboardInterrupt:
            pair.wait()
        pair.check()
    if not all(learner.is_trained for learner in learners):
        print("stopped; both models are saved. `somelab resume` continues each:")
        for learner in learners:
            print(f"  somelab resume {learner.folder}")
        return INTERRUPTED
    _print_end(out, learners, opens=not arguments.no_open)
    return 0


def pair_of(out: Path, arguments: Arguments) -> tuple[Learner, Learner]:
    """The two models: the preset `demo`, and the same with a dense block."""
    from somelab.cli.demo.pair import Learner
    from somelab.config.presets.demo import BASELINE

    flags = ["demo", "--minutes", str(arguments.minutes), "--seed", str(arguments.seed)]
    dense = [word for name, value in BASELINE.items() for word in (f"--{name}", str(value))]
    return (Learner("SoME", out / "some", flags), Learner("dense", out / "dense", [*flags, *dense]))


def _print_beginning(minutes: float) -> None:
    from somelab.cli.terminal import console

    console().print(
        f"Two small language models learn to write recipes, side by side, for {minutes:g} minutes:\n"
        "  SoME   its feed-forward blocks are random experts that are never trained; their keys move\n"
        "  dense  its feed-forward blocks are trained, with as many trained weights\n"
    )


def _print_end(out: Path, learners: tuple[Learner, Learner], *, opens: bool) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from somelab.cli.demo import story
    from somelab.cli.terminal import console
    from somelab.library.language_model import load
    from somelab.runs import RunFolder

    some = learners[0]
    lm = load(some.folder)
    results = [story.Result.of(learner, RunFolder.open(learner.folder).facts()) for learner in learners]
    shown = console()
    width = shown.width if shown.is_terminal else 100
    text = lm.generate(story.PROMPT, max_new_tokens=story.NEW_TOKENS, temperature=0.7)
    shown.print(Text("What SoME writes, asked for a recipe:", style="bold"))
    shown.print(Text(story.indented(story.whole_sentences(text), width), style="cyan"), soft_wrap=True)
    num_experts = len(lm.layers) * lm.config.experts.num_experts
    sentences = [
        ("\nWhat was learned", story.learned(results[0], lm.config.model.vocab_size, num_experts)),
        ("\nHow it compares", story.compared(*results)),
    ]
    for title, sentence in sentences:
        shown.print(Text(title, style="bold"))
        shown.print(Padding(Text(sentence), (0, 4, 0, 4)), width=min(width, 104))
    page = _write_page(out, learners)
    where = page.resolve().as_uri()
    is_open = False
    if opens:
        from somelab.cli.opening import open_page

        is_open = open_page(where)
    shown.print(Text("\nThe page", style="bold"))
    shown.print(f"    {page}" + (", open in your browser" if is_open else f"\n    {where}"), soft_wrap=True)
    shown.print(Text("\nNext", style="bold"))
    for command, meaning in story.next_steps(out, some.folder):
        shown.print(Text.assemble(f"    {command}", ("  # " + meaning, "dim")), soft_wrap=True)
    shown.print(Text(f"\n{story.SECOND_ACT}", style="bold"))
    for command in story.second_act(out):
        shown.print(f"    {command}", soft_wrap=True)
    shown.print(Padding(Text(story.LOOK_FOR), (0, 4, 0, 4)), width=min(width, 104))


def _write_page(out: Path, learners: tuple[Learner, Learner]) -> Path:
    from somelab.view.page.groups import page_of
    from somelab.view.page.heavy import Options
    from somelab.view.report import write_report

    options = Options(maps=("pca", "tsne"), tokens=TOKENS_OF_THE_PAGE)
    page = page_of([learner.folder for learner in learners], options, title="demo")
    path = out / "report.html"
    write_report(page, path)
    return path
