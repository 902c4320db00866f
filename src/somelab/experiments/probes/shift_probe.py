"""The probe `domain-shift`: a trained run reads text of another kind, frozen, with moving keys, with memories
and by gradient. The study of `somelab.adapt` on one run, kept as figures by name, for the ledger's claims
about adaptation and forgetting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from somelab.errors import ConfigError
from somelab.runs import RunFolder

NAME = "domain-shift"
RATES = ("6e-4", "2e-3", "6e-3")
"""Learning rates of fine-tuning, over a factor of ten. The one with the lowest loss on the new text is used.
Higher ones fail: at 2e-2 a micro run gained -0.02 nats on the built-in corpus, where 6e-3 gained 0.98."""
METHODS = ("frozen", "active", "noise", "memory", "cache", "bigram", "router", "all")


@dataclass(frozen=True)
class Reading:
    """How much is read, and how. The defaults are those of the ledger."""

    tokens: int = 40_000
    """Of the new text."""
    home_tokens: int = 20_000
    """Of the run's own text, before and after."""
    back_tokens: int = 0
    """Of the run's own text, read as a stream at the end with adaptation still on."""
    every: int = 2048
    """Tokens between updates: one optimizer step of the ledger's micro runs."""


def text_digest(source: str) -> str:
    """Digest of the other text. A text that cannot be opened is an error of the setting."""
    from somelab.config import DataConfig
    from somelab.data.sources import open_source

    try:
        return open_source(DataConfig(source=source, train_subset_size=None, val_subset_size=None)).identity[
            :12
        ]
    except ConfigError as error:
        raise ConfigError("shift", source, error.problem, error.remedy) from None


def is_complete(kept: Mapping[str, Any]) -> bool:
    """Whether a probe has the methods that every run is read with today: one measured before a method was
    added is measured again."""
    from somelab.adapt.domain_shift.study import DENSE_METHODS

    return set(DENSE_METHODS) - {"all"} <= set(kept.get("study", ()))


def domain_shift(run: RunFolder, source: str, reading: Reading) -> dict[str, Any]:
    """Read the other text and the run's own in every way that its layers allow: figures, which text it was,
    and the whole study, for a drawing."""
    from somelab.adapt import AdaptationSettings
    from somelab.adapt.domain_shift.study import DENSE_METHODS, at_rates, study_run, text_for
    from somelab.runs.trained import load_trained

    trained = load_trained(run)
    text = text_for(
        trained,
        source,
        max_tokens=reading.tokens,
        home_tokens=reading.home_tokens,
        back_tokens=reading.back_tokens,
    )
    methods = at_rates(METHODS if trained.model.some_layers() else DENSE_METHODS, "all", RATES)
    found = study_run(trained.model, text, AdaptationSettings(every=reading.every), methods)
    return {
        "text": {"source": source, "digest": text_digest(source)},
        "shift_tokens": found["frozen"]["new"]["num_tokens"],
        **figures_of_study(found),
        "study": found,
    }


def figures_of_study(found: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Per method: loss on the new text, gain over frozen and forgetting on the old, in nats per token.

    `all` is fine-tuning at the rate with the lowest loss on the new text; each rate is kept too, and the
    least that any of them forgets: for claims about forgetting less."""
    from somelab.adapt.domain_shift.study import best_tuned, tuned_part

    figures: dict[str, float] = {}
    for method, report in found.items():
        figures.update(_figures(method.replace("@", "_at_"), report, found["frozen"]))
    losses = {method: report["new"]["val_loss"] for method, report in found.items()}
    best = best_tuned(losses)
    if best is not None:
        figures.update(_figures("all", found[best], found["frozen"]))
        figures["shift_rate_all"] = found[best]["learning_rate"]
        forgotten = [
            report["forgetting"] for method, report in found.items() if tuned_part(method)[0] == "all"
        ]
        figures["shift_forgetting_all_least"] = min(forgotten)
    for method in ("active", "noise"):
        if method in found:
            figures[f"shift_angle_{method}"] = found[method]["movement"]["mean_angle"]
    if "memory" in found:
        figures["shift_gain_routing"] = losses["cache"] - losses["memory"]
    return figures


def _figures(name: str, report: Mapping[str, Any], frozen: Mapping[str, Any]) -> dict[str, float]:
    loss = report["new"]["val_loss"]
    if report is frozen:
        return {f"shift_loss_{name}": loss}
    gain = frozen["new"]["val_loss"] - loss
    return {
        f"shift_loss_{name}": loss,
        f"shift_gain_{name}": gain,
        f"shift_forgetting_{name}": report["forgetting"],
    }
