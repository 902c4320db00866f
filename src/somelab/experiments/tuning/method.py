"""The interface of a search, on a geometric grid or among given values."""

from __future__ import annotations

from typing import Any, Protocol

from somelab.experiments.tuning.search import Trials
from somelab.experiments.tuning.value import Value


class Method(Protocol):
    """A search. It holds no results: trials are passed in, by the index of their value."""

    @property
    def num_steps(self) -> int:
        """Of a whole run."""
        ...

    def value(self, index: int) -> Value: ...

    def index(self, value: Value) -> int:
        """The index of a value of this search."""
        ...

    def index_of_folder(self, name: str) -> int | None:
        """The index whose run folder has this name; None for a folder that is not of this search."""
        ...

    def wanted(self, trials: Trials) -> dict[int, int]:
        """What to train next: the step to reach, by index. Empty when the search is over."""
        ...

    def best(self, trials: Trials) -> int | None:
        """The index of the best ended run; None where none has ended with a loss."""
        ...

    def is_settled(self, trials: Trials) -> bool:
        """Whether the search is over and its best value is reliable."""
        ...

    def is_at_edge(self, trials: Trials) -> bool:
        """Whether the optimum may lie beyond the values that were tried."""
        ...

    def facts(self) -> dict[str, Any]:
        """What names the values of this search, for a record."""
        ...
