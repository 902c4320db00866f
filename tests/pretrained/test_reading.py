"""Pretrained models that read new text: memories, learners that can be undone to the bit, and the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from somelab.cli.main import main
from somelab.pretrained.carving import CarveSettings, carve
from somelab.pretrained.reading import memories
from somelab.pretrained.reading.learners import Credit, DynamicEvaluation, Growth, Learner, Lora
from somelab.pretrained.reading.passes import FrozenPass, fingerprint, frozen_pass
from somelab.pretrained.reading.study import adapt, searched
from tests.pretrained.conftest import VOCABULARY, llama

WEIGHTS = memories.Weights(0.1, 10.0)


@pytest.fixture(scope="module")
def carved(tiny: Any, rows: Tensor) -> Any:
    return carve(tiny, rows, CarveSettings(num_groups=12, use=0.5, rank=4)).model


def test_a_frozen_pass_is_the_loss_of_the_model(tiny: Any, rows: Tensor) -> None:
    seen = frozen_pass(tiny, rows)
    with torch.no_grad():
        wanted = float(tiny(input_ids=rows[:1], labels=rows[:1]).loss)
    assert float(seen.nats_BS[0].mean()) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize(
    ("kind", "rate"), [(DynamicEvaluation, 0.1), (Lora, 0.01), (Growth, 0.01), (Credit, 4.0)]
)
def test_learners_score_first_learn_then_and_are_undone_to_the_bit(
    carved: Any, rows: Tensor, kind: type[Learner], rate: float
) -> None:
    before = fingerprint(carved)
    frozen = frozen_pass(carved, rows[:1]).nats_BS[0]
    learner = kind(carved, rate)
    first = learner.learn_(rows[0])
    torch.testing.assert_close(first, frozen, rtol=1e-4, atol=1e-4)
    second = learner.learn_(rows[0])
    assert not torch.equal(first, second)
    learner.undo_()
    assert fingerprint(carved) == before
    torch.testing.assert_close(frozen_pass(carved, rows[:1]).nats_BS[0], frozen)


@pytest.mark.parametrize(("kind", "rate"), [(DynamicEvaluation, 0.3), (Lora, 0.03), (Growth, 0.03)])
def test_gradient_learners_learn_what_is_repeated(
    carved: Any, rows: Tensor, kind: type[Learner], rate: float
) -> None:
    learner = kind(carved, rate)
    losses = [float(learner.learn_(rows[0]).mean()) for _ in range(6)]
    learner.undo_()
    assert losses[-1] < losses[0] - 0.02


def test_a_fingerprint_notices_one_bit() -> None:
    model = llama()
    before = fingerprint(model)
    weight = model.model.layers[0].mlp.up_proj.weight.data
    weight[0, 0] = torch.nextafter(weight[0, 0], torch.tensor(9.0))
    assert fingerprint(model) != before


def repeated(num_rows: int = 4) -> FrozenPass:
    """States that announce their word: each of 8 directions is always followed by the same word."""
    random = torch.Generator().manual_seed(0)
    direction_8D = torch.randn(8, 16, generator=random)
    kind_BS = torch.randint(0, 8, (num_rows, 256), generator=random)
    hidden = direction_8D[kind_BS] + 0.1 * torch.randn(num_rows, 256, 16, generator=random)
    return FrozenPass(torch.full((num_rows, 256), 4.0), hidden, kind_BS)


def test_a_memory_of_states_recalls_the_words_that_followed() -> None:
    seen = repeated()
    states = seen.hidden_BSD.flatten(0, 1)
    every = memories.recall(seen, VOCABULARY, (20.0,), buckets=None)
    routed = memories.recall(seen, VOCABULARY, (20.0,), buckets=memories.Buckets(states, 8, 0))
    nats_N = seen.nats_BS.flatten()
    cache = memories.mixed(nats_N, every, memories.Weights(0.25)).mean()
    for recalled in (every, routed):
        found = memories.mixed(nats_N, recalled, memories.Weights(0.25, 20.0)).mean()
        assert float(found) < float(cache) - 0.2 < 4.0
    assert every.looked_at == 1.0
    assert routed.looked_at < 0.6


def test_bigrams_recall_what_followed_a_word() -> None:
    """Words come in pairs, 0 1 or 2 3: after a chunk, the second of a pair is certain."""
    pair_BP = torch.randint(0, 2, (2, 128), generator=torch.Generator().manual_seed(0))
    targets_BS = torch.stack([2 * pair_BP, 2 * pair_BP + 1], dim=2).flatten(1)
    seen = FrozenPass(torch.full((2, 256), 2.0), torch.randn(2, 256, 4), targets_BS)
    recalled = memories.recall(seen, VOCABULARY, (), buckets=None, backoffs=(2.0,))
    found_BS = recalled.by_backoff[2.0].view(2, 256)
    cache_BS = recalled.cache_N.view(2, 256)
    assert torch.equal(found_BS[:, 0], cache_BS[:, 0]), "the first word of a row has no predecessor here"
    assert torch.equal(found_BS[0, : memories.CHUNK], cache_BS[0, : memories.CHUNK]), "nothing is stored yet"
    seconds = found_BS[1, 1::2]
    assert float(seconds.min()) > 0.9
    before = int((targets_BS[0, : memories.CHUNK : 2] == 0).sum())
    place = memories.CHUNK + 1 + 2 * int((pair_BP[0, memories.CHUNK // 2 :] == 0).nonzero()[0])
    expected = (before + 2 * float(cache_BS[0, place])) / (before + 2)
    assert float(found_BS[0, place]) == pytest.approx(expected)


def test_a_memory_holds_nothing_of_the_chunk_that_it_scores() -> None:
    seen = repeated(1)
    recalled = memories.recall(seen, VOCABULARY, (20.0,), buckets=None)
    assert not recalled.by_sharpness[20.0][: memories.CHUNK].any()
    assert recalled.by_sharpness[20.0][memories.CHUNK :].any()
    changed = FrozenPass(seen.nats_BS, seen.hidden_BSD, seen.targets_BS.clone())
    changed.targets_BS[0, memories.CHUNK :] = 9
    again = memories.recall(changed, VOCABULARY, (20.0,), buckets=None)
    assert torch.equal(again.cache_N[: memories.CHUNK], recalled.cache_N[: memories.CHUNK])


def test_a_mixture_by_hand() -> None:
    recalled = memories.Recall(
        torch.tensor([0.5]).double(), torch.tensor([0.3]), {10.0: torch.tensor([0.25]).double()}, 1.0
    )
    nats = torch.tensor([0.125]).log().neg()
    assert memories.mixed(nats, recalled, memories.Weights(0.2)).exp().item() == pytest.approx(1 / 0.2)
    assert memories.mixed(nats, recalled, WEIGHTS).exp().item() == pytest.approx(1 / (0.1125 + 0.025))
    closed = memories.Weights(0.1, 10.0, threshold=0.4)
    assert memories.mixed(nats, recalled, closed).item() == pytest.approx(nats.item())


def test_a_study_reports_every_way_and_changes_nothing(carved: Any, rows: Tensor) -> None:
    ways = ["cache", "bigram", "nearest", "memory", "credit", "growth", "dynamic", "lora"]
    record = adapt(carved, rows[:2], rows[2:], rows[2:, :100], ways, lambda line: None)
    assert list(record["ways"]) == ways
    assert record["rollback"]["exact"]
    for way, one in record["ways"].items():
        assert one["gain"]["mean"] == pytest.approx(record["frozen"]["loss"] - one["loss"], abs=1e-6), way
    assert all(record["ways"][way]["forgotten"] == 0 for way in ways[:4])
    assert list(record["ways"]["cache"]["settings"]) == ["share"]
    assert list(record["ways"]["bigram"]["settings"]) == ["share", "backoff"]


def test_a_rate_is_searched_until_the_best_has_a_worse_one_on_either_side() -> None:
    trials = searched(lambda rate: abs(rate - 0.09), 0.01)
    assert min(trials, key=lambda rate: trials[rate]) == 0.09
    assert sorted(trials) == [0.01, 0.03, 0.09, 0.27]
    assert sorted(searched(lambda rate: rate, 1.0)) == pytest.approx([0.012, 0.037, 0.11, 0.33, 1.0, 3.0])
    diverging = searched(lambda rate: rate if rate < 2 else float("nan"), 1.0)
    assert diverging[3.0] == float("inf")


def test_the_command_adapts_a_folder(tiny_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["adapt", str(tiny_folder), "--data", "builtin:story", "--tokens", "1024", "--home-tokens", "512"]
    assert main([*call, "--rules", "cache,memory", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert set(record["ways"]) == {"cache", "memory"}
    assert record["rollback"]["exact"]


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (["--rules", "memry"], "did you mean memory?"),
        (["--rules", "credit"], "this model has none"),
        (["--save", "x"], "leave it out"),
    ],
)
def test_bad_input_is_one_line(
    tiny_folder: Path, capsys: pytest.CaptureFixture[str], more: list[str], problem: str
) -> None:
    assert main(["adapt", str(tiny_folder), "--data", "builtin", *more]) == 2
    assert problem in capsys.readouterr().err.strip().splitlines()[-1]
