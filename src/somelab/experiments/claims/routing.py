"""Claims about the router: its network, K at the start of a run, temperature, gate entropy, and a balancing
loss beside gravity."""

from __future__ import annotations

from somelab.experiments.claims.claim import MATTERS, Claim, Test, higher, lower

CLAIMS = (
    Claim(
        "mlp-router-beats-linear",
        "The MLP query network beats the linear one where there are many experts",
        "report 004, knob guide; report 002, V2: a linear router collapses with 512 experts",
        (lower("experts-x8", "experts-x8-linear"),),
        "The MLP trains four times the weights of the linear network: see mlp-router-at-equal-size.",
    ),
    Claim(
        "mlp-router-at-equal-size",
        "The same at equal size: an MLP as small as the linear network",
        "not in the reports",
        (lower("experts-x8-narrow-mlp", "experts-x8-linear"),),
        "router.width 0.5 has as many weights as a linear network, but for half a row of biases.",
    ),
    Claim(
        "k1-warm-up-helps",
        "Starting with k = 1 for 10 to 20 % of the steps, then a ramp to K, often improves the final loss",
        "report 004, knob guide",
        (lower("top-k-warmup", "base"),),
        "15 % of the steps with one expert, then 5 % of ramp. Where K is 2 the ramp is a single step.",
    ),
    Claim(
        "learned-temperature-helps",
        "A learned routing temperature helps",
        "report 004, plan D",
        (lower("learned-temperature", "base"),),
        "One temperature per layer, starting from the common 0.8.",
    ),
    Claim(
        "entropy-band-helps",
        "Aiming the gate entropy at a band helps",
        "report 004, plan D",
        (lower("entropy-band", "learned-temperature"),),
        "The report's band of 1.5 to 2.5 nats cannot be reached with K below 5. Here: half to 85 % of ln "
        "K, with a learned temperature in both arms.",
    ),
    Claim(
        "balancing-loss-fights-gravity",
        "A classic load-balancing loss works against the self-organization",
        "report 004, knob guide",
        (
            higher("balance-loss", "base", MATTERS),
            Test(
                "val_loss: what the balancing loss costs with moving keys against fixed ones",
                "val_loss",
                {"balance-loss": 1.0, "base": -1.0, "fixed-keys-balance-loss": -1.0, "fixed-keys": 1.0},
                "above",
                MATTERS,
            ),
        ),
        "Coefficient 0.01, usual for learned routers. It works against gravity if it costs quality, and "
        "more so where keys move.",
    ),
)
