"""Every claim is an experiment that can be run: its arms are valid, each trained once, and like for like."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from somelab.config import Config, preset
from somelab.config.presets.recipe import CREDIT, PARTS
from somelab.errors import ConfigError
from somelab.experiments.claims import CLAIMS, TOPICS, authors, claims_named, parts
from somelab.experiments.claims.arms import ARMS
from somelab.experiments.ledger import frontier
from somelab.experiments.probes import shift_probe
from somelab.experiments.probes.figures import LAYER_MEANS
from somelab.experiments.probes.probes import PROBES
from somelab.experiments.runner.plan import NAME, identity
from somelab.experiments.sweeps.matching import matched_gain
from somelab.model.count import count_parameters, equal_dense_width

SCALES = ("micro", "mini")
# What the issues ask for, one entry or more each.
ASKED = [
    "wider-is-better",
    "deeper-is-better",
    "sixteen-layers-collapse",
    "d1-rescues-depth",
    "d2-rescues-depth",
    "d3-rescues-depth",
    "more-experts-concentrate-use",
    "k-should-grow-with-e",
    "mlp-router-beats-linear",
    "init-order-as-published",
    "init-order-at-equal-size",
    "peer-pull-forms-guilds",
    "guilds-mean-something",
    "decay-keeps-experts-alive",
    "clamp-lowers-gini",
    "longer-sequences-as-published",
    "longer-sequences-on-meaning",
    "smaller-batches-help",
    "half-the-tokens-suffice",
    "every-other-step-saves-time",
    "k1-warm-up-helps",
    "beta-annealing-helps",
    "k-times-f-constant",
    "lora-gains-most-of-full",
    "balancing-loss-fights-gravity",
    "learned-temperature-helps",
    "entropy-band-helps",
    "some-beats-no-layer",
    "moving-keys-beat-fixed",
    "moving-keys-beat-gradient",
    "some-beats-equal-dense",
    # of adaptation
    "keys-adapt",
    "moved-keys-beat-key-noise",
    "keys-reach-half-of-fine-tuning",
    "keys-forget-a-tenth-of-fine-tuning",
    "memory-reaches-half-of-fine-tuning",
    "memory-by-routing-beats-plain-cache",
    "memory-serves-better-with-moved-keys",
    "router-gradient-adapts-more-than-gravity",
]
MEASURES = {
    *LAYER_MEANS,
    "val_loss",
    "bits_per_byte",
    "loss_with_padding",
    "crowding",
    "late_respawns",
    "late_drift",
    "late_entropy_growth_bits",
    "trainable",
    "saving_every_other_step",
    "guild_nmi_beyond_shuffled",
    "guild_nmi_beyond_words",
    "shift_gain_routing",
    "shift_forgetting_all_least",
    *(f"shift_{what}_{way}" for what in ("loss", "gain", "forgetting") for way in shift_probe.METHODS),
}
NO_KEYS = ("active", "noise", "memory", "router", "routing")


@cache
def config_of(arm: str, scale: str = "micro") -> Config:
    return ARMS[arm].config(scale, "stories.txt")  # type: ignore[arg-type]


def num_positions(config: Config) -> int:
    assert config.train.steps is not None
    return config.train.steps * config.train.batch_size * config.model.seq_len


def test_the_ledger_has_every_claim_that_was_asked_for() -> None:
    assert set(ASKED) <= set(CLAIMS)
    assert sum(len(claims) for claims in TOPICS.values()) == len(CLAIMS)


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=lambda claim: claim.id)
def test_a_claim_says_all_that_a_reader_needs(claim: object) -> None:
    found = CLAIMS[claim.id]  # type: ignore[attr-defined]
    assert NAME.fullmatch(found.id)
    assert found.sentence
    assert not found.sentence.endswith(".")
    assert found.source
    assert found.caveat.endswith(".")
    assert found.tests
    assert any(not test.premise for test in found.tests)
    for test in found.tests:
        assert test.smallest > 0
        assert {figure for _, figure, _ in test.terms} <= MEASURES
        assert {arm for arm, _, _ in test.terms} <= set(ARMS)
        # A comparison has weights that cancel, or asks for a share of what another arm reaches; one arm is
        # held against a bar.
        weights = sorted(test.contrast.values())
        assert (
            len(weights) == 1
            or sum(weights) == pytest.approx(0)
            or (-1 < weights[0] < 0 and weights[1:] == [1.0])
        )
        assert len(weights) > 1 or test.rule in ("at most", "at least")


def test_claims_about_adaptation_have_arms_that_measure_it() -> None:
    reading = {arm for arm, recipe in ARMS.items() if shift_probe.NAME in recipe.probes}
    about = [claim for claim in CLAIMS.values() if claim.reads_shift]
    assert {arm for claim in about for arm in claim.arms} == reading, (
        "and no arm reads other text for nothing"
    )
    assert [claim.id for claim in TOPICS["Adaptation"] if claim not in about] == []
    for claim in about:
        assert set(claim.arms) <= reading
        for test in claim.tests:
            dense = [figure for arm, figure, _ in test.terms if arm == "dense-equal"]
            assert not any(figure.endswith(NO_KEYS) for figure in dense), "a dense run has no keys to move"


def test_every_arm_serves_a_claim_and_is_trained_once() -> None:
    assert {arm for claim in CLAIMS.values() for arm in claim.arms} | set(frontier.arms()) == set(ARMS)
    for scale in SCALES:
        identities = {arm: identity(config_of(arm, scale)) for arm in ARMS}
        assert len(set(identities.values())) == len(ARMS), scale
    probes = {probe for recipe in ARMS.values() for probe in recipe.probes}
    assert probes == set(PROBES) - {"router-precision"}, "that one serves a study of the lab"


@pytest.mark.parametrize("scale", SCALES)
def test_dense_blocks_of_the_frontier_are_as_wide_as_they_say(scale: str) -> None:
    for shell, blocks in frontier.SHELLS.items():
        for block in blocks:
            config = config_of(block.arm, scale)
            assert config.model.backbone == ("modern" if shell == "modern" else "published"), block
            if config.model.dense_gate:
                assert config.model.d_dense == round(2 / 3 * config.model.d_model)
            elif block.family == "dense":
                width = int(block.title.removeprefix("dense, ").removesuffix(" D"))
                assert config.model.d_dense == width * config.model.d_model


@pytest.mark.parametrize("scale", SCALES)
def test_all_arms_see_the_same_number_of_tokens(scale: str) -> None:
    for arm in ARMS:
        config = config_of(arm, scale)
        # These train for the same time instead.
        longer = {
            "recipe-dense-as-long": 1.9,
            "modern-dense-1d-as-long": 1.25,
            "modern-dense-1d-normed-as-long": 1.2,
            "modern-wide-dense-normed-as-long": 1.1,
        }.get(arm, 1.0)
        assert num_positions(config) == round(longer * 1_024_000), arm
        assert config.data.train_subset_size is None
    assert {config_of(arm, scale).data.source for arm in ARMS} == {"stories.txt", "builtin"}


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=lambda claim: claim.id)
def test_arms_of_a_claim_read_the_same_text(claim: object) -> None:
    for test in claim.tests:  # type: ignore[attr-defined]
        configs = [config_of(arm) for arm, _, _ in test.terms]
        assert (
            len(
                {
                    (config.data.source, config.model.vocab_size, config.data.val_subset_size)
                    for config in configs
                }
            )
            == 1
        )


@cache
def trained(arm: str, scale: str) -> int:
    return count_parameters(config_of(arm, scale)).trainable


# Arms that a claim calls equal in trained weights, within a percent.
EQUAL = [
    ("base", "dense-equal"),
    ("base", "fixed-keys"),
    ("base", "gradient-keys"),
    ("experts-x8", "experts-x2"),
    ("experts-x8-narrow-mlp", "experts-x8-linear"),
    ("init-sparse-matched", "base"),
    ("tokens-tamed-gravity", "tokens-fixed"),
    ("tokens-published-gravity", "tokens-fixed"),
    ("top-x2", "experts-2-wide"),
    ("length-x4", "base"),
    ("v7", "v6"),
    ("recipe", "recipe-dense"),
    ("recipe", "recipe-fixed-keys"),
    ("recipe", "recipe-experts-x4"),
    ("recipe-blind-fast-keys", "recipe-blind-fixed-keys"),
    ("credit-x4", "fixed-x4"),
    ("credit-x4", "recipe-fixed-keys"),
    ("credit-x16", "credit"),
    ("credit-x4", "recipe-dense"),
    ("credit-x4", "credit-reads-token"),
    ("credit-x4", "recipe-one-expert"),
    ("modern-wide-modulated", "modern-wide-dense-normed-as-long"),
    ("modern-wide-modulated", "modern-wide-one-block"),
]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("arm", "other"), EQUAL)
def test_what_is_called_equal_in_trained_weights_is(arm: str, other: str, scale: str) -> None:
    assert trained(arm, scale) == pytest.approx(trained(other, scale), rel=0.01)


def differing(arm: str, base: str = "base") -> set[str]:
    """The settings by which an arm is another than its base."""
    one, other = config_of(base).model_dump(), config_of(arm).model_dump()
    return {f"{group}.{key}" for group in one for key in one[group] if one[group][key] != other[group][key]}


def test_arms_differ_in_what_their_claim_is_about_and_in_no_more() -> None:
    assert differing("wide") == {"model.d_model"}
    assert differing("depth-16-d2") == {"model.num_layers", "gravity.frozen_layers", "train.warmup_fraction"}
    assert config_of("depth-16").train == config_of("depth-8").train
    assert differing("init-sparse-matched") == {"experts.init", "experts.output_gain"}
    assert differing("dense-equal") == {"model.feed_forward", "model.d_dense"}
    assert differing("batch-half") == {
        "train.batch_size",
        "train.steps",
        "train.eval_every",
        "gravity.warmup_steps",
    }
    assert differing("length-x4") == {"model.seq_len", "train.batch_size"}
    assert differing("fixed-keys") == {"gravity.keys"}
    assert differing("builtin") == {"data.source"}


TAKEN_OUT = [
    arm for claim in parts.CLAIMS for arm in claim.arms if arm not in (parts.WHOLE, "recipe-one-expert")
]


@pytest.mark.parametrize("arm", TAKEN_OUT)
def test_a_part_of_some_is_judged_by_taking_it_out_alone(arm: str) -> None:
    gates = {"router.temperature", "router.learnable_temperature"}
    assert (
        differing(arm, parts.WHOLE) == gates
        if arm == "credit-soft-gates"
        else len(differing(arm, parts.WHOLE)) == 1
    )


def test_what_the_parts_are_taken_from_is_some() -> None:
    whole, asked = config_of(parts.WHOLE).model_dump(), {**PARTS, **CREDIT}
    assert {name: whole[name.split(".")[0]][name.split(".")[1]] for name in asked} == asked


@pytest.mark.parametrize("scale", SCALES)
def test_a_narrow_v7_has_the_backbone_of_the_recipe_and_trains_more(scale: str) -> None:
    v7, recipe = config_of("v7-narrow", scale), config_of("recipe", scale)
    assert v7.model == recipe.model
    assert v7.train == recipe.train
    assert trained("v7-narrow", scale) > trained("recipe", scale)


def test_the_products_of_k_and_f_are_what_the_claims_say() -> None:
    def product(arm: str) -> int:
        return config_of(arm).experts.top_k * config_of(arm).experts.d_ffn

    assert product("top-x2") * 3 == product("experts-1.5-wide") * 4  # 4 x 1024 to 2 x 1536
    assert product("top-x2") == product("experts-2-wide")


def test_the_dense_width_of_equal_size_by_hand() -> None:
    # The query network of a1 is D -> 2D -> D with biases: a dense block of width 2D has just as many weights.
    config = config_of("base")
    assert equal_dense_width(config) == 2 * config.model.d_model
    assert trained("dense-equal", "micro") == trained("base", "micro")


def test_matched_gains_make_answers_equally_loud() -> None:
    import torch

    from somelab.core.layer import SomeLayer

    loud: dict[str, float] = {}
    for arm in ("base", "init-sparse", "init-sparse-matched", "init-orthogonal-matched"):
        config = config_of(arm)
        layer = SomeLayer(config.model.d_model, config.experts, config.router, config.gravity, seed=5).eval()
        x_TD = torch.randn(256, config.model.d_model, generator=torch.Generator().manual_seed(3))
        with torch.no_grad():
            loud[arm] = float(layer(x_TD).square().mean().sqrt())
    assert loud["init-sparse"] < 0.1 * loud["base"]
    for arm in ("init-sparse-matched", "init-orthogonal-matched"):
        assert loud[arm] == pytest.approx(loud["base"], rel=0.1), arm
    assert matched_gain(config_of("base"), "default") == 1.0


def test_unknown_claims_name_the_nearest() -> None:
    assert [claim.id for claim in claims_named(("wider-is-better", "wider-is-better"))] == ["wider-is-better"]
    assert len(claims_named(())) == len(CLAIMS)
    with pytest.raises(ConfigError, match="did you mean wider-is-better"):
        claims_named(("wider-better",))


def test_every_claim_of_the_authors_is_judged_or_left_out_for_a_reason() -> None:
    path = Path(__file__).parents[2].parent / "shared" / "source_runs.json"
    if not path.exists():
        pytest.skip(f"the list of claims is not beside this repository ({path})")
    stated = json.loads(path.read_text(encoding="utf-8"))["claims"]
    lacking = {one["id"] for one in stated if one["status"] != "similar claim exists"}
    assert authors.COVERED.keys() | authors.LEFT_OUT.keys() == lacking
    assert not authors.COVERED.keys() & authors.LEFT_OUT.keys()
    assert {claim for claims in authors.COVERED.values() for claim in claims} <= set(CLAIMS)
    for one in stated:  # those that the ledger had before
        assert set(one["evidence"]) <= set(CLAIMS), one["id"]


def test_arms_of_the_authors_claims_differ_in_what_they_are_about() -> None:
    assert differing("cumulative-usage") == {"gravity.usage"}
    assert differing("no-causal-mask") == {"model.causal"}
    assert differing("falling-temperature") == {"router.temperature_over_run"}
    assert differing("v7-no-respawn", "v7") == {"gravity.respawn"}
    assert differing("v7-slow-decay", "v7") == differing("v6-fast-decay", "v6") == {"gravity.delta"}
    assert config_of("v7-slow-decay").gravity.delta == config_of("v6").gravity.delta
    assert config_of("v6-fast-decay").gravity.delta == pytest.approx(config_of("v7").gravity.delta)
    some, base = config_of("gpt2-some"), config_of("base")
    compared, a1 = preset("gpt2-some").config, preset("a1").config
    for name in ("num_experts", "d_ffn", "top_k"):
        shares = getattr(some.experts, name) / getattr(base.experts, name)
        assert shares == getattr(compared.experts, name) / getattr(a1.experts, name), name
