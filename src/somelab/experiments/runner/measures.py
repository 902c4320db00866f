"""The columns of a table: which figures an experiment reports, how they are written, and which of them are
compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """A figure by name, and how it is written."""

    name: str
    title: str
    form: str
    """Format of a value; its precision also serves for intervals."""
    meaning: str
    hidden: bool = False
    """Not in the Markdown table, which has many columns; pages and programs get it."""


@dataclass(frozen=True)
class Measures:
    """The figures of one kind of experiment."""

    all: tuple[Measure, ...]
    main: str
    """The one whose difference from the base is shown in a terminal."""
    differences: tuple[str, ...]
    """Those whose paired differences are in the table."""
    glance: tuple[str, ...]
    """Those that fit a terminal."""

    @property
    def shown(self) -> list[Measure]:
        """The columns of the Markdown table."""
        return [measure for measure in self.all if not measure.hidden]

    def named(self, names: Sequence[str]) -> list[Measure]:
        return [measure for measure in self.all if measure.name in names]


# Means over layers unless the name differs. The reports give their middle layer.
TRAINING_MEASURES = Measures(
    (
        Measure("val_loss", "val_loss", ".4f", "nats per token, padding left out"),
        Measure("val_ppl", "val_ppl", ".2f", "its exponential"),
        Measure("bits_per_byte", "bits/byte", ".4f", "comparable across tokenizers"),
        Measure(
            "ppl_with_padding",
            "ppl_with_padding",
            ".3f",
            "perplexity with padding included, as in v1 to v4 of the reports",
        ),
        Measure(
            "loss_with_padding",
            "loss_with_padding",
            ".4f",
            "its logarithm: the validation loss of v1 to v4 of the reports",
            hidden=True,
        ),
        Measure("gini", "Gini", ".3f", "inequality of usage, mean over layers"),
        Measure("gini_middle", "Gini, middle", ".3f", "the same of the middle layer, which the reports give"),
        Measure(
            "training_gini_with_padding",
            "Gini, training, padding",
            ".3f",
            "of the usage in training with padding included, middle layer, as in v1 to v4 of the reports",
        ),
        Measure(
            "training_entropy_bits_with_padding",
            "entropy, training, padding",
            ".3f",
            "bits, of the same usage",
            hidden=True,
        ),
        Measure("num_combinations", "sets", ",.0f", "distinct sets of K experts in use, mean over layers"),
        Measure("crowding", "crowding", ".3f", "mean cosine of a key to its K - 1 nearest: 1 means fused"),
        Measure("gate_entropy", "gate entropy", ".3f", "nats, at most ln K"),
        Measure("trainable", "trained", ",.0f", "parameters"),
        Measure("total", "total", ",.0f", "parameters, frozen ones included"),
        Measure("active", "active", ",.0f", "parameters that one token uses"),
        Measure("tokens", "tokens", ",.0f", "trained on"),
        Measure("shift_loss_frozen", "new text, frozen", ".4f", "nats per token on text of another kind"),
        Measure("shift_gain_active", "gain, keys", ".4f", "on that text when keys move, over frozen"),
        Measure("shift_forgetting_active", "forgetting, keys", ".4f", "on the old text afterwards"),
        Measure("shift_gain_all", "gain, fine-tuning", ".4f", "the same by gradient, at its best rate"),
        Measure("shift_forgetting_all", "forgetting, fine-tuning", ".4f", "on the old text afterwards"),
        Measure("differing_share", "differing sets", ".4f", "tokens routed otherwise in fp32 than in bf16"),
        Measure(
            "entropy_bits_middle",
            "entropy, middle",
            ".3f",
            "bits, of the middle layer, which the reports give",
            hidden=True,
        ),
    ),
    main="val_loss",
    differences=("val_loss", "bits_per_byte", "ppl_with_padding", "gini", "num_combinations", "crowding"),
    glance=("val_loss", "bits_per_byte", "gini"),
)
