"""prepare, train, resume, eval and generate as a person uses them: one small run, and all that can be asked
of it."""

from __future__ import annotations

import json
import math
import shlex
from importlib.metadata import version
from pathlib import Path

import pytest

from somelab.cli.main import main
from somelab.data.tokenizer import Tokenizer
from somelab.runs import RunFolder
from somelab.training.session import free_folder
from tests.training.builders import SMALL, documents, flags_of, losses_of, write_text

SETTINGS = {
    **SMALL,
    "train.steps": 40,
    "train.learning_rate": 0.005,
    "train.eval_every": 20,
    "router.temperature": 0.3,
    "model.positions": "sinusoidal",
}


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_text(tmp_path_factory.mktemp("verbs") / "short.txt")


@pytest.fixture(scope="module")
def run(text: Path) -> Path:
    out = text.with_name("run")
    assert main(["train", "demo", "--data", str(text), "--out", str(out), *flags_of(SETTINGS)]) == 0
    return out


@pytest.fixture(scope="module")
def rotary(text: Path) -> Path:
    """A run whose positions carry beyond the trained length."""
    out = text.with_name("rotary")
    settings = {**SMALL, "model.positions": "rope", "train.steps": 2}
    assert main(["train", "demo", "--data", str(text), "--out", str(out), *flags_of(settings)]) == 0
    return out


def printed(capsys: pytest.CaptureFixture[str], *argv: str | Path) -> str:
    capsys.readouterr()
    assert main([str(word) for word in argv]) == 0
    return capsys.readouterr().out


