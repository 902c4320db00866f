"""The evidence ledger: one store of arms for all claims, their tuned learning rates, the order in which a
budget decides most of them, and the verdicts.

STORE/ledger.json                                the text of training, and the text of the domain shift
STORE/tuning/micro/base-1f2e3d4c/0.008/seed-1000 a tuning run; digits: its configuration without the rate
STORE/micro/base-5a6b7c8d/seed-0/                a judged run; digits: its configuration

What the package has on record (`records`) counts as run: a store needs to hold only what is new."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from statistics import fmean

from somelab.config import Config, override
from somelab.disk import atomic
from somelab.errors import SomelabError
from somelab.experiments.claims import Claim
from somelab.experiments.claims.arms import ARMS
from somelab.experiments.claims.shell import NUM_STEPS, LedgerLength, LedgerScale
from somelab.experiments.ledger.noise import Samples, SeedNoise
from somelab.experiments.ledger.rates import Rates, searches_for
from somelab.experiments.ledger.records import Records, RunRecord, rounded
from somelab.experiments.ledger.texts import checked_shift, stored_data, stored_shift, whole_path
from somelab.experiments.ledger.verdict import (
    ClaimResult,
    Figures,
    TestResult,
    failed_premise,
    judge,
    judge_test,
)
from somelab.experiments.probes.figures import figures_of, losses_by_step
from somelab.experiments.probes.probes import read_shift_digest
from somelab.experiments.probes.shift_probe import NAME as SHIFT_PROBE
from somelab.experiments.probes.shift_probe import text_digest
from somelab.experiments.runner.drive import (
    Driven,
    Prepared,
    Preparer,
    drive,
    executor_of,
    processes_and_threads,
)
from somelab.experiments.runner.estimate import Size, measured_speed, seconds_of, size_of
from somelab.experiments.runner.job import JobOutcome, read_outcome, state_of
from somelab.experiments.runner.plan import Job, identity, text_name, with_seed
from somelab.experiments.runner.task import State
from somelab.experiments.tuning.tuner import check_judging
from somelab.runs import RunFolder

SCALES: tuple[LedgerScale, ...] = ("micro", "mini")
LENGTHS: tuple[LedgerLength, ...] = ("short", "long")
SETTING = "train.learning_rate"
DEFAULT_DATA = "tinystories"
USUAL_SEEDS = 3
PROBE_SECONDS = 40.0
"""Of one core, for a trained run that lacks only probes: the measured time of the domain-shift probe of a
micro run."""
RUNS_TO_TUNE = 3.25
"""Whole runs that a search takes where its first guess is right: four quarters, and three times three
quarters."""


@dataclass(frozen=True)
class Cost:
    """What a claim needs, in seconds of one core."""

    num_runs: int
    num_finished: int
    seconds: float
    """Of all its runs, tuning included."""
    seconds_left: float
    """Of those that are not finished."""


class Ledger:
    """Claims at one scale and one length of training with some seeds, over a store of runs."""

    def __init__(
        self,
        store: Path,
        claims: Sequence[Claim],
        scale: LedgerScale,
        seeds: tuple[int, ...],
        data: str | None,
        shift: str | None = None,
        length: LedgerLength = "short",
        records: Records | None = None,
        arms: Sequence[str] = (),
    ) -> None:
        """`arms`: further ones to tune and judge beside those of the claims."""
        check_judging(seeds)
        self.store, self.claims, self.seeds = (
            store,
            [claim for claim in claims if length in claim.lengths],
            seeds,
        )
        self.scale: LedgerScale = scale
        self.length: LedgerLength = length
        self.records = records or Records()
        self.further_arms = tuple(arms)
        self.data = data or stored_data(store) or DEFAULT_DATA
        self.shift = checked_shift(store, shift)
        self.is_shift = text_name(self.shift) != text_name(self.data)
        """Whether the other text differs from the training text."""
        self.arms = list(dict.fromkeys([*(arm for claim in self.claims for arm in claim.arms), *arms]))
        self.needed: dict[str, set[str]] = {arm: set() for arm in self.arms}
        """What the claims read of each arm and can be measured here, by the name of the figure."""
        for arm, figure in (term[:2] for claim in self.claims for test in claim.tests for term in test.terms):
            if self.is_shift or not figure.startswith("shift_"):
                self.needed[arm].add(figure)
        tuning = store / "tuning" / scale
        self.rates = Rates(tuning, self.arms, scale, length, self._config, self.records)
        self.sizes: dict[str, Size] = {}
        self._look()

    @property
    def texts(self) -> dict[str, str]:
        """The names of the two texts, without paths."""
        return {"data": text_name(self.data), "shift": text_name(self.shift)}

    def _look(self) -> None:
        """Read the state of every search and run."""
        self.rates.look()
        self.jobs: dict[tuple[str, int], Job] = {
            job.key: job for name in self.arms for job in self._jobs_of(name)
        }
        for name in self.arms:
            if name not in self.sizes:
                self.sizes[name] = size_of(self.jobs[name, self.seeds[0]], NUM_STEPS[self.length])
        self.speed = measured_speed([(job, self.sizes[job.arm]) for job in self.jobs.values()])
        self.recorded = {
            key: record for key, job in self.jobs.items() if (record := self._record(job)) is not None
        }
        # A figure that was defined after a run is missing from its record: the run is trained again, and
        # until that is done the record decides what it can.
        lacking = {
            key for key, record in self.recorded.items() if self.needed[key[0]] - record.figures.keys()
        }
        self.states: dict[tuple[str, int], State] = {
            key: "finished" if key in self.recorded and key not in lacking else state_of(job)
            for key, job in self.jobs.items()
        }
        self.finished = {key for key, state in self.states.items() if state == "finished"}
        for key in lacking & self.finished:  # the run on disk has more than the record
            del self.recorded[key]
        self.known = self.finished | self.recorded.keys()
        self._noise: SeedNoise | None = None

    def _config(self, name: str) -> Config:
        from somelab.training.session import anchored

        return anchored(ARMS[name].config(self.scale, self.data, self.length))

    def _jobs_of(self, name: str) -> list[Job]:
        recipe, rate = ARMS[name], self.rates.rate(name)
        config = self._config(name) if rate is None else override(self._config(name), {SETTING: rate})
        folder = self.store / self.scale / f"{name}-{_digest(config)[:8]}"
        probes = tuple(probe for probe in recipe.probes if probe != SHIFT_PROBE or self.is_shift)
        return [
            Job(
                name,
                seed,
                with_seed(config, seed),
                folder / f"seed-{seed}",
                probes,
                recipe.preset,
                self.scale,
                self.shift,
            )
            for seed in self.seeds
        ]

    def _record(self, job: Job) -> RunRecord | None:
        """The record of a run, if it has everything that its job needs, or None."""
        record = self.records.runs.get((_digest(job.config), job.seed))
        if record is None or self.rates.rate(job.arm) is None:
            return None
        lacks_shift = SHIFT_PROBE in job.probes and record.shift != text_name(self.shift)
        return None if lacks_shift else record

    def seconds(self, key: tuple[str, int]) -> float:
        """CPU seconds of a job: measured if it is finished, else estimated."""
        if key in self.recorded:
            return self.recorded[key].cpu_seconds
        if self.states[key] == "trained":
            return PROBE_SECONDS
        outcome = read_outcome(self.jobs[key]) if key in self.finished else None
        return outcome.cpu_seconds if outcome is not None else seconds_of(self.sizes[key[0]], self.speed)

    def cost(self, claims: Sequence[Claim]) -> Cost:
        """What these claims need together; shared arms count once."""
        arms = list(
            dict.fromkeys(arm for claim in claims if claim in self.claims for arm in self._arms_needed(claim))
        )
        keys = [key for key in self.jobs if key[0] in arms]
        taken = sum(self.seconds(key) for key in keys if key in self.finished)
        taken += sum(self._search_seconds(name)[0] for name in searches_for(arms))
        left = sum(self._judging_left(arm) for arm in arms)
        left += sum(self._search_seconds(name)[1] for name in searches_for(arms))
        return Cost(len(keys), len(self.finished.intersection(keys)), taken + left, left)

    def _premises(self, claim: Claim) -> list[TestResult]:
        """The claim's premises as far as they were run."""
        figures = {arm: self.figures(arm) for arm in claim.premise_arms}
        return [judge_test(test, figures, self.noise().of) for test in claim.tests if test.premise]

    def _arms_needed(self, claim: Claim) -> tuple[str, ...]:
        """A claim's arms, without those that a failed premise makes pointless."""
        is_pointless = bool(claim.premise_arms) and failed_premise(self._premises(claim)) is not None
        return claim.premise_arms if is_pointless else claim.arms

    def _arms_now(self, claim: Claim) -> tuple[str, ...]:
        """The arms that a claim needs next: until its premise holds, those that decide about it."""
        is_open = any(one.verdict != "supported" for one in self._premises(claim))
        return claim.premise_arms if is_open else claim.arms

    def _judging_left(self, arm: str) -> float:
        """Seconds of an arm's judged runs that are not finished."""
        return sum(self.seconds((arm, seed)) for seed in self.seeds if (arm, seed) not in self.finished)

    def _search_seconds(self, name: str) -> tuple[float, float]:
        """Of the search for an arm's learning rate: what it took, and what is left."""
        curve, one = self.rates.curves[name], seconds_of(self._size(name), self.speed)
        needed = 0.0 if curve.is_tuned else max(1.0, RUNS_TO_TUNE - curve.num_runs)
        return self._usual_seconds.get(name, one) * curve.num_runs, one * needed

    @cached_property
    def _usual_seconds(self) -> dict[str, float]:
        """What a judged run of an arm took at this scale and length, mean over those on record."""
        taken: dict[str, list[float]] = {}
        for run in self.records.runs.values():
            if (run.scale, run.length) == (self.scale, self.length):
                taken.setdefault(run.arm, []).append(run.cpu_seconds)
        return {arm: fmean(seconds) for arm, seconds in taken.items()}

    def _size(self, name: str) -> Size:
        if name not in self.sizes:
            self.sizes[name] = size_of(self.rates.tuners[name].job(0), NUM_STEPS[self.length])
        return self.sizes[name]

    def order(self) -> list[Job]:
        """What can be run now. Claims are ordered by the additional work they need, so that a budget decides
        the most; within a claim, searches come before judged runs."""
        judging = {arm: self._judging_left(arm) for arm in self.arms}
        searching = {name: self._search_seconds(name)[1] for name in self.rates.tuners}
        waiting, ordered = [self._arms_now(claim) for claim in self.claims], dict[tuple[str, int], Job]()
        while waiting:
            nearest = min(
                waiting,  # the first of equals, in the ledger's order
                key=lambda arms: (
                    sum(judging.get(arm, 0.0) for arm in arms)
                    + sum(searching.get(name, 0.0) for name in searches_for(arms))
                ),
            )
            waiting.remove(nearest)
            ordered.update({job.key: job for job in self._jobs_for(nearest) if job.key not in ordered})
            judging.update(dict.fromkeys(nearest, 0.0))
            searching.update(dict.fromkeys(searches_for(nearest), 0.0))
        further = self._jobs_for(self.further_arms)
        ordered.update({job.key: job for job in further if job.key not in ordered})
        return list(ordered.values())

    def _jobs_for(self, arms: Sequence[str]) -> list[Job]:
        """The tuning runs that these arms need now, then the judged runs of those that are tuned."""
        tuned = [arm for arm in arms if self.rates.rate(arm) is not None]
        judged = [self.jobs[arm, seed] for seed in self.seeds for arm in tuned]
        return [job for job in [*self.rates.jobs(arms), *judged] if job.key not in self.finished]

    def run(
        self,
        *,
        minutes: float | None = None,
        num_workers: int | None = None,
        report: Callable[[str, int], None] | None = None,
    ) -> Driven:
        """Tune, train and probe what is missing, for at most this many minutes; the next call continues."""
        with atomic.explained(self.store):
            self.store.mkdir(parents=True, exist_ok=True)
        num_workers, num_threads = processes_and_threads(num_workers)
        self._check_shift_text()
        preparer = Preparer(report)

        def following() -> list[Prepared]:
            self._look()
            return preparer.prepared(self.order())

        first = following()
        reads = any(SHIFT_PROBE in job.probes for job in self.jobs.values())
        shift = self.shift if reads else stored_shift(self.store)
        texts = {"data": whole_path(self.data), **({"shift": whole_path(shift)} if shift is not None else {})}
        atomic.write_text(self.store / "ledger.json", json.dumps(texts, indent=1) + "\n")
        seconds = None if minutes is None else 60 * minutes
        driven = drive(first, executor_of("local", num_workers, num_threads), num_workers, seconds, following)
        self._look()
        return driven

    def _check_shift_text(self) -> None:
        """Raise, before anything is trained, if the other text cannot be read or is not the one that runs
        here have read."""
        reading = [job for job in self.jobs.values() if SHIFT_PROBE in job.probes]
        digest = text_digest(self.shift) if reading else None
        for job in reading:
            if (read_shift_digest(RunFolder(job.folder)) or digest) != digest:
                remedy = (
                    f"name another store with --out, or remove its probes/{SHIFT_PROBE}.json to measure it "
                    "anew"
                )
                raise SomelabError(f"{job.folder}: has read another text than {self.shift} is now; {remedy}")

    def results(self) -> list[ClaimResult]:
        """Every claim's verdict from the run folders and the record."""
        figures = {arm: self.figures(arm) for arm in self.arms}
        failed = {
            job.arm: outcome.reason for job in self.jobs.values() if (outcome := _failure(job)) is not None
        }
        rates = {name: self.rates.rate(name) for name in self.arms}
        untuned = {name: problem for name in self.arms if (problem := self.rates.problem(name))}
        noise_of = self.noise().of
        results = [
            judge(claim, figures, self.scale, self.length, rates, untuned, noise_of) for claim in self.claims
        ]
        return [self._with_notes(result, failed) for result in results]

    def figures(self, arm: str) -> Figures:
        """What the judged runs of an arm measured, by seed. A run counts when its probes are measured too:
        only then is it on record, and a verdict must follow from the record alone."""

        def one(seed: int) -> dict[str, float]:
            record = self.recorded.get((arm, seed))
            # As the record has them, so that a verdict is the same with and without the run on disk.
            return (
                record.figures
                if record is not None
                else rounded(figures_of(RunFolder(self.jobs[arm, seed].folder)))
            )

        return {seed: one(seed) for seed in self.seeds if (arm, seed) in self.known}

    def noise(self) -> SeedNoise:
        """The variance between seeds, from all arms at this scale and length, of the record and the store."""
        if self._noise is None:
            self._noise = SeedNoise(self._samples())
        return self._noise

    def _samples(self) -> Samples:
        samples: Samples = {}
        for run in self._runs_on_record():
            samples.setdefault((run.arm, run.digest), {})[run.seed] = run.figures
        for arm in self.arms:
            digest = _digest(self.jobs[arm, self.seeds[0]].config)
            samples.setdefault((arm, digest), {}).update(self.figures(arm))
        return samples

    def _runs_on_record(self) -> list[RunRecord]:
        """Those of this scale and length, if they were trained on this ledger's text (or on the built-in one,
        where an arm asks for it)."""
        runs = [
            run
            for run in self.records.runs.values()
            if (run.scale, run.length) == (self.scale, self.length) and run.arm in ARMS
        ]

        def is_of_this_text(run: RunRecord) -> bool:
            return _digest(override(self._config(run.arm), {SETTING: run.rate})) == run.digest

        return runs if any(is_of_this_text(run) for run in runs if not ARMS[run.arm].builtin) else []

    def _with_notes(self, result: ClaimResult, failed: dict[str, str]) -> ClaimResult:
        notes = [
            f"{arm} failed: {failed[arm].partition(';')[0]}" for arm in result.claim.arms if arm in failed
        ]
        if result.claim.reads_shift and not self.is_shift:
            notes.append(
                f"{text_name(self.shift)} is what the arms were trained on; name text of another kind with "
                "--shift"
            )
        return (
            replace(result, note="; ".join([*([result.note] if result.note else []), *notes]))
            if notes
            else result
        )

    def dates(self, claim: Claim) -> list[str]:
        """On which days the runs of a claim were judged."""
        keys = [key for key in self.known if key[0] in claim.arms]
        return sorted(
            {self.recorded[key].date if key in self.recorded else _date(self.jobs[key]) for key in keys}
        )

    def new_records(self) -> list[RunRecord]:
        """The judged runs of the store that are not on record."""
        return [self._recorded(key) for key in sorted(self.finished) if key not in self.recorded]

    def _recorded(self, key: tuple[str, int]) -> RunRecord:
        job, outcome = self.jobs[key], read_outcome(self.jobs[key])
        run = RunFolder(job.folder)
        return RunRecord(
            job.arm,
            self.scale,
            self.length,
            job.seed,
            job.config.train.learning_rate,
            _digest(job.config),
            str(run.facts()["data"]["digest"]),
            text_name(self.shift) if SHIFT_PROBE in job.probes else "",
            _date(job),
            0.0 if outcome is None else round(outcome.cpu_seconds, 1),
            rounded(figures_of(run)),
            rounded({str(step): loss for step, loss in losses_by_step(run).items()}),
        )


def _digest(config: Config) -> str:
    """Identifies a run's configuration without its random seed."""
    return identity(override(config, {"train.seed": 0}))


def _date(job: Job) -> str:
    return (
        datetime.fromtimestamp(job.outcome.stat().st_mtime, timezone.utc).date().isoformat()
        if job.outcome.exists()
        else ""
    )


def _failure(job: Job) -> JobOutcome | None:
    outcome = read_outcome(job)
    return outcome if outcome is not None and outcome.status == "failed" else None
