"""The ledger over a store of runs written by hand: verdicts, order, cost, the page, and the command."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from somelab.cli.main import main
from somelab.errors import ConfigError, SomelabError
from somelab.experiments.claims import CLAIMS, TOPICS, claims_named
from somelab.experiments.ledger.listing import claim_records, updated
from somelab.experiments.ledger.page import command, page
from somelab.experiments.ledger.records import Records, read, write
from somelab.experiments.ledger.store import LENGTHS, SCALES, Ledger
from somelab.experiments.ledger.texts import stored_data, stored_seeds, stored_shift
from somelab.experiments.probes import shift_probe
from somelab.experiments.runner.job import JobOutcome, write_outcome
from somelab.experiments.streams.claims import CLAIMS as STREAM_CLAIMS
from somelab.experiments.tuning.tuner import SEED
from tests.experiments.builders import plain, tuned, write_run

STUDY: dict[str, dict[str, float]] = {method: {} for method in shift_probe.METHODS}
"""As much of a domain-shift probe as a ledger looks at."""

SEEDS = (0, 1, 2)


def ledger_of(
    store: Path,
    *names: str,
    data: str | None = "stories.txt",
    seeds: tuple[int, ...] = SEEDS,
    best: int | None = 8,
) -> Ledger:
    """Of arms that are tuned, with the best rate at that index of the grid; None: nothing is tuned."""
    ledger = Ledger(store, claims_named(names), "micro", seeds, data)
    return ledger if best is None else again(ledger, tuned(ledger, best))


def again(ledger: Ledger, records: Records) -> Ledger:
    claims, seeds = ledger.claims, ledger.seeds
    return Ledger(ledger.store, claims, ledger.scale, seeds, ledger.data, None, ledger.length, records)


def fill(ledger: Ledger, losses: dict[str, list[float]]) -> Ledger:
    """Finished runs with these losses, one a seed; then the store read anew."""
    for arm, values in losses.items():
        for seed, loss in enumerate(values):
            job = ledger.jobs[arm, seed]
            write_run(job.folder, job.config, {"val_loss": loss})
            for probe in job.probes:
                (job.folder / "probes").mkdir(exist_ok=True)
                (job.folder / "probes" / f"{probe}.json").write_text(json.dumps({"study": STUDY}))
            write_outcome(job, JobOutcome(arm, seed, "finished", "", 80.0, 60.0))
    return again(ledger, ledger.records)


def test_verdicts_are_computed_from_the_store(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path, "moving-keys-beat-fixed", "some-beats-no-layer", "wider-is-better")
    assert {result.verdict for result in ledger.results()} == {"not run"}
    ledger = fill(
        ledger,
        {"base": [4.0, 4.1, 4.2], "fixed-keys": [4.1, 4.21, 4.29], "no-ffn": [4.0, 4.1, 4.2], "wide": [3.9]},
    )
    results = {result.claim.id: result for result in ledger.results()}
    # base - fixed is -0.1, -0.11, -0.09; base - no-ffn is 0 for all; one seed of wide decides nothing.
    assert results["moving-keys-beat-fixed"].verdict == "supported"
    assert results["some-beats-no-layer"].verdict == "refuted"
    assert results["wider-is-better"].verdict == "undecided"
    assert [results[name].num_seeds for name in results] == [3, 3, 1]


def test_a_run_whose_probe_is_missing_is_not_finished(tmp_path: Path) -> None:
    ledger = fill(ledger_of(tmp_path, "moving-keys-beat-fixed"), {"base": [4.0]})
    assert ledger.finished == {("base", 0)}
    whole = ledger.cost(ledger.claims).seconds_left
    (ledger.jobs["base", 0].folder / "probes" / "gravity-cost.json").unlink()
    ledger = ledger_of(tmp_path, "moving-keys-beat-fixed")
    assert ledger.finished == set()
    # It is trained all the same: what is left is the probe. Until then no verdict uses it.
    assert ledger.states["base", 0] == "trained"
    assert ledger.cost(ledger.claims).seconds_left < whole + 60
    ledger = fill(ledger, {"fixed-keys": [4.1]})
    assert ledger.figures("base") == {}
    assert ledger.results()[0].tests[0].seeds == ()


def test_arms_are_shared_and_named_by_their_configuration(tmp_path: Path) -> None:
    one, other = (
        ledger_of(tmp_path, "moving-keys-beat-fixed"),
        ledger_of(tmp_path, "some-beats-no-layer", data="/far/stories.txt"),
    )
    assert one.jobs["base", 1].folder == other.jobs["base", 1].folder
    assert one.jobs["base", 1].folder.parent.name.startswith("base-")
    assert (
        one.jobs["base", 1].folder.parent
        != ledger_of(tmp_path, "wider-is-better", data="b.txt").jobs["base", 1].folder.parent
    )
    everything = ledger_of(tmp_path)
    assert len(everything.jobs) == 3 * len({arm for claim in CLAIMS.values() for arm in claim.arms})


def test_cost_counts_shared_arms_once_and_finished_ones_as_measured(tmp_path: Path) -> None:
    names = ("moving-keys-beat-fixed", "some-beats-no-layer")
    ledger = ledger_of(tmp_path, *names)
    both, single = ledger.cost(ledger.claims), [ledger.cost([claim]) for claim in ledger.claims]
    assert both.num_runs == 9
    assert both.seconds < sum(cost.seconds for cost in single)
    ledger = fill(ledger, {"base": [4.0, 4.0, 4.0]})
    cost = ledger.cost(ledger.claims[:1])
    assert (cost.num_runs, cost.num_finished) == (6, 3)
    # What is finished took 60 s each; the rest is estimated by the speed that this shows. So are the
    # searches: two of fifty-seven runs each.
    searches = sum(ledger._search_seconds(name)[0] for name in ("base", "fixed-keys"))
    assert cost.seconds - cost.seconds_left == pytest.approx(180 + searches)
    assert searches > 25 * ledger.seconds(("fixed-keys", 0))
    assert cost.seconds_left / 3 == pytest.approx(ledger.seconds(("fixed-keys", 0)))


def test_a_budget_answers_cheap_claims_first(tmp_path: Path) -> None:
    ledger = ledger_of(
        tmp_path, "sixteen-layers-collapse", "moving-keys-beat-fixed", "some-beats-no-layer", seeds=(0, 1)
    )
    order = [job.key for job in ledger.order()]
    assert len(order) == len(set(order)) == 10
    # No layer is cheapest, then fixed keys, which shares its base; sixteen layers come last.
    assert set(order[:4]) == {(arm, seed) for arm in ("base", "no-ffn") for seed in (0, 1)}
    assert {arm for arm, _ in order[4:6]} == {"fixed-keys"}
    assert {arm for arm, _ in order[6:]} == {"depth-8", "depth-16"}


def test_arms_wait_for_the_premise_of_their_claim(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path, "d1-rescues-depth")
    whole = ledger.cost(ledger.claims)
    assert whole.num_runs == 9, "the premise may hold"
    assert {job.arm for job in ledger.order()} == {"depth-8", "depth-16"}
    level = fill(ledger, {"depth-8": [4.0, 4.1, 4.2], "depth-16": [4.0, 4.1, 4.21]})
    assert level.order() == []
    assert level.cost(level.claims).seconds_left == 0
    (result,) = level.results()
    assert (result.verdict, result.num_seeds) == ("undecided", 3)
    assert result.note == "its premise is refuted (val_loss: depth-16 - depth-8)"
    (record,) = claim_records([level])
    assert record["measured"] == "val_loss: depth-16 - depth-8"
    assert record["effect"] == pytest.approx(0.00333, abs=1e-5)
    worse = fill(
        ledger_of(tmp_path / "worse", "d1-rescues-depth"),
        {"depth-8": [4.0, 4.1, 4.2], "depth-16": [5.0, 5.1, 5.21]},
    )
    assert [job.key for job in worse.order()] == [("depth-16-d1", seed) for seed in SEEDS]
    (result,) = worse.results()
    assert (result.verdict, result.num_seeds) == ("not run", 0)


def test_what_is_finished_makes_a_claim_cheaper(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path, "wider-is-better", "moving-keys-beat-fixed", seeds=(0, 1))
    assert [job.arm for job in ledger.order()] == ["base", "fixed-keys", "base", "fixed-keys", "wide", "wide"]
    # One run of the wide arm is less than two with fixed keys; what is finished is left out.
    filled = fill(ledger, {"base": [4.0, 4.0], "wide": [4.0]})
    assert [job.key for job in filled.order()] == [("wide", 1), ("fixed-keys", 0), ("fixed-keys", 1)]


def test_the_page_has_every_claim_with_verdict_command_and_caveat(tmp_path: Path) -> None:
    ledger = fill(ledger_of(tmp_path), {"base": [4.0, 4.1, 4.2], "fixed-keys": [4.1, 4.21, 4.29]})
    written = page([ledger])
    for claim in CLAIMS.values():
        assert f"### {claim.id}\n" in written
        assert claim.caveat in " ".join(written.split())
        assert f"somelab evidence {claim.id} --scale micro --seeds 3 --data stories.txt" in written
    title = "[moving-keys-beat-fixed](#moving-keys-beat-fixed)"
    figures = "val_loss: base - fixed-keys | -0.1000 | -0.1248 to -0.0752 | 3 | micro | 1.0 M |"
    assert f"| {title} | **supported** | {figures}" in written
    assert "| [wider-is-better](#wider-is-better) | not run |  |  |  |  |  |  |" in written
    assert f"{len(CLAIMS)} claims: 1 supported, {len(CLAIMS) - 1} not run." in written
    assert ": 6 judged runs, tuning runs worth " in written
    assert "- Learning rates at micro, 1.0 M tokens: `base` 0.016, `fixed-keys` 0.016." in written
    assert "| base | 0.016 | tuned | 57.0 | 0.00025: 5.2000, 0.000354: 5.1000," in written
    assert str(tmp_path) not in written
    found = {record["claim"]: record for record in claim_records([ledger])}
    one = found["moving-keys-beat-fixed"]
    assert one["effect"] == pytest.approx(-0.1)
    assert (one["low"], one["high"]) == (
        pytest.approx(-0.124841, abs=1e-6),
        pytest.approx(-0.075159, abs=1e-6),
    )
    assert (one["verdict"], one["seeds"], one["scale"], one["tuned"]) == ("supported", 3, "micro", True)
    assert one["rates"] == {"base": 0.016, "fixed-keys": 0.016}
    assert json.dumps(list(found.values()), allow_nan=False)


def test_failures_are_told_beside_the_verdict(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path, "moving-keys-beat-fixed")
    write_outcome(
        ledger.jobs["base", 0],
        JobOutcome("base", 0, "failed", "training diverged: loss nan; lower it", 1.0, 1.0),
    )
    (result,) = ledger.results()
    assert (result.verdict, result.note) == ("not run", "base failed: training diverged: loss nan")


def test_a_store_remembers_its_text_and_seeds(tmp_path: Path) -> None:
    assert stored_data(tmp_path) is None
    assert ledger_of(tmp_path, "wider-is-better", data=None).data == "tinystories"
    (tmp_path / "ledger.json").write_text('{"data": "/far/stories.txt"}')
    ledger = ledger_of(tmp_path, "wider-is-better", data=None)
    assert ledger.data == "/far/stories.txt"
    wider, keys = CLAIMS["wider-is-better"], CLAIMS["keys-adapt"]
    assert (
        command(ledger, wider, 3)
        == "somelab evidence wider-is-better --scale micro --seeds 3 --data stories.txt"
    )
    assert (
        command(ledger, keys, 3)
        == "somelab evidence keys-adapt --scale micro --seeds 3 --data stories.txt --shift builtin"
    )
    (tmp_path / "micro" / "base-0" / "seed-4").mkdir(parents=True)
    assert stored_seeds(tmp_path, "micro", 2) == (0, 1, 4)
    (tmp_path / "ledger.json").write_text("{")
    with pytest.raises(SomelabError, match=r"ledger.json: cannot be read .*; restore it"):
        stored_data(tmp_path)


SHIFT = {
    "base": {
        "shift_loss_frozen": 6.0,
        "shift_loss_active": 5.95,
        "shift_gain_active": 0.05,
        "shift_forgetting_active": 0.0,
    },
    "dense-equal": {"shift_gain_all": 1.0, "shift_forgetting_all_least": 0.4},
}


def fill_shift(ledger: Ledger, figures: dict[str, dict[str, float]], digest: str = "d") -> Ledger:
    """Finished runs of three seeds that have read other text; their losses differ by a thousandth."""
    ledger = fill(ledger, {arm: [4.0, 4.0, 4.0] for arm in figures})
    for arm, found in figures.items():
        for seed in SEEDS:
            told = {
                name: value + 0.001 * seed * (name != "shift_loss_frozen") for name, value in found.items()
            }
            kept = {"text": {"source": "builtin", "digest": digest}, "study": STUDY, **told}
            (ledger.jobs[arm, seed].folder / "probes" / "domain-shift.json").write_text(json.dumps(kept))
    return again(ledger, ledger.records)


def test_claims_about_adaptation_compare_figures_within_and_across_arms(tmp_path: Path) -> None:
    names = (
        "keys-adapt",
        "keys-reach-half-of-fine-tuning",
        "keys-forget-a-tenth-of-fine-tuning",
        "memory-beats-dense-with-cache",
    )
    ledger = fill_shift(ledger_of(tmp_path, *names), SHIFT)
    results = {result.claim.id: result for result in ledger.results()}
    adapt, half, forget, other = (results[name] for name in names)
    # active - frozen: -0.05, -0.049, -0.048.
    assert adapt.verdict == "supported"
    assert adapt.tests[0].effect is not None
    assert adapt.tests[0].effect.mean == pytest.approx(-0.049)
    # 0.05 + 0.001 s - 0.5 (1 + 0.001 s), of seeds 0 to 2.
    assert half.verdict == "refuted"
    assert half.tests[1].effect is not None
    assert half.tests[1].effect.mean == pytest.approx(-0.4495)
    # 0.001 s - 0.1 (0.4 + 0.001 s).
    assert forget.verdict == "supported"
    assert forget.tests[1].effect is not None
    assert forget.tests[1].effect.mean == pytest.approx(-0.0391)
    assert other.verdict == "not run", "a figure that was not measured leaves its claim open"
    written = page([ledger])
    assert "- New text: `builtin`; the old one is what the arms were trained on." in written
    # Where fine-tuning forgets nothing, a tenth of it is no bar.
    harmless = {**SHIFT, "dense-equal": {"shift_gain_all": 1.0, "shift_forgetting_all_least": 0.0}}
    (result,) = fill_shift(ledger_of(tmp_path / "harmless", names[2]), harmless).results()
    assert result.verdict == "undecided"
    assert result.note == "its premise is refuted (forgetting of dense fine-tuning)"


def test_a_store_keeps_to_the_other_text_that_it_was_begun_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def asked(shift: str | None, data: str = "stories.txt") -> Ledger:
        return Ledger(tmp_path, claims_named(("keys-adapt",)), "micro", SEEDS, data, shift)

    assert asked(None).shift == "builtin"
    (tmp_path / "ledger.json").write_text('{"data": "stories.txt"}')
    assert asked("/far/wiki.txt").shift == "/far/wiki.txt", "a store that has read none yet may read any"
    (tmp_path / "ledger.json").write_text('{"data": "stories.txt", "shift": "/far/wiki.txt"}')
    assert stored_shift(tmp_path) == "/far/wiki.txt"
    assert asked(None).shift == "/far/wiki.txt"
    assert asked("/elsewhere/wiki.txt").jobs["base", 0].shift == "/elsewhere/wiki.txt", (
        "the same file may lie elsewhere"
    )
    assert main(["evidence", "keys-adapt", "--list", "--out", str(tmp_path), "--shift", "builtin"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert (
        f"shift = 'builtin': {tmp_path} was begun with wiki.txt as its other text; leave --shift out, or "
        "name another"
    ) in line


def test_the_other_text_is_looked_at_before_anything_is_trained(tmp_path: Path) -> None:
    ledger = Ledger(
        tmp_path, claims_named(("keys-adapt",)), "micro", (0,), "builtin", str(tmp_path / "no.txt")
    )
    with pytest.raises(ConfigError, match=r"shift = .*no.txt': there is no such file"):
        ledger.run()
    ledger = fill_shift(ledger_of(tmp_path, "keys-adapt"), {"base": SHIFT["base"]}, digest="another")
    with pytest.raises(
        SomelabError,
        match=r"seed-0: has read another text than builtin is now; name another store with --out",
    ):
        ledger.run()


def test_what_was_trained_on_is_no_other_text(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path, "keys-adapt", "wider-is-better", data="builtin")
    assert ledger.jobs["base", 0].probes == ("gravity-cost",)
    keys, wider = ledger.results()
    assert keys.note == "builtin is what the arms were trained on; name text of another kind with --shift"
    assert wider.note == ""


def test_the_list_comes_with_the_package(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = ["--out", str(tmp_path / "store")]
    assert main(["evidence", "--list", "--json", *nowhere]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [one["claim"] for one in listed] == [*CLAIMS, *STREAM_CLAIMS]
    for one in listed:
        assert {"verdict", "effect", "low", "high", "seeds", "scale", "tuned", "rates", "date"} <= set(one)
        # Nothing that is untuned has a verdict.
        assert one["tuned"] or one["verdict"] in ("untuned", "not run")
        assert one["verdict"] in ("not run", "untuned") or (
            one["effect"] is not None and one["seeds"] and one["date"]
        )
    assert main(["evidence", "wider-is-better", "--list", "--json", *nowhere]) == 0
    assert [one["claim"] for one in json.loads(capsys.readouterr().out)] == ["wider-is-better"]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["evidence", "--list", *nowhere]) == 0
    table = plain(capsys.readouterr().out).splitlines()
    assert max(map(len, table)) <= 100
    assert [line.strip() for line in table if line.strip() in TOPICS] == [*TOPICS]
    for claim in CLAIMS.values():
        row = next(i for i, line in enumerate(table) if line.startswith(f"{claim.id} "))
        # Where it was judged may follow.
        assert claim.sentence.startswith(re.split(r"  +", table[row + 1].strip())[0])


def test_what_the_package_says_follows_from_its_own_record() -> None:
    known = read()
    seeds = tuple(sorted({run.seed for run in known.runs.values()} | {0, 1, 2}))
    data, shift = "tinystories-train.txt", "wikitext2-valid-test.txt"
    ledgers = [
        Ledger(Path("nowhere"), [*CLAIMS.values()], scale, seeds, data, shift, length, known)
        for scale in SCALES
        for length in LENGTHS
    ]
    assert json.loads(json.dumps(claim_records(ledgers))) == list(known.claims)


def test_the_command_plans_reports_and_complains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = ["--out", str(tmp_path / "store"), "--data", "stories.txt"]
    assert main(["evidence", "wider-is-better", "--plan", *store]) == 0
    said = capsys.readouterr().out
    assert "wider-is-better" in said
    assert "1 claim at micro scale, short runs, 3 seeds: 6 judged runs of shared arms, 0 finished." in said
    assert main(["evidence", "--plan", "--json", *store]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert (len(planned["claims"]), planned["runs"]) == (len(CLAIMS), len(SEEDS) * len(arms_of_claims()))

    target = tmp_path / "evidence.md"
    assert main(["evidence", "moving-keys-beat-fixed", "--report", "--write", str(target), *store]) == 0
    assert "not run" in capsys.readouterr().out
    assert "| not run |" in target.read_text()
    assert len(read(target.with_suffix(".json")).claims) == len(CLAIMS), (
        "beside a page that was named, not in the package"
    )
    assert main(["evidence", "--report", "--json", "--write", str(target), *store]) == 0
    assert len(json.loads(capsys.readouterr().out)) == len(CLAIMS)

    for argv, complaint in (
        (["evidence", "wider"], "claim = 'wider': is not in the ledger; did you mean wider-is-better?"),
        (["evidence", "--budget", "0"], "budget = 0.0: is not more than 0"),
        (["evidence", "--seeds", "0"], "seeds = 0: is less than 1"),
        (["evidence", "--seeds", "2000"], "seeds = 2000: is more than 1,000"),
    ):
        assert main([*argv, *store]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert complaint in line


def arms_of_claims() -> set[str]:
    return {arm for claim in CLAIMS.values() for arm in claim.arms}


def test_an_arm_that_is_not_tuned_leaves_its_claims_without_a_verdict(tmp_path: Path) -> None:
    losses = {"base": [4.0, 4.1, 4.2], "fixed-keys": [4.1, 4.21, 4.29]}
    ledger = ledger_of(tmp_path, "moving-keys-beat-fixed")
    assert fill(ledger, losses).results()[0].verdict == "supported"
    # The same figures, with the best rate of one arm at the edge of its grid: the optimum may lie beyond.
    edge = again(ledger, tuned(ledger, fixed_keys=14))
    curve = edge.rates.curves["fixed-keys"]
    assert curve.best == 0.128
    assert edge.rates.rate("fixed-keys") is None
    assert edge.rates.rate("base") == 0.016
    # The search wants the next value first; where it cannot be had, the standing says so.
    assert [job.arm for job in edge.order() if "@" in job.arm] == ["fixed-keys@0.181"]
    (result,) = fill(again(edge, edge.records), {"fixed-keys": losses["fixed-keys"]}).results()
    assert result.verdict == "untuned"
    assert not result.is_tuned
    assert result.note == "the best learning rate of fixed-keys is not found yet"


def test_arms_that_share_a_rate_need_a_check_that_agrees(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path, "half-the-tokens-suffice")
    assert ledger.rates.rate("half-the-tokens") == 0.016
    assert again(ledger, tuned(ledger, fixed_keys=9)).rates.rate("half-the-tokens") == 0.016, (
        "half a step apart"
    )
    differs = again(ledger, tuned(ledger, fixed_keys=10))
    assert differs.rates.rate("base") == 0.016
    assert differs.rates.rate("half-the-tokens") is None
    assert differs.rates.problem("half-the-tokens") == (
        "it takes the learning rate of base, but base is best at 0.016 and fixed-keys at 0.032: it needs a "
        "search of its own"
    )
    nothing = ledger_of(tmp_path, "half-the-tokens-suffice", best=None)
    assert nothing.rates.problem("half-the-tokens") == "the best learning rate of base is not found yet"
    assert {job.arm for job in nothing.order()} == {
        f"{arm}@{rate:g}" for arm in ("base", "fixed-keys") for rate in (1.6e-2, 3.2e-2, 6.4e-2)
    }
    assert {(job.seed, job.config.data.purpose) for job in nothing.order()} == {(SEED, "tune")}


def test_the_record_stands_for_runs_that_are_not_on_disk(tmp_path: Path) -> None:
    losses = {"base": [4.0, 4.1, 4.2], "fixed-keys": [4.1, 4.21, 4.29]}
    ledger = fill(ledger_of(tmp_path / "one", "moving-keys-beat-fixed"), losses)
    write(updated(ledger.records, [ledger]), tmp_path / "evidence.json")
    known = read(tmp_path / "evidence.json")
    assert len(known.runs) == 6
    assert known.claims[0]["verdict"] == "supported"
    elsewhere = Ledger(
        tmp_path / "two", ledger.claims, "micro", (0, 1, 2, 3), "/far/stories.txt", None, "short", known
    )
    assert len(elsewhere.finished) == 6
    assert elsewhere.results()[0].verdict == "supported"
    assert [job.key for job in elsewhere.order()] == [("base", 3), ("fixed-keys", 3)]
    assert elsewhere.new_records() == []
    other_text = Ledger(
        tmp_path / "two", ledger.claims, "micro", (0, 1, 2), "other.txt", None, "short", known
    )
    assert other_text.finished == set()
    (tmp_path / "evidence.json").write_text("{")
    with pytest.raises(SomelabError, match=r"evidence.json: cannot be read .*; install somelab again"):
        read(tmp_path / "evidence.json")


def test_a_figure_defined_after_a_run_was_recorded_is_measured_by_training_it_again(tmp_path: Path) -> None:
    losses = {"base": [4.0, 4.1, 4.2], "fixed-keys": [4.1, 4.21, 4.29]}
    ledger = fill(ledger_of(tmp_path / "one", "moving-keys-beat-fixed"), losses)
    known = updated(ledger.records, [ledger])
    assert not any("late_entropy_growth_bits" in run.figures for run in known.runs.values())
    claims = [*ledger.claims, *claims_named(("entropy-grows-gini-stays",))]
    later = Ledger(tmp_path / "two", claims, "micro", (0, 1, 2), "/far/stories.txt", None, "short", known)
    assert {key for key in later.jobs if key not in later.finished} == {("base", seed) for seed in (0, 1, 2)}
    assert {result.claim.id: result.verdict for result in later.results()} == {
        "moving-keys-beat-fixed": "supported",
        "entropy-grows-gini-stays": "not run",
    }
