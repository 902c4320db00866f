"""The contribution of each part of `some`: the recipe with credit, without one part at a time."""

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
        "The one expert is as wide as all selected experts of a token together; without selection there is "
        "no credit.",
    ),
    Claim(
        "credit-view-pays",
        "Experts with the query as input beat experts with the token as input",
        SOURCE,
        (lower(WHOLE, "credit-reads-token"),),
        "The same trained weights; only the experts' input differs.",
    ),
    Claim(
        "credit-mixer-pays",
        "The trained mixer after the experts helps",
        SOURCE,
        (lower(WHOLE, "credit-no-mixer"),),
        "Without it the layer trains half as many weights, and credit compares outputs with the error "
        "directly.",
    ),
    Claim(
        "credit-unit-experts-pay",
        "Experts of unit output beat experts as torch draws them",
        SOURCE,
        (lower(WHOLE, "credit-default-init"),),
        "The mixer can compensate for small outputs, at some cost in time.",
    ),
    Claim(
        "credit-sharp-gates-pay",
        "A learned temperature from 0.1 beats gates at temperature 1",
        SOURCE,
        (lower(WHOLE, "credit-soft-gates"),),
        "The temperature of the other arm is not trained, as in the reports.",
    ),
    Claim(
        "credit-centring-pays",
        "Centred queries pay",
        SOURCE,
        (lower(WHOLE, "credit-uncentred"),),
        "The load bias is on in both and has some of the effect of centring.",
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
        "A step of credit annealed to 0 over the run beats a constant one",
        SOURCE,
        (lower(WHOLE, "credit-constant-step"),),
        "Both begin at 0.1; a smaller constant step was also worse on the text of the search.",
    ),
    Claim(
        "credit-wants-no-attraction",
        "Attraction in addition to credit is harmful",
        SOURCE,
        (lower(WHOLE, "credit-attracted"),),
        "The recipe's slow attraction to winners, 0.001; a faster one may do more harm.",
    ),
    Claim(
        "credit-needs-nothing-trained-inside",
        "Trained gains inside the pool do not help: strictly frozen experts are no worse",
        SOURCE,
        (no_worse(WHOLE, "credit-gains"),),
        "Gains are a factor per hidden unit and expert: four times the experts have four times as many of "
        "them.",
    ),
)
