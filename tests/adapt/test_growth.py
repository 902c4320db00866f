"""Growth of a run: stored beside an untouched checkpoint, exact after a stop, undone to the bit; the verb and
the learner `some-grow`."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest
import torch

from somelab.adapt.continual.growing import Growing
from somelab.adapt.growth import GrowthPlan, grow
from somelab.cli.main import main
from somelab.data.batch import Batch
from somelab.library.language_model import load
from somelab.model.growth import GrownPool, GrowthSettings
from somelab.runs import RunFolder, growth
from somelab.runs.trained import load_trained
from tests.adapt.builders import batches_of, rows_of_kind
from tests.model.builders import assert_bit_equal, buffers_of, decoder_of

SMALL = GrowthSettings(width=8, rank=4, embedding_rank=8, head_rank=8, num_pairs=4096)


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> RunFolder:
    """The run, to be changed."""
    shutil.copytree(run, tmp_path / "run", symlinks=True)
    return RunFolder.open(tmp_path / "run")


@pytest.fixture(scope="module")
def grown(run: Path, other_text: Path, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """The run after one growth. Do not change it."""
    folder = tmp_path_factory.mktemp("grown") / "run"
    shutil.copytree(run, folder, symlinks=True)
    grow(RunFolder.open(folder), plan_of(other_text), settings=SMALL)
    return RunFolder.open(folder)


def plan_of(text: Path, *, name: str = "sums", steps: int = 12, experts: int = 1) -> GrowthPlan:
    return GrowthPlan(str(text), name, 0.01, num_steps=steps, num_experts=experts)


def contents(folder: Path) -> dict[str, str]:
    """Digests of all files of a run but what it has grown."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "growth" not in path.parts and path.name != ".lock"
    }


def test_a_growth_learns_the_new_text_and_leaves_the_checkpoint_alone(
    copy: RunFolder, other_text: Path
) -> None:
    before = contents(copy.path)
    made = grow(copy, plan_of(other_text, steps=30), settings=SMALL)
    assert contents(copy.path) == before
    assert made.generation is not None
    assert made.losses["new_after"] < made.losses["new_before"] - 0.5
    assert made.losses["old_after"] < made.losses["old_before"] + 0.1
    trained = load_trained(copy)
    assert trained.pool is not None
    assert trained.pool.generations == [made.generation]
    measured = load(copy).evaluate(other_text)
    assert measured.val_loss < load_loss_of_base(copy, other_text) - 0.5


def load_loss_of_base(run: RunFolder, text: Path) -> float:
    lm = load(run)
    assert lm.pool is not None
    with lm.pool.only("base"):
        return lm.evaluate(text).val_loss


@pytest.mark.parametrize("experts", [1, 2])
def test_a_stopped_growth_goes_on_to_the_same_bits(
    copy: RunFolder, other_text: Path, tmp_path: Path, experts: int
) -> None:
    shutil.copytree(copy.path, tmp_path / "whole", symlinks=True)
    whole, plan = RunFolder.open(tmp_path / "whole"), plan_of(other_text, steps=9, experts=experts)
    grow(whole, plan, settings=SMALL)
    stopped = grow(copy, plan, settings=SMALL, stop_after=4)
    assert stopped.generation is None
    manifest = growth.read_manifest(copy)
    assert manifest is not None
    assert manifest["unfinished"]["step"] == 4
    pool = load_trained(copy).pool
    assert pool is not None
    assert pool.generations == []  # what is unfinished is not used
    again = grow(copy, plan, settings=SMALL, stop_after=7)
    assert again.step == 7
    grow(copy, plan)
    assert (growth.folder_of(copy) / "growth.json").read_bytes() == (
        growth.folder_of(whole) / "growth.json"
    ).read_bytes()
    files = [sorted(path.name for path in growth.folder_of(one).iterdir()) for one in (copy, whole)]
    assert files[0] == files[1]  # named by their content
    assert len(files[0]) == 3


