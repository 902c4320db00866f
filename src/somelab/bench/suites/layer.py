"""`somelab bench layer`: one expert pass, forward alone and with backward, under three routings, interleaved.
Tokens and weights are in the measured type, gates in fp32; the routing is given, so that all have the same
load."""

from __future__ import annotations

import torch

from somelab.bench import peers
from somelab.bench.measuring import Contender, Measured, measure, one_line
from somelab.bench.notebook import NotebookExperts
from somelab.bench.results import OURS, Result, Row, fastest, find, ratio, rows_of, with_ratios
from somelab.bench.routings import PATTERNS
from somelab.bench.settings import Settings, Shape, shape_record
from somelab.bench.shares import sentence, shares
from somelab.bench.suites import families, gemm
from somelab.bench.suites.expert_pass import Entrant, Load, Pass, frozen_pass, load_of
from somelab.config import ExpertsConfig
from somelab.core.dispatch import ENGINES
from somelab.core.experts import DenseExperts
from somelab.model.feedforward import Dense

AUTO = "ours (auto)"
NOTEBOOK = "notebook"
DENSE = "dense, trained"
PROFILED = (AUTO, NOTEBOOK, DENSE, families.INT8_POOL, families.HADAMARD)
COMPARED = (*PROFILED, families.HADAMARD_BLOCK, families.DENSE_EQUAL)
"""Measured under every routing; other engines and peers, and forward alone, under uniform routing only, so
that all benchmarks together stay below a quarter of an hour."""
FORWARD, BOTH = "forward", "forward + backward"
REPETITIONS = 7
BUDGET = {FORWARD: 20.0, BOTH: 45.0}


def run(settings: Settings) -> Result:
    shape, dtype = settings.shape(), settings.compute
    entrants = [*_ours(shape, settings), _dense(shape, dtype), *families.entrants(shape, dtype)]
    entrants += peers.peers(dtype)
    products = gemm.gemm_contenders(settings)
    rows, timings, profiles = list[Row](), list[Measured](), list[str]()
    for pattern in PATTERNS:
        load = load_of(shape, pattern, dtype)
        running = entrants if pattern == "uniform" else [one for one in entrants if one.name in COMPARED]
        passes, problems = _prepared(running, load)
        differences = _differences(running, passes)
        for direction in (FORWARD, BOTH) if pattern == "uniform" else (BOTH,):
            settings.announce(f"layer: {pattern}, {direction}")
            contenders = [*_contenders(running, passes, direction), *(products if direction == BOTH else [])]
            measured = measure(contenders, settings.times(REPETITIONS), BUDGET[direction])
            timings.append(measured)
            rows += _rows(case_of(pattern, direction), running, passes, problems, measured, differences)
        profiles += [
            sentence(f"{name}, {pattern}, {BOTH}", shares(passes[name].run_both))
            for name in PROFILED
            if pattern == "uniform"
        ]
    peak = gemm.peaks([measured.timings for measured in timings])
    rows = with_ratios([*rows, *gemm.peak_rows(peak)])
    return Result(
        "layer",
        "One expert pass",
        settings.record(**shape_record(shape), frozen_gflop=shape.frozen_flops / 1e9),
        rows,
        {
            **ratios_of(rows, shape, peak[settings.compute_name]),
            **family_ratios(rows, shape, gemm.int8_peak(peak)),
        },
        notes=[
            (
                "gemm_peak is the time that the products alone would take at the machine's peak / our "
                "time: the share of the peak."
            ),
            (
                f"It counts {shape.frozen_flops / 1e9:.1f} GFLOP: two products forward, two backward, none "
                "for gradients of weights."
            ),
            "best_peer is the quickest of the peers, under uniform routing, forward + backward.",
            *families.notes(shape),
            *profiles,
        ],
    )


def case_of(pattern: str, direction: str) -> str:
    return f"{pattern}, {direction}"


def ratios_of(rows: list[Row], shape: Shape, peak: float) -> dict[str, float | str | None]:
    """The main ratios, all of forward + backward. `peak` in GFLOP/s, of the type that was used."""
    uniform, skewed = case_of("uniform", BOTH), case_of("skewed", BOTH)

    def against(case: str, contender: str) -> float | None:
        row = find(rows, case, contender)
        return row.ratio if row else None

    ours = find(rows, uniform, AUTO)
    peer = fastest(rows, uniform, "peer")
    return {
        "notebook_uniform": against(uniform, NOTEBOOK),
        "notebook_skewed": against(skewed, NOTEBOOK),
        "gemm_peak": ratio(shape.frozen_flops / (peak * 1e9), ours.median if ours else None),
        "dense_trained": against(uniform, DENSE),
        "best_peer": peer.ratio if peer else None,
        "best_peer_name": peer.contender if peer else None,
    }


