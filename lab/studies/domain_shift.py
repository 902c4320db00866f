"""Domain shift: several runs (seeds) read another kind of text and then their own again, in every way there
is.

`python lab/studies/domain_shift.py RUN [RUN ...] --data TEXT [--dense RUN ...] [--tokens N] [--rules
attraction,load_bias] [--all-rate 6e-4,2e-3,6e-3] [--out domain-shift.json] [--figure
docs/images/domain-shift.png]`: frozen, active, key noise of the same size, single rules, and gradient steps
on the router and on everything, at each of the rates; dense runs are frozen, tuned and given the word cache.
Means with 95 % intervals. `--again domain-shift.json --figure FILE` draws what an earlier call measured."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from somelab.adapt import AdaptationSettings
from somelab.adapt.domain_shift.figure import draw_study
from somelab.adapt.domain_shift.study import (
    DENSE_METHODS,
    METHODS,
    at_rates,
    best_tuned,
    study_run,
    summarise,
    text_for,
)
from somelab.runs import RunFolder
from somelab.runs.trained import load_trained

Summary = dict[str, dict[str, Any]]


def study(path: str, asked: argparse.Namespace, settings: AdaptationSettings, methods: list[str]) -> Summary:
    trained = load_trained(RunFolder.open(path))
    text = text_for(
        trained,
        asked.data,
        max_tokens=asked.tokens,
        home_tokens=asked.home_tokens,
        back_tokens=asked.back_tokens,
    )
    rates = {"router": asked.router_rate, "all": float(asked.all_rate[0])}
    return study_run(
        trained.model,
        text,
        settings,
        methods,
        learning_rates=rates,
        progress=lambda method: print(path, method, file=sys.stderr),
    )


def measured(asked: argparse.Namespace) -> dict[str, Any]:
    """Every run in every way, summed up."""
    rules = None if asked.rules is None else tuple(asked.rules.split(","))
    settings = AdaptationSettings(rules=rules, rate=asked.rate, every=asked.every, trust_region=asked.trust)
    methods = at_rates(asked.methods.split(","), "all", asked.all_rate)
    runs = [study(run, asked, settings, methods) for run in asked.runs]
    dense = [
        study(run, asked, settings, at_rates(DENSE_METHODS, "all", asked.all_rate)) for run in asked.dense
    ]
    return {
        "command": sys.argv,
        "data": Path(asked.data).name,
        "runs": asked.runs,
        "summary": summarise(runs),
        "dense": summarise(dense) if dense else {},
        "each": runs,
        "each_dense": dense,
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="*")
    parser.add_argument("--dense", nargs="*", default=[])
    parser.add_argument("--data", default=None)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--rules", default=None)
    parser.add_argument("--rate", type=float, default=1.0)
    parser.add_argument("--every", type=int, default=4096)
    parser.add_argument("--trust", type=float, default=0.5)
    parser.add_argument("--tokens", type=int, default=200_000)
    parser.add_argument("--home-tokens", type=int, default=50_000)
    parser.add_argument("--back-tokens", type=int, default=50_000)
    parser.add_argument("--router-rate", type=float, default=1e-3)
    parser.add_argument("--all-rate", type=lambda given: given.split(","), default=["6e-4"])
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--again", type=Path, default=None)
    parser.add_argument("--figure", type=Path, default=None)
    asked = parser.parse_args()
    if asked.again is None and not (asked.runs and asked.data):
        parser.error("give runs and --data, or --again with what an earlier call has written to --out")
    return asked


def main() -> None:
    asked = arguments()
    record: dict[str, Any] = measured(asked) if asked.again is None else json.loads(asked.again.read_text())
    if asked.out is not None:
        asked.out.write_text(json.dumps(record, indent=1))
    for kind, summary in (("", record["summary"]), ("dense ", record["dense"])):
        print(*table(kind, summary), sep="\n")
    if asked.figure is not None:
        asked.figure.parent.mkdir(parents=True, exist_ok=True)
        dense = f" and {len(record['each_dense'])} dense ones" if record["each_dense"] else ""
        title = (
            f"{len(record['runs'])} runs{dense} read {record['data']}, then their own text again; 95 % "
            "intervals over seeds"
        )
        draw_study(record["summary"], asked.figure, title, record["dense"])


def table(kind: str, summary: Summary) -> list[str]:
    """A line for each method, and which rate of fine-tuning reads the new text best."""
    width = max(map(len, summary), default=0) + len("dense ")
    lines = [
        "  ".join(
            [
                f"{kind + name:{width}}",
                *(f"{what} {told(found[what])}" for what in ("val_loss", "gain", "forgetting", "back")),
            ]
        )
        for name, found in summary.items()
    ]
    best = best_tuned({name: found["val_loss"]["mean"] for name, found in summary.items()})
    return (
        lines if best in (None, "all") else [*lines, f"{kind}fine-tuning reads the new text best as {best}"]
    )


def told(found: dict[str, Any]) -> str:
    if found["low"] is None:
        return f"{found['mean']:+.4f}"
    return f"{found['mean']:+.4f} ({found['low']:+.4f} to {found['high']:+.4f})"


if __name__ == "__main__":
    main()