def test_an_unfinished_growth_is_finished_or_dropped_first(copy: RunFolder, other_text: Path) -> None:
    grow(copy, plan_of(other_text), settings=SMALL, stop_after=2)
    with pytest.raises(growth.GrowthError, match="unfinished growth with name = 'sums', not 'other'"):
        grow(copy, plan_of(other_text, name="other"))
    assert growth.undo(copy) == "sums"
    made = grow(copy, plan_of(other_text, name="other", steps=2))
    assert made.generation is not None


def test_undo_gives_back_every_output(copy: RunFolder, text: Path, other_text: Path) -> None:
    grow(copy, plan_of(other_text, steps=3), settings=SMALL)
    tokens_BT = torch.arange(24).view(2, 12) + 10
    one = load_trained(copy)
    before, state = one.model(tokens_BT).logits_BTV, growth.read_manifest(copy)
    grow(copy, plan_of(text, name="second", steps=3))
    two = load_trained(copy)
    assert two.pool is not None
    assert [record.name for record in two.pool.generations] == ["sums", "second"]
    assert not torch.equal(two.model(tokens_BT).logits_BTV, before)
    growth.undo(copy)
    assert growth.read_manifest(copy) == state
    assert torch.equal(load_trained(copy).model(tokens_BT).logits_BTV, before)
    growth.undo(copy)
    plain = load_trained(copy, grown=False).model(tokens_BT).logits_BTV
    assert torch.equal(load_trained(copy).model(tokens_BT).logits_BTV, plain)
    with pytest.raises(growth.GrowthError, match="nothing that could be undone"):
        growth.undo(copy)


def test_text_that_is_known_is_not_novel(copy: RunFolder, text: Path, other_text: Path) -> None:
    known = grow(copy, plan_of(text, name="known"), settings=SMALL, if_novel=0.5)
    assert known.generation is None
    assert growth.read_manifest(copy) is None
    new = grow(copy, plan_of(other_text, steps=2), settings=SMALL, if_novel=0.5)
    assert new.generation is not None


