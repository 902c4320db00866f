"""Knowledge Gravity: one pure function per rule, each in its own file; order.py gives the order in which they
act."""

from somelab.core.gravity.order import ORDER, apply_rules, keys_move
from somelab.core.gravity.rule import Rule, Setup, extra_names, parts_read, with_rules
from somelab.core.gravity.state import KeyState, Moment, by_depth

__all__ = [
    "ORDER",
    "KeyState",
    "Moment",
    "Rule",
    "Setup",
    "apply_rules",
    "by_depth",
    "extra_names",
    "keys_move",
    "parts_read",
    "with_rules",
]
