"""Plans: arms and seeds, what names a run, the series by name, and files of one's own with their mistakes."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from somelab.config import Config, override, preset, scaled
from somelab.errors import ConfigError
from somelab.experiments.probes.shift_probe import Reading
from somelab.experiments.runner.plan import Arm, Plan, identity, seeds_of, with_seed
from somelab.experiments.sweeps.plan_file import plan_from_file
from somelab.experiments.sweeps.series import SERIES, series_plan


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(text)
    return path


def names(plan: Plan) -> list[str]:
    return [arm.name for arm in plan.arms]


def test_a_plan_is_every_arm_with_every_seed_first_seeds_first() -> None:
    plan = Plan("p", (Arm("x", Config()), Arm("y", Config(), base="x")), (0, 3))
    jobs = plan.jobs(Path("out"))
    assert [job.key for job in jobs] == [("x", 0), ("y", 0), ("x", 3), ("y", 3)]
    assert [job.config.train.seed for job in jobs] == [0, 0, 3, 3]
    assert jobs[3].folder == Path("out/y/seed-3")
    assert (jobs[3].log, jobs[3].outcome) == (Path("out/y/seed-3.log"), Path("out/y/seed-3.json"))


@pytest.mark.parametrize(
    ("arms", "complaint"),
    [
        ((), "has no arms"),
        ((Arm("a/b", Config()),), "cannot be the name of a folder"),
        ((Arm("..", Config()),), "cannot be the name of a folder"),
        ((Arm("a", Config()), Arm("a", Config())), "is the name of two arms"),
        ((Arm("plain", Config()), Arm("b", Config(), base="plan")), "did you mean plain?"),
    ],
)
def test_a_plan_that_cannot_be_run_is_refused(arms: tuple[Arm, ...], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        Plan("p", arms)


def test_seeds_are_counted_from_zero() -> None:
    assert seeds_of(3) == (0, 1, 2)
    with pytest.raises(ConfigError, match="less than 1"):
        seeds_of(0)


def test_identity_is_of_what_is_computed_and_not_of_where_the_text_lies(tmp_path: Path) -> None:
    here = override(Config(), {"data.source": str(tmp_path / "stories.txt")})
    there = override(Config(), {"data.source": "/elsewhere/stories.txt"})
    assert identity(here) == identity(there)
    assert identity(here) != identity(override(here, {"data.source": "other.txt"}))
    assert identity(here) != identity(override(here, {"experts.top_k": 3}))
    assert identity(here) != identity(with_seed(here, 1))
    # A name on the Hub is not a path.
    assert identity(override(here, {"data.source": "one/set"})) != identity(
        override(here, {"data.source": "two/set"})
    )


def test_settings_for_all_arms_are_shown_without_folders() -> None:
    plan = Plan("p", (Arm("x", Config()),)).changed(
        {"data.source": "/some/where/stories.txt", "train.steps": "5"}
    )
    assert plan.arms[0].config.train.steps == 5
    assert plan.arms[0].config.data.source == "/some/where/stories.txt"
    assert plan.settings == {"data.source": "stories.txt", "train.steps": "5"}


@pytest.mark.parametrize("scale", ["full", "small", "mini", "micro"])
def test_every_series_is_a_valid_plan_at_every_scale(scale: str) -> None:
    for name in SERIES:
        plan = series_plan(name, scale, (0,))
        assert plan.name == name
        assert plan.title
        assert len(plan.arms) > 1


def test_series_have_the_arms_of_the_reports() -> None:
    assert names(series_plan("series-a", "micro", (0,))) == ["a1", "a2", "a3", "a4", "a5", "a6"]
    assert {arm.base for arm in series_plan("series-a", "micro", (0,)).arms[1:]} == {"a1"}
    assert names(series_plan("versions", "mini", (0,))) == ["v1", "v2", "v3.5", "v4", "v5", "v6", "v7"]
    assert names(series_plan("plan-a", "mini", (0,))) == ["mvp-v3", "experts-64", "top-8"]
    wanted = {
        "series-mvp",
        "series-v3",
        "series-v3r",
        "series-a",
        "series-b",
        "series-c",
        "series-d",
        "versions",
        "baselines",
    }
    assert wanted | {"plan-a", "plan-b", "plan-c", "plan-d"} <= set(SERIES)


def test_a_changed_arm_is_no_published_run() -> None:
    plan = series_plan("plan-a", "full", (0,))
    assert [arm.preset for arm in plan.arms] == ["mvp-v3", None, None]
    assert plan.arms[1].config.experts.num_experts == 64
    assert plan.arms[0].config == preset("mvp-v3").config


def test_versions_differ_from_a1_in_their_rules_alone() -> None:
    by_name = {arm.name: arm.config for arm in series_plan("versions", "full", (0,)).arms}
    a1 = preset("a1").config
    assert by_name["v4"] == a1
    assert by_name["v1"].router.scoring == "dot"
    assert by_name["v7"].gravity.norm == "clamp"
    assert {config.model for config in by_name.values()} == {a1.model}


def test_an_unknown_series_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean series-a"):
        series_plan("serie-a", "micro", (0,))


def test_a_grid_is_every_combination(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "preset: a1\n"
        "scale: micro\n"
        "seeds: 2\n"
        "grid:\n"
        "  experts.num_experts: [8, 16]\n"
        "  gravity.beta: [0, 0.01]\n",
    )
    plan = plan_from_file(path)
    assert names(plan) == [
        "num_experts=8,beta=0",
        "num_experts=8,beta=0.01",
        "num_experts=16,beta=0",
        "num_experts=16,beta=0.01",
    ]
    assert plan.seeds == (0, 1)
    assert (plan.arms[3].config.experts.num_experts, plan.arms[3].config.gravity.beta) == (16, 0.01)
    assert plan.arms[3].config.model == scaled(preset("a1").config, "micro").model


def test_lists_and_pairs(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "name: mine\n"
        "settings: {train.steps: 7}\n"
        "list: [dense, {name: wide, preset: a2, settings: {experts.top_k: 2}}]\n"
        "pairs:\n"
        "  - base: {name: plain}\n"
        "    variants: [{name: still, settings: {gravity.keys: fixed}}]\n",
    )
    plan = plan_from_file(path, scale="micro", seeds=(4,))
    assert (plan.name, plan.scale, plan.seeds) == ("mine", "micro", (4,))
    assert [(arm.name, arm.base, arm.preset) for arm in plan.arms] == [
        ("dense", None, "dense"),
        ("wide", None, None),
        ("plain", None, "a1"),
        ("still", "plain", None),
    ]
    assert all(arm.config.train.steps == 7 for arm in plan.arms)
    assert plan.arms[3].config.gravity.keys == "fixed"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("probes: [domain-shfit]\nlist: [a1]\n", r"probes = 'domain-shfit': is not a probe; did you mean"),
        ("shift: {tokens: many}\nlist: [a1]\n", "shift.tokens = 'many': is not a number of tokens"),
        ("gird: {}\n", r"plan.gird = {}: is not known here; did you mean grid\? \(in mine.yaml\)"),
        (
            "grid: {experts.topk: [1]}\n",
            r"experts.topk = 1: is not a setting; did you mean experts.top_k\? \(in mine.yaml\)",
        ),
        ("grid: {experts.top_k: 4}\n", "grid.experts.top_k = 4: is not a list of values"),
        ("grid: {experts.top_k: [0]}\n", "experts.top_k = 0: is less than 1; .*in mine.yaml"),
        ("list: [{preset: a9}]\n", "preset = 'a9': is not a preset"),
        ("list: {name: x}\n", "is not a list; begin each entry with a dash"),
        ("pairs: [{variants: []}]\n", r"pairs\[0\].base = None: is not a mapping"),
        ("seeds: many\nlist: [a1]\n", "seeds = 'many': is neither a number of seeds nor a list"),
        ("list: [a1]\nlist: [a2]\n", "list is given twice"),
        ("list: [a1\n", "is not YAML"),
        ("- a1\n", r"plan = \['a1'\]: is not a mapping"),
        ("name: empty\n", "has no arms"),
    ],
)
def test_mistakes_in_a_file_name_field_value_and_remedy(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        plan_from_file(write(tmp_path, text))


def test_probes_and_the_text_that_they_read(tmp_path: Path) -> None:
    text = "probes: [domain-shift]\nshift: {data: wiki.txt, tokens: 500, back_tokens: 100}\nlist: [a1, a2]\n"
    plan = plan_from_file(write(tmp_path, text), "micro", (0,))
    assert [arm.probes for arm in plan.arms] == [("domain-shift",)] * 2
    assert (plan.shift, plan.reading) == ("wiki.txt", Reading(tokens=500, back_tokens=100))
    job = plan.jobs(tmp_path)[0]
    assert (job.probes, job.shift, job.reading) == (("domain-shift",), "wiki.txt", plan.reading)
    named = plan_from_file(write(tmp_path, "shift: wiki.txt\nlist: [a1]\n"), "micro", (0,))
    assert (named.shift, named.reading) == ("wiki.txt", Reading())


@pytest.mark.parametrize("path", sorted(Path("lab/studies").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_studies_of_the_lab_are_plans(path: Path) -> None:
    plan = plan_from_file(path)
    assert len(plan.arms) >= 2
    assert plan.title


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        plan_from_file(tmp_path / "none.yaml")


def test_identity_leaves_out_what_is_as_by_default() -> None:
    """A setting that a later version adds is in no older run, and stands at its default there."""
    config = override(Config(), {"experts.top_k": 3, "data.source": "tinystories"})
    assert (
        identity(config)
        == hashlib.sha256(b'{"data":{"source":"tinystories"},"experts":{"top_k":3}}').hexdigest()[:12]
    )
