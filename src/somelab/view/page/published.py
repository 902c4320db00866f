"""The published figures of a preset in the form of the page, and its curves under the names of ours."""

from __future__ import annotations

from somelab.config import PRESETS, preset
from somelab.view.page.packing import number
from somelab.view.schema.page import Published, PublishedEpoch
from somelab.view.schema.results import PublishedCurve

NAMES = ("train_loss", "val_loss", "val_ppl", "ppl_with_padding", "gini", "entropy_bits")


def published_figures(name: str | None) -> Published | None:
    """None for what is no preset, or one without published figures."""
    chosen = preset(name) if name in PRESETS else None
    if chosen is None or chosen.published is None:
        return None
    figures, num_epochs = chosen.published, chosen.config.train.epochs or 1
    epochs = [
        PublishedEpoch(
            epoch=int(epoch.get("epoch", 0)),
            share=min(1.0, epoch.get("epoch", 0) / num_epochs),
            **{key: number(epoch.get(key)) for key in NAMES},
        )
        for epoch in figures.epochs
    ]
    return Published(
        preset=chosen.name,
        title=chosen.title,
        source=chosen.source,
        total_millions=figures.total,
        trainable_millions=figures.trainable,
        steps=figures.steps,
        with_padding=figures.with_padding,
        epochs=epochs,
        final={key: float(value) for key, value in figures.final.items()},
        note=chosen.note or figures.note,
    )


# Which of our curves is measured like which published figure, with padding counted and without.
ALIKE = {
    True: {
        "loss": "train_loss",
        "loss_with_padding": "val_loss",
        "training_gini_with_padding": "gini",
        "training_entropy_bits_with_padding": "entropy_bits",
    },
    False: {
        "loss": "train_loss",
        "val_loss": "val_loss",
        "training_gini": "gini",
        "training_entropy_bits": "entropy_bits",
    },
}


def published_curves(name: str | None) -> dict[str, PublishedCurve]:
    """The published curves of a preset by the curve of ours that is measured alike; empty if there are
    none."""
    figures = published_figures(name)
    if figures is None:
        return {}
    curves = {
        ours: PublishedCurve(
            share=[epoch.share for epoch in figures.epochs],
            value=[getattr(epoch, theirs) for epoch in figures.epochs],
        )
        for ours, theirs in ALIKE[figures.with_padding].items()
    }
    return {ours: curve for ours, curve in curves.items() if any(one is not None for one in curve.value)}
