"""Knowledge Gravity written a second time, straight from the equations: token by token, Python floats, loops.
It shares no line with somelab.core.gravity; the closed form there is compared with this one.

A token adds its own part to every movement, so the sums n, m, S and C of the closed form are never needed
here."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from somelab.config import GravityConfig

Vector = list[float]


@dataclass(frozen=True)
class Token:
    """One token after routing: its query, its experts (best first) with their gates, and whether it carries
    loss."""

    query: Vector
    experts: list[int]
    gates: list[float]
    raw_query: Vector
    counted: bool = True
    alignment: list[float] = field(default_factory=list)
    """The merit of each expert."""


@dataclass
class Store:
    """The addresses of a layer. `margins` collects how near each yes-or-no decision was to falling the other
    way."""

    keys: list[Vector]
    usage: list[float]
    mass: list[float]
    load_bias: list[float]
    query_mean: Vector
    routing_keys: list[Vector]
    dying: list[int] = field(default_factory=list)
    margins: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class When:
    """Place in the depth and in the run."""

    layer: int = 0
    num_layers: int = 1
    step: int = 0
    progress: float = 0.0


@dataclass(frozen=True)
class Sums:
    """n, m, S, C as the reports define them."""

    count: list[int]
    mass: list[float]
    query_sum: list[Vector]
    together: list[list[int]]


def gather(tokens: Iterable[Token], num_experts: int, d_model: int) -> Sums:
    """What a step has seen, over the tokens that carry loss."""
    count, mass = [0] * num_experts, [0.0] * num_experts
    query_sum = [[0.0] * d_model for _ in range(num_experts)]
    together = [[0] * num_experts for _ in range(num_experts)]
    for token in tokens:
        if not token.counted:
            continue
        for i, gate in zip(token.experts, token.gates):
            count[i] += 1
            mass[i] += gate
            query_sum[i] = [a + b for a, b in zip(query_sum[i], token.query)]
            for j in token.experts:
                together[i][j] += i != j
    return Sums(count, mass, query_sum, together)


def one_step(
    store: Store, tokens: Iterable[Token], config: GravityConfig, when: When, *, centre: bool = False
) -> Store:
    """Usage, attraction, peer-pull, repulsion, cap, norm, decay, respawn (only who: `dying`), and what moves
    no key."""
    tokens = [token for token in tokens if token.counted]
    store = replace(store, dying=[], margins=[])
    start = [list(key) for key in store.keys]
    _usage(store, tokens, config)
    if config.keys == "moved" and not entry_for(config.frozen_layers, when):
        if config.attraction:
            _attraction(store, tokens, config)
        if config.credit:
            _credit(store, tokens, config, when)
        if config.peer_pull:
            _peer_pull(store, tokens, config, when)
        if config.repulsion:
            _repulsion(store, config)
        if config.max_step is not None:
            _cap(store, start, config.max_step)
        _norm(store, tokens, config)
        if config.decay and when.step >= config.warmup_steps:
            _decay(store, config)
        if config.respawn:
            _respawn(store, config)
    _load_bias(store, tokens, config)
    if centre and tokens:
        _centre(store, tokens, config)
    r = config.key_ema
    store.routing_keys = [
        [r * old + (1 - r) * new for old, new in zip(old_key, new_key)]
        for old_key, new_key in zip(store.routing_keys, store.keys)
    ]
    return store


def entry_for(values: tuple[float, ...], when: When) -> float:
    """n values cover the layers in n equal parts."""
    return values[math.floor(len(values) * when.layer / when.num_layers)]


def times_chosen(tokens: list[Token], expert: int) -> int:
    return sum(1 for token in tokens for chosen in token.experts if chosen == expert)


def _usage(store: Store, tokens: list[Token], config: GravityConfig) -> None:
    count, mass = [0.0] * len(store.keys), [0.0] * len(store.keys)
    for token in tokens:
        for expert, gate in zip(token.experts, token.gates):
            count[expert] += 1
            mass[expert] += gate
    r = config.ema_decay
    old, new = (r, 1 - r) if config.usage == "ema" else (1.0, 1.0)
    store.usage = [old * u + new * n for u, n in zip(store.usage, count)]
    store.mass = [old * u + new * m for u, m in zip(store.mass, mass)]


def _attraction(store: Store, tokens: list[Token], config: GravityConfig) -> None:
    """Each token draws its experts towards its query by its share of a_i."""
    moved = [list(key) for key in store.keys]
    for i, key in enumerate(store.keys):
        pulls = [
            (token.query, share)
            for token in tokens
            for share in [_share(token, i, config.attraction_by)]
            if share > 0
        ]
        weight = sum(share for _, share in pulls)
        if not pulls:
            continue
        rate = config.alpha * weight / (1 + store.usage[i])
        rate = min(1.0, max(rate, config.alpha_floor))
        for query, share in pulls:
            for d in range(len(key)):
                moved[i][d] += rate * share / weight * (query[d] - key[d])
    store.keys = moved


def _credit(store: Store, tokens: list[Token], config: GravityConfig, when: When) -> None:
    """Each token calls the experts that did more for it than its mean, and sends off the others; a key then
    turns by one step."""
    final = config.credit if config.credit_final is None else config.credit_final
    step = config.credit + (final - config.credit) * when.progress
    for i, key in enumerate(store.keys):
        wish = [0.0] * len(key)
        for token in tokens:
            if i not in token.experts:
                continue
            mean = sum(g * a for g, a in zip(token.gates, token.alignment)) / sum(token.gates)
            place = token.experts.index(i)
            merit = token.gates[place] * (token.alignment[place] - mean)
            wish = [w + merit * q for w, q in zip(wish, token.query)]
        along = sum(w * k for w, k in zip(wish, key)) / max(sum(k * k for k in key), 1e-20)
        aside = [w - along * k for w, k in zip(wish, key)]
        share = length(aside) / length(wish) if length(wish) > 0 else 0.0
        if share <= 1e-4:
            continue
        store.margins.append(share / 2500)  # where little is left to turn by, rounding turns it
        store.keys[i] = [k + step * a / length(aside) for k, a in zip(key, aside)]


def _share(token: Token, expert: int, by: str) -> float:
    if expert not in token.experts:
        return 0.0
    place = token.experts.index(expert)
    if by == "winner":
        return 1.0 if place == 0 else 0.0
    return token.gates[place] if by == "gate" else 1.0


def _peer_pull(store: Store, tokens: list[Token], config: GravityConfig, when: When) -> None:
    """Every token lets each two of its experts approach; a key's pulls of one step together never pass its
    peers."""
    final = config.beta if config.beta_final is None else config.beta_final
    beta = (config.beta + (final - config.beta) * when.progress) * entry_for(config.beta_layers, when)
    slower = min if config.inertia == "min" else max
    pulls: list[list[tuple[int, float]]] = [[] for _ in store.keys]
    for token in tokens:
        for i in token.experts:
            for j in token.experts:
                if i == j or (
                    config.pull_until_cosine is not None and _too_alike(store, i, j, config.pull_until_cosine)
                ):
                    continue
                pulls[i].append((j, beta / (1 + slower(store.usage[i], store.usage[j]))))
    moved = [list(key) for key in store.keys]
    for i, key in enumerate(store.keys):
        total = sum(strength for _, strength in pulls[i])
        for j, strength in pulls[i]:
            share = strength / max(1.0, total)
            for d in range(len(key)):
                moved[i][d] += share * (store.keys[j][d] - key[d])
    store.keys = moved


def _too_alike(store: Store, i: int, j: int, limit: float) -> bool:
    a, b = store.keys[i], store.keys[j]
    lengths = length(a) * length(b)
    cosine = sum(x * y for x, y in zip(a, b)) / lengths if lengths else 0.0
    store.margins.append(abs(cosine - limit))
    return cosine > limit


def _repulsion(store: Store, config: GravityConfig) -> None:
    """k_i += rate * sum_j max(0, 1 - d_ij / d) (k_i - k_j) / d_ij."""
    moved = [list(key) for key in store.keys]
    for i, a in enumerate(store.keys):
        for j, b in enumerate(store.keys):
            apart = [x - y for x, y in zip(a, b)]
            distance = length(apart)
            if i == j:
                continue
            # The push has a length at any distance but zero: of keys all but in one place, rounding decides
            # where to.
            store.margins.append(max(distance, 1e-9) / 250)
            if distance == 0 or distance >= config.repulsion_distance:
                continue
            push = config.repulsion * (1 - distance / config.repulsion_distance) / distance
            moved[i] = [x + push * y for x, y in zip(moved[i], apart)]
    store.keys = moved


def _cap(store: Store, start: list[Vector], limit: float) -> None:
    for i, (old, new) in enumerate(zip(start, store.keys)):
        step = [x - y for x, y in zip(new, old)]
        if length(step) > limit:
            store.keys[i] = [x + limit * y / length(step) for x, y in zip(old, step)]


def _norm(store: Store, tokens: list[Token], config: GravityConfig) -> None:
    for i, key in enumerate(store.keys):
        size = length(key)
        restored = {"unit": True, "unit_used": times_chosen(tokens, i) > 0, "clamp": size > 1, "none": False}[
            config.norm
        ]
        if restored and size > 0:
            store.keys[i] = [x / size for x in key]


def _decay(store: Store, config: GravityConfig) -> None:
    theta = config.theta
    if theta is None:
        assert config.theta_percentile is not None
        used = sorted(u for u in store.usage if u != 0)
        if not used:
            return
        place = config.theta_percentile * (len(used) - 1)
        low, high = used[math.floor(place)], used[math.ceil(place)]
        theta = low + (place - math.floor(place)) * (high - low)
    for i, u in enumerate(store.usage):
        store.margins.append(abs(u - theta))
        if u < theta:
            store.keys[i] = [(1 - config.delta) * x for x in store.keys[i]]


def _respawn(store: Store, config: GravityConfig) -> None:
    """Which keys die. What they become is random, so the tests judge it by its properties."""
    for i, key in enumerate(store.keys):
        store.margins.append(abs(length(key) - config.respawn_threshold))
        if length(key) < config.respawn_threshold:
            store.dying.append(i)


def _load_bias(store: Store, tokens: list[Token], config: GravityConfig) -> None:
    counts = [times_chosen(tokens, i) for i in range(len(store.keys))]
    for i, count in enumerate(counts):
        # In whole numbers, so that "exactly the mean" is exact: E * n_i against the sum of n.
        lack = sum(counts) - count * len(counts)
        store.load_bias[i] += config.load_bias * ((lack > 0) - (lack < 0))


def _centre(store: Store, tokens: list[Token], config: GravityConfig) -> None:
    r = config.ema_decay if any(store.query_mean) else 0.0  # the first step sets the mean outright
    for d in range(len(store.query_mean)):
        mean = sum(token.raw_query[d] for token in tokens) / len(tokens)
        store.query_mean[d] = r * store.query_mean[d] + (1 - r) * mean


def length(vector: Vector) -> float:
    return math.sqrt(sum(x * x for x in vector))
