"""What a run with a time budget does beside training: evaluations, samples, snapshots, journals. They take a
bounded share of the time, so that a short run gets fewer of them, and the last evaluation, which uses all of
the validation text, is allowed for, so that the run ends in time. Runs of a number of steps are not
affected: what they write does not depend on the clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace

from somelab.training.budget import Budget

SHARE = 0.15
"""Of a time budget, for everything beside training, the last evaluation included."""
LEAST_SHARE = 0.05
"""What is left for the rest if the last evaluation takes most of that share."""
LARGEST_RESERVE = 0.5
"""Of a time budget, for the last evaluation: a run has to train, too."""
FORWARD = 0.4
"""Time of an evaluated token as a share of that of a trained token, until it is measured."""


class SideWork:
    """Measures it and decides what can be afforded. Its state is that of a process; a resumed run measures
    anew."""

    def __init__(self, budget: Budget, final_tokens: Callable[[], int]) -> None:
        """`final_tokens`: positions of the last evaluation; asked for only if there is a time budget."""
        self.budget = budget
        self.final_tokens = final_tokens() if budget.seconds is not None else 0
        self.spent = 0.0
        self._costs: dict[str, float] = {}
        self._training, self._tokens = 0.0, 0
        self._rate: float | None = None
        self._began = time.perf_counter()
        self._depth = 0

    @contextmanager
    def doing(self, kind: str) -> Generator[None]:
        """Measures what is done inside; what is nested counts once."""
        started, self._depth = time.perf_counter(), self._depth + 1
        try:
            yield
        finally:
            self._depth -= 1
            self._costs[kind] = time.perf_counter() - started
            if not self._depth:
                self.spent += self._costs[kind]

    def trained_(self, seconds: float, num_tokens: int) -> None:
        """A training step."""
        self._training, self._tokens = self._training + seconds, self._tokens + num_tokens

    def evaluated_(self, seconds: float, num_tokens: int) -> None:
        """The pass over the text of an evaluation."""
        self._rate = seconds / max(1, num_tokens)

    def seconds_per_token(self) -> float:
        """Of an evaluation: measured, or estimated from training."""
        return FORWARD * self._training / max(1, self._tokens) if self._rate is None else self._rate

    def allowing(self) -> Budget:
        """The budget with the time that the last evaluation will take."""
        if self.budget.seconds is None:
            return self.budget
        reserve = self.seconds_per_token() * self.final_tokens + self._costs.get("sample", 0.0)
        return replace(self.budget, reserve=min(reserve, LARGEST_RESERVE * self.budget.seconds))

    def affords(self, kind: str, num_tokens: int = 0) -> bool:
        """Whether something fits the share of the time that has passed. `num_tokens`: how many it evaluates,
        by which its cost is estimated the first time."""
        if self.budget.seconds is None:
            return True
        share = max(LEAST_SHARE, SHARE - self.allowing().reserve / self.budget.seconds)
        cost = self._costs.get(kind, num_tokens * self.seconds_per_token())
        return self.spent + cost <= share * (time.perf_counter() - self._began)
