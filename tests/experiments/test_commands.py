"""`somelab sweep` and `somelab evidence` as a person uses them, with arms that train in seconds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from somelab.cli.main import main
from somelab.experiments.claims import claims_named, shell
from somelab.experiments.ledger import records
from somelab.experiments.ledger.store import Ledger
from somelab.experiments.sweeps.series import SERIES
from tests.experiments.builders import plain, tuned
from tests.training.builders import SMALL, flags_of


def test_sweep_lists_its_series(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "--list"]) == 0
    said = capsys.readouterr().out
    for name, series in SERIES.items():
        assert name in said
        assert series.title in said
    assert main(["sweep", "--list", "--json"]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)] == list(SERIES)


def test_a_sweep_of_a_series_with_settings_for_all(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    settings = {**SMALL, "train.steps": 2}
    argv = [
        "sweep",
        "plan-c",
        "--seeds",
        "1",
        "--data",
        str(text),
        "--out",
        str(out),
        "--workers",
        "2",
        *flags_of(settings),
    ]
    assert main([*argv, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [arm["name"] for arm in record["arms"]] == ["mvp-v3", "fixed-keys"]
    assert record["arms"][0]["published"] == {"loss_with_padding": 0.1017, "ppl_with_padding": 1.11}
    assert record["settings"]["data.source"] == text.name
    assert json.loads((out / "table.json").read_text()) == record
    assert (out / "mvp-v3" / "seed-0" / "run.json").exists()
    assert main(argv) == 0
    assert "| fixed-keys - mvp-v3 | 1 |" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    assert main(argv) == 0
    said = plain(capsys.readouterr().out)
    assert max(len(line) for line in said.splitlines() if "every figure" not in line) <= 100
    assert re.search(r"^fixed-keys +\S+ +1 .* from mvp-v3 *$", said, re.MULTILINE)
    assert f"every figure: {out}/table.md" in said


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        ([], "no plan is named; give a series (`somelab sweep --list`) or a YAML file"),
        (["serie-a"], "series = 'serie-a': is not a series; did you mean series-a?"),
        (["none.yaml"], "plan = 'none.yaml': there is no such file"),
        (["series-a", "--seeds", "0"], "seeds = 0: is less than 1"),
        (["series-a", "--workers", "0", "--data", "builtin"], "workers = 0: is less than 1"),
        (["series-a", "--minutes-per-arm", "0"], "minutes-per-arm = 0.0: is not more than 0"),
        (
            ["series-a", "--experts.topk", "2"],
            "experts.topk = '2': is not a setting; did you mean experts.top_k?",
        ),
    ],
)
def test_bad_input_is_one_line(argv: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", *argv]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert complaint in line


def test_evidence_trains_probes_judges_and_writes(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(shell.NUM_STEPS, "short", 8)
    # The searches are on record: `test_tuned_sweep` and `test_tuning` have real ones.
    claims = claims_named(("moving-keys-beat-fixed",))
    known = tuned(Ledger(tmp_path / "store", claims, "micro", (0,), str(text)))
    monkeypatch.setattr(records, "read", lambda: known)
    store, target = tmp_path / "store", tmp_path / "evidence.md"
    argv = [
        "evidence",
        "moving-keys-beat-fixed",
        "--seeds",
        "1",
        "--out",
        str(store),
        "--write",
        str(target),
        "--workers",
        "2",
    ]
    other = tmp_path / "other.txt"
    other.write_text("\n<|endoftext|>\n".join(f"{n} plus {n % 7} makes {n + n % 7}." for n in range(60)))
    assert main([*argv, "--data", str(text), "--shift", str(other)]) == 0
    assert "moving-keys-beat-fixed" in capsys.readouterr().out
    (base,) = (store / "micro").glob("base-*/seed-0")
    cost = json.loads((base / "probes" / "gravity-cost.json").read_text())
    assert cost["saving_every_other_step"] == pytest.approx(cost["gravity_share"] / 2)
    assert cost["gravity_share"] < 1
    assert json.loads((store / "ledger.json").read_text()) == {
        "data": str(text.resolve()),
        "shift": str(other.resolve()),
    }
    shift = json.loads((base / "probes" / "domain-shift.json").read_text())
    assert shift["text"]["source"] == str(other)
    assert shift["shift_gain_cache"] == pytest.approx(shift["shift_loss_frozen"] - shift["shift_loss_cache"])
    page = target.read_text()
    assert "| [moving-keys-beat-fixed](#moving-keys-beat-fixed) | undecided |" in page
    assert "one seed" in page
    # The store knows its text, and nothing is trained for a report.
    target.unlink()
    assert main([*argv, "--report"]) == 0
    assert target.read_text() == page
    # The runs are there: a second call trains nothing, and comes to the same page.
    assert main(argv) == 0
    capsys.readouterr()
    assert target.read_text() == page
    # One seed decides nothing, so the claim is what `--verdict undecided` leaves, at this scale or the next;
    # claims never run are not.
    names, undecided = ["wider-is-better", "moving-keys-beat-fixed"], ["--verdict", "undecided"]
    here = ["--out", str(store)]
    assert main(["evidence", *names, *undecided, "--plan", "--json", "--scale", "mini", *here]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert [row["claim"] for row in planned["claims"]] == ["moving-keys-beat-fixed"]
    assert (planned["runs"], planned["finished"]) == (6, 0)
    assert main(["evidence", *names, "--list", "--json", *undecided, *here]) == 0
    assert [one["claim"] for one in json.loads(capsys.readouterr().out)] == ["moving-keys-beat-fixed"]
    for way in ([], ["--list"]):
        assert main(["evidence", "wider-is-better", *way, *undecided, *here]) == 0
        assert capsys.readouterr().out == f"{store}: none of the claims asked for is undecided\n"
