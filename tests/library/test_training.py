"""`train` and `load` from Python: the same run as the command makes, and what can be done with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import somelab
from somelab.cli.main import main
from somelab.errors import ConfigError, SomelabError
from somelab.training.callbacks import StepRecord
from tests.training.builders import SMALL, flags_of

SETTINGS = {
    **{name: value for name, value in SMALL.items() if name != "train.steps"},
    "train.learning_rate": 0.005,
    "train.eval_every": 20,
    "router.temperature": 0.3,
}


class Watch(somelab.Callback):
    """What a user may do on the way."""

    def __init__(self) -> None:
        self.losses: list[float] = []
        self.ended = ""

    def on_step(self, trainer: Any, record: StepRecord) -> None:
        self.losses.append(record.loss)

    def on_end(self, trainer: Any, reason: str) -> None:
        self.ended = reason


@pytest.fixture(scope="module")
def watch() -> Watch:
    return Watch()


@pytest.fixture(scope="module")
def trained(text: Path, tmp_path_factory: pytest.TempPathFactory, watch: Watch) -> somelab.LanguageModel:
    out = tmp_path_factory.mktemp("library") / "run"
    return somelab.train("demo", data=text, steps=40, out=out, settings=SETTINGS, callbacks=[watch])


def test_it_is_the_run_that_the_command_makes(
    trained: somelab.LanguageModel, text: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    assert (
        main(
            [
                "train",
                "demo",
                "--data",
                str(text),
                "--out",
                str(out),
                *flags_of({**SETTINGS, "train.steps": 40}),
            ]
        )
        == 0
    )
    for name in ("metrics.jsonl", "config.yaml", "tokenizer.json"):
        assert (trained.path / name).read_bytes() == (out / name).read_bytes()


def test_callbacks_see_every_step(trained: somelab.LanguageModel, watch: Watch) -> None:
    assert len(watch.losses) == 40
    assert watch.losses[-1] < watch.losses[0]
    assert watch.ended == "finished"
    assert (trained.is_finished, trained.step) == (True, 40)


def test_a_trained_model_generates(trained: somelab.LanguageModel) -> None:
    one = trained.generate("the", max_new_tokens=5)
    assert one.startswith("the")
    assert one == trained.generate("the", max_new_tokens=5)
    assert trained.generate(["the", "a"], max_new_tokens=5)[0] == one
    with pytest.raises(ConfigError, match=r"^prompt = '': is empty"):
        trained.generate("")


def test_a_trained_model_measures_a_text(trained: somelab.LanguageModel, text: Path, tmp_path: Path) -> None:
    own = trained.evaluate()
    assert own.val_loss == pytest.approx(trained.run.records("metrics")[-1]["val_loss"])
    other = tmp_path / "other.txt"
    other.write_text("zebras quickly vex many bold kings.\n" * 20)
    assert trained.evaluate(other).bits_per_byte > own.bits_per_byte


def test_a_run_is_loaded_by_its_folder(trained: somelab.LanguageModel) -> None:
    again = somelab.load(trained.path)
    assert again.generate("the", max_new_tokens=5) == trained.generate("the", max_new_tokens=5)
    assert [layer.keystore.digest() for layer in again.layers] == [
        layer.keystore.digest() for layer in trained.layers
    ]
    assert again.layers[0].keys.shape == (again.config.experts.num_experts, again.config.model.d_model)
    assert (
        somelab.load(again, settings={"router.eval_temperature": 5.0}).evaluate().val_loss
        != again.evaluate().val_loss
    )


def test_a_configuration_or_a_file_will_do(text: Path, tmp_path: Path) -> None:
    from somelab.config import override, to_yaml

    config = override(somelab.preset("demo").config, {**SETTINGS, "data.source": str(text), "train.steps": 2})
    first = somelab.train(config, out=tmp_path / "first")
    (tmp_path / "mine.yaml").write_text(to_yaml(config))
    second = somelab.train(tmp_path / "mine.yaml", out=tmp_path / "second", seed=config.train.seed)
    assert first.config == second.config
    assert first.layers[0].keystore.digest() == second.layers[0].keystore.digest()


def test_bad_input_is_one_line(text: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'sone'.*did you mean some"):
        somelab.train("sone")
    with pytest.raises(SomelabError, match=r"train\.steps is given twice: as an argument and in settings"):
        somelab.train("demo", steps=3, settings={"train.steps": 4})
    with pytest.raises(SomelabError, match=r"nowhere"):
        somelab.load(tmp_path / "nowhere")
