"""A text of a few hundred short documents, a model that trains on it in a second, and ways to look at a run
folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from somelab.config import Config, override, preset
from somelab.data.prepare import prepare
from somelab.runs import RunFolder
from somelab.training.callbacks import Callback
from somelab.training.loop import Trainer
from somelab.training.machine.world import World

NAMES = ("Ann", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus")
VERBS = ("saw", "found", "lost", "wanted", "liked")
THINGS = ("dog", "cat", "hat", "boat", "tree", "stone", "bird", "cake", "kite", "lamp", "shoe")
COLOURS = ("red", "old", "wet")

# Small in every direction, fp32: what each test changes is put in on top.
SMALL: dict[str, Any] = {
    "model.d_model": 32,
    "model.num_layers": 2,
    "model.num_heads": 2,
    "model.seq_len": 32,
    "model.vocab_size": 512,
    "experts.num_experts": 8,
    "experts.d_ffn": 32,
    "experts.top_k": 2,
    "train.batch_size": 4,
    "train.steps": 12,
    "train.precision": "fp32",
}
# Everything that draws numbers or keeps a state between steps, all at once; keys shrink fast, so that some
# are reborn, and gates are even from the first step to the last, which is to be warned of once.
LIVELY: dict[str, Any] = {
    **SMALL,
    "model.dropout": 0.1,
    "router.dropout": 0.1,
    "router.centre_queries": True,
    "router.temperature": 4.0,
    "router.learnable_temperature": False,
    "router.kind": "mlp",
    "gravity.attraction": True,
    "gravity.attraction_by": "all",
    "gravity.alpha": 0.015,
    "gravity.peer_pull": True,
    "gravity.beta": 0.001,
    "gravity.decay": True,
    "gravity.delta": 0.5,
    "gravity.theta_percentile": 0.5,
    "gravity.warmup_steps": 2,
    "gravity.respawn": True,
    "gravity.respawn_threshold": 0.4,
    "gravity.load_bias": 0.01,
    "gravity.credit": 0.01,
    "gravity.credit_final": 0.002,
    "gravity.token_fraction": 0.5,
    "gravity.key_ema": 0.5,
    "train.learning_rate": 0.0006,
    "train.micro_batch_size": 2,
    "train.steps": 30,
    "train.checkpoint_every": 4,
    "train.eval_every": 10,
}


def documents(number: int = 300) -> list[str]:
    """Short texts from running indices alone: the same on every machine and with every version of Python."""

    def sentence(i: int) -> str:
        words = (
            NAMES[i % 7],
            VERBS[i * 3 // 7 % 5],
            "a",
            COLOURS[i // 11 % 3],
            THINGS[(i * i + i // 5) % 11],
        )
        return " ".join(words) + "."

    return [" ".join(sentence(5 * i + j) for j in range(1 + i % 4)) for i in range(number)]


def write_text(path: Path, number: int = 300) -> Path:
    path.write_text("\n<|endoftext|>\n".join(documents(number)) + "\n", encoding="utf-8")
    return path


def config_of(text: Path, settings: Mapping[str, Any] = SMALL, **more: Any) -> Config:
    """The demo preset made small; `more` are settings with `__` for the dot."""
    given = {name.replace("__", "."): value for name, value in more.items()}
    return override(preset("demo").config, {"data.source": str(text), **settings, **given})


def flags_of(settings: Mapping[str, Any]) -> list[str]:
    """Settings as a command line has them."""
    return [f"--{name.replace('_', '-')}={str(value).lower()}" for name, value in settings.items()]


def trainer_of(config: Config, out: Path, *callbacks: Callback) -> Trainer:
    """A trainer in a fresh run folder, alone and silent."""
    data = prepare(config)
    facts = {"name": out.name, "data": {"digest": data.digest}}
    run = RunFolder.create(out, config, facts, {}, data.tokenizer.to_json())
    return Trainer(run, config, data, World(0, 1, torch.device("cpu")), callbacks)


def losses_of(run: Path) -> list[float]:
    return [record["loss"] for record in RunFolder(run).records("metrics") if record["kind"] == "train"]


def tensors_of(run: Path, which: str = "last") -> dict[str, torch.Tensor]:
    """Everything that a checkpoint stores: the model's tensors and the optimizer's."""
    folder = run / "checkpoints" / which
    return {**load_file(folder / "model.safetensors"), **load_file(folder / "optimizer.safetensors")}


def state_of(run: Path, which: str = "last") -> dict[str, Any]:
    return json.loads((run / "checkpoints" / which / "state.json").read_text())


def assert_same_run(run: Path, wanted: Path) -> None:
    """Two runs have left the same behind, to the bit; only what follows the clock may differ."""
    for journal in ("metrics", "layers", "samples"):
        assert (run / f"{journal}.jsonl").read_bytes() == (wanted / f"{journal}.jsonl").read_bytes(), journal
    for which in ("last", "best"):
        got, expected = tensors_of(run, which), tensors_of(wanted, which)
        assert got.keys() == expected.keys()
        for name, tensor in expected.items():
            assert torch.equal(got[name], tensor), f"{which}: {name}"
        got, expected = state_of(run, which)["state"], state_of(wanted, which)["state"]
        for state in (got, expected):
            state.pop("seconds")
            state["journals"].pop("timing")
        assert got == expected
    got = {path.name: path.read_bytes() for path in (run / "keys").iterdir()}
    assert got == {path.name: path.read_bytes() for path in (wanted / "keys").iterdir()}
    left_over = [path for path in run.rglob("*") if path.name.startswith(".writing-")]
    assert not left_over
