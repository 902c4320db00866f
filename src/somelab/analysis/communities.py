"""Communities of a weighted graph by modularity, by a small, deterministic Louvain method.

    Q = 1/2m sum_ij (w_ij - d_i d_j / 2m) [i and j together],   d_i = sum_j w_ij,   2m = sum_i d_i
Nodes move one by one to the neighbouring community that raises Q most; communities then become the nodes
of a smaller graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LEAST_GAIN = 1e-12
MOST_SWEEPS = 100


def modularity(weight: NDArray[np.float64], community: NDArray[np.int64]) -> float:
    """Q of a division; 0 for a graph without edges.

    >>> pair = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> two = np.kron(np.eye(2), pair)
    >>> modularity(two, np.array([0, 0, 1, 1]))
    0.5
    """
    degree, total = weight.sum(axis=1), weight.sum()
    if not total:
        return 0.0
    together = community[:, None] == community[None, :]
    return float(((weight - np.outer(degree, degree) / total) * together).sum() / total)


def communities(weight: NDArray[np.float64]) -> NDArray[np.int64]:
    """The community of each node, numbered by their first node. A node without edges is a community of
    one."""
    membership = np.arange(len(weight))
    graph = weight.astype(np.float64)
    while True:
        local = _moved(graph)
        if len(np.unique(local)) == len(graph):
            return _renumbered(membership)
        membership = local[membership]
        graph = _merged(graph, local)


def _moved(weight: NDArray[np.float64]) -> NDArray[np.int64]:
    """Move every node, strongest first, to the community that raises Q most, until none moves."""
    degree, total = weight.sum(axis=1), weight.sum()
    community = np.arange(len(weight))
    if not total:
        return community
    inside = degree.copy()  # summed degrees of each community
    order = np.argsort(-degree, kind="stable")
    for _ in range(MOST_SWEEPS):
        moved = False
        for node in order:
            own = community[node]
            towards = np.bincount(community, weights=weight[node], minlength=len(weight))
            towards[own] -= weight[node, node]
            inside[own] -= degree[node]
            gain = towards - degree[node] * inside / total
            best = int(np.argmax(np.where(towards > 0, gain, -np.inf))) if (towards > 0).any() else own
            if gain[best] <= gain[own] + LEAST_GAIN:
                best = own
            inside[best] += degree[node]
            moved |= best != own
            community[node] = best
        if not moved:
            break
    return _renumbered(community)


def _merged(weight: NDArray[np.float64], community: NDArray[np.int64]) -> NDArray[np.float64]:
    member = np.eye(int(community.max()) + 1)[community]
    return member.T @ weight @ member


def _renumbered(community: NDArray[np.int64]) -> NDArray[np.int64]:
    _, first, inverse = np.unique(community, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]
