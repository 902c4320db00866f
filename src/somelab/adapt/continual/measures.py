"""Measures of a learner on a stream of experiences, from the matrix R of losses (nats per token; lower is
better). Pure functions.

R[i][j] is the loss on experience j after learning experience i, both counted from 0. Equations and a worked
example: docs/guides/continual.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

Matrix = Sequence[Sequence[float]]


def average_loss(matrix: Matrix) -> float:
    """A = mean_j R[N-1][j]: all experiences, after the last."""
    return fmean(matrix[-1])


def forgetting(matrix: Matrix) -> float:
    """F = mean_{j<N-1} max_{i>j} (R[i][j] - min_{j<=l<i} R[l][j]): the largest later rise from the best so
    far. 0 or more where anything rose; below 0 where every later experience helped."""
    return _mean_over_past(
        matrix, lambda column: max(column[i] - min(column[:i]) for i in range(1, len(column)))
    )


def final_forgetting(matrix: Matrix) -> float:
    """mean_{j<N-1} (R[N-1][j] - min_{j<=l<N-1} R[l][j]): what is still lost at the end."""
    return _mean_over_past(matrix, lambda column: column[-1] - min(column[:-1]))


def backward_transfer(matrix: Matrix) -> float:
    """B = mean_{j<N-1} (R[j][j] - R[N-1][j]): what later experiences gave to earlier ones; negative: they
    took."""
    return _mean_over_past(matrix, lambda column: column[0] - column[-1])


def forward_transfer(matrix: Matrix, reference: Sequence[float], first: int = 1) -> float:
    """W = mean_{j>=first} (r_j - R[j-1][j]): what earlier experiences gave to one not yet learned, against a
    reference r that never learned it. `first`: the first j whose R[j-1] is not the reference itself."""
    gains = [reference[j] - matrix[j - 1][j] for j in range(first, len(matrix))]
    return fmean(gains) if gains else 0.0


def _mean_over_past(matrix: Matrix, of_column: Callable[[list[float]], float]) -> float:
    """The mean over all experiences but the last of a function of the losses from their own learning on."""
    columns = [[row[j] for row in matrix[j:]] for j in range(len(matrix) - 1)]
    return fmean(of_column(column) for column in columns) if columns else 0.0
