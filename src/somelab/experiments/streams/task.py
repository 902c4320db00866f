"""The task of a continual study: one learner, with one random seed, reads the stream; its result is one
file."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from somelab.disk import atomic
from somelab.errors import SomelabError
from somelab.experiments.tuning.tuner import DIVERGED

if TYPE_CHECKING:
    from somelab.adapt.continual import measures
    from somelab.adapt.continual.learners import Learner
    from somelab.adapt.continual.stream import Experience
    from somelab.config import Config
    from somelab.experiments.runner.plan import Job
    from somelab.experiments.runner.task import State, Status
    from somelab.model import Decoder

RESULT = "result.json"
ONLINE_WINDOWS = 10


@dataclass(frozen=True)
class FollowStream:
    """Learn the experiences of a stream in order, and evaluate on all of them after each."""

    learner: str
    stream: tuple[tuple[str, str], ...]
    """Name and source of each experience."""
    base: str
    """The folder of the run that the learner starts from, without its seed, relative to the study's."""
    tokens: int
    eval_tokens: int
    from_scratch: bool
    conditions: str
    """What all results of a study share, as JSON."""

    def state(self, job: Job, data_digest: str | None) -> State:
        result = read_result(job.folder)
        if result is None:
            return "new"
        kept: dict[str, Any] = result.get("conditions", {})
        for name, value in json.loads(self.conditions).items():
            if kept.get(name) != value:
                out, problem = job.folder.parent.parent, f"with {name} = {kept.get(name)!r}, not {value!r}"
                raise SomelabError(
                    f"--out {out}: holds a study {problem}; choose another folder, or the same settings"
                )
        # A search that was repeated may have chosen another rate.
        return "finished" if result["learning_rate"] == job.config.train.learning_rate else "new"

    def perform(self, job: Job, num_threads: int) -> Status:
        import torch

        from somelab.adapt.continual.learners import LEARNERS
        from somelab.adapt.continual.stream import open_stream
        from somelab.native import load as load_native
        from somelab.training.machine.process import prepare_process

        prepare_process()
        torch.set_num_threads(num_threads)
        load_native()
        experiences = open_stream(self.stream, job.config)
        learner = LEARNERS[self.learner](self._model(job), job.config.train.learning_rate, job.seed)
        result = self._follow(learner, experiences, job)
        if not math.isfinite(result["average_loss"]):
            raise SomelabError(f"{DIVERGED}: the average loss is not finite; lower the learning rate")
        with atomic.explained(job.folder):
            job.folder.mkdir(parents=True, exist_ok=True)
        content = {**result, "conditions": json.loads(self.conditions)}
        atomic.write_text(job.folder / RESULT, json.dumps(content, indent=1) + "\n")
        return "finished"

    def num_steps(self, job: Job, batches_per_epoch: int) -> int:
        return steps_of(self.tokens, job.config) * (len(self.stream) - (not self.from_scratch))

    def summary(self, job: Job) -> str:
        result = read_result(job.folder)
        return "" if result is None else f"average_loss {result['average_loss']:.4f}"

    def figures(self, job: Job) -> dict[str, float]:
        """Every figure of the result by name, for the table."""
        result = read_result(job.folder) or {}
        return {
            name: float(value)
            for name, value in result.items()
            if isinstance(value, (int, float)) and name not in ("seed", "learning_rate")
        }

    def _model(self, job: Job) -> Decoder:
        from somelab.model import Decoder
        from somelab.runs import RunFolder
        from somelab.runs.trained import load_trained

        if self.from_scratch:
            return Decoder(job.config, seed=job.seed)
        # A tuning run is OUT/tuning/LEARNER-DIGEST/RATE/seed-N, a judged one OUT/LEARNER/seed-N.
        study = job.folder.parents[3 if is_tuning(job) else 1]
        folder = study / self.base / f"seed-{job.seed}"
        return load_trained(RunFolder.open(folder)).model.eval()

    def _follow(self, learner: Learner, experiences: Sequence[Experience], job: Job) -> dict[str, Any]:
        """Train one learner on the stream, and evaluate it on all experiences after each. A tuning run is
        evaluated at the end alone."""
        from somelab.adapt.continual import storage
        from somelab.adapt.continual.learners import Joint
        from somelab.adapt.continual.stream import mixed
        from somelab.adapt.reading.score import Score, total, windows

        def look() -> list[float]:
            losses: list[float] = []
            for number, experience in enumerate(experiences):
                learner.tell(number)
                losses.append(learner.measure(experience.validation(), self.eval_tokens).loss)
            return losses

        seed, tuning = job.seed, is_tuning(job)
        learner.scoring = not tuning
        before, num_before = storage.contents(learner.model), storage.num_parameters(learner.model)
        reference = [] if tuning else look()
        first = 0 if self.from_scratch else 1
        matrix: list[list[float]] = [reference] if first else []
        online: list[list[Score]] = []
        births = Births()
        config = experiences[0].config
        steps = steps_of(self.tokens, config)
        if first:
            learner.tell(0)
            learner.finish(lambda: experiences[0].batches(seed, steps))
        remaining = range(first, len(experiences))
        joint = mixed(experiences, seed, steps * len(remaining)) if isinstance(learner, Joint) else None
        for number in remaining:
            batches = islice(joint, steps) if joint is not None else experiences[number].batches(seed, steps)
            learner.tell(number)
            if joint is None:
                learner.begin(steps)
            elif number == first:
                learner.begin(steps * len(remaining))
            online.append([])
            for score in learner.learn(batches):
                births.note(learner.num_grown, number, sum(one.num_tokens for one in online[-1]))
                online[-1].append(score)
            births.note(learner.num_grown, number, sum(one.num_tokens for one in online[-1]))
            learner.finish(lambda own=experiences[number]: own.batches(seed, steps))
            births.note(learner.num_grown, number, sum(one.num_tokens for one in online[-1]))
            if not tuning:
                matrix.append(look())
        about = {"learner": self.learner, "seed": seed, "learning_rate": learner.learning_rate}
        if tuning:
            return {**about, "average_loss": fmean(look())}
        parameters_added, bytes_added = storage.added(before, num_before, learner.model)
        return {
            **about,
            "experiences": [experience.name for experience in experiences],
            "matrix": matrix,
            "reference": reference,
            **measured(matrix, reference, first),
            "online_loss": total(score for part in online for score in part).loss,
            "online": [[window.loss for window in windows(part, ONLINE_WINDOWS)] for part in online],
            "tokens_per_experience": steps * config.train.batch_size * config.model.seq_len,
            "parameters_added": parameters_added,
            "bytes_added": bytes_added + learner.stored_bytes,
            **learner.facts(),
            **births.record(learner.facts().get("generations", [])),
            **served(learner, experiences, self.eval_tokens),
        }


