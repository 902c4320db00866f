"""Whatever is wrong on the command line or in a file: exit code 2 and one line that names field, value and
remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from somelab.cli.main import main


def complaint(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.endswith("\n")
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("somelab: ")
    return captured.err.removeprefix("somelab: ").rstrip("\n")


@pytest.mark.parametrize(
    ("settings", "field", "value", "remedy"),
    [
        (["--model.num-heads", "7"], "model.num_heads", "7", "choose one of [1, 2, 3, 4, 6, 8,"),
        (["--experts.top-k", "65"], "experts.top_k", "65", "choose a top_k from 1 to 64"),
        (
            ["--router.entropy-band", "1.5,2.5"],
            "router.entropy_band",
            "(1.5, 2.5)",
            "lower the band, or raise experts.top_k to 13",
        ),
        (["--experts.topk", "8"], "experts.topk", "'8'", "did you mean experts.top_k?"),
        (
            ["--gravity.theta", "200", "--gravity.theta-percentile", "0.1"],
            "gravity.theta",
            "200.0",
            "set one of them to null",
        ),
        (["--gravity.alpha", "-0.1"], "gravity.alpha", "-0.1", "give a number >= 0"),
        (["--train.learning-rate=-1"], "train.learning_rate", "-1", "give a number > 0"),
        (["--router.kind", "mpl"], "router.kind", "'mpl'", "choose one of none, linear, mlp"),
        (["--train.micro-batch-size", "5"], "train.micro_batch_size", "5", "choose a divisor of it"),
        (["--train.epochs", "1", "--train.steps", "1"], "train.steps", "1", "set the other two to null"),
        (
            ["--data.layout", "pack", "--data.padding-in-loss"],
            "data.padding_in_loss",
            "True",
            "set data.layout to pad",
        ),
        (
            ["--data.layout", "pack", "--gravity.count-padding"],
            "gravity.count_padding",
            "True",
            "set data.padding_in_loss to true",
        ),
        (["--model.d-model", "1e3"], "model.d_model", "'1e3'", "give an integer >= 1"),
        (["--experts.top-k", "[1"], "experts.top_k", "'[1'", "give an integer >= 1"),
        (["--gravity.beta-layers", "1,-2"], "gravity.beta_layers.1", "-2", "give a list of numbers >= 0"),
    ],
)
def test_a_bad_setting(
    capsys: pytest.CaptureFixture[str], settings: list[str], field: str, value: str, remedy: str
) -> None:
    for verb in ("show", "params"):
        line = complaint(capsys, verb, "a1", *settings)
        assert line.startswith(f"{field} = {value}: ")
        assert remedy in line


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["shwo", "a1"], "'shwo' is not a verb; did you mean show?"),
        (["--nope"], "'--nope' is not a verb; known: "),
        (["help", "shwo"], "'shwo' is not a verb; did you mean show?"),
        (["show", "v3-ortogonal"], "preset = 'v3-ortogonal': is not a preset; did you mean v3-orthogonal?"),
        (["params", "a1", "zzz"], "preset = 'zzz': is not a preset; known: "),
        (
            ["show"],
            "no configuration is named; give a preset (`somelab presets` lists them) or --config FILE",
        ),
        (["show", "mine.yaml"], "give it as --config mine.yaml"),
        (["show", "a1", "--config", "x.yaml"], "'a1' and --config x.yaml name two configurations"),
        (["show", "--config", "none.yaml"], "config file = 'none.yaml': there is no such file"),
        (
            ["show", "a1", "--scale", "tiny"],
            (
                "invalid choice 'tiny' for argument '--scale'. Expected one of ('full', 'small', 'mini', "
                "'micro')"
            ),
        ),
        (["show", "a1", "--scale"], "--scale has no value"),
        (["show", "a1", "--jsn"], "show has no flag --jsn; did you mean --json?"),
        (["show", "a1", "-x"], "show has no flag -x; it has --scale, --config, --fields, --json"),
        (["show", "a1", "--top-k", "8"], "show has no flag --top-k; did you mean --experts.top_k?"),
        (["show", "a1", "--dropout", "0"], "did you mean --model.dropout or --router.dropout?"),
        (
            ["show", "a1", "--experts", "8"],
            "did you mean one of its settings, such as --experts.num_experts?",
        ),
        (["show", "a1", "--json=3"], "--json takes no value, not '3'"),
        (["show", "a1", "a2"], "show takes no 'a2'"),
        (["show", "a1", "--experts.top-k"], "--experts.top-k has no value; give an integer >= 1"),
        (["presets", "a1"], "presets takes no 'a1'"),
        (
            ["presets", "--model.d-model", "3"],
            "--model.d-model is a setting, and presets has no configuration",
        ),
        (["params", "--all", "a1"], "--all already means every preset"),
    ],
)
def test_a_bad_command(capsys: pytest.CaptureFixture[str], argv: list[str], words: str) -> None:
    assert words in complaint(capsys, *argv)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("experts: [1\n", "is not YAML (line 2: "),
        ("- 1\n", "config = [1]: is not a mapping of groups"),
        (
            "experts:\n  topk: 8\n",
            "experts.topk = 8: is not a setting; did you mean experts.top_k? (in bad.yaml)",
        ),
        ("top_k: 8\n", "top_k = 8: is not a setting; did you mean experts.top_k? (in bad.yaml)"),
        (
            "experts: {top_k: 99}\n",
            "experts.top_k = 99: is more than num_experts = 64; choose a top_k from 1 to 64 (in bad.yaml)",
        ),
        (
            "gravity: {theta: 1, theta_percentile: 0.1}\n",
            "gravity.theta = 1.0: theta_percentile = 0.1 is set too",
        ),
        ("gravity: {alpha: -1, beta: -1}\n", "give a number >= 0 (in bad.yaml) (and 1 more)"),
    ],
)
def test_a_bad_file(capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(content)
    assert words in complaint(capsys, "show", "--config", str(path))


def test_benchmarks_belong_to_a_checkout(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The wheel leaves them out; the verb then says where they are."""
    from somelab.cli.lab import bench

    monkeypatch.setattr(bench, "find_spec", lambda name: None)
    assert main(["bench", "layer"]) == 2
    assert "run `somelab bench` in a checkout of somelab" in capsys.readouterr().err
