"""Maps of a layer's keys over training in one common projection, so that points move continuously.

PCA is fitted once to the keys of all snapshots. t-SNE and UMAP embed keys of several times together, starting
from that PCA; points beyond their budget are interpolated from their nearest neighbours. Results of these two
are cached. Shape letters: F frames, E experts, D model width, P = F * E points, A anchors (points that are
embedded)."""

from __future__ import annotations

import hashlib
import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from somelab.disk import atomic
from somelab.disk.built_once import cache_root
from somelab.errors import ConfigError, SomelabError, nearest

METHODS = ("pca", "tsne", "umap")
PACKAGES = {"tsne": "scikit-learn", "umap": "umap-learn"}
MOST_ANCHORS = 1024
"""Keys that t-SNE and UMAP embed, of all snapshots of a layer: about two seconds of t-SNE."""
NEIGHBOURS = 5
MOST_SAMPLED = 512
"""Keys whose neighbours are compared between space and map."""
VERSION = 1
"""Increased when the method changes; part of the name in the cache."""


@dataclass(frozen=True)
class KeyPlaces:
    """The place of each key at each time."""

    method: str
    place_FE2: NDArray[np.float32]
    note: str
    explained: float | None = None
    """Share of the variance of the keys in the plane; None where the map is not linear."""


class MapError(SomelabError):
    """A map that cannot be computed, and why."""


def parse_methods(text: str) -> tuple[str, ...]:
    """Comma-separated names, checked; in the usual order."""
    names = [name.strip().lower().replace("-", "") for name in text.split(",") if name.strip()]
    for name in names:
        if name not in METHODS:
            raise ConfigError("--maps", text, f"{name!r} is not a map", nearest(name, METHODS))
    if not names:
        raise ConfigError("--maps", text, "names no map", f"choose among {', '.join(METHODS)}")
    return tuple(method for method in METHODS if method in names)


def unavailable(method: str) -> str | None:
    """Why a method cannot be used on this machine, or None."""
    package = PACKAGES.get(method)
    if package is None:
        return None
    try:
        version(package)
    except PackageNotFoundError:
        return f"{package} is not installed; pip install 'somelab[maps]'"
    return None


def key_map(
    keys_FED: NDArray[Any], method: str, *, seed: int = 0, cache_dir: Path | None = None
) -> KeyPlaces:
    """The places of all keys at all times by one method."""
    if (reason := unavailable(method)) is not None:
        raise MapError(reason)
    if not np.isfinite(keys_FED).all():
        raise MapError("some keys are not finite: the run has diverged")
    places_FE2, explained = pca(keys_FED)
    if method == "pca":
        return KeyPlaces(
            method,
            places_FE2,
            f"PCA of the keys of all snapshots; {explained:.0%} of their variance is in the plane",
            explained,
        )
    anchors = choose_anchors(keys_FED)
    embed = {"tsne": _tsne, "umap": _umap}[method]

    def make() -> NDArray[np.float32]:
        points_PD = keys_FED.reshape(-1, keys_FED.shape[2]).astype(np.float32)
        start_A2 = places_FE2.reshape(-1, 2)[anchors]
        embedded_A2 = embed(points_PD[anchors], start_A2, seed)
        return place_rest(points_PD, anchors, embedded_A2).reshape(*keys_FED.shape[:2], 2)

    if len(anchors) < 4:
        raise MapError(f"{len(anchors)} keys are too few for this map")
    name = _digest(keys_FED, method, str(seed), version(PACKAGES[method]))
    found = _cached(cache_root(cache_dir) / "maps" / f"{name}.npy", make)
    num_points = keys_FED.shape[0] * keys_FED.shape[1]
    title = {"tsne": "t-SNE", "umap": "UMAP"}[method]
    some = "the keys" if len(anchors) == num_points else f"{len(anchors):,} of the {num_points:,} keys"
    note = f"{title} of {some} of all snapshots together, started from their PCA"
    if len(anchors) < num_points:
        note += f"; each of the rest is placed among its {NEIGHBOURS} nearest"
    return KeyPlaces(method, found, note)


