"""The task of a continual study: one learner, with one random seed, reads the stream; its result is one
file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from somelab.disk import atomic
from somelab.errors import SomelabError

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
    """The arm whose run the learner starts from."""
    tokens: int
    eval_tokens: int
    from_scratch: bool
    rate_factor: float
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
        return "finished"

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
        rate = self.rate_factor * job.config.train.learning_rate
        learner = LEARNERS[self.learner](self._model(job), rate, job.seed)
        result = self._follow(learner, experiences, job.seed)
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
            if isinstance(value, (int, float)) and name != "seed"
        }

    def _model(self, job: Job) -> Decoder:
        from somelab.model import Decoder
        from somelab.runs import RunFolder
        from somelab.runs.trained import load_trained

        if self.from_scratch:
            return Decoder(job.config, seed=job.seed)
        folder = job.folder.parent.parent / self.base / f"seed-{job.seed}"
        return load_trained(RunFolder.open(folder)).model.eval()

    def _follow(self, learner: Learner, experiences: Sequence[Experience], seed: int) -> dict[str, Any]:
        """Train one learner on the stream, and evaluate it on all experiences after each."""
        from somelab.adapt.continual.learners import Joint
        from somelab.adapt.continual.stream import mixed
        from somelab.adapt.reading.score import Score, total, windows

        def look() -> list[float]:
            return [
                learner.measure(experience.validation(), self.eval_tokens).loss for experience in experiences
            ]

        reference = look()
        first = 0 if self.from_scratch else 1
        matrix: list[list[float]] = [reference] if first else []
        online: list[list[Score]] = []
        config = experiences[0].config
        steps = steps_of(self.tokens, config)
        if first:
            learner.finish(lambda: experiences[0].batches(seed, steps))
        remaining = range(first, len(experiences))
        joint = mixed(experiences, seed, steps * len(remaining)) if isinstance(learner, Joint) else None
        for number in remaining:
            batches = islice(joint, steps) if joint is not None else experiences[number].batches(seed, steps)
            online.append(list(learner.learn(batches)))
            learner.finish(lambda own=experiences[number]: own.batches(seed, steps))
            matrix.append(look())
        return {
            "learner": self.learner,
            "seed": seed,
            "experiences": [experience.name for experience in experiences],
            "matrix": matrix,
            "reference": reference,
            **measured(matrix, reference, first),
            "online_loss": total(score for part in online for score in part).loss,
            "online": [[window.loss for window in windows(part, ONLINE_WINDOWS)] for part in online],
            "tokens_per_experience": steps * config.train.batch_size * config.model.seq_len,
            **learner.facts(),
        }


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