def test_experts_are_used_on_the_checkpoint_that_they_grew_on(
    grown: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = growth.read_manifest(grown)
    assert manifest is not None
    model = load_trained(grown, grown=False).model
    assert growth.open_pool(grown, model, manifest["step"] + 1) is None
    assert "are left out at step" in capsys.readouterr().err
    assert growth.open_pool(grown, model, manifest["step"]) is not None


def test_damage_is_noticed(grown: RunFolder, tmp_path: Path) -> None:
    shutil.copytree(grown.path, tmp_path / "run", symlinks=True)
    run = RunFolder.open(tmp_path / "run")
    (file,) = growth.folder_of(run).glob("sums-*.safetensors")
    content = bytearray(file.read_bytes())
    content[-5] ^= 1
    file.write_bytes(content)
    with pytest.raises(growth.GrowthError, match="its digest differs"):
        load_trained(run)
    file.unlink()
    with pytest.raises(growth.GrowthError, match="cannot be read"):
        load_trained(run)
    manifest = growth.folder_of(run) / "growth.json"
    manifest.write_text(manifest.read_text(encoding="utf-8").replace("sums", "summs"), encoding="utf-8")
    with pytest.raises(growth.GrowthError, match="its digest differs"):
        load_trained(run)


def test_the_verb(
    copy: RunFolder, run: Path, other_text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(copy.path)
    assert main(["grow", folder, "--list"]) == 0
    assert "nothing has been grown" in capsys.readouterr().out
    assert main(["grow", folder, "--data", str(other_text), "--steps", "3", "--name", "sums"]) == 0
    out = capsys.readouterr().out
    assert "sums: " in out
    assert "new text" in out
    assert "old text" in out
    assert main(["grow", folder, "--list", "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["generations"]
    assert entry["name"] == "sums"
    assert entry["num_parameters"] > 0
    assert main(["grow", folder, "--rename", "sums", "numbers"]) == 0
    assert "numbers" in capsys.readouterr().out
    # Another copy of the same run, with a growth of its own, takes it over.
    shutil.copytree(run, tmp_path / "other", symlinks=True)
    other = str(tmp_path / "other")
    assert main(["grow", other, "--data", str(other_text), "--steps", "1"]) == 0
    assert main(["grow", other, "--take", folder, "numbers"]) == 0
    shown = capsys.readouterr().out
    assert "other" in shown
    assert "numbers" in shown
    assert main(["generate", other, "--prompt", "7 plus", "--max-new-tokens", "3"]) == 0
    assert main(["grow", other, "--remove", "other"]) == 0
    assert main(["grow", other, "--undo"]) == 0
    assert "nothing has been grown" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "give exactly one of --data, --list"),
        (["--list", "--undo"], "--list --undo was given"),
        (["--remove", "vers"], "generation = 'vers'"),
        (["--data", "TEXT", "--steps", "0"], "--steps = 0"),
        (["--data", "TEXT", "--tokens", "9", "--steps", "1"], "--steps says how long already"),
        (["--data", "TEXT", "--learning-rate", "0"], "--learning-rate = 0.0"),
        (["--data", "TEXT", "--experts", "0"], "experts = 0"),
        (["--data", "TEXT", "--name", "a b"], "name = 'a b'"),
        (["--data", "nowhere.txt"], "nowhere.txt"),
        (["--undo"], "nothing that could be undone"),
    ],
)
def test_bad_input_is_one_line(
    run: Path, other_text: Path, arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [str(other_text) if word == "TEXT" else word for word in arguments]
    assert main(["grow", str(run), *given]) == 2
    error = capsys.readouterr().err.strip().splitlines()
    assert problem in error[-1]
    assert not (run / "growth").exists()


def half(number: int, seed: int, num_rows: int = 48) -> list[Batch]:
    """Batches of tokens from one half of the vocabulary."""
    rows = rows_of_kind("random", num_rows, seed)
    return batches_of(rows // 2 + 1 + number * 29, 8)


def test_the_learner_grows_by_novelty_and_forgets_nothing() -> None:
    model = decoder_of().eval()
    trunk = buffers_of(model)
    learner = Growing(model, 0.02, 0, GrownPool.attach(model, settings=SMALL))
    learner.watch.threshold = 0.3
    learner.finish(lambda: half(0, 0))
    first = learner.measure(half(0, 9)).loss
    # The model is untrained: what is new is known by the expected loss alone.
    learner.watch.expected["base"] = first - 1.0
    scores = list(learner.learn(half(1, 1, 160)))
    assert scores[-1].loss < scores[0].loss - 0.2
    assert [record.name for record in learner.pool.generations] == ["growth-1"]
    assert learner.measure(half(0, 9)).loss == pytest.approx(first, abs=0.1)
    kept = {name: tensor.clone() for name, tensor in learner.pool.tensors("growth-1").items()}
    # Text that the frozen expert knows changes nothing once another has been grown.
    learner.grow_(half(0, 3)[0])
    list(learner.learn(half(1, 4)))
    assert_bit_equal(kept, learner.pool.tensors("growth-1"))
    assert_bit_equal(trunk, buffers_of(model))
    facts = learner.facts()
    assert facts["num_generations"] == 2
    assert facts["bytes_added"] > 4 * facts["num_trainable"]


def test_the_learner_grows_by_schedule() -> None:
    model = decoder_of().eval()
    learner = Growing(model, 0.02, 0, GrownPool.attach(model, settings=SMALL))
    learner.scheduled = True
    learner.finish(lambda: half(0, 0))
    for seed in (1, 2):
        list(learner.learn(half(1, seed, 24)))
    assert [record.num_tokens for record in learner.pool.generations] == [24 * 16, 24 * 16]
    assert learner.pool.generations[1].start_from in ("base", "growth-1")


def test_the_learner_grows_from_scratch() -> None:
    model = decoder_of().eval()
    learner = Growing(model, 0.02, 0, GrownPool.attach(model, settings=SMALL))
    list(learner.learn(half(1, 1, 24)))
    learner.finish(lambda: half(1, 1, 24))
    assert [record.num_tokens for record in learner.pool.generations] == [24 * 16]