def pca(keys_FED: NDArray[Any]) -> tuple[NDArray[np.float32], float]:
    """The two directions in which the keys of all frames vary most, and the share of the variance that they
    hold.

    The sign of a direction is free; it is chosen so that its largest entry is positive, which makes the
    result deterministic."""
    points_PD = keys_FED.reshape(-1, keys_FED.shape[2]).astype(np.float64)
    centred_PD = points_PD - points_PD.mean(axis=0)
    variance, direction_DD = np.linalg.eigh(centred_PD.T @ centred_PD)
    axes_D2 = direction_DD[:, ::-1][:, :2]
    axes_D2 = axes_D2 * np.sign(axes_D2[np.abs(axes_D2).argmax(axis=0), np.arange(axes_D2.shape[1])])
    places_P2 = centred_PD @ axes_D2
    if places_P2.shape[1] < 2:
        places_P2 = np.pad(places_P2, ((0, 0), (0, 1)))
    total = float(variance.sum())
    explained = float(variance[::-1][:2].sum()) / total if total > 0 else 1.0
    return places_P2.reshape(*keys_FED.shape[:2], 2).astype(np.float32), explained


def choose_anchors(keys_FED: NDArray[Any], budget: int = MOST_ANCHORS) -> NDArray[np.int64]:
    """Numbers of the points to embed: whole frames, evenly spaced by how far the keys have moved rather than
    by time, the last one always; where one frame alone is beyond the budget, every n-th expert of the first
    and the last."""
    num_frames, num_experts = keys_FED.shape[:2]
    num_chosen = min(num_frames, max(2, budget // num_experts))
    if num_frames * num_experts <= budget:
        return np.arange(num_frames * num_experts)
    step_F = np.zeros(num_frames)
    step_F[1:] = np.linalg.norm(np.diff(keys_FED.astype(np.float32), axis=0), axis=2).mean(axis=1)
    path_F = np.cumsum(step_F)
    wanted = np.linspace(0, path_F[-1], num_chosen)
    frames = {int(np.abs(path_F - place).argmin()) for place in wanted} | {num_frames - 1}
    experts = np.arange(0, num_experts, max(1, -(-num_experts * len(frames) // budget)))
    return np.concatenate([frame * num_experts + experts for frame in sorted(frames)])


def place_rest(
    points_PD: NDArray[Any], anchors: NDArray[np.int64], embedded_A2: NDArray[Any]
) -> NDArray[np.float32]:
    """Every point among its nearest anchors, weighted by 1 / distance; an anchor stays where it was
    embedded."""
    placed_P2 = np.empty((len(points_PD), 2), dtype=np.float32)
    anchor_AD = points_PD[anchors].astype(np.float32)
    square_A = (anchor_AD**2).sum(axis=1)
    num_near = min(NEIGHBOURS, len(anchors))
    for first in range(0, len(points_PD), 1024):
        block = points_PD[first : first + 1024].astype(np.float32)
        distance = np.maximum((block**2).sum(axis=1)[:, None] + square_A - 2 * block @ anchor_AD.T, 0.0)
        near = np.argpartition(distance, num_near - 1, axis=1)[:, :num_near]
        weight = 1.0 / (np.sqrt(np.take_along_axis(distance, near, axis=1)) + 1e-6)
        placed_P2[first : first + 1024] = (embedded_A2[near] * weight[..., None]).sum(axis=1) / weight.sum(
            axis=1, keepdims=True
        )
    placed_P2[anchors] = embedded_A2
    return placed_P2


def _tsne(points_AD: NDArray[Any], start_A2: NDArray[Any], seed: int) -> NDArray[np.float32]:
    from sklearn.manifold import TSNE  # pyright: ignore[reportMissingImports]

    spread = float(start_A2[:, 0].std()) or 1.0
    perplexity = min(30.0, (len(points_AD) - 1) / 3)
    # t-SNE needs a small initial spread; its own PCA initialisation also has 1e-4.
    settings: dict[str, Any] = {"init": start_A2 / spread * 1e-4, "perplexity": perplexity, "max_iter": 500}
    maker: Any = TSNE(**settings, random_state=seed, n_jobs=1)
    return maker.fit_transform(points_AD).astype(np.float32)


def _umap(points_AD: NDArray[Any], start_A2: NDArray[Any], seed: int) -> NDArray[np.float32]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fixed random seed means one thread, which is intended
        from umap import UMAP  # pyright: ignore[reportMissingImports]

        extent = float(np.abs(start_A2).max()) or 1.0
        # Otherwise fused keys start at one point.
        noise = np.random.default_rng(seed).normal(scale=1e-3, size=start_A2.shape)
        start = (10 * start_A2 / extent + noise).astype(np.float32)
        neighbours = min(15, len(points_AD) - 1)
        settings: dict[str, Any] = {
            "init": start,
            "n_neighbors": neighbours,
            "min_dist": 0.1,
            "n_epochs": 200,
        }
        maker: Any = UMAP(**settings, random_state=seed, n_jobs=1)
        return np.asarray(maker.fit_transform(points_AD), dtype=np.float32)


def _digest(keys_FED: NDArray[Any], *parts: str) -> str:
    digest = hashlib.blake2b(np.ascontiguousarray(keys_FED, dtype=np.float32).tobytes(), digest_size=16)
    digest.update("/".join([str(keys_FED.shape), str(VERSION), str(MOST_ANCHORS), *parts]).encode())
    return digest.hexdigest()


def _cached(path: Path, make: Callable[[], NDArray[np.float32]]) -> NDArray[np.float32]:
    """The result of `make`, cached in a file. An unreadable file is computed again."""
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        made = make()
    with atomic.explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    content = io.BytesIO()
    np.save(content, made, allow_pickle=False)
    atomic.write_bytes(path, content.getvalue())
    return made


def nearest_keys(keys_ED: NDArray[Any], number: int) -> NDArray[np.int64]:
    """For each key the others in order of their cosine to it, the nearest first."""
    number = min(number, len(keys_ED) - 1)
    length = np.maximum(np.linalg.norm(keys_ED, axis=1, keepdims=True), 1e-12)
    unit_ED = (keys_ED / length).astype(np.float32)
    found = np.empty((len(keys_ED), number), dtype=np.int64)
    for first in range(0, len(keys_ED), 1024):
        cosine = unit_ED[first : first + 1024] @ unit_ED.T
        cosine[np.arange(len(cosine)), first + np.arange(len(cosine))] = -np.inf
        found[first : first + 1024] = np.argsort(-cosine, axis=1, kind="stable")[:, :number]
    return found


def kept_neighbours(keys_ED: NDArray[Any], place_E2: NDArray[Any], number: int = NEIGHBOURS) -> float:
    """How much of the structure a map shows: the mean share of a key's nearest keys that are among its
    nearest on the map. Chance is number / (E - 1). Large pools are sampled evenly."""
    num_experts = len(keys_ED)
    number = min(number, num_experts - 1)
    if number < 1:
        return 1.0
    sample = np.unique(np.linspace(0, num_experts - 1, min(num_experts, MOST_SAMPLED)).astype(np.int64))
    unit_ED = keys_ED / np.maximum(np.linalg.norm(keys_ED, axis=1, keepdims=True), 1e-12)
    away_SE = -(unit_ED[sample] @ unit_ED.T)
    place_E2 = place_E2.astype(np.float64)
    square_E = (place_E2**2).sum(axis=1)
    on_map_SE = square_E[None, :] - 2 * place_E2[sample] @ place_E2.T
    rows = np.arange(len(sample))
    near: list[NDArray[np.int64]] = []
    for distance_SE in (away_SE, on_map_SE):
        distance_SE[rows, sample] = np.inf
        near.append(np.argpartition(distance_SE, number - 1, axis=1)[:, :number])
    shared = (near[0][:, :, None] == near[1][:, None, :]).any(axis=2).mean()
    return float(shared)


def available(methods: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The maps that this machine can compute, and the reason for each other one."""
    reasons = {method: reason for method in methods if (reason := unavailable(method)) is not None}
    return [method for method in methods if method not in reasons], reasons
