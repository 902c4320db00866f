"""The other benchmarks: they run on tiny shapes, their arithmetic is right, and what they compare is
comparable.

Shape letters: T tokens, E experts, K experts per token."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch

from somelab.bench.child import measure as measure_in_child
from somelab.bench.results import Result, Row
from somelab.bench.settings import Settings, Shape
from somelab.bench.suites import generation, gravity, memory, scaling, small_steps, step
from somelab.bench.suites.documents import LENGTHS, SHARES, batch_from, made_up
from somelab.config import ExpertsConfig, GravityConfig, RouterConfig, override, preset
from somelab.core.layer import SomeLayer
from somelab.model.count import count_parameters

QUICK = Settings(quick=True, dtype="fp32", repetitions=1)


def contenders(result: Result) -> list[str]:
    return [row.contender for row in result.rows]


def test_gravity_runs_and_its_share_is_that_of_its_rows() -> None:
    result = gravity.run(Settings(preset="a1", quick=True, dtype="fp32", repetitions=1))
    assert contenders(result) == [
        name for name in gravity.KINDS if name not in (gravity.WITH_CREDIT, gravity.CREDIT)
    ]
    seconds: dict[str, float] = {row.contender: row.median or 0.0 for row in result.rows}
    assert all(seconds.values())
    assert seconds[gravity.OUR_WAY] == pytest.approx(seconds[gravity.COLLECT] + seconds[gravity.APPLY])
    assert result.figures == {"share_a1": pytest.approx(gravity.share(seconds, 1))}
    assert result.ratios["notebook_a1"] == pytest.approx(seconds[gravity.NOTEBOOK] / seconds[gravity.OUR_WAY])


def test_credit_is_a_part_of_gravity_and_is_measured_without_the_notebooks() -> None:
    result = gravity.run(Settings(preset="some", quick=True, dtype="fp32", repetitions=1))
    assert contenders(result) == [name for name in gravity.KINDS if name != gravity.NOTEBOOK]
    seconds: dict[str, float] = {row.contender: row.median or 0.0 for row in result.rows}
    assert seconds[gravity.CREDIT] == pytest.approx(
        seconds[gravity.WITH_CREDIT] - seconds[gravity.BLOCK] - seconds[gravity.COLLECT]
    )
    parts = (gravity.COLLECT, gravity.CREDIT, gravity.APPLY)
    assert seconds[gravity.OUR_WAY] == pytest.approx(sum(seconds[part] for part in parts))
    assert result.ratios == {}
    assert (
        result.notes[-1] == "some is not compared with the published notebooks, which have no experts.reads."
    )


def test_gravity_s_share_by_hand() -> None:
    seconds = {gravity.BLOCK: 1.0, gravity.OPTIMIZER: 0.5, gravity.COLLECT: 0.01, gravity.APPLY: 0.02}
    # Four micro-batches: 4 x 0.01 + 0.02 of 4 x (1 + 0.01) + 0.5 + 0.02.
    assert gravity.share(seconds, 4) == pytest.approx(0.06 / 4.56)
    assert gravity.share(seconds, 1) == pytest.approx(0.03 / 1.53)
    assert gravity.share({**seconds, gravity.CREDIT: 0.1}, 1) == pytest.approx(0.13 / 1.63)


def test_gravity_s_contenders_see_the_same_choices() -> None:
    config = override(
        preset("a1").config, {"model.d_model": 32, "experts.num_experts": 8, "experts.d_ffn": 16}
    )
    routing = gravity.routing_of(config, 100)
    assert routing.indices_TK.shape == (100, 4)
    torch.testing.assert_close(routing.queries_TD.norm(dim=1), torch.ones(100))


def test_step_runs_with_everyone_in_the_same_shell() -> None:
    result = step.run(QUICK)
    own = [[name, small_steps.EQUAL, small_steps.NONE] for name in small_steps.PRESETS]
    assert contenders(result) == [step.OUR_STEP, step.NOTEBOOK, step.DENSE, step.PADDED, *own[0], *own[1]]
    ratios = {"notebook", "dense_trained", "packed_over_padded", "some_dense_equal", "demo_dense_equal"}
    assert set(result.ratios) == ratios
    assert all(row.median and row.ratio for row in result.rows)
    assert all(0 < (result.figures[f"{name}_rest"] or 0) < 1 for name in small_steps.PRESETS)


def test_step_ratios_by_hand() -> None:
    rows = [
        Row("", step.OUR_STEP, "ours", 2.0, ratio=1.0, details={"meaningful_tokens_per_second": 3000.0}),
        Row("", step.NOTEBOOK, "notebook", 9.0, ratio=4.5),
        Row("", step.DENSE, "dense", 3.0, ratio=1.5),
        Row("", step.PADDED, "other", 1.9, ratio=0.95, details={"meaningful_tokens_per_second": 800.0}),
    ]
    assert step.ratios_of(rows) == {"notebook": 4.5, "dense_trained": 1.5, "packed_over_padded": 3.75}


def test_generate_runs_for_one_row_and_for_eight() -> None:
    result = generation.run(QUICK)
    cases = ["batch 1", "batch 8", "batch 1, int8"]
    assert [row.case for row in result.rows] == [case for case in cases for _ in range(2)]
    assert set(result.ratios) == {"rerun_batch_1", "rerun_batch_8", "int8_rerun_batch_1"}
    for number, case in ((1, 0), (8, 2)):
        cached, again = result.rows[case].median, result.rows[case + 1].median
        assert cached
        assert again
        assert result.ratios[f"rerun_batch_{number}"] == pytest.approx(again / cached)


def test_every_stride_of_passes_stands_for_its_neighbours() -> None:
    """Timed are the passes in the middle of each stride: their mean length is that of all passes, to half a
    token."""
    lengths: list[int] = []

    class Model:
        def __call__(self, text_BT: torch.Tensor, hidden_only: bool) -> Any:
            lengths.append(text_BT.shape[1])
            return type("Output", (), {"hidden_BTD": torch.zeros(1, 1, 4)})

        def head(self, hidden: torch.Tensor) -> torch.Tensor:
            return hidden

    generation._again(Model(), torch.zeros(1, 8 + 256, dtype=torch.int64), 256, 16, Settings(dtype="fp32"))  # pyright: ignore[reportArgumentType]
    every = [8 + number for number in range(256)]
    assert len(lengths) == 256 // 16
    assert abs(np.mean(lengths) - np.mean(every)) <= 0.5


@pytest.mark.parametrize(("family", "prefix"), [("dense", ""), ("int8", "int8_")])
def test_scaling_runs_and_divides_the_last_by_the_first(family: str, prefix: str) -> None:
    result = scaling.run(Settings(quick=True, dtype="fp32", repetitions=1, family=family))
    assert contenders(result) == ["8 experts", "16 experts"]
    first, last = (row.median for row in result.rows)
    assert first
    assert last
    assert result.ratios == {f"{prefix}largest_over_smallest": last / first}


def test_scaling_of_hadamard_experts_has_layers_with_product_keys_and_experts_alone() -> None:
    result = scaling.run(Settings(quick=True, dtype="fp32", repetitions=1, family="hadamard"))
    layers = ["8 experts", "16 experts", "40,000 experts"]
    assert contenders(result) == [*layers, *layers]
    assert [row.case for row in result.rows[3:]] == [scaling.GIVEN_CASE] * 3
    first, _, last = (row.median for row in result.rows[:3])
    assert first
    assert last
    assert result.ratios["hadamard_40000_over_8"] == pytest.approx(last / first)
    assert set(result.ratios) == {
        f"{what}_{number}_over_8" for what in ("hadamard", "experts") for number in (16, 40_000)
    }


def test_many_experts_are_drawn_without_a_number_per_token_and_expert() -> None:
    indices_TK = scaling.routings.choices("uniform", 5000, 1_000_000, 4)
    assert indices_TK.shape == (5000, 4)
    assert 0 <= int(indices_TK.min()) < 1000
    assert 999_000 < int(indices_TK.max()) < 1_000_000
    assert all(len(set(row)) == 4 for row in indices_TK.tolist())


@pytest.mark.parametrize("num_experts", [64, 512])
def test_scaling_routes_each_token_to_the_keys_it_is_made_of(num_experts: int) -> None:
    shape = Shape(512, 8, num_experts, 4, 500)
    layer = SomeLayer(
        shape.d_model,
        ExpertsConfig(num_experts=num_experts, d_ffn=8, top_k=4),
        RouterConfig(kind="linear"),
        GravityConfig(),
    )
    scaling.pass_on_(layer)
    with torch.no_grad():
        indices_TK = layer(scaling.tokens_near_keys(layer, shape.num_tokens), details=True).routing.indices_TK
    wanted_TK = scaling.routings.choices("uniform", shape.num_tokens, num_experts, 4)
    same = (indices_TK.sort(dim=1).values == wanted_TK.sort(dim=1).values).all(dim=1).float().mean()
    assert same > 0.99
    assert len(indices_TK.unique()) > 0.97 * num_experts


def test_memory_says_what_the_child_says(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"start": 2e8, "weights": 3e8, "peak": 9e8}
    asked: list[dict[str, Any]] = []

    def run(command: list[str], *, input: str, **options: Any) -> Any:
        asked.append(json.loads(input))
        return type("Done", (), {"returncode": 0, "stdout": json.dumps(told), "stderr": ""})

    monkeypatch.setattr(memory.subprocess, "run", run)
    result = memory.run(Settings(dtype="fp32", big=True))
    assert result.figures == {"peak_bytes": 9e8, "peak_bytes_b3": 9e8}
    assert [task["way"] for task in asked] == ["ours", "notebook", "ours"]
    assert [row.case for row in result.rows] == ["a1, batch 32 x 768"] * 2 + ["b3 in int8, batch 4 x 768"]
    assert asked[2]["config"]["experts"]["storage"] == "int8"
    assert {row.unit for row in result.rows} == {"bytes"}


def test_a_child_that_dies_has_a_row_without_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = iter([(-9, ""), (1, "Traceback\nMemoryError: no")])

    def run(command: list[str], **options: Any) -> Any:
        code, said = next(outcomes)
        return type("Done", (), {"returncode": code, "stdout": "", "stderr": said})

    monkeypatch.setattr(memory.subprocess, "run", run)
    result = memory.run(Settings(dtype="fp32"))
    assert [row.problem for row in result.rows] == ["killed, most likely out of memory", "MemoryError: no"]
    assert result.figures == {"peak_bytes": None}


def test_the_child_does_a_step_and_counts_its_bytes() -> None:
    config = Settings(quick=True, dtype="fp32").config("a1")
    for way in ("ours", "notebook"):
        told = measure_in_child(
            {"config": config.model_dump(mode="json"), "way": way, "dtype": "fp32", "data": None}
        )
        assert told["weights"] == count_parameters(config).bytes
        assert told["peak"] >= told["start"] > 1e7


def test_made_up_documents_have_the_lengths_of_tinystories() -> None:
    split = made_up(512, num_documents=4000)
    lengths = np.diff(split.offsets)
    assert split.num_documents == 4000
    for share, length in list(zip(SHARES, LENGTHS))[1:-1]:
        assert np.quantile(lengths, share) == pytest.approx(length, rel=0.06)
    assert lengths.mean() == pytest.approx(199.4, rel=0.03)  # as measured on 10,000 stories
    ends = np.asarray(split.tokens)[split.offsets[1:] - 1]
    assert set(ends.tolist()) == {0}
    assert int((np.asarray(split.tokens) == 0).sum()) == 4000
    assert 1 not in split.tokens


def test_packing_leaves_no_padding_and_padding_is_no_meaning() -> None:
    config = override(preset("a1").config, {"model.vocab_size": 512})
    split = made_up(512, 400)
    packed, padded = (batch_from(split, config, 8, packed=layout) for layout in (True, False))
    assert packed.tokens_BT.shape == padded.tokens_BT.shape == (8, 768)
    assert packed.meaning_BT.float().mean() > 0.99
    assert padded.meaning_BT.float().mean() < 0.5
    assert padded.counted_BT.all()  # a1 counts padding in the loss, as v4 did
    documents = np.diff(split.offsets)
    assert int(padded.meaning_BT.sum()) < 8 * int(documents.max())


def test_bf16_runs_everywhere() -> None:
    settings = Settings(preset="a1", quick=True, dtype="bf16", repetitions=1)
    for bench in (gravity, step, generation, scaling):
        result = bench.run(settings)
        assert result.settings["dtype"] == "bf16"
        assert all(row.median for row in result.rows)


@pytest.mark.skipif(sys.platform != "linux", reason="the parent's memory counts on Linux alone")
def test_a_large_parent_is_no_part_of_the_peak() -> None:
    """This process takes 1.2 GB first; its child, which imports torch and no more, must not be told to have
    had it."""
    held = np.ones(150_000_000)
    code = "from somelab.bench.child import peak_bytes; print(peak_bytes())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 5e7 < int(done.stdout) < held.nbytes
