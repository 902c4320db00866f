"""Fuzzers: settings, configuration files, plans of sweeps, data files and command lines, all from seeds. Each
tries some inputs and returns how many ended with which exit code; one that is answered by anything but
success, or one line and exit code 2, raises with the seed and the number that repeat it."""

from __future__ import annotations

import io
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path
from random import Random
from types import FrameType

from somelab.cli.arguments import _flags
from somelab.cli.main import VERBS, main
from somelab.config import PRESETS, preset, to_yaml
from somelab.config.fields import fields
from somelab.errors import SomelabError
from tests.cli.nasty import PLAN, WHOLE_FILES, data_file, fitting, mutated, nasty, nasty_path

SECONDS = 60  # a guard against hangs, far beyond what any input takes


PATIENCE = 5.0
"""Seconds. An input that took longer is tried once more: a busy machine may have been the cause."""
_times: list[float] | None = None


@contextmanager
def timed() -> Generator[list[float]]:
    """Collects how long each input took."""
    global _times
    _times = times = []
    try:
        yield times
    finally:
        _times = None


def _timed(ask: Callable[[], int]) -> int:
    for _ in range(2):
        begun = time.monotonic()
        code, taken = ask(), time.monotonic() - begun
        if _times is None or taken < PATIENCE:
            break
    if _times is not None:
        _times.append(taken)
    return code


class Unanswered(AssertionError):
    """An input that ended in neither success nor one line."""


@contextmanager
def guarded_against_hangs() -> Generator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise Unanswered(f"no answer within {SECONDS} s")

    previous = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


def answered(argv: list[str], label: str) -> int:
    """The exit code of a command: 0, or 2 with one line. Progress may come before that line."""
    return _timed(lambda: _answered(argv, label))


def _answered(argv: list[str], label: str) -> int:
    out, err = io.StringIO(), io.StringIO()
    try:
        with guarded_against_hangs(), redirect_stdout(out), redirect_stderr(err):
            code = main(argv)
    except BaseException as error:
        raise Unanswered(f"{label}: {[part[:200] for part in argv]} raised {error!r}") from error
    lines = err.getvalue().splitlines()
    complaints = [line for line in lines if line.startswith("somelab: ")]
    one_line = len(complaints) == 1 and lines[-1] == complaints[0] and err.getvalue().endswith("\n")
    if code not in (0, 2) or (code == 2 and not one_line) or "Traceback" in err.getvalue():
        raise Unanswered(
            f"{label}: {[part[:200] for part in argv]} ended with {code}: {err.getvalue()[-2000:]}"
        )
    if code == 2 and len(lines[-1]) > 3000:
        raise Unanswered(
            f"{label}: {[part[:200] for part in argv]} has a line of {len(lines[-1])} characters"
        )
    return code


def called(work: Callable[[], object], label: str) -> int:
    """The same for a function: 0 if it returns, 2 if it raises a SomelabError of one line."""
    return _timed(lambda: _called(work, label))


def _called(work: Callable[[], object], label: str) -> int:
    try:
        with guarded_against_hangs():
            work()
    except SomelabError as error:
        return 2 if str(error).strip() else 1
    except BaseException as error:
        raise Unanswered(f"{label}: raised {error!r}") from error
    return 0


def fuzz_overrides(seed: int, number: int) -> Counter[int]:
    """Every setting with nasty values: first each once, then at random, alone and in twos and threes."""
    rng = Random(seed)
    names = sorted(fields())
    seen: Counter[int] = Counter()

    def value(name: str) -> str:
        return fitting(rng, name) if rng.random() < 0.4 else nasty(rng)

    for case in range(number):
        chosen = [names[case % len(names)], *rng.sample(names, rng.choice((0, 0, 0, 1, 2)))]
        settings = [f"--{rng.choice((name, name.replace('_', '-')))}={value(name)}" for name in chosen]
        verb = "params" if case % 7 == 0 else "show"
        scale = rng.choice(([], [], ["--scale", "micro"], ["--scale", "small"]))
        as_json = rng.choice(([], ["--json"]))
        seen[
            answered([verb, rng.choice(("some", "a1", "d1")), *settings, *scale, *as_json], f"{seed}/{case}")
        ] += 1
    return seen


