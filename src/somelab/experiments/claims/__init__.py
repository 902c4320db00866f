"""The claims of the reports and about open questions, one entry each: sentence, source, arms, measure,
direction, rule, caveat. Verdicts are computed from run folders."""

from somelab.errors import ConfigError, nearest
from somelab.experiments.claims import (
    adaptation,
    authors,
    backbone,
    baselines,
    credit,
    data,
    families,
    modern,
    parts,
    pool,
    questions,
    recipe,
    routing,
    rules,
)
from somelab.experiments.claims.claim import Claim, Test

TOPICS: dict[str, tuple[Claim, ...]] = {
    "Questions that the reports leave open": questions.CLAIMS,
    "Width and depth": backbone.CLAIMS,
    "The pool": pool.CLAIMS,
    "The router": routing.CLAIMS,
    "Knowledge Gravity": rules.CLAIMS,
    "Data": data.CLAIMS,
    "Adaptation": adaptation.CLAIMS,
    "The recipe": recipe.CLAIMS,
    "Keys that move by credit": credit.CLAIMS,
    "The contribution of each part of the recipe with credit": parts.CLAIMS,
    "Experts that cost less": families.CLAIMS,
    "Against the usual baselines": baselines.CLAIMS,
    "In the modern backbone": modern.CLAIMS,
    "Further claims of the authors": authors.CLAIMS,
}
CLAIMS: dict[str, Claim] = {claim.id: claim for claims in TOPICS.values() for claim in claims}


def claims_named(names: tuple[str, ...]) -> list[Claim]:
    """The claims of these names; all where none is given."""
    for name in names:
        if name not in CLAIMS:
            raise ConfigError(
                "claim", name, "is not in the ledger", nearest(name, CLAIMS) + " (`somelab evidence --list`)"
            )
    return [CLAIMS[name] for name in dict.fromkeys(names)] if names else list(CLAIMS.values())


__all__ = ["CLAIMS", "TOPICS", "Claim", "Test", "claims_named"]
