"""Claims about width and depth: series A of report 001, its collapse at sixteen layers, and the three cures
of study D."""

from __future__ import annotations

from somelab.experiments.claims.claim import Claim, Test, higher, lower

SOURCE = "report 001, series A"
CURES = {
    "d1": "less pull in the second half (beta x 0.5)",
    "d2": "keys of the second half frozen",
    "d3": "queries grounded in the layer below (+ 0.1 x its query)",
}
COLLAPSE = 0.1
"""Nats that sixteen layers have to lose against eight. In the reports they lost 1.2."""
DEPTH_CAVEAT = (
    "The reports' number of layers, at the width of the scale; a6 is also wider than a1, which is left out "
    "here so that depth alone differs. The published learning rate without warm-up; a million tokens are "
    "little for a deep model."
)


def _collapse(*, premise: bool) -> Test:
    label = "val_loss: depth-16 - depth-8"
    return Test(label, "val_loss", {"depth-16": 1.0, "depth-8": -1.0}, "above", COLLAPSE, premise)


def _cure(name: str, what: str) -> Claim:
    return Claim(
        f"{name}-rescues-depth",
        f"{name.upper()}: sixteen layers are rescued by {what}",
        "report 001, study D, proposed there without results",
        (_collapse(premise=True), lower(f"depth-16-{name}", "depth-16", COLLAPSE)),
        "Where sixteen layers do not collapse there is nothing to rescue, and the claim stays undecided. "
        f"{DEPTH_CAVEAT}",
    )


CLAIMS = (
    Claim(
        "wider-is-better",
        "Wider is better: increasing d_model helps (a2 against a1)",
        SOURCE,
        (lower("wide", "base"),),
        "More width is more trained weights at equal tokens, in any model: this is not specific to SoME.",
    ),
    Claim(
        "deeper-is-better",
        "Deeper is better, with diminishing returns (a1, a3, a5: 8, 10, 12 layers)",
        SOURCE,
        (
            lower("depth-10", "depth-8", 0.005),
            lower("depth-12", "depth-8", 0.005),
            Test(
                "val_loss: the step from 10 to 12 layers gains less than the one from 8 to 10",
                "val_loss",
                {"depth-12": 1.0, "depth-10": -2.0, "depth-8": 1.0},
                "above",
                0.005,
            ),
        ),
        DEPTH_CAVEAT,
    ),
    Claim(
        "sixteen-layers-collapse",
        "Collapse at extreme depth: sixteen layers fail where eight learn (a6)",
        SOURCE,
        (_collapse(premise=False),),
        DEPTH_CAVEAT,
    ),
    Claim(
        "depth-concentrates-use",
        "At sixteen layers the router collapses: it uses a tiny handful of experts for everything (a6)",
        SOURCE,
        (higher("depth-16", "depth-8", 0.05, "gini"),),
        f"Gini is the reports' own measure; it does not detect fused keys. {DEPTH_CAVEAT}",
    ),
    *(_cure(name, what) for name, what in CURES.items()),
)