class Births:
    """When a learner that grows added its generations: the experience, and the tokens of it that were read
    before. The learner does not know where an experience begins."""

    def __init__(self) -> None:
        self.places: list[tuple[int, int]] = []

    def note(self, num_grown: int, experience: int, num_tokens: int) -> None:
        """Called after every batch: generations that are new belong to it."""
        self.places += [(experience, num_tokens)] * (num_grown - len(self.places))

    def record(self, generations: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """The generations as the page reads them: name, at_experience, at_token, parameters, bytes."""
        if not generations:
            return {}
        return {
            "generations": [
                {
                    "name": one["name"],
                    "at_experience": experience,
                    "at_token": num_tokens,
                    "parameters": one["num_parameters"],
                    "bytes": one["num_bytes"],
                    "start_from": one.get("start_from", ""),
                }
                for one, (experience, num_tokens) in zip(generations, self.places, strict=True)
            ]
        }


def served(learner: Learner, experiences: Sequence[Experience], eval_tokens: int) -> dict[str, Any]:
    """The share of each experience's validation tokens that each expert serves at the end, by experience."""
    rows: list[list[float]] = []
    names: list[str] = []
    for experience in experiences:
        sums: dict[str, float] = {}
        num_tokens = 0
        for batch in experience.validation():
            batch = batch.to(learner.device)
            for name, share in learner.shares(batch).items():
                sums[name] = sums.get(name, 0.0) + share * batch.num_counted
            num_tokens += batch.num_counted
            if not sums or num_tokens >= eval_tokens:
                break
        names = list(sums)
        rows.append([value / max(1, num_tokens) for value in sums.values()])
    return {"served": rows, "served_by": names} if names else {}


def is_tuning(job: Job) -> bool:
    """Whether a job only chooses a setting, on text that judges nothing."""
    return job.config.data.purpose == "tune"


def steps_of(tokens: int, config: Config) -> int:
    """Optimizer steps of one experience."""
    return max(1, tokens // (config.train.batch_size * config.model.seq_len))


def measured(matrix: measures.Matrix, reference: Sequence[float], first: int) -> dict[str, float]:
    """The measures of one learner. With a base, the first row is the reference, and transfer counts from the
    third experience."""
    from somelab.adapt.continual import measures

    return {
        "average_loss": measures.average_loss(matrix),
        "forgetting": measures.forgetting(matrix),
        "final_forgetting": measures.final_forgetting(matrix),
        "backward_transfer": measures.backward_transfer(matrix),
        "forward_transfer": measures.forward_transfer(matrix, reference, first + 1),
    }


def read_result(folder: Path) -> dict[str, Any] | None:
    """The result of a learner, or None before it is through."""
    try:
        return json.loads((folder / RESULT).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise SomelabError(f"{folder / RESULT}: cannot be read ({error}); remove it to repeat it") from None
