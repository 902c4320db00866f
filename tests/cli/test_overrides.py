"""Taking dotted settings out of a command line, and arranging what is left."""

from __future__ import annotations

import pytest

from somelab.cli.about.params import Arguments as ParamsArguments
from somelab.cli.about.show import Arguments as ShowArguments
from somelab.cli.arguments import parse_arguments
from somelab.cli.overrides import split_overrides
from somelab.errors import SomelabError


@pytest.mark.parametrize(
    ("argv", "rest", "settings"),
    [
        (["a1", "--experts.top-k", "8"], ["a1"], {"experts.top-k": "8"}),
        (["--experts.top_k=8", "a1"], ["a1"], {"experts.top_k": "8"}),
        (["--train.compile", "a1"], ["a1"], {"train.compile": "true"}),
        (["--train.compile", "false", "a1"], ["a1"], {"train.compile": "false"}),
        (["--train.compile", "--json"], ["--json"], {"train.compile": "true"}),
        (["--gravity.alpha", "-0.1"], [], {"gravity.alpha": "-0.1"}),
        (["--gravity.alpha=-1e-3"], [], {"gravity.alpha": "-1e-3"}),
        (["--data.source", "a=b c"], [], {"data.source": "a=b c"}),
        (["--data.source=a=b"], [], {"data.source": "a=b"}),
        (["--experts.top-k", "1", "--experts.top-k", "2"], [], {"experts.top-k": "2"}),
        (["--gravity.extra.my-rule", "0.5"], [], {"gravity.extra.my-rule": "0.5"}),
        (["--config", "a.yaml", "--json"], ["--config", "a.yaml", "--json"], {}),
        (["--", "--experts.top-k", "8"], ["--", "--experts.top-k", "8"], {}),
        (["--no.such", "3"], [], {"no.such": "3"}),
    ],
)
def test_settings_are_taken_out(argv: list[str], rest: list[str], settings: dict[str, str]) -> None:
    assert split_overrides(argv) == (rest, settings)


@pytest.mark.parametrize(
    ("argv", "example"),
    [
        (["--experts.top-k"], "give an integer >= 1, e.g. --experts.top-k 4"),
        (["--experts.top-k", "--json"], "give an integer >= 1, e.g. --experts.top-k 4"),
        (["--router.kind"], "choose one of none, linear, mlp, e.g. --router.kind none"),
        (["--train.betas"], "e.g. --train.betas 0.9,0.95"),
    ],
)
def test_a_setting_without_value_is_refused_with_an_example(argv: list[str], example: str) -> None:
    with pytest.raises(SomelabError) as caught:
        split_overrides(argv)
    assert str(caught.value).endswith(example)


def test_positionals_may_stand_anywhere() -> None:
    arguments = parse_arguments(
        ParamsArguments, ["a1", "--scale", "mini", "a2", "--json", "--experts.top-k", "2", "a3"], "params"
    )
    assert arguments is not None
    assert arguments.presets == ("a1", "a2", "a3")
    assert (arguments.scale, arguments.json, arguments.all) == ("mini", True, False)
    assert arguments.overrides == {"experts.top-k": "2"}


def test_flags_take_equals_signs_and_underscores() -> None:
    arguments = parse_arguments(ShowArguments, ["--scale=micro", "a1"], "show")
    assert arguments is not None
    assert (arguments.preset, arguments.scale, arguments.overrides) == ("a1", "micro", {})
