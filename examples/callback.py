"""A callback of your own: it writes how far keys moved in each layer, as CSV, beside the run.

python examples/callback.py
somelab train some --scale micro --steps 100 --callback examples/callback.py
"""

from typing import Any

import somelab


class DriftTable(somelab.Callback):
    """One row a step: step, loss, mean drift of each layer's keys."""

    def on_step(self, trainer: Any, record: Any) -> None:
        drifts = [f"{report.mean_drift:.5f}" for report in record.reports if report is not None]
        with (trainer.run.path / "drift.csv").open("a") as file:
            file.write(",".join([str(record.step), f"{record.loss:.4f}", *drifts]) + "\n")


if __name__ == "__main__":
    settings = {"data.train_subset_size": 500, "data.val_subset_size": 20}
    lm = somelab.train("some", scale="micro", steps=20, settings=settings, callbacks=[DriftTable()])
    print((lm.path / "drift.csv").read_text())