def fuzz_configs(seed: int, number: int, folder: Path) -> Counter[int]:
    """Files for --config: whole files that are made to hurt, then mutations of a real one."""
    rng = Random(seed)
    texts = [to_yaml(preset(name).config) for name in ("some", "a1")]
    path = folder / "config.yaml"
    seen: Counter[int] = Counter()
    for case in range(number):
        whole = case < len(WHOLE_FILES)
        content = WHOLE_FILES[case].encode() if whole else mutated(rng, rng.choice(texts))
        path.write_bytes(content)
        scale = rng.choice(([], [], ["--scale", "mini"]))
        seen[answered(["show", "--config", str(path), *scale], f"{seed}/{case}")] += 1
    return seen


def fuzz_plans(seed: int, number: int, folder: Path) -> Counter[int]:
    """Plans of sweeps, read and not run."""
    from somelab.experiments.sweeps.plan_file import plan_from_file

    rng = Random(seed)
    path = folder / "plan.yaml"
    axes = ["experts.d_ffn", "gravity.beta", "gravity.alpha", "train.seed"]
    grid = "grid:\n" + "".join(f"  {axis}: {list(range(1, 400))}\n" for axis in axes)
    whole = [*WHOLE_FILES, grid, "seeds: 1000000000000\n" + PLAN, PLAN.replace("[0, 1]", "99999999999")]
    seen: Counter[int] = Counter()
    for case in range(number):
        path.write_bytes(whole[case].encode() if case < len(whole) else mutated(rng, PLAN))
        seen[called(lambda: plan_from_file(path), f"{seed}/{case}: {path.read_bytes()[:2000]!r}")] += 1
    return seen


def fuzz_data(seed: int, number: int, folder: Path) -> Counter[int]:
    """Files of text for `prepare`, and paths that are none."""
    rng = Random(seed)
    seen: Counter[int] = Counter()
    for case in range(number):
        if case % 4 == 3:
            source = nasty_path(rng, folder)
        else:
            suffix, content = data_file(rng)
            source = str(folder / f"data{suffix}")
            Path(source).write_bytes(content)
        argv = ["prepare", "--data", source, "--model.vocab-size", "300"]
        seen[answered(argv, f"{seed}/{case}")] += 1
    return seen


# What makes a verb that would work for long fail before it starts; the others are quick whatever they get.
POISON: dict[str, list[str]] = {
    "train": ["--data", "nowhere/x.txt"],
    "prepare": ["--data", "nowhere/x.txt"],
    "sweep": ["no-such-series"],
    "evidence": ["no-such-claim"],
    "bench": ["no-such-benchmark"],
    "continual": ["--stream", "no-such-stream"],
    "doctor": ["--no-such-flag"],
    "serve": ["nowhere-at-all"],
    "report": ["nowhere-at-all"],
    "demo": ["--minutes", "0"],
    "play": ["nowhere-at-all"],
    "pack": ["--megabytes", "0"],
}


POSITIONALS = ["some", "a1", "nope", *PRESETS]


def fuzz_arguments(seed: int, number: int, folder: Path) -> Counter[int]:
    """Command lines of every verb: its own flags and those of others, with values that fit and values that do
    not."""
    rng = Random(seed)
    seen: Counter[int] = Counter()
    names = list(VERBS)
    for case in range(number):
        verb = names[case % len(names)]
        flags = [name for name in _flags(import_module(VERBS[verb].module).Arguments) if name != "--help"]
        argv: list[str] = []
        for _ in range(rng.randrange(5)):
            value = nasty_path(rng, folder) if rng.random() < 0.5 else nasty(rng)
            match rng.randrange(6):
                case 0:
                    argv.append(value)
                case 1:
                    argv.append(rng.choice(POSITIONALS))
                case 2:
                    argv.append(f"{rng.choice(flags)}={value}")
                case 3:
                    argv += [f"--{rng.choice(sorted(fields()))}", value]
                case 4:
                    argv.append(rng.choice(flags))
                case _:
                    argv += [rng.choice(flags), value]
        if verb in ("resume", "eval", "generate", "adapt", "pack"):
            argv.insert(0, nasty_path(rng, folder))
        if "--" not in argv:
            argv += POISON.get(verb, [])
        elif verb in POISON:
            argv = POISON[verb]
        seen[answered([verb, *argv], f"{seed}/{case}")] += 1
    return seen


if __name__ == "__main__":  # for a look at what is said: python -m tests.cli.fuzzing overrides 100 0
    import tempfile

    kind, number, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with tempfile.TemporaryDirectory() as name:
        os.environ.setdefault("SOMELAB_CACHE", f"{name}/cache")
        os.chdir(name)
        here = () if kind == "overrides" else (Path(name),)
        print(globals()[f"fuzz_{kind}"](seed, number, *here))
