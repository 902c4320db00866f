"""Search several settings at once with Optuna, with pruning. `somelab sweep --tune` searches one setting per
arm and needs no other package; this is for searches over combinations. Needs `pip install 'somelab[search]'`.

Tuning runs are validated on a part of the training text (`data.purpose = tune`) and use another random seed
than the runs that are compared later: the validation text stays unseen."""

import optuna

import somelab

STEPS, TRIALS = 30, 4
SMALL = {"data.train_subset_size": 400, "data.val_subset_size": 20, "train.eval_every": 10}


class Prune(somelab.Callback):
    """Tells Optuna each validation loss, and stops the run as Ctrl-C does if Optuna says so."""

    def __init__(self, trial: optuna.Trial) -> None:
        self.trial, self.pruned, self.loss = trial, False, float("inf")

    def on_evaluation(self, trainer, evaluation, *, final) -> None:
        self.loss = evaluation.val_loss
        self.trial.report(self.loss, trainer.state.step)
        if not final and self.trial.should_prune():
            self.pruned = trainer.stop.requested = True


def objective(trial: optuna.Trial) -> float:
    settings = {
        **SMALL,
        "data.purpose": "tune",
        "train.learning_rate": trial.suggest_float("train.learning_rate", 1e-3, 3e-2, log=True),
        "experts.top_k": trial.suggest_categorical("experts.top_k", [1, 2, 4]),
    }
    watch = Prune(trial)
    out = f"runs/search/trial-{trial.number}"
    somelab.train(
        "some", scale="micro", steps=STEPS, seed=1000, out=out, settings=settings, callbacks=[watch]
    )
    if watch.pruned:
        raise optuna.TrialPruned
    return watch.loss


optuna.logging.set_verbosity(optuna.logging.WARNING)
# storage="sqlite:///search.db" keeps the study, and lets several processes or machines work on it at once.
study = optuna.create_study(
    sampler=optuna.samplers.TPESampler(seed=0),
    pruner=optuna.pruners.MedianPruner(n_startup_trials=2, n_warmup_steps=10),
)
study.optimize(objective, n_trials=TRIALS)
for trial in study.trials:
    print(trial.number, trial.state.name.lower(), trial.params, trial.value)
print("best:", study.best_params)
