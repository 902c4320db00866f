"""Key maps: one frame for all times, places by hand, budgets kept, results kept in the cache and never in the
run."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from somelab.analysis import maps
from somelab.analysis.drift import reborn, travelled, way_covered
from somelab.analysis.maps import (
    MapError,
    choose_anchors,
    kept_neighbours,
    key_map,
    nearest_keys,
    parse_methods,
    pca,
    place_rest,
)
from somelab.analysis.snapshots import LayerHistory, SnapshotError, read_history, snapshot_files
from somelab.errors import ConfigError
from somelab.runs import RunFolder


def wandering(frames: int = 6, experts: int = 12, width: int = 8, seed: int = 0) -> np.ndarray:
    """Keys that go from random places to three clusters."""
    rng = np.random.default_rng(seed)
    start, goal = rng.normal(size=(experts, width)), rng.normal(size=(3, width))[np.arange(experts) % 3]
    share = np.linspace(0, 1, frames)[:, None, None]
    return ((1 - share) * start + share * goal).astype(np.float32)


def test_the_plane_of_planted_keys_is_found() -> None:
    """Keys in a plane of an eight-dimensional space: distances in the map are the distances of the keys."""
    rng = np.random.default_rng(0)
    plane = np.linalg.qr(rng.normal(size=(8, 2)))[0]
    keys = rng.normal(size=(4, 10, 2)) * [3, 1] @ plane.T
    places, explained = pca(keys)
    assert explained == pytest.approx(1.0)
    flat, found = keys.reshape(40, 8), places.reshape(40, 2)
    wanted = np.linalg.norm(flat[:, None] - flat[None], axis=2)
    np.testing.assert_allclose(np.linalg.norm(found[:, None] - found[None], axis=2), wanted, atol=1e-5)


def test_one_frame_serves_all_times() -> None:
    """A key that stands still stands still on the map, whatever the others do; and the map is one linear view
    of the keys."""
    keys = wandering()
    keys[:, 4] = keys[0, 4]
    places, _ = pca(keys)
    np.testing.assert_allclose(places[:, 4], np.repeat(places[:1, 4], len(keys), axis=0), atol=1e-5)
    np.testing.assert_allclose(places[2], (places[1] + places[3]) / 2, atol=1e-5)


def test_the_sign_is_settled() -> None:
    keys = wandering()
    assert np.array_equal(pca(keys)[0], pca(keys.copy())[0])
    mirrored, _ = pca(-keys)
    np.testing.assert_allclose(np.abs(mirrored), np.abs(pca(keys)[0]), atol=1e-5)


def test_keys_that_do_not_differ_are_one_point() -> None:
    places, explained = pca(np.ones((3, 4, 5)))
    assert np.abs(places).max() == 0
    assert explained == 1.0
    assert pca(np.arange(6.0).reshape(2, 3, 1))[0].shape == (2, 3, 2)


def test_anchors_follow_the_movement_and_keep_the_budget() -> None:
    keys = wandering(frames=20, experts=10)
    assert choose_anchors(keys, budget=200).tolist() == list(range(200))
    some = choose_anchors(keys, budget=50)
    assert len(some) <= 50
    assert set(range(190, 200)) <= set(some.tolist())  # the last frame
    late = keys.copy()
    late[:15] = late[0]  # nothing moves before frame 15: no second anchor frame is wasted there
    frames = sorted({int(point) // 10 for point in choose_anchors(late, budget=50)})
    assert frames[0] == 0
    assert all(frame >= 14 for frame in frames[1:])
    assert len(choose_anchors(wandering(frames=3, experts=100), budget=40)) <= 40


def test_the_rest_stands_among_its_nearest() -> None:
    points = np.array([[0.0], [1.0], [2.0], [10.0], [0.5]])
    anchors, embedded = np.arange(4), np.array([[0.0, 0], [4.0, 0], [8.0, 0], [0, 90.0]])
    placed = place_rest(points, anchors, embedded)
    assert placed[:4].tolist() == embedded.tolist()
    # Distances from 0.5 are 0.5, 0.5, 1.5, 9.5: weights 2, 2, 2/3, 2/19.
    weights = np.array([2, 2, 2 / 3, 2 / 19])
    np.testing.assert_allclose(placed[4], weights @ embedded / weights.sum(), rtol=1e-4)
    assert placed[4, 0] == pytest.approx(2.79, abs=0.01)


# Umap compiles for half a minute.
@pytest.mark.parametrize("method", ["tsne", pytest.param("umap", marks=pytest.mark.slow)])
def test_slow_maps_are_made_once_and_kept(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(
        {"tsne": "sklearn", "umap": "umap"}[method], reason="the extra `maps` is not installed"
    )
    keys = wandering()
    made = key_map(keys, method, cache_dir=tmp_path)
    assert made.place_FE2.shape == (6, 12, 2)
    assert np.isfinite(made.place_FE2).all()
    assert "started from their PCA" in made.note

    def refuse(*_: Any) -> Any:
        raise AssertionError("made again")

    with monkeypatch.context() as patch:
        patch.setattr(maps, f"_{method}", refuse)
        assert np.array_equal(key_map(keys, method, cache_dir=tmp_path).place_FE2, made.place_FE2)
        with pytest.raises(AssertionError, match="made again"):
            key_map(keys + 1e-3, method, cache_dir=tmp_path)
    (kept,) = (tmp_path / "maps").glob("*.npy")
    kept.write_bytes(b"half a file")
    assert np.array_equal(key_map(keys, method, cache_dir=tmp_path).place_FE2, made.place_FE2)


def test_tsne_keeps_the_clusters_of_the_last_frame_apart(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="the extra `maps` is not installed")
    last = key_map(wandering(frames=8, experts=30), "tsne", cache_dir=tmp_path).place_FE2[-1]
    centres = np.array([last[cluster::3].mean(axis=0) for cluster in range(3)])
    spread = max(
        float(np.linalg.norm(last[cluster::3] - centres[cluster], axis=1).max()) for cluster in range(3)
    )
    apart = min(float(np.linalg.norm(centres[i] - centres[j])) for i, j in ((0, 1), (0, 2), (1, 2)))
    assert apart > 2 * spread


def test_a_missing_package_is_a_reason_and_not_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(maps, "version", version)
    assert maps.available(("pca", "tsne", "umap"))[0] == ["pca"]
    with pytest.raises(MapError, match=r"umap-learn is not installed; pip install 'somelab\[maps\]'"):
        key_map(wandering(), "umap")


def test_keys_that_have_diverged_have_no_map() -> None:
    keys = wandering()
    keys[-1, 0] = np.inf
    with pytest.raises(MapError, match="the run has diverged"):
        key_map(keys, "pca")


def test_methods_by_name() -> None:
    assert parse_methods("umap, PCA,t-SNE") == ("pca", "tsne", "umap")
    with pytest.raises(ConfigError, match="did you mean umap"):
        parse_methods("pca,umpa")
    with pytest.raises(ConfigError, match="names no map"):
        parse_methods(" ,")


def test_nearest_keys_by_angle() -> None:
    keys = np.array([[1.0, 0], [9.0, 1], [0, 1], [-1, 0.1]])
    assert nearest_keys(keys, 2).tolist() == [[1, 2], [0, 2], [1, 3], [2, 1]]
    assert nearest_keys(keys, 9).shape == (4, 3)


def history(keys: Any, born: Any) -> LayerHistory:
    keys, born = np.array(keys, dtype=np.float32), np.array(born, dtype=np.int32)
    use = np.ones(born.shape, dtype=np.float32)
    return LayerHistory(list(range(len(keys))), keys, use, use, born)


def test_drift_counts_ways_and_not_rebirths() -> None:
    past = history([[[0.0], [0.0]], [[3.0], [0.0]], [[4.0], [9.0]]], [[0, 0], [0, 0], [0, 2]])
    assert reborn(past).tolist() == [[False, False], [False, False], [False, True]]
    assert travelled(past).tolist() == [[3.0, 0.0], [1.0, 0.0]]
    assert way_covered(past) == [0.0, 0.75, 1.0]
    assert way_covered(history([[[1.0]], [[1.0]]], [[0], [0]])) == [1.0, 1.0]


def test_snapshots_of_a_real_run(some_run: Path) -> None:
    layers = read_history(RunFolder(some_run))
    assert len(layers) == 3
    assert layers[0].steps == [0, 4, 8, 12, 16, 20, 24]
    assert layers[0].keys_FED.shape == (7, 8, 32)
    assert layers[0].usage_FE[0].sum() == 0
    assert layers[0].usage_FE[-1].sum() > 0


def test_a_damaged_snapshot_is_named(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    assert read_history(run) == []
    run.keys.mkdir()
    (run.keys / ".writing-step-00000001.safetensors~1-abc").write_bytes(b"")
    assert snapshot_files(run) == {}
    (run.keys / "step-00000004.safetensors").write_bytes(b"\x80\x04 no tensors")
    with pytest.raises(SnapshotError, match=r"step-00000004\.safetensors: is damaged"):
        read_history(run)


def test_a_map_that_keeps_neighbours_is_known_by_a_number() -> None:
    rng = np.random.default_rng(0)
    angle_E = np.sort(rng.uniform(0, 2 * np.pi, 60))
    keys_ED = np.stack([np.cos(angle_E), np.sin(angle_E)], axis=1)
    assert kept_neighbours(keys_ED, keys_ED.astype(np.float32)) > 0.95
    shuffled = keys_ED[rng.permutation(60)]
    assert kept_neighbours(keys_ED, shuffled) < 0.3  # chance is 5 / 59
    assert kept_neighbours(keys_ED[:1], keys_ED[:1]) == 1.0
    large = rng.normal(size=(3000, 2))
    assert kept_neighbours(large, large) < 1.0  # cosine in space, distance on the map
