"""`somelab bench step`: whole training steps (forward, loss, backward, clip, AdamW, gravity) in the same
decoder, the gain of packing documents over padding them, and steps of the small presets beside a dense block
of the same trained size."""

from __future__ import annotations

from somelab.bench.measuring import Contender, measure
from somelab.bench.notebook import check_notebook_can
from somelab.bench.results import OURS, Result, Row, ratio, rows_of, with_ratios
from somelab.bench.settings import Settings
from somelab.bench.shares import sentence, shares
from somelab.bench.suites import small_steps
from somelab.bench.suites.documents import batch_from, documents
from somelab.bench.suites.training import Stepper, dense_decoder, notebook_decoder
from somelab.config import Config
from somelab.data.batch import Batch
from somelab.model.decoder import Decoder
from somelab.training.loop import micro_rows

DEFAULT = "a1"
OUR_STEP, NOTEBOOK, DENSE, PADDED = (
    "ours, packed",
    "notebook, packed",
    "dense trained, packed",
    "ours, padded",
)
REPETITIONS = 5
BUDGET = 60.0


def run(settings: Settings) -> Result:
    config = settings.config(DEFAULT)
    check_notebook_can(config, settings.name(DEFAULT))
    text, text_name = documents(config, settings.data)
    num_rows = micro_rows(config, 1)
    packed, padded = (batch_from(text, config, num_rows, packed=layout) for layout in (True, False))
    ours = Decoder(config)
    steppers = {
        OUR_STEP: Stepper(ours, config, settings),
        NOTEBOOK: Stepper(notebook_decoder(ours), config, settings),
        DENSE: Stepper(dense_decoder(ours), config, settings),
    }
    settings.announce(f"step: {settings.name(DEFAULT)}, {num_rows} x {config.model.seq_len} tokens")
    contenders = [_contender(name, stepper, packed) for name, stepper in steppers.items()]
    warm = Contender(PADDED, lambda: steppers[OUR_STEP].step_([padded]), steppers[OUR_STEP].rewind_, _nothing)
    contenders.append(warm)
    measured = measure(contenders, settings.times(REPETITIONS), BUDGET)
    profiles = [sentence(contender.name, shares(contender.run)) for contender in contenders[:1]]
    speeds = {
        name: _speeds(padded if name == PADDED else packed, timing.median)
        for name, timing in measured.timings.items()
    }
    kinds = {OUR_STEP: OURS, NOTEBOOK: "notebook", DENSE: "dense", PADDED: "other"}
    notes = {
        NOTEBOOK: "the same decoder and weights; its layers sort, split and loop, and move keys slot by slot",
        DENSE: f"hidden width {config.experts.top_k * config.experts.d_ffn}, trained",
        PADDED: f"one document a sequence, padded to {config.model.seq_len}",
    }
    rows = with_ratios(rows_of(f"a step of {settings.name(DEFAULT)}", measured, kinds, notes, speeds))
    own = [small_steps.run(name, settings) for name in small_steps.PRESETS]
    return Result(
        "step",
        "A training step",
        settings.record(
            preset=settings.name(DEFAULT), rows=num_rows, seq_len=config.model.seq_len, text=text_name
        ),
        [*rows, *(row for part in own for row in part.rows)],
        {**ratios_of(rows), **{name: value for part in own for name, value in part.ratios.items()}},
        {name: value for part in own for name, value in part.figures.items()},
        notes=[
            (
                f"One micro-batch of {num_rows} x {config.model.seq_len} tokens a step, as the trainer takes "
                f"them; the preset accumulates {_accumulated(config, num_rows)} of them."
            ),
            (
                "packed_over_padded compares tokens per second without padding; every other ratio compares "
                "times of the same batch."
            ),
            *profiles,
            *small_steps.NOTES,
            *(note for part in own for note in part.notes),
        ],
    )


def ratios_of(rows: list[Row]) -> dict[str, float | str | None]:
    """Against the published notebooks and a dense block; and tokens/s without padding, packed / padded."""
    named = {row.contender: row for row in rows}
    meaning = {name: row.details.get("meaningful_tokens_per_second") for name, row in named.items()}
    return {
        "notebook": named[NOTEBOOK].ratio,
        "dense_trained": named[DENSE].ratio,
        "packed_over_padded": ratio(meaning[OUR_STEP], meaning[PADDED]),
    }


def _nothing() -> None:
    """The same model has been warmed up with the packed batch."""


def _contender(name: str, stepper: Stepper, batch: Batch) -> Contender:
    return Contender(name, lambda: stepper.step_([batch]), before=stepper.rewind_)


def _speeds(batch: Batch, seconds: float) -> dict[str, float]:
    return {
        "tokens_per_second": batch.tokens_BT.numel() / seconds,
        "meaningful_tokens_per_second": float(batch.meaning_BT.sum()) / seconds,
    }


def _accumulated(config: Config, num_rows: int) -> int:
    return config.train.batch_size // num_rows
