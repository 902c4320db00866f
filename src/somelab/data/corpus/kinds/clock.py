"""The time of day in words: three o'clock, a quarter past nine, half past ten, twenty to six."""

from __future__ import annotations

from somelab.data.corpus.labels import Role
from somelab.data.corpus.pattern import fixed
from somelab.data.corpus.phrase import Referent, number


def clock_time(minutes: int) -> Referent:
    """The time `minutes` after midnight, on a clock of twelve hours; minutes must be a multiple of five."""
    hours, past = divmod(minutes, 60)
    assert past % 5 == 0, minutes
    hour = tuple(piece._replace(role=Role.TIME) for piece in number((hours + (past > 30) - 1) % 12 + 1))
    if past == 0:
        return Referent({"": (*hour, *fixed("o'clock"))})
    if past == 30:
        return Referent({"": (*fixed("half@time past/p"), *hour)})
    side = fixed("past/p" if past < 30 else "to/p")
    distance = past if past < 30 else 60 - past
    before = fixed("a quarter@time") if distance == 15 else tuple(piece._replace(role=Role.TIME) for piece in number(distance))
    return Referent({"": (*before, *side, *hour)})
