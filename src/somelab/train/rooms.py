"""Which part of the model a moment of a step belongs to. Ranges are put around the methods of a trainer while a profile is taken,
and its events are then told apart: forward by the range around them, backward by the forward operator that made their node."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch.profiler import record_function

from somelab.core.experts import ExpertPool
from somelab.core.router import Router
from somelab.core.statistics import RoutingStatistics
from somelab.model.attention import Attention
from somelab.model.feedforward import Dense, FrozenDense, LearnedMixture

if TYPE_CHECKING:
    from somelab.train.loop import Trainer

PREFIX = "somelab/"
BACKWARD = "autograd::engine::evaluate_function"
BLOCKS, EVALUATION, OTHER = "embedding, norms", "evaluation", "other"
ROOMS = ("attention", "router", "experts", "gravity", "loss", BLOCKS, "optimizer", "data", EVALUATION, OTHER)
NUM_OPERATORS = 10
INSIDE: dict[type, tuple[str, str]] = {
    Attention: ("attention", "forward"),
    Router: ("router", "forward"),
    ExpertPool: ("experts", "forward"),
    Dense: ("experts", "forward"),
    FrozenDense: ("experts", "forward"),
    LearnedMixture: ("router", "forward"),  # its pool is a room within
    RoutingStatistics: ("gravity", "add_"),
}


class Ranges:
    """Named ranges around what a trainer calls, from `enter` to `leave`; before and after, nothing of it is there."""

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
            return  # a compiled graph has no rooms, and would be compiled anew for the ranges
        self._around(trainer.loss, "forward", "loss")
        self._around(trainer.model, "forward", BLOCKS)
        for module in trainer.model.modules():
            if type(module) in INSIDE:
                room, method = INSIDE[type(module)]
                self._around(module, method, room)

    def leave(self) -> None:
        self._undo.close()

    def _around(self, owner: Any, method: str, room: str) -> None:
        """Shadow a method by an attribute of the object itself."""
        plain: Callable[..., Any] = getattr(owner, method)
        shadowed = vars(owner).get(method)

        def ranged(*arguments: Any, **named: Any) -> Any:
            with record_function(PREFIX + room):
                return plain(*arguments, **named)

        def undo() -> None:
            if shadowed is None:
                delattr(owner, method)
            else:  # a schedule or a tracker may have put its own there
                setattr(owner, method, shadowed)

        setattr(owner, method, ranged)
        self._undo.callback(undo)


@dataclass
class RoomTime:
    """Seconds a step of one room."""

    room: str
    forward: float = 0.0
    backward: float = 0.0
    calls: float = 0.0
    """Operators a step."""

    @property
    def seconds(self) -> float:
        return self.forward + self.backward


@dataclass(frozen=True)
class OperatorTime:
    """Seconds a step of one operator with one set of input shapes, its own time without that of the operators it calls."""

    name: str
    shapes: str
    room: str
    """Where most of that time is spent."""
    seconds: float
    calls: float


@dataclass(frozen=True)
class Breakdown:
    num_steps: int
    seconds: float
    """Of a step, on the clock."""
    rooms: list[RoomTime]
    """The dearest first; the time that no event covers is `other`."""
    operators: list[OperatorTime]


def break_down(events: Iterable[Any], num_steps: int, seconds: float) -> Breakdown:
    """Tell the events of a profile apart. `seconds`: what all steps took on the clock."""
    events = sorted((event for event in events if not event.is_async), key=lambda event: event.time_range.start)
    places = _places(events)
    rooms = {room: RoomTime(room) for room in ROOMS}
    operators: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    calls: Counter[tuple[str, str]] = Counter()
    for event in events:
        room, is_backward = places[event.id]
        own = event.self_cpu_time_total / 1e6 / num_steps
        if is_backward:
            rooms[room].backward += own
        else:
            rooms[room].forward += own
        if event.is_user_annotation or event.name.startswith(BACKWARD):
            continue
        rooms[room].calls += 1 / num_steps
        key = (event.name, _shapes(event.input_shapes))
        operators[key][room] += own
        calls[key] += 1
    each = seconds / num_steps
    rooms[OTHER].forward += max(0.0, each - sum(room.seconds for room in rooms.values()))
    dearest = sorted(operators, key=lambda key: -operators[key].total())[:NUM_OPERATORS]
    return Breakdown(
        num_steps,
        each,
        sorted((room for room in rooms.values() if room.seconds), key=lambda room: -room.seconds),
        [
            OperatorTime(*key, operators[key].most_common(1)[0][0], operators[key].total(), calls[key] / num_steps)
            for key in dearest
        ],
    )


def _places(events: list[Any]) -> dict[int, tuple[str, bool]]:
    """Room, and whether it is backward, of every event by its id; events come in the order in which they began.

    A node of the graph has the sequence number that its operator saw. Operators that make no node see the number of the
    next one, so the last to see a number is its maker. Parents begin before their children, and forward before backward."""
    places: dict[int, tuple[str, bool]] = {}
    makers: dict[int, str] = {}
    for event in events:
        above = (OTHER, False) if event.cpu_parent is None else places[event.cpu_parent.id]
        if above[0] == EVALUATION:
            place = above  # whatever the model does there is no part of a training step
        elif event.name.startswith(PREFIX):
            place = (event.name.removeprefix(PREFIX), above[1])  # inside backward: activations that are computed again
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
