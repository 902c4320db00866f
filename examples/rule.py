"""A rule of your own: keys are pulled towards the keys of the experts that are used least, to spread the
load.

python examples/rule.py
somelab train some --scale micro --steps 100 --rule examples/rule.py --gravity.extra '{spread: 0.05}'
"""

from dataclasses import replace

import torch

import somelab
from somelab.core.gravity import ORDER, KeyState, Moment, with_rules
from somelab.core.measures import gini
from somelab.core.statistics import RoutingStatistics


def spread(state: KeyState, seen: RoutingStatistics, now: Moment) -> KeyState:
    """k_i += rate (k_b - k_i) for unused i, b the most used expert. Sign: idle keys go where the queries
    are."""
    busiest = seen.count_E.argmax()
    idle_E1 = (seen.count_E == 0)[:, None]
    step_ED = now.extra("spread") * (state.keys_ED[busiest] - state.keys_ED)
    return replace(state, keys_ED=state.keys_ED + torch.where(idle_E1, step_ED, 0.0))


RULE = somelab.Rule(spread, extra=("spread",), before="norm")


def unevenness(rate: float) -> float:
    """Gini of use after 50 steps on queries from a narrow cone, which a few keys would catch alone."""
    settings = {"attraction": False, "credit": 0.0, "load_bias": 0.0, "extra": {"spread": rate}}
    order = with_rules(ORDER, [RULE])
    layer = somelab.SomeLayer(
        16, {"num_experts": 32, "top_k": 2}, {"centre_queries": False}, settings, order=order
    )
    draw = torch.Generator().manual_seed(0)
    for _ in range(50):
        layer(torch.randn(256, 16, generator=draw) + 3)
        layer.apply_gravity_()
    return gini(layer.keystore.usage_E)


if __name__ == "__main__":
    print(f"Gini of use: {unevenness(0.0):.2f} without the rule, {unevenness(0.05):.2f} with it")