def family_ratios(rows: list[Row], shape: Shape, int8_peak: float) -> dict[str, float | str | None]:
    """Other time / the time of a pool born in int8, or of Hadamard experts. `int8_peak` in GOP/s."""
    uniform, skewed = case_of("uniform", BOTH), case_of("skewed", BOTH)

    def seconds(case: str, contender: str) -> float | None:
        row = find(rows, case, contender)
        return row.median if row else None

    peer, int8 = fastest(rows, uniform, "peer"), seconds(uniform, families.INT8_POOL)
    return {
        "int8_notebook_uniform": ratio(seconds(uniform, NOTEBOOK), int8),
        "int8_notebook_skewed": ratio(seconds(skewed, NOTEBOOK), seconds(skewed, families.INT8_POOL)),
        "int8_best_peer": ratio(peer.median if peer else None, int8),
        "int8_peak": ratio(shape.frozen_flops / (int8_peak * 1e9), int8),
        "hadamard_frozen": ratio(seconds(uniform, AUTO), seconds(uniform, families.HADAMARD)),
        "modulated_hadamard": ratio(
            seconds(uniform, families.HADAMARD), seconds(uniform, families.MODULATED)
        ),
        "hadamard_dense_equal": ratio(
            seconds(uniform, families.DENSE_EQUAL), seconds(uniform, families.HADAMARD_BLOCK)
        ),
    }


def _ours(shape: Shape, settings: Settings) -> list[Entrant]:
    """Every engine and the notebooks' implementation, on the same pool."""
    config = ExpertsConfig(
        num_experts=shape.num_experts, d_ffn=shape.d_ffn, top_k=shape.top_k, storage=settings.storage
    )
    pool = DenseExperts(shape.d_model, config, seed=0, layer=0)
    entrants = [_engine(pool, name) for name in ENGINES if name != "int8"]  # its pool is another
    notebook = NotebookExperts(pool.weights())
    note = "one module per expert, sort + split + loop, autograd"
    return [
        *entrants,
        Entrant(NOTEBOOK, "notebook", note, lambda load: frozen_pass(notebook, load), comparable=True),
    ]


def _engine(pool: DenseExperts, name: str) -> Entrant:
    config = pool.config.model_copy(update={"engine": name})
    with torch.device("meta"):
        same = DenseExperts(pool.origin.d_model, config, seed=0, layer=0)
    for weight_name, weight in pool.drawn_weights():
        setattr(same, weight_name, weight)
    label, kind = (AUTO, OURS) if name == "auto" else (f"engine {name}", "engine")
    return Entrant(label, kind, "", lambda load: frozen_pass(same, load), comparable=True)


def _dense(shape: Shape, dtype: torch.dtype) -> Entrant:
    width = shape.top_k * shape.d_ffn
    block = Dense(shape.d_model, width, bias=True, layer=0, seed=0).to(dtype)
    note = f"hidden width {width}, gradients of all weights (six products for our four); no routing"
    return Entrant(
        DENSE,
        "dense",
        note,
        lambda load: Pass(lambda: block(load.x_TD), (load.x_TD, *block.parameters()), load.grad_TD),
    )


def _prepared(entrants: list[Entrant], load: Load) -> tuple[dict[str, Pass], dict[str, str]]:
    """Every contender's pass, or the reason why there is none."""
    passes, problems = dict[str, Pass](), dict[str, str]()
    for entrant in entrants:
        try:
            passes[entrant.name] = entrant.prepare(load)
        except peers.NotMeasured as reason:
            problems[entrant.name] = str(reason)
        except Exception as error:
            if entrant.kind != "peer":
                raise
            problems[entrant.name] = one_line(error)
    return passes, problems


def _differences(entrants: list[Entrant], passes: dict[str, Pass]) -> dict[str, float]:
    """The largest difference of every output that should equal ours, relative to the largest value."""
    ours = passes[AUTO].run_forward().float()
    found = dict[str, float]()
    for entrant in entrants:
        if entrant.comparable and entrant.name != AUTO:
            try:
                output = passes[entrant.name].run_forward().float()
            except Exception:  # it cannot run on this machine; the measurement reports why
                continue
            found[entrant.name] = float((output - ours).abs().max() / ours.abs().max())
    return found


def _contenders(entrants: list[Entrant], passes: dict[str, Pass], direction: str) -> list[Contender]:
    ready = [entrant for entrant in entrants if entrant.name in passes]
    return [
        Contender(
            entrant.name,
            passes[entrant.name].run_forward if direction == FORWARD else passes[entrant.name].run_both,
            may_fail=entrant.kind in ("peer", "engine"),
        )
        for entrant in ready
    ]


def _rows(
    case: str,
    entrants: list[Entrant],
    passes: dict[str, Pass],
    problems: dict[str, str],
    measured: Measured,
    differences: dict[str, float],
) -> list[Row]:
    notes = {
        entrant.name: "; ".join(part for part in (entrant.note, passes[entrant.name].note) if part)
        for entrant in entrants
        if entrant.name in passes
    }
    everyone = Measured(measured.timings, {**problems, **measured.problems})
    details = {name: {"difference": difference} for name, difference in differences.items()}
    return rows_of(case, everyone, {entrant.name: entrant.kind for entrant in entrants}, notes, details)
