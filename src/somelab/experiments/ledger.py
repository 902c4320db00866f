"""The evidence ledger: one store of arms for all claims, the order in which a budget answers most of them, and the verdicts.

STORE/ledger.json                      which text the arms were trained on, and which other text they read afterwards
STORE/micro/base-1f2e3d4c/seed-0/      a run folder; the digits name its configuration, so that a changed arm is a new one"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from somelab.config import override
from somelab.disk import atomic
from somelab.errors import ConfigError, SomelabError
from somelab.experiments.claims import Claim
from somelab.experiments.claims.arms import ARMS
from somelab.experiments.claims.shell import NUM_STEPS, STEP_TOKENS, LedgerScale
from somelab.experiments.drive import Driven, Prepared, drive, executor_of, prepared_jobs, room
from somelab.experiments.estimate import Size, measured_speed, seconds_of, size_of
from somelab.experiments.figures import figures_of
from somelab.experiments.job import JobOutcome, State, read_outcome, state_of
from somelab.experiments.plan import DEFAULT_SHIFT, Job, identity, text_name, with_seed
from somelab.experiments.probes import read_shift_digest
from somelab.experiments.shift_probe import NAME as SHIFT_PROBE
from somelab.experiments.shift_probe import text_digest
from somelab.experiments.verdict import ClaimResult, Figures, judge
from somelab.runs import RunFolder

SCALES: tuple[LedgerScale, ...] = ("micro", "mini")
DEFAULT_DATA = "tinystories"
USUAL_SEEDS = 3
PROBE_SECONDS = 40.0
"""Of one core, for a run that is trained and lacks probes only: what reading other text in every way took a micro run."""


@dataclass(frozen=True)
class Cost:
    """What a claim needs, in seconds of one core."""

    num_runs: int
    num_finished: int
    seconds: float
    """Of all its runs."""
    seconds_left: float
    """Of those that are not finished."""


class Ledger:
    """Claims at one scale with some seeds, over a store of runs."""

    def __init__(
        self,
        store: Path,
        claims: Sequence[Claim],
        scale: LedgerScale,
        seeds: tuple[int, ...],
        data: str | None,
        shift: str | None = None,
    ) -> None:
        self.store, self.claims, self.seeds = store, list(claims), seeds
        self.scale: LedgerScale = scale
        self.data = data or stored_data(store) or DEFAULT_DATA
        self.shift = _checked_shift(store, shift)
        self.is_shift = text_name(self.shift) != text_name(self.data)
        """Whether the other text is another one: what was trained on is no shift, and is not read for one."""
        names = dict.fromkeys(arm for claim in self.claims for arm in claim.arms)
        self.jobs: dict[tuple[str, int], Job] = {}
        self.sizes: dict[str, Size] = {}
        for name in names:
            for job in self._jobs_of(name):
                self.jobs[job.key] = job
            self.sizes[name] = size_of(self.jobs[name, seeds[0]], _num_steps(self.jobs[name, seeds[0]]))
        self._look()

    def _look(self) -> None:
        """See where every run stands."""
        self.states: dict[tuple[str, int], State] = {key: state_of(job) for key, job in self.jobs.items()}
        self.finished = {key for key, state in self.states.items() if state == "finished"}

    def _jobs_of(self, name: str) -> list[Job]:
        from somelab.train.session import anchored

        recipe = ARMS[name]
        config = anchored(recipe.config(self.scale, self.data))
        folder = self.store / self.scale / f"{name}-{identity(override(config, {'train.seed': 0}))[:8]}"
        probes = tuple(probe for probe in recipe.probes if probe != SHIFT_PROBE or self.is_shift)
        return [
            Job(name, seed, with_seed(config, seed), folder / f"seed-{seed}", probes, recipe.preset, self.scale, self.shift)
            for seed in self.seeds
        ]

    def seconds(self, key: tuple[str, int], speed: float) -> float:
        """CPU seconds of a job: what it took where it is finished, else the estimate of what is missing."""
        if self.states[key] == "trained":
            return PROBE_SECONDS
        outcome = read_outcome(self.jobs[key]) if key in self.finished else None
        return outcome.cpu_seconds if outcome is not None else seconds_of(self.sizes[key[0]], speed)

    def speed(self) -> float:
        return measured_speed([(job, self.sizes[job.arm]) for job in self.jobs.values()])

    def cost(self, claims: Sequence[Claim]) -> Cost:
        """What these claims need together; shared arms count once."""
        keys = [key for key in self.jobs if any(key[0] in claim.arms for claim in claims)]
        speed = self.speed()
        seconds = {key: self.seconds(key, speed) for key in keys}
        left = sum(value for key, value in seconds.items() if key not in self.finished)
        return Cost(len(keys), sum(key in self.finished for key in keys), sum(seconds.values()), left)

    def order(self) -> list[Job]:
        """All jobs, those first that complete a claim at the least further cost: a budget then answers the most claims."""
        speed = self.speed()
        seconds = {key: self.seconds(key, speed) for key in self.jobs}
        ordered: dict[tuple[str, int], Job] = {key: self.jobs[key] for key in self.jobs if key in self.finished}
        waiting = list(self.claims)
        while waiting:

            def further(claim: Claim) -> float:
                return sum(seconds[key] for key in self.jobs if key[0] in claim.arms and key not in ordered)

            nearest = min(waiting, key=further)  # the first of equals, in the ledger's order
            waiting.remove(nearest)
            ordered.update({(arm, seed): self.jobs[arm, seed] for seed in self.seeds for arm in nearest.arms})
        return list(ordered.values())

    def run(
        self, *, minutes: float | None = None, num_workers: int | None = None, report: Callable[[str, int], None] | None = None
    ) -> Driven:
        """Train and probe what is missing, for so many minutes at most; what is not done then goes on in the next call."""
        with atomic.explained(self.store):
            self.store.mkdir(parents=True, exist_ok=True)
        num_workers, num_threads = room(num_workers)
        self._check_shift_text()
        looked_at: list[Prepared] = prepared_jobs(self.order(), report)
        reads = any(SHIFT_PROBE in job.probes for job in self.jobs.values())
        shift = self.shift if reads else stored_shift(self.store)
        texts = {"data": _whole_path(self.data), **({"shift": _whole_path(shift)} if shift is not None else {})}
        atomic.write_text(self.store / "ledger.json", json.dumps(texts, indent=1) + "\n")
        driven = drive(
            looked_at, executor_of("local", num_workers, num_threads), num_workers, None if minutes is None else 60 * minutes
        )
        self._look()
        return driven

    def _check_shift_text(self) -> None:
        """Refuse, before anything is trained, another text that cannot be read, or that is not what runs here have read."""
        reading = [job for job in self.jobs.values() if SHIFT_PROBE in job.probes]
        digest = text_digest(self.shift) if reading else None
        for job in reading:
            if (read_shift_digest(RunFolder(job.folder)) or digest) != digest:
                remedy = f"name another store with --out, or remove its probes/{SHIFT_PROBE}.json to measure it anew"
                raise SomelabError(f"{job.folder}: has read another text than {self.shift} is now; {remedy}")

    def results(self) -> list[ClaimResult]:
        """Every claim's verdict from the run folders as they are. A missing probe leaves open what needs it, and no more."""
        figures: dict[str, Figures] = {}
        for arm, seed in sorted(key for key, state in self.states.items() if state in ("trained", "finished")):
            figures[arm] = {**figures.get(arm, {}), seed: figures_of(RunFolder(self.jobs[arm, seed].folder))}
        failed = {job.arm: outcome.reason for job in self.jobs.values() if (outcome := _failure(job)) is not None}
        results = [judge(claim, figures, self.scale) for claim in self.claims]
        return [self._with_notes(result, failed) for result in results]

    def _with_notes(self, result: ClaimResult, failed: dict[str, str]) -> ClaimResult:
        notes = [f"{arm} failed: {failed[arm].partition(';')[0]}" for arm in result.claim.arms if arm in failed]
        if result.claim.reads_shift and not self.is_shift:
            notes.append(f"{text_name(self.shift)} is what the arms were trained on; name text of another kind with --shift")
        return replace(result, note="; ".join([*([result.note] if result.note else []), *notes])) if notes else result