def complaint(capsys: pytest.CaptureFixture[str], *argv: str | Path) -> str:
    capsys.readouterr()
    assert main([str(word) for word in argv]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line.removeprefix("somelab: ")


def test_prepare_tells_the_facts(capsys: pytest.CaptureFixture[str], text: Path) -> None:
    argv = ("prepare", "demo", "--data", text, "--model.vocab-size", "512")
    facts = json.loads(printed(capsys, *argv, "--json"))
    texts = documents()
    assert facts["train_documents"] + facts["val_documents"] == len(texts)
    assert facts["train_bytes"] + facts["val_bytes"] == sum(len(document.encode()) for document in texts)
    assert facts["source"] == str(text)
    assert 258 <= facts["vocab_size"] <= 512
    lines = printed(capsys, *argv).splitlines()
    assert f"train_tokens: {facts['train_tokens']:,}" in lines
    assert [line.partition(":")[0] for line in lines] == list(facts)


def test_prepare_says_what_it_does_and_keeps_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write_text(tmp_path / "fresh.txt", number=50)
    assert main(["prepare", "--data", str(path), "--model.vocab-size", "400"]) == 0
    first = capsys.readouterr()
    assert "training the tokenizer" in first.err
    assert "encoding train" in first.err
    assert main(["prepare", "--data", str(path), "--model.vocab-size", "400"]) == 0
    second = capsys.readouterr()
    assert (second.out, second.err) == (first.out, "")


def test_prepare_refuses_what_train_would(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "there is no such file" in complaint(capsys, "prepare", "--data", tmp_path / "none.txt")
    assert "model.vocab_size = 100" in complaint(capsys, "prepare", "--model.vocab-size", "100")


def test_train_without_a_preset_takes_the_recipe(text: Path, tmp_path: Path) -> None:
    assert (
        main(
            [
                "train",
                "--data",
                str(text),
                "--out",
                str(tmp_path / "run"),
                *flags_of({**SMALL, "train.steps": 2}),
            ]
        )
        == 0
    )
    folder = RunFolder.open(tmp_path / "run")
    assert folder.facts()["preset"] == "some"
    assert (folder.config().experts.reads, folder.config().experts.mixer) == ("query", True)


def test_train_leaves_a_folder_that_explains_itself(run: Path, text: Path) -> None:
    folder = RunFolder.open(run)
    config, facts = folder.config(), folder.facts()
    assert (config.train.steps, config.data.source, config.router.temperature) == (40, str(text), 0.3)
    assert (facts["preset"], facts["scale"], facts["name"]) == ("demo", "full", "run")
    assert facts["parameters"]["total"] == facts["parameters"]["trainable"] + facts["parameters"]["frozen"]
    environment = json.loads((run / "environment.json").read_text())
    assert environment["packages"]["torch"] == version("torch")
    assert environment["num_ranks"] == 1
    losses = losses_of(run)
    assert len(losses) == 40
    assert losses[-1] < losses[0] - 2, "it has learnt something"
    final = folder.records("metrics")[-1]
    assert final["kind"] == "final"
    assert final["val_ppl"] == pytest.approx(math.exp(final["val_loss"]))
    assert len(folder.records("samples")) == 2
    assert len(list(folder.keys.iterdir())) == 41, "one before the first step and one behind each"


def test_train_ends_with_figures_a_sample_and_what_to_type_next(
    capsys: pytest.CaptureFixture[str], text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "a folder with spaces"
    said = printed(capsys, "train", "--data", text, "--out", out, *flags_of({**SMALL, "train.steps": 2}))
    final = RunFolder(out).records("metrics")[-1]
    assert f"val_loss          {final['val_loss']:.4f}" in said
    assert f"bits_per_byte     {final['bits_per_byte']:.4f}" in said
    assert "a sample: " in said
    commands = [line.strip() for line in said.splitlines() if line.startswith("  somelab ")]
    assert [command.split()[1] for command in commands] == ["generate", "report", "serve"]
    monkeypatch.chdir(tmp_path)
    for command in commands[:2]:  # the last one serves until Ctrl-C
        assert main(shlex.split(command)[1:]) == 0, "what is suggested works as it stands"


def test_short_flags_are_the_settings(capsys: pytest.CaptureFixture[str], text: Path, tmp_path: Path) -> None:
    given = {name: value for name, value in SMALL.items() if name != "train.steps"}
    printed(
        capsys,
        "train",
        "--data",
        text,
        "--steps",
        "1",
        "--seed",
        "7",
        "--out",
        tmp_path / "run",
        *flags_of(given),
    )
    config = RunFolder(tmp_path / "run").config()
    assert (config.train.steps, config.train.minutes, config.train.seed) == (1, None, 7)
    assert "--steps and --train.steps are the same setting" in complaint(
        capsys, "train", "--steps", "1", "--train.steps", "1"
    )
    assert "--data and --data.source are the same setting" in complaint(
        capsys, "train", "--data", text, "--data.source", "x"
    )


def test_without_out_a_new_folder_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert free_folder("demo-seed0") == Path("runs/demo-seed0")
    for name in ("demo-seed0", "demo-seed0-2"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    assert free_folder("demo-seed0") == Path("runs/demo-seed0-3")


def test_the_folder_is_named_after_preset_scale_and_seed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, text: Path, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    flags = flags_of({**SMALL, "train.steps": 1, "train.seed": 3})
    printed(capsys, "train", "a1", "--scale", "micro", "--data", text, *flags)
    assert RunFolder.open(tmp_path / "runs" / "a1-micro-seed3").facts()["scale"] == "micro"
    (tmp_path / "mine.yaml").write_text("model: {d_model: 16, num_heads: 1}\n")
    printed(capsys, "train", "--config", "mine.yaml", "--data", text, *flags)
    assert RunFolder.open(tmp_path / "runs" / "mine-seed3").facts()["preset"] is None


def measured(capsys: pytest.CaptureFixture[str], *argv: str | Path) -> dict[str, float]:
    return json.loads(printed(capsys, "eval", *argv, "--json"))


def test_eval_repeats_the_last_evaluation(capsys: pytest.CaptureFixture[str], run: Path) -> None:
    final = RunFolder(run).records("metrics")[-1]
    found = measured(capsys, run)
    for name in (
        "val_loss",
        "val_ppl",
        "bits_per_byte",
        "loss_with_padding",
        "ppl_with_padding",
        "num_tokens",
        "num_bytes",
        "layers",
    ):
        assert found[name] == final[name], name
    assert (found["step"], found["checkpoint"]) == (40, "last")
    best = measured(capsys, run, "--checkpoint", "best")
    assert best["val_loss"] == min(
        r["val_loss"] for r in RunFolder(run).records("metrics") if "val_loss" in r
    )


def test_eval_for_people(capsys: pytest.CaptureFixture[str], run: Path) -> None:
    final = RunFolder(run).records("metrics")[-1]
    lines = printed(capsys, "eval", run).splitlines()
    assert lines[0].split()[:2] == ["val_loss", f"{final['val_loss']:.4f}"]
    rows = [line.split() for line in lines if line.split() and line.split()[0] in ("0", "1")]
    assert [row[1] for row in rows] == [f"{layer['gini']:.3f}" for layer in final["layers"]]
    assert max(len(line.rstrip()) for line in lines) <= 80


def test_eval_at_another_temperature(capsys: pytest.CaptureFixture[str], run: Path) -> None:
    usual, cold = measured(capsys, run), measured(capsys, run, "--temperature", "0.01")
    assert (usual["gate_temperature"], cold["gate_temperature"]) == (0.3, 0.01)
    assert cold["val_loss"] != usual["val_loss"]
    assert cold["layers"][0]["gate_entropy"] < 0.8 * usual["layers"][0]["gate_entropy"]
    assert "router.eval_temperature = 0" in complaint(capsys, "eval", run, "--temperature", "0")


def test_eval_of_other_text_uses_all_of_it_and_the_runs_tokenizer(
    capsys: pytest.CaptureFixture[str], run: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.txt"
    texts = ["Ann saw a red dog.", "Zebras graze."]
    other.write_text("\n<|endoftext|>\n".join(texts))
    found = measured(capsys, run, "--data", other)
    tokenizer = Tokenizer.load(run / "tokenizer.json")
    assert found["num_tokens"] == sum(len(tokenizer.encode(document)) for document in texts)
    assert found["data"] == str(other)
    own = tmp_path / "own.txt"
    own.write_text("\n<|endoftext|>\n".join(documents()[:20]))
    assert measured(capsys, run, "--data", own)["bits_per_byte"] < found["bits_per_byte"]


def test_eval_at_another_length(capsys: pytest.CaptureFixture[str], run: Path, rotary: Path) -> None:
    line = complaint(capsys, "eval", run, "--seq-len", "64")
    assert line.startswith(
        "--seq-len = 64: is beyond the trained 32, which sinusoidal positions do not support"
    )
    assert measured(capsys, run, "--seq-len", "16")["val_loss"] > 0
    usual, longer = measured(capsys, rotary), measured(capsys, rotary, "--seq-len", "64")
    assert longer["val_loss"] == pytest.approx(usual["val_loss"], rel=1e-5), (
        "documents are short: none gets more context"
    )
    assert longer["loss_with_padding"] < usual["loss_with_padding"], "more padding, more that is free"
    assert "model.seq_len = 0" in complaint(capsys, "eval", rotary, "--seq-len", "0")


def test_generate_continues_the_prompt(capsys: pytest.CaptureFixture[str], run: Path) -> None:
    argv = ("generate", run, "--prompt", "Ann saw  a red", "--max-new-tokens", "12")
    said = printed(capsys, *argv)
    assert said.startswith("Ann saw  a red "), "spaces are kept as they were, and words are apart"
    assert printed(capsys, *argv) == said, "the same seed, the same text"
    assert len({printed(capsys, *argv, "--seed", str(seed)) for seed in range(4)}) > 1
    words = {word for document in documents() for word in document.replace(".", " ").split()}
    greedy = printed(capsys, *argv, "--temperature", "0")
    assert set(greedy.replace(".", " ").split()) <= words, "readable words of the text"


def test_generate_for_programs(capsys: pytest.CaptureFixture[str], run: Path) -> None:
    plain = json.loads(printed(capsys, "generate", run, "--prompt", "Ben", "--max-new-tokens", "6", "--json"))
    assert set(plain) == {"prompt", "text", "tokens"}
    found = json.loads(
        printed(capsys, "generate", run, "--prompt", "Ben", "--max-new-tokens", "6", "--json", "--trace")
    )
    assert (found["text"], found["tokens"]) == (plain["text"], plain["tokens"])
    assert found["text"].startswith("Ben")
    assert len(found["trace"]) == len(found["tokens"])
    assert "".join(row["token"] for row in found["trace"]).removesuffix("<|endoftext|>") == found["text"]
    for row in found["trace"]:
        assert [len(layer) for layer in row["experts"]] == [2, 2]
        assert all(0 <= expert < 8 for layer in row["experts"] for expert in layer)
        assert [sum(layer) for layer in row["gates"]] == pytest.approx([1.0, 1.0])
        assert all(layer[0] >= layer[1] for layer in row["gates"]), "the strongest first"


def test_a_trace_has_a_row_for_every_token(capsys: pytest.CaptureFixture[str], run: Path) -> None:
    argv = ("generate", run, "--prompt", "Dan liked", "--max-new-tokens", "5", "--trace")
    tokens = json.loads(printed(capsys, *argv, "--json"))["tokens"]
    lines = printed(capsys, *argv).splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith("token"))
    assert lines[head].split() == ["token", "layer", "0", "layer", "1"]
    assert len(lines[head + 2 :]) == len(tokens)
    one = printed(capsys, *argv, "--layers", "1").splitlines()
    assert one[head].split() == ["token", "layer", "1"]


def test_a_narrow_trace_keeps_its_tokens_and_says_what_it_leaves_out(
    capsys: pytest.CaptureFixture[str], run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    argv = ("generate", run, "--prompt", "Dan liked", "--max-new-tokens", "5", "--trace")
    wide = printed(capsys, *argv).splitlines()
    assert "Experts of each token with their gates, the strongest first:" in wide
    monkeypatch.setenv("COLUMNS", "44")
    narrow = printed(capsys, *argv).splitlines()
    assert max(map(len, narrow)) <= 44
    assert "strongest first; 1 of 2" in " ".join(narrow)
    first = [line.split()[:3] for line in wide[-3:]]
    assert [line.split()[:3] for line in narrow[-3:]] == first


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--prompt", ""], "--prompt = '': is empty"),
        (["--layers", "2"], "--layers = '2': the model has layers 0 to 1; choose among them"),
        (["--layers", "0,-1"], "the model has layers 0 to 1"),
        (["--layers", "all"], "the model has layers 0 to 1"),
        (["--max-new-tokens", "0"], "--max-new-tokens = 0: cannot be generated; choose 1 to 1,000,000"),
        (["--max-new-tokens", "1000000000000"], "choose 1 to 1,000,000"),
        (["--temperature", "-1"], "--temperature = -1.0: "),
        (["--temperature", "1e-40"], "--temperature = 1e-40: is not a temperature to sample at; choose 0"),
        (["--temperature", "nan"], "--temperature = nan: "),
        (["--temperature", "inf"], "--temperature = inf: "),
        (["--top-k", "-1"], "--top-k = -1: leaves no token to draw"),
        (["--top-p", "1.5"], "--top-p = 1.5: "),
        (["--top-p", "nan"], "--top-p = nan: "),
        (["--prompt", "a\0b"], "the argument 'a\\x00b' is not UTF-8 text without NULs"),
        (["--prompt", "a\udcff"], "is not UTF-8 text"),
        (["--checkpoint", "first"], "is not the name of a checkpoint; give last, best, or a step"),
    ],
)
def test_generate_refuses(
    capsys: pytest.CaptureFixture[str], run: Path, flags: list[str], words: str
) -> None:
    assert words in complaint(capsys, "generate", run, *flags)


def test_a_model_without_experts_has_no_trace(
    capsys: pytest.CaptureFixture[str], text: Path, tmp_path: Path
) -> None:
    out = tmp_path / "dense"
    printed(
        capsys,
        "train",
        "--data",
        text,
        "--out",
        out,
        *flags_of({**SMALL, "train.steps": 2, "model.feed_forward": "dense"}),
    )
    assert "this model routes nothing" in complaint(capsys, "generate", out, "--trace")
    assert "layer" not in printed(capsys, "eval", out)
