"""MLflow: a database and a folder of images in the folder `mlflow` of the run, or the server that
MLFLOW_TRACKING_URI names. `mlflow ui --backend-store-uri sqlite:///RUN/mlflow/mlflow.db` shows it."""

from __future__ import annotations

import logging
import os
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from somelab.errors import SomelabError
from somelab.interop.extras import needed
from somelab.interop.trackers.tracker import Entry, Tracker

if TYPE_CHECKING:
    from somelab.training.loop import Trainer

FOLDER, EXPERIMENT = "mlflow", "somelab"
TAG = "somelab.folder"
STATUS = {"finished": "FINISHED", "interrupted": "KILLED", "failed": "FAILED"}
MOST_LETTERS, MOST_AT_ONCE = 500, 100


class MlflowTracker(Tracker):
    def open(self, trainer: Trainer, settings: dict[str, Any]) -> None:
        mlflow = needed("mlflow", "mlflow", "--log mlflow")
        self.entities = needed("mlflow.entities", "mlflow", "--log mlflow")
        logging.getLogger("mlflow").setLevel(logging.WARNING)
        folder = (trainer.run.path / FOLDER).resolve()
        address = os.environ.get("MLFLOW_TRACKING_URI")
        if address is None:
            folder.mkdir(exist_ok=True)
            address = f"sqlite:///{folder / 'mlflow.db'}"
        try:
            self.client: Any = mlflow.MlflowClient(address)
            self.run_id = self._run_id(trainer, folder, settings)
        except Exception as error:  # of several kinds: no server, no login, no driver
            raise SomelabError(
                f"--log mlflow: cannot begin at {address} ({' '.join(str(error).split())}); correct "
                "MLFLOW_TRACKING_URI, or leave it unset to log into the run folder"
            ) from None

    def _run_id(self, trainer: Trainer, folder: Any, settings: dict[str, Any]) -> str:
        """A new run, or that of the same folder if training goes on."""
        found = self.client.get_experiment_by_name(EXPERIMENT)
        local = None if "MLFLOW_TRACKING_URI" in os.environ else (folder / "artifacts").as_uri()
        experiment: str = (
            found.experiment_id
            if found is not None
            else self.client.create_experiment(EXPERIMENT, artifact_location=local)
        )
        path = str(trainer.run.path.resolve())
        if trainer.state.step:
            for run in self.client.search_runs([experiment], f"tags.`{TAG}` = '{path}'"):
                self.client.update_run(run.info.run_id, status="RUNNING")
                return run.info.run_id
        run = self.client.create_run(experiment, run_name=trainer.run.path.resolve().name, tags={TAG: path})
        described = [self.entities.Param(name, str(value)[:MOST_LETTERS]) for name, value in settings.items()]
        for start in range(0, len(described), MOST_AT_ONCE):
            self.client.log_batch(run.info.run_id, params=described[start : start + MOST_AT_ONCE])
        return run.info.run_id

    def write(self, entry: Entry) -> None:
        now = int(time.time() * 1000)
        metrics = [
            self.entities.Metric(name, value, now, entry.step) for name, value in entry.scalars.items()
        ]
        # MLflow has no histograms: their shape is logged as quantiles.
        for name, values_E in entry.histograms.items():
            for share in (0.0, 0.25, 0.5, 0.75, 1.0):
                value = float(np.quantile(values_E, share))
                metrics.append(self.entities.Metric(f"{name}_quantile_{share:.2f}", value, now, entry.step))
        self.client.log_batch(self.run_id, metrics=metrics)
        for name, image in entry.images.items():
            self.client.log_image(self.run_id, image, f"{name}/step_{entry.step:08d}.png")
        for name, text in entry.texts.items():
            self.client.log_text(self.run_id, text, f"{name}/step_{entry.step:08d}.txt")

    def close(self, reason: str) -> None:
        self.client.set_terminated(self.run_id, STATUS.get(reason, "FAILED"))
