"""Attributes the events of a profile to parts of the model. Named ranges are placed around the trainer's
methods while profiling. Forward events belong to the range around them, backward events to the forward
operator of their node."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch.profiler import record_function

from somelab.core.experts import ExpertFamily
from somelab.core.router import Router
from somelab.core.statistics import RoutingStatistics
from somelab.model.attention import Attention
from somelab.model.feedforward import Dense, FrozenDense, LearnedMixture

if TYPE_CHECKING:
    from somelab.training.loop import Trainer

PREFIX = "somelab/"
BACKWARD = "autograd::engine::evaluate_function"
BLOCKS, EVALUATION, OTHER = "embedding, norms", "evaluation", "other"
PARTS = ("attention", "router", "experts", "gravity", "loss", BLOCKS, "optimizer", "data", EVALUATION, OTHER)
NUM_OPERATORS = 10
INSIDE: dict[type, tuple[str, str]] = {
    Attention: ("attention", "forward"),
    Router: ("router", "forward"),
    ExpertFamily: ("experts", "forward"),
    Dense: ("experts", "forward"),
    FrozenDense: ("experts", "forward"),
    LearnedMixture: ("router", "forward"),  # its pool is a part inside it
    RoutingStatistics: ("gravity", "add_"),
}


class Ranges:
    """Named ranges around what a trainer calls, from `enter` to `leave`."""

    def __init__(self) -> None:
        self._undo = ExitStack()

    def enter(self, trainer: Trainer) -> None:
        self._around(trainer, "next_batch_", "data")
        self._around(trainer, "clip_", "optimizer")
        self._around(trainer, "evaluate_", EVALUATION)
        self._around(trainer.optimizer, "step", "optimizer")
        self._around(trainer.optimizer, "zero_grad", "optimizer")
        self._around(trainer.model, "apply_gravity_", "gravity")
        if trainer.config.train.compile:
            return  # a compiled graph cannot be split, and would be recompiled for the ranges
        self._around(trainer.loss, "forward", "loss")
        self._around(trainer.model, "forward", BLOCKS)
        for module in trainer.model.modules():
            for kind, (part, method) in INSIDE.items():
                if isinstance(module, kind):
                    self._around(module, method, part)

    def leave(self) -> None:
        self._undo.close()

    def _around(self, owner: Any, method: str, part: str) -> None:
        """Replace a method by an attribute of the object."""
        plain: Callable[..., Any] = getattr(owner, method)
        shadowed = vars(owner).get(method)

        def ranged(*arguments: Any, **named: Any) -> Any:
            with record_function(PREFIX + part):
                return plain(*arguments, **named)

        def undo() -> None:
            if shadowed is None:
                delattr(owner, method)
            else:  # a schedule or a tracker may have replaced it before
                setattr(owner, method, shadowed)

        setattr(owner, method, ranged)
        self._undo.callback(undo)


@dataclass
class PartTime:
    """Seconds per step of one part."""

    part: str
    forward: float = 0.0
    backward: float = 0.0
    calls: float = 0.0
    """Operators per step."""

    @property
    def seconds(self) -> float:
        return self.forward + self.backward


@dataclass(frozen=True)
class OperatorTime:
    """Seconds per step of one operator with one set of input shapes, without the operators it calls."""

    name: str
    shapes: str
    part: str
    """Where most of that time is spent."""
    seconds: float
    calls: float


@dataclass(frozen=True)
class Breakdown:
    num_steps: int
    seconds: float
    """Wall-clock time of a step."""
    parts: list[PartTime]
    """The slowest first; the time that no event covers is `other`."""
    operators: list[OperatorTime]


def break_down(events: Iterable[Any], num_steps: int, seconds: float) -> Breakdown:
    """Sum up the events of a profile by part. `seconds`: wall-clock time of all steps."""
    events = sorted(
        (event for event in events if not event.is_async), key=lambda event: event.time_range.start
    )
    places = _places(events)
    parts = {part: PartTime(part) for part in PARTS}
    operators: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    calls: Counter[tuple[str, str]] = Counter()
    for event in events:
        part, is_backward = places[event.id]
        own = event.self_cpu_time_total / 1e6 / num_steps
        if is_backward:
            parts[part].backward += own
        else:
            parts[part].forward += own
        if event.is_user_annotation or event.name.startswith(BACKWARD):
            continue
        parts[part].calls += 1 / num_steps
        key = (event.name, _shapes(event.input_shapes))
        operators[key][part] += own
        calls[key] += 1
    each = seconds / num_steps
    parts[OTHER].forward += max(0.0, each - sum(part.seconds for part in parts.values()))
    slowest = sorted(operators, key=lambda key: -operators[key].total())[:NUM_OPERATORS]
    return Breakdown(
        num_steps,
        each,
        sorted((part for part in parts.values() if part.seconds), key=lambda part: -part.seconds),
        [
            OperatorTime(
                *key, operators[key].most_common(1)[0][0], operators[key].total(), calls[key] / num_steps
            )
            for key in slowest
        ],
    )


def _places(events: list[Any]) -> dict[int, tuple[str, bool]]:
    """Room, and whether it is backward, of every event by its id; events are sorted by their start.

    A node of the graph has the sequence number that its operator saw. Operators that make no node see the
    number of the next one, so the last operator with a number created the node. Parents begin before their
    children, and forward before backward."""
    places: dict[int, tuple[str, bool]] = {}
    makers: dict[int, str] = {}
    for event in events:
        above = (OTHER, False) if event.cpu_parent is None else places[event.cpu_parent.id]
        if above[0] == EVALUATION:
            place = above  # evaluation is not part of a training step
        elif event.name.startswith(PREFIX):
            place = (event.name.removeprefix(PREFIX), above[1])  # inside backward: recomputed activations
        elif event.name.startswith(BACKWARD):
            place = (makers.get(event.sequence_nr, above[0]), True)
        else:
            place = above
            if event.sequence_nr >= 0 and not above[1]:
                makers[event.sequence_nr] = place[0]
        places[event.id] = place
    return places


def _shapes(input_shapes: list[Any]) -> str:
    """Shapes of the tensors among the inputs: [256, 64] [64, 64]."""
    return " ".join(str(shape) for shape in input_shapes or [] if shape)
