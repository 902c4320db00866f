"""Knowledge Gravity: one pure function a rule, each in its own file; order.py says who acts when."""

from somelab.core.gravity.order import ORDER, Rule, apply_rules, keys_move
from somelab.core.gravity.state import KeyState, Moment, by_depth

__all__ = ["ORDER", "KeyState", "Moment", "Rule", "apply_rules", "by_depth", "keys_move"]
