"""Domain shift: several runs (seeds) read another kind of text and then their own again, in every way there is.

`python lab/studies/domain_shift.py RUN [RUN ...] --data TEXT [--dense RUN ...] [--tokens N] [--rules attraction,load_bias]
[--out domain-shift.json] [--figure docs/images/domain-shift.png]`: frozen, active, key noise of the same size, single rules, and
gradient steps on the router and on everything; dense runs are frozen, tuned and given the word cache. Means with 95 % intervals."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from somelab.adapt import AdaptationSettings
from somelab.adapt.figure import draw_study
from somelab.adapt.study import METHODS, Text, study_run, summarise
from somelab.cli.adapt import with_source
from somelab.data.prepare import prepare, prepare_with
from somelab.runs import RunFolder
from somelab.runs.trained import load_trained
from somelab.train.evaluate import validation

DENSE_METHODS = ("frozen", "cache", "all")


def study(path: str, asked: argparse.Namespace, settings: AdaptationSettings, methods: list[str]) -> dict[str, Any]:
    trained = load_trained(RunFolder.open(path))
    own, other = trained.config, with_source(trained.config, asked.data)
    home, new = prepare(own), prepare_with(trained.tokenizer, other, whole=True)
    text = Text(
        lambda: validation(new, other),
        lambda: validation(home, own),
        max_tokens=asked.tokens,
        home_tokens=asked.home_tokens,
        back_tokens=asked.back_tokens,
    )
    rates = {"router": asked.router_rate, "all": asked.all_rate}
    return study_run(
        trained.model, text, settings, methods, learning_rates=rates, progress=lambda method: print(path, method, file=sys.stderr)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--dense", nargs="*", default=[])
    parser.add_argument("--data", required=True)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--rules", default=None)
    parser.add_argument("--rate", type=float, default=1.0)
    parser.add_argument("--every", type=int, default=4096)
    parser.add_argument("--trust", type=float, default=0.5)
    parser.add_argument("--tokens", type=int, default=200_000)
    parser.add_argument("--home-tokens", type=int, default=50_000)
    parser.add_argument("--back-tokens", type=int, default=50_000)
    parser.add_argument("--router-rate", type=float, default=1e-3)
    parser.add_argument("--all-rate", type=float, default=6e-4)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--figure", type=Path, default=None)
    asked = parser.parse_args()
    rules = None if asked.rules is None else tuple(asked.rules.split(","))
    settings = AdaptationSettings(rules=rules, rate=asked.rate, every=asked.every, trust_region=asked.trust)
    runs = [study(run, asked, settings, asked.methods.split(",")) for run in asked.runs]
    dense = [study(run, asked, settings, list(DENSE_METHODS)) for run in asked.dense]
    summary = summarise(runs)
    record = {"command": sys.argv, "runs": asked.runs, "summary": summary, "dense": summarise(dense) if dense else {}, "each": runs}
    if asked.out is not None:
        asked.out.write_text(json.dumps(record, indent=1))
    for name, found in [*summary.items(), *((f"dense {name}", found) for name, found in record["dense"].items())]:
        print(f"{name:16}", *(f"{what} {told(found[what])}" for what in ("val_loss", "gain", "forgetting", "back")), sep="  ")
    if asked.figure is not None:
        asked.figure.parent.mkdir(parents=True, exist_ok=True)
        draw_study(summary, asked.figure, title=f"{len(runs)} runs reading {Path(asked.data).name}")


def told(found: dict[str, Any]) -> str:
    if found["low"] is None:
        return f"{found['mean']:+.4f}"
    return f"{found['mean']:+.4f} ({found['low']:+.4f} to {found['high']:+.4f})"


if __name__ == "__main__":
    main()
