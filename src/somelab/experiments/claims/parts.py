"""What each part of `some` is worth: the recipe with credit, without one of its parts at a time."""

from __future__ import annotations

from somelab.experiments.claims.claim import Claim, lower, no_worse
from somelab.experiments.claims.recipe import SOURCE

WHOLE = "credit-x4"

CLAIMS = (
    Claim(
        "credit-routing-pays",
        "Choosing among frozen experts beats one frozen expert of the same active and trained size",
        SOURCE,
        (lower(WHOLE, "recipe-one-expert"),),
        "The one expert is as wide as all together that answer a token; there is nothing to choose, so nothing to credit.",
    ),
    Claim(
        "credit-view-pays",
        "Experts that read the query beat experts that read the token",
        SOURCE,
        (lower(WHOLE, "credit-reads-token"),),
        "The same trained weights; only what the experts are given differs.",
    ),
    Claim(
        "credit-mixer-pays",
        "The trained mixer behind the experts pays",
        SOURCE,
        (lower(WHOLE, "credit-no-mixer"),),
        "Without it the layer trains half as many weights, and credit holds answers against the error as they are.",
    ),
    Claim(
        "credit-unit-experts-pay",
        "Experts of unit output beat experts as torch draws them",
        SOURCE,
        (lower(WHOLE, "credit-default-init"),),
        "The mixer can make up for quiet experts, at some cost in time.",
    ),
    Claim(
        "credit-sharp-gates-pay",
        "A learned temperature from 0.1 beats gates at temperature 1",
        SOURCE,
        (lower(WHOLE, "credit-soft-gates"),),
        "The temperature of the other arm is not trained, as in the seeds.",
    ),
    Claim(
        "credit-centring-pays",
        "Centred queries pay",
        SOURCE,
        (lower(WHOLE, "credit-uncentred"),),
        "The load bias works in both, and evens out some of what centring would.",
    ),
    Claim(
        "credit-load-bias-pays",
        "The load bias pays",
        SOURCE,
        (lower(WHOLE, "credit-no-load-bias"),),
        "One size of it, 0.001.",
    ),
    Claim(
        "credit-falling-step-pays",
        "A step of credit that falls to 0 over the run beats one that stays",
        SOURCE,
        (lower(WHOLE, "credit-constant-step"),),
        "Both begin at 0.1; a smaller step that stays was also behind on the text of the search.",
    ),
    Claim(
        "credit-wants-no-attraction",
        "Attraction beside credit does harm",
        SOURCE,
        (lower(WHOLE, "credit-attracted"),),
        "The recipe's slow attraction to winners, 0.001; a faster one may do more harm.",
    ),
    Claim(
        "credit-needs-nothing-trained-inside",
        "Trained gains inside the pool gain nothing: strictly frozen experts are no worse",
        SOURCE,
        (no_worse(WHOLE, "credit-gains"),),
        "Gains are a factor per hidden unit and expert: four times the experts have four times as many of them.",
    ),
)