def _failure(job: Job) -> JobOutcome | None:
    outcome = read_outcome(job)
    return outcome if outcome is not None and outcome.status == "failed" else None


def _num_steps(job: Job) -> int:
    steps = job.config.train.steps
    assert steps is not None, "arms of the ledger are equal in steps, not in epochs or minutes"
    return steps


def _whole_path(data: str) -> str:
    """A text file by its whole path, so that the store can be gone on with from any folder."""
    return str(Path(data).resolve()) if Path(data).exists() else data


def stored_data(store: Path) -> str | None:
    """The text that a store was begun with; None where there is no store."""
    texts = _stored_texts(store)
    return None if texts is None else texts["data"]


def stored_shift(store: Path) -> str | None:
    """The text of another kind that a store's runs read; None where none has been yet."""
    return (_stored_texts(store) or {}).get("shift")


def _stored_texts(store: Path) -> dict[str, str] | None:
    try:
        kept = json.loads((store / "ledger.json").read_text(encoding="utf-8"))
        return {"data": str(kept["data"]), **({"shift": str(kept["shift"])} if "shift" in kept else {})}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SomelabError(f"{store}/ledger.json: cannot be read ({error}); restore it, or name another store with --out") from None


def _checked_shift(store: Path, asked: str | None) -> str:
    """The other text of a store: what it was begun with, and nothing else, since figures on two texts do not compare."""
    begun = stored_shift(store)
    if asked is not None and begun is not None and text_name(asked) != text_name(begun):
        remedy = "leave --shift out, or name another store with --out"
        raise ConfigError("shift", asked, f"{store} was begun with {text_name(begun)} as its other text", remedy)
    return asked or begun or DEFAULT_SHIFT


def stored_seeds(store: Path, scale: str, least: int) -> tuple[int, ...]:
    """All seeds that a store has at a scale, and at least the first ones: verdicts use what there is."""
    found = {int(path.name.removeprefix("seed-")) for path in (store / scale).glob("*/seed-*") if path.is_dir()}
    return tuple(sorted(found | set(range(least))))


def num_tokens(scale: LedgerScale) -> int:
    """What an arm of the ledger is trained on."""
    return NUM_STEPS[scale] * STEP_TOKENS
