"""The probe `router-precision`: sets of experts in bf16 against fp32."""

from __future__ import annotations

from pathlib import Path

import pytest

from somelab.experiments.probes.probes import read_probes
from somelab.experiments.runner.job import run_job
from somelab.runs import RunFolder
from tests.experiments.builders import job_of
from tests.training.builders import config_of


@pytest.mark.parametrize("precision", ["model", "fp32"])
def test_an_exact_query_network_has_no_differing_sets(text: Path, tmp_path: Path, precision: str) -> None:
    config = config_of(text, train__steps=2, router__precision=precision, router__centre_queries=True)
    job = job_of(tmp_path / "arm" / "seed-0", config, probes=("router-precision",))
    assert run_job(job, 1).status == "finished"
    found = read_probes(RunFolder(job.folder))
    assert set(found) == {"differing_share", *(f"differing_share_layer_{n}" for n in range(2))}
    if precision == "fp32":
        assert found["differing_share"] == 0
    else:
        assert 0 < found["differing_share"] < 0.5
