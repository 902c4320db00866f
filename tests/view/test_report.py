"""The report as a file: data that come out as they went in, whatever text they hold; its size; the command
that writes it."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import numpy as np
import pytest

from somelab.cli.main import main
from somelab.runs import RunFolder
from somelab.view import report
from somelab.view.page.groups import groups_of, page_of, page_with, published_of, run_ids
from somelab.view.page.heavy import Options, complete_run, galaxies_of
from somelab.view.page.packing import log_quantised, packed, quantised, unpacked
from somelab.view.page.payload import run_of
from somelab.view.report import ReportError, data_of, inlined, write_report
from somelab.view.schema.page import Page, Run, Trace, WordUse
from tests.view.builders import append, synthetic_run

TEMPLATE = """<!doctype html><html><head><title>somelab</title></head><body>
<script type="module">const id = "data";</script>
<script type="application/octet-stream" id="data"></script></body></html>"""
NASTY = "</script><script>alert(1)</script> <!-- \u2028 \u2029 ]]> & \" ' \\u003c \x00 \U0001f600 "


def nasty_page(tmp_path: Path) -> Page:
    run = run_of(synthetic_run(tmp_path / "run").path)
    trace = Trace(
        kind="sample",
        title=NASTY,
        step=1,
        read_at_step=1,
        num_prompt_tokens=0,
        tokens=[NASTY],
        word_class=[None],
        layers=[0],
        experts=[[[1, 2]]],
        gates=[[[0.5, 0.5]]],
    )
    return page_with([run.model_copy(update={"traces": [trace], "name": NASTY})], title=NASTY)


def test_data_come_out_as_they_went_in(tmp_path: Path) -> None:
    page = nasty_page(tmp_path)
    assert data_of(inlined(page, TEMPLATE)) == page


def test_no_text_of_the_data_becomes_markup(tmp_path: Path) -> None:
    page = nasty_page(tmp_path)
    written = inlined(page, TEMPLATE)
    assert written.count("<script") == TEMPLATE.count("<script")
    assert written.count("</script>") == TEMPLATE.count("</script>")
    assert "alert(1)</script>" not in written
    assert "\u2028" not in written.split('id="data">')[1]
    title = re.search(r"<title>(.*?)</title>", written, re.DOTALL)
    assert title is not None
    assert "<" not in title[1]
    inside = written.split('id="data">')[1].split("</script>")[0]
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", inside)


def test_a_filled_report_can_be_filled_again(tmp_path: Path) -> None:
    page = nasty_page(tmp_path)
    other = page.model_copy(update={"title": "other"})
    assert data_of(inlined(other, inlined(page, TEMPLATE))) == other


def test_a_page_without_a_place_for_data_is_refused(tmp_path: Path) -> None:
    page = nasty_page(tmp_path)
    with pytest.raises(ReportError, match="has 0 places for data"):
        inlined(page, "<html></html>")
    with pytest.raises(ReportError, match="has 2 places"):
        inlined(page, TEMPLATE + TEMPLATE)
    with pytest.raises(ReportError, match="holds no data"):
        data_of(TEMPLATE)


def test_arrays_travel_as_little_endian() -> None:
    array = np.array([[1, -2], [300, 4]], dtype=np.int16)
    there = packed(array)
    assert base64.b64decode(there.data) == b"\x01\x00\xfe\xff\x2c\x01\x04\x00"
    assert np.array_equal(unpacked(there), array)
    assert np.array_equal(unpacked(packed(array.astype(">i2"))), array)
    assert np.array_equal(unpacked(packed(array.T)), array.T)


def test_use_is_quantised_on_a_log_scale() -> None:
    values = np.array([0.0, 1.0, 99.0, np.nan])
    quantised_values, most = log_quantised(values)
    assert most == 99.0
    assert quantised_values.tolist() == [0, round(255 * np.log(2) / np.log(100)), 255, 0]
    assert log_quantised(np.zeros(3))[0].tolist() == [0, 0, 0]
    assert quantised(np.array([0.0, 1.0, 2.0]))[0].tolist() == [0, 128, 255]


def test_ten_layers_of_512_experts_and_50_snapshots_stay_under_8_megabytes(tmp_path: Path) -> None:
    """With words for each expert and three maps a layer; here PCA thrice, since random walks compress no
    better otherwise."""
    run = synthetic_run(tmp_path / "large", layers=10, experts=512, frames=50, records=400)
    galaxies = galaxies_of(run, ("pca",))
    words = [
        [WordUse(word=f"word{expert * 7919 % 4096}", count=expert, lift=expert / 7) for _ in range(6)]
        for expert in range(512)
    ]
    full = [
        galaxy.model_copy(
            update={
                "maps": [
                    galaxy.maps[0].model_copy(update={"method": method}) for method in ("pca", "tsne", "umap")
                ],
                "words": words,
                "guild": list(range(512)),
                "word_class": ["proper_noun"] * 512,
            }
        )
        for galaxy in galaxies
    ]
    # Deflate looks back 32 kB: three copies of one map, 137 kB each, cost three times one.
    page = page_with([run_of(run.path).model_copy(update={"galaxies": full})])
    size = len(
        inlined(
            page,
            report.static_page()
            if (Path(report.__file__).parent / "static/index.html").exists()
            else TEMPLATE,
        )
    )
    assert 3_000_000 < size < 8_000_000


def test_places_survive_quantisation(tmp_path: Path) -> None:
    run = synthetic_run(tmp_path / "run", experts=20, frames=5)
    (galaxy, _) = galaxies_of(run, ("pca",))
    (chosen,) = galaxy.maps
    xy = unpacked(chosen.xy)
    assert xy.shape == (5, 20, 2)
    assert np.abs(xy).max() == 32767
    from somelab.analysis.maps import pca
    from somelab.analysis.snapshots import read_history

    exact = pca(read_history(run)[0].keys_FED)[0]
    shift = (xy * chosen.scale - exact).reshape(-1, 2)
    assert np.ptp(shift, axis=0).max() <= 2 * chosen.scale
    assert galaxy.steps == [0, 10, 20, 30, 40]
    assert galaxy.way[0] == 0
    assert galaxy.way[-1] == 1
    assert galaxy.way == sorted(galaxy.way)


def test_a_complete_run(some_run: Path) -> None:
    run = complete_run(some_run, options=Options(maps=("pca",), tokens=300, num_permutations=20))
    assert run.left_out == []
    assert run.galaxies is not None
    assert run.guilds is not None
    assert run.traces is not None
    assert [galaxy.layer for galaxy in run.galaxies] == [0, 1, 2]
    for galaxy, layer in zip(run.galaxies, run.guilds, strict=True):
        assert len(galaxy.guild) == len(galaxy.words) == len(galaxy.word_class) == 8
        assert layer.labels == "builtin"
        assert "are exact" in layer.labels_note
        assert "predicts the role in the sentence with NMI" in layer.labels_note
        assert layer.pair_matrix is not None
        assert sorted(layer.pair_order) == list(range(8))
        assert all(galaxy.guild[expert] == guild.id for guild in layer.guilds for expert in guild.experts)
    assert {trace.kind for trace in run.traces} == {"sample", "validation"}
    again = complete_run(some_run, options=Options(maps=("pca",), tokens=300, num_permutations=20))
    assert again == run


def test_without_a_checkpoint_the_maps_are_still_there(tmp_path: Path) -> None:
    run = complete_run(synthetic_run(tmp_path / "run").path, options=Options(maps=("pca",)))
    assert run.galaxies is not None
    assert len(run.galaxies) == 2
    assert run.galaxies[0].words == []
    assert (run.guilds, run.traces) == ([], [])
    assert [part.name for part in run.left_out] == ["guilds", "traces"]
    assert "there is no such checkpoint" in run.left_out[0].reason


def test_data_that_are_gone_leave_the_words_out(some_run: Path, tmp_path: Path) -> None:
    import shutil

    copy = shutil.copytree(some_run, tmp_path / "copy", symlinks=True)
    config = (copy / "config.yaml").read_text()
    (copy / "config.yaml").write_text(config.replace("source: builtin:story", "source: /nowhere/stories.txt"))
    folder = RunFolder(copy)
    folder.accept_config_(folder.config_as_it_is(), step=0)
    run = complete_run(copy, options=Options(maps=("pca",), tokens=100))
    assert [part.name for part in run.left_out] == ["words"]
    assert "there is no such file" in run.left_out[0].reason
    assert run.guilds == []
    assert run.traces
    assert run.galaxies


def of_seed(folder: Path, seed: int, alpha: float = 0.01, *, finished: bool = True) -> Run:
    run = synthetic_run(folder)
    text = (folder / "config.yaml").read_text()
    text = re.sub(r"(?m)^  seed: 0", f"  seed: {seed}", text)
    (folder / "config.yaml").write_text(re.sub(r"(?m)^  alpha: [\d.]+", f"  alpha: {alpha}", text))
    kind = "final" if finished else "evaluation"
    append(run, "metrics", [{"kind": kind, "step": 9, "val_loss": 4.0 + seed, "layers": []}])
    return run_of(folder)


def test_groups_hold_what_differs_in_the_seed_alone(tmp_path: Path) -> None:
    runs = [of_seed(tmp_path / "a", 1), of_seed(tmp_path / "b", 3), of_seed(tmp_path / "c", 3, alpha=0.2)]
    runs.append(run_of(tmp_path / "nowhere"))
    first, second = groups_of(runs)
    assert (first.run_ids, first.seeds, second.run_ids) == (["a", "b"], [1, 3], ["c"])
    loss = first.figures["val_loss"]
    assert (loss.mean, loss.num, loss.values) == (6.0, 2, [5.0, 7.0])
    assert loss.low == pytest.approx(6 - 12.706, abs=1e-3)  # t(0.975, 1) = 12.706, s / sqrt 2 = 1
    assert (second.figures["val_loss"].low, second.figures["val_loss"].mean) == (None, 7.0)
    (published,) = published_of(runs)
    assert published.preset == "a1"
    assert published.total_millions == 419.14
    assert published.epochs[0].ppl_with_padding == 2.43


def test_an_interval_counts_finished_runs_and_every_seed_once(tmp_path: Path) -> None:
    runs = [
        of_seed(tmp_path / "stopped", 0, finished=False),
        of_seed(tmp_path / "one", 1),
        of_seed(tmp_path / "again", 1),
        of_seed(tmp_path / "two", 2),
    ]
    (group,) = groups_of(runs)
    assert group.run_ids == ["stopped", "one", "again", "two"]
    assert group.figures["val_loss"].values == [5.0, 6.0]
    (unfinished,) = groups_of([runs[0], of_seed(tmp_path / "other", 5, finished=False)])
    found = unfinished.figures["val_loss"]
    assert (found.mean, found.low, found.high) == (6.5, None, None)


def test_ids_do_not_clash_and_are_safe_in_an_address() -> None:
    paths = [Path("/x/run a"), Path("/y/run a"), Path("/z/..run<b>"), Path("/")]
    assert run_ids(paths) == ["run-a", "run-a-2", "run-b", "run"]


@pytest.fixture
def template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "static_page", lambda: TEMPLATE)


@pytest.mark.usefixtures("template")
def test_the_command_writes_one_file(
    some_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "report.html"
    strange = tmp_path / "strange"
    strange.mkdir()
    arguments = ["report", str(some_run), str(strange), "-o", str(out), "--maps", "pca", "--tokens", "200"]
    assert main([*arguments, "--data-only", str(tmp_path / "page.json")]) == 0
    said = capsys.readouterr().out
    assert f"{out}: " in said
    assert "strange (foreign)" in said
    page = data_of(out.read_text())
    assert [run.status for run in page.runs] == ["finished", "foreign"]
    assert Page.model_validate_json((tmp_path / "page.json").read_text()) == page
    assert not list(out.parent.glob(".writing-*"))


@pytest.mark.usefixtures("template")
def test_the_command_tells_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, out = synthetic_run(tmp_path / "run"), tmp_path / "r.html"
    assert main(["report", str(run.path), "-o", str(out), "--maps", "pca", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["files"] == {str(out): out.stat().st_size}
    assert told["runs"][0]["left_out"].keys() == {"guilds", "traces"}


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "no run is named"),
        (["/nowhere/run"], "there is no such folder"),
        (["{run}", "--maps", "pca,tsen"], "did you mean tsne"),
        (["{run}", "--tokens", "-1"], "--tokens = -1: is less than 0"),
        (["{run}", "--maps", "pca", "-o", "{run}"], "is a folder; name a file in it"),
    ],
)
@pytest.mark.usefixtures("template")
def test_bad_input_is_one_line(
    arguments: list[str], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = synthetic_run(tmp_path / "run")
    assert main(["report", *(argument.format(run=run.path) for argument in arguments)]) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith("somelab: ")
    assert line in error


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (["-o", "{folder}"], "is a folder; name a file in it"),
        (["-o", "{folder}/file/report.html"], "file is not a folder"),
        (["-o", "{folder}/closed/report.html"], "closed cannot be written"),
        (["-o", "{folder}/closed/new/report.html"], "closed cannot be written"),
        (["-o", "/dev/null"], "is not a regular file"),
        (["-o", "/proc/report.html"], "/proc cannot be written"),
        (["--data-only", "{folder}"], "--data-only"),
        (["--data-only", "{folder}/closed/page.json"], "closed cannot be written"),
        (["--figures", "{folder}/file"], "is not a folder"),
        (["--figures", "{folder}/closed/figures"], "closed cannot be written"),
    ],
)
def test_a_place_that_cannot_be_written_is_told_before_the_work(
    flags: list[str],
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = synthetic_run(tmp_path / "run")
    (tmp_path / "file").touch()
    (tmp_path / "closed").mkdir(mode=0o500)
    # The superuser may write everywhere.
    monkeypatch.setattr(report.os, "access", lambda path, mode: Path(path).name != "closed")
    monkeypatch.setattr("somelab.view.page.groups.page_of", lambda *given: pytest.fail("the work has begun"))
    given = [flag.format(folder=tmp_path) for flag in flags]
    assert main(["report", str(run.path), "--maps", "pca", *given]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert line in error


def test_a_missing_page_is_said_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(report, "files", lambda package: tmp_path)
    assert main(["report", str(synthetic_run(tmp_path / "run").path), "-o", str(tmp_path / "r.html")]) == 2
    assert "the built page is missing" in capsys.readouterr().err


@pytest.mark.usefixtures("template")
def test_writing_is_whole_or_not_at_all(tmp_path: Path) -> None:
    page = nasty_page(tmp_path)
    target = tmp_path / "report.html"
    assert write_report(page, target) == target.stat().st_size
    assert data_of(target.read_text()) == page
    paths = [tmp_path / "run"]
    assert page_of(paths, Options(maps=("pca",))).title == "run"
