"""A continual study as a whole: every learner with every seed, each result written to its own file. After a
kill it continues with the learners that have no result yet."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from somelab.adapt.continual import measures
from somelab.adapt.continual.bases import dense_config, some_config, trained_base
from somelab.adapt.continual.learners import LEARNERS, Joint, Learner
from somelab.adapt.continual.stream import Experience, mixed, names_of, open_stream
from somelab.adapt.reading.score import Score, total, windows
from somelab.disk import atomic
from somelab.errors import ConfigError, SomelabError, nearest
from somelab.model import Decoder

ONLINE_WINDOWS = 10


@dataclass(frozen=True)
class StudySettings:
    """The settings of a study: changing any of them makes another study."""

    stream: tuple[str, ...]
    learners: tuple[str, ...] = tuple(LEARNERS)
    scale: str = "micro"
    num_seeds: int = 1
    tokens: int = 100_000
    """Training tokens of each experience."""
    base_factor: int = 4
    """The base is trained on this many times the tokens, of the first experience."""
    from_scratch: bool = False
    eval_tokens: int = 16_384
    rate_factor: float = 0.5
    """Learning rate of the learners, as a share of the base's peak."""
    changes: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        for learner in self.learners:
            if learner not in LEARNERS:
                raise ConfigError("--learners", learner, "is not a learner", nearest(learner, LEARNERS))
        for name in ("num_seeds", "tokens", "eval_tokens"):
            if getattr(self, name) < 1:
                raise ConfigError(name, getattr(self, name), "leaves nothing to do", "choose 1 or more")

    def conditions(self) -> dict[str, Any]:
        """What results must share to be in one table: everything but the learners and the number of seeds."""
        return {
            name: value
            for name, value in json.loads(json.dumps(asdict(self))).items()
            if name not in ("learners", "num_seeds")
        }


def run_study(
    plan: StudySettings, out: Path, progress: Callable[[str], None] | None = None
) -> list[dict[str, Any]]:
    """Results of all learners and seeds, in order; those that `out` already holds are read from there."""
    named = names_of(plan.stream)
    some = some_config(plan.scale, plan.changes)
    configs = {"some": some, "dense": dense_config(some)}
    (out / "results").mkdir(parents=True, exist_ok=True)
    _check_same_study(out, plan)
    experiences = open_stream(named, some)
    results: list[dict[str, Any]] = []
    for seed in range(plan.num_seeds):
        for name in plan.learners:
            path = out / "results" / f"{name}-seed{seed}.json"
            if not path.is_file():
                if progress is not None:
                    progress(f"{name}, seed {seed}")
                learner = _learner(name, plan, configs, experiences, out, seed)
                atomic.write_text(path, json.dumps(_follow(learner, name, plan, experiences, seed), indent=1))
            results.append(json.loads(path.read_text(encoding="utf-8")))
    return results


def _check_same_study(out: Path, plan: StudySettings) -> None:
    path = out / "study.json"
    if path.is_file():
        kept = json.loads(path.read_text(encoding="utf-8"))
        for name, value in plan.conditions().items():
            if kept.get(name) != value:
                problem = f"holds a study with {name} = {kept.get(name)!r}, not {value!r}"
                raise SomelabError(f"--out {out}: {problem}; choose another folder, or the same settings")
    else:
        atomic.write_text(path, json.dumps(plan.conditions(), indent=1))


def num_steps(plan: StudySettings, experience: Experience) -> int:
    """Optimizer steps of one experience."""
    config = experience.config
    return max(1, plan.tokens // (config.train.batch_size * config.model.seq_len))


def _learner(
    name: str,
    plan: StudySettings,
    configs: dict[str, Any],
    experiences: Sequence[Experience],
    out: Path,
    seed: int,
) -> Learner:
    made = LEARNERS[name]
    config = configs[made.feed_forward]
    if plan.from_scratch:
        model = Decoder(config, seed=seed)
    else:
        steps = plan.base_factor * num_steps(plan, experiences[0])
        model = trained_base(
            out / "bases" / f"{made.feed_forward}-seed{seed}", config, experiences[0], steps, seed
        )
    return made(model, plan.rate_factor * config.train.learning_rate, seed)


def _follow(
    learner: Learner, name: str, plan: StudySettings, experiences: Sequence[Experience], seed: int
) -> dict[str, Any]:
    """Train one learner on the stream, and evaluate it on all experiences after each."""

    def look() -> list[float]:
        return [learner.measure(experience.validation(), plan.eval_tokens).loss for experience in experiences]

    reference = look()
    first = 0 if plan.from_scratch else 1
    matrix: list[list[float]] = [reference] if first else []
    online: list[list[Score]] = []
    steps = num_steps(plan, experiences[0])
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
        "learner": name,
        "seed": seed,
        "experiences": [experience.name for experience in experiences],
        "matrix": matrix,
        "reference": reference,
        **measured(matrix, reference, first),
        "online_loss": total(score for part in online for score in part).loss,
        "online": [[window.loss for window in windows(part, ONLINE_WINDOWS)] for part in online],
        "tokens_per_experience": steps
        * experiences[0].config.train.batch_size
        * experiences[0].config.model.seq_len,
        **learner.facts(),
    }


def measured(matrix: measures.Matrix, reference: Sequence[float], first: int) -> dict[str, float]:
    """The measures of one learner. With a base, the first row is the reference, and transfer counts from the
    third experience."""
    return {
        "average_loss": measures.average_loss(matrix),
        "forgetting": measures.forgetting(matrix),
        "final_forgetting": measures.final_forgetting(matrix),
        "backward_transfer": measures.backward_transfer(matrix),
        "forward_transfer": measures.forward_transfer(matrix, reference, first + 1),
    }
