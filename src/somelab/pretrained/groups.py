"""Cut the neurons of a feed-forward block into groups of equal size: the frozen experts of a carved model.

Neurons that matter for nearly every token come first, sorted by how much they contribute. The rest is
clustered by co-activation, so that a token that needs one neuron of a group tends to need the others, and the
group can be skipped for the tokens that need none. Shape letters: T tokens, N neurons to cluster, F neurons
of the block, E groups."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from somelab.core.seeding import generator

ROUNDS = 8
PROFILE_TOKENS = 2048  # co-activation is measured on at most this many tokens


def grouped_order(
    contribution_TF: Tensor, num_groups: int, num_common: int, *, seed: int, layer: int
) -> Tensor:
    """The order of the neurons in which each run of F / E is a group.

    `contribution_TF`: how far each neuron's output vector is from its mean, for each token. The first
    `num_common` groups hold the neurons with the largest mean square."""
    num_neurons = contribution_TF.shape[1]
    size = num_neurons // num_groups
    energy_F = contribution_TF.square().mean(dim=0)
    by_energy_F = energy_F.argsort(descending=True, stable=True)
    common, rest = by_energy_F[: num_common * size], by_energy_F[num_common * size :]
    if rest.numel() == 0:
        return common
    step = max(1, contribution_TF.shape[0] // PROFILE_TOKENS)
    profile_NT = contribution_TF[::step, rest].T
    profile_NT = F.normalize(profile_NT - profile_NT.mean(dim=1, keepdim=True), dim=1)
    cluster_N = balanced_clusters(profile_NT, num_groups - num_common, seed=seed, layer=layer)
    # Groups in the order of their energy: frequent ones are neighbours in memory.
    energy_C = torch.zeros(num_groups - num_common).index_add_(0, cluster_N, energy_F[rest])
    rank_C = energy_C.argsort(descending=True, stable=True).argsort()
    return torch.cat([common, rest[rank_C[cluster_N].argsort(stable=True)]])


def balanced_clusters(profile_NT: Tensor, num_clusters: int, *, seed: int, layer: int) -> Tensor:
    """Spherical k-means with clusters of equal size: neurons choose in the order of their best match."""
    num = profile_NT.shape[0]
    size = num // num_clusters
    first = torch.randperm(num, generator=generator(seed, "carve groups", layer))[:num_clusters]
    centre_CT = profile_NT[first]
    cluster_N = torch.zeros(num, dtype=torch.long)
    for _ in range(ROUNDS):
        match_NC = profile_NT @ centre_CT.T
        preferred = match_NC.argsort(dim=1, descending=True).tolist()
        room = [size] * num_clusters
        for neuron in match_NC.amax(dim=1).argsort(descending=True, stable=True).tolist():
            chosen = next(cluster for cluster in preferred[neuron] if room[cluster])
            room[chosen] -= 1
            cluster_N[neuron] = chosen
        sums_CT = torch.zeros_like(centre_CT).index_add_(0, cluster_N, profile_NT)
        centre_CT = F.normalize(sums_CT, dim=1)
    return cluster_N
