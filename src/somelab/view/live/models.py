"""What needs a run's model or its whole history: galaxies, guilds, traces, prompts. One at a time, in the
calling thread, and cached until the run has a newer checkpoint or snapshot."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from somelab.errors import SomelabError
from somelab.runs import RunFolder
from somelab.view.live.journals import snapshot_steps
from somelab.view.live.messages import TraceRequest, TraceResponse

if TYPE_CHECKING:
    from somelab.runs.trained import TrainedModel
    from somelab.view.page.heavy import Options, Studied
    from somelab.view.schema.page import Galaxy, LayerGuilds, Trace

Key = TypeVar("Key")
Value = TypeVar("Value")

MOST_KEPT = 4  # models in memory
MAPS_OF_A_RUNNING_RUN = ("pca",)  # the others are recomputed at every snapshot, which is too slow


class Models:
    """Studies and models of runs, the latest used ones kept. The lock serialises requests."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._lock = threading.Lock()
        self._studies: OrderedDict[Path, tuple[str, Studied]] = OrderedDict()
        self._loaded: OrderedDict[Path, tuple[str, TrainedModel]] = OrderedDict()
        self._galaxies: OrderedDict[tuple[Path, bool], tuple[object, list[Galaxy]]] = OrderedDict()

    def galaxies(self, folder: Path, *, quick: bool) -> list[Galaxy]:
        """Key maps of every layer. Quick: PCA alone, and words only where a study is at hand."""
        from somelab.view.page.heavy import galaxies_of

        run = RunFolder(folder)
        with self._lock, explained(folder):
            study = self._known_study(folder) if quick else self._study_if_any(folder)
            maps = MAPS_OF_A_RUNNING_RUN if quick or run.is_locked else self.options.maps
            state = (frozenset(snapshot_steps(run)), maps, self._studies[folder][0] if study else None)
            known = self._galaxies.get((folder, quick))
            if known is None or known[0] != state:
                known = (state, galaxies_of(run, maps, study, seed=self.options.seed))
                _keep_(self._galaxies, (folder, quick), known)
            return known[1]

    def guilds(self, folder: Path) -> list[LayerGuilds]:
        from somelab.view.page.heavy import guilds_of

        with self._lock, explained(folder):
            study = self._study(folder)
            if study.reading is None and study.left_out:
                raise SomelabError(study.left_out[0].reason)
            return guilds_of(study)

    def traces(self, folder: Path) -> list[Trace]:
        from somelab.view.page.heavy import traces_of

        with self._lock, explained(folder):
            return traces_of(self._study(folder))

    def trace(
        self, folder: Path, request: TraceRequest, has_left: Callable[[], bool] = lambda: False
    ) -> TraceResponse:
        """Continue a prompt with the run's last checkpoint. `has_left`: whether nobody waits for it any more;
        then the text ends at the next token."""
        from somelab.analysis.traces import prompt_trace
        from somelab.view.page.heavy import trace_of

        with self._lock, explained(folder):
            trained = self._model(folder)
            made = prompt_trace(
                trained,
                request.prompt,
                max_new_tokens=request.max_new_tokens,
                temperature=request.temperature,
                seed=request.seed,
                ends=has_left,
            )
            return TraceResponse(text="".join(made.tokens), trace=trace_of(made))

    def _model(self, folder: Path) -> TrainedModel:
        from somelab.runs.trained import load_trained
        from somelab.view.page.heavy import check_files

        known = self._loaded.get(folder)
        if known is None or known[0] != last_checkpoint(folder):
            check_files(RunFolder(folder))
            known = _read_steadily(folder, load_trained)
        _keep_(self._loaded, folder, known)
        return known[1]

    def _study(self, folder: Path) -> Studied:
        from somelab.view.page.heavy import study

        known = self._studies.get(folder)
        if known is None or known[0] != last_checkpoint(folder):
            known = _read_steadily(folder, lambda run: study(run, self.options))
            self._loaded[folder] = (known[0], known[1].trained)
        _keep_(self._studies, folder, known)
        return known[1]

    def _known_study(self, folder: Path) -> Studied | None:
        known = self._studies.get(folder)
        return known[1] if known else None

    def _study_if_any(self, folder: Path) -> Studied | None:
        """Maps need no model: a run without a checkpoint still has them, only without words."""
        try:
            return self._study(folder)
        except SomelabError:
            return None


@contextmanager
def explained(folder: Path) -> Generator[None]:
    """Turn what torch and safetensors raise about a damaged or odd model into one line: the run is at fault,
    not the server."""
    from safetensors import SafetensorError

    try:
        yield
    except (RuntimeError, SafetensorError, MemoryError) as error:
        first = (str(error).strip().splitlines() or [""])[0]
        raise SomelabError(
            f"run {folder}: its model cannot be computed ({type(error).__name__}: {first[:200]}); "
            "train it again, or remove its last checkpoint"
        ) from error


def last_checkpoint(folder: Path) -> str:
    """The name of the last checkpoint, which identifies its content; empty if there is none."""
    last = RunFolder(folder).checkpoints / "last"
    return last.resolve().name if last.is_dir() else ""


def _read_steadily(folder: Path, read: Callable[[RunFolder], Value]) -> tuple[str, Value]:
    """Read a checkpoint that a training process may replace meanwhile: then the next one is read."""
    name = last_checkpoint(folder)
    try:
        return name, read(RunFolder(folder))
    except (SomelabError, OSError):
        if last_checkpoint(folder) == name:
            raise
        return last_checkpoint(folder), read(RunFolder(folder))


def _keep_(kept: OrderedDict[Key, Value], key: Key, value: Value) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > MOST_KEPT:
        kept.popitem(last=False)
