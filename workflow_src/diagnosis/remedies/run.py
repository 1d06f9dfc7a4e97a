"""The remedies of all cases of a run, from its tables: rows of remedies.csv."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.common.case import COMPILED, PHASES
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.remedies.effects import COMPILE, NotKnownError, combinations
from workflow_src.diagnosis.remedies.host import (
    GAP_NS,
    Solved,
    host_span,
    solved,
    unsure_ms,
    usual_hosts,
)
from workflow_src.diagnosis.remedies.predict import PlainStep, luck
from workflow_src.diagnosis.remedies.rates import About, Rates, Span, rates_of
from workflow_src.diagnosis.remedies.steps import NO_HOST, OPTIMIZER, PASSES, launched, work_of

Row = dict[str, object]

ADDCDIV_BYTES = 16
"""What AdamW's last operator, addcdiv, moves per parameter in float32."""

GRAPH_GAP_NS = Span(0.0, 500.0, 1_500.0)
"""Between two kernels of a graph, where the run replayed none."""


@dataclass(frozen=True)
class Run:
    """The joined tables that predictions rest on; ceilings: None if the run measured none."""

    timings: pd.DataFrame
    operators: pd.DataFrame
    products: pd.DataFrame
    ceilings: pd.DataFrame | None

    @property
    def graph_gap_ns(self) -> Span:
        """Between two kernels of a graph, as the run's replays show it."""
        by = ["case", "phase"]
        work = self.operators.groupby(by)[["calls_per_step", "busy_ms_per_step"]].sum()
        # A run on a CPU replays nothing, and has no such column.
        timed = self.timings.set_index(by).reindex(columns=["replayed_median_ms"]).dropna()
        both = work.join(timed, how="inner")
        beyond_ms = both["replayed_median_ms"] - both["busy_ms_per_step"]
        gaps = (beyond_ms * NS_PER_MS / both["calls_per_step"]).clip(0.0, GAP_NS)
        return Span(*np.quantile(gaps, (0.05, 0.5, 0.95)).tolist()) if len(gaps) else GRAPH_GAP_NS

    def cases(self) -> dict[str, "CaseOfRun"]:
        """All cases in their order."""
        rates = None if self.ceilings is None else rates_of(self.ceilings, self.products)
        work = dict(iter(work_of(self.operators).groupby(["case", "phase"])))
        updates = self.operators[self.operators["path"].str.endswith(f"/{OPTIMIZER}")]
        return {
            str(case): _case(rows.set_index("phase"), work, updates[updates["case"] == case], rates)
            for case, rows in self.timings.groupby("case", sort=False)
        }


Phase = tuple[About, str, float, tuple[float, float]]
"""What is known of a phase, its last pass, its plain time (ms), and the ends of that: the medians
of the fastest and the slowest process, or of a single one percentiles of its steps."""


@dataclass(frozen=True)
class CaseOfRun:
    """A case's timings by phase, and its phases that were both timed and recorded.

    given: the combinations of remedies that change it; reason: why nothing can be told of it, or
    "".
    """

    timings: pd.DataFrame
    phases: Mapping[str, Phase]
    given: Sequence[Sequence[str]]
    reason: str

    @cached_property
    def solutions(self) -> dict[str, Solved]:
        """What each phase tells of its last pass, by that pass's name."""
        found: dict[str, Solved] = {}
        for about, last, plain_ms, _ in self.phases.values():
            earlier = NO_HOST | {name: each.host_ns for name, each in found.items()}
            found[last] = solved(about.step, plain_ms, earlier, last)
        return found

    def plain(self, usual: Mapping[str, Span], graph_gap_ns: Span) -> dict[str, PlainStep]:
        """Each phase without remedies."""
        hosts: dict[str, Span] = {}
        every = [*self.phases.values()]
        for number, (about, last, *_) in enumerate(every):
            earlier = NO_HOST | {name: each.usual for name, each in hosts.items()}
            # What a phase takes beyond the one before it tells its last pass's.
            both = [ends_ms for *_, ends_ms in every[max(number - 1, 0) : number + 1]]
            told = usual.get(last), unsure_ms(both)
            hosts[last] = host_span(about.step, self.solutions[last], earlier, last, *told)
        known = dict.fromkeys(PASSES, Span(0.0, 0.0, 0.0)) | hosts
        return {
            phase: PlainStep(about, plain_ms, known, luck(plain_ms, *ends_ms), graph_gap_ns)
            for phase, (about, _, plain_ms, ends_ms) in self.phases.items()
        }


def _case(
    timings: pd.DataFrame,
    work: Mapping[Any, pd.DataFrame],
    updates: pd.DataFrame,
    rates: Rates | None,
) -> CaseOfRun:
    """A case by its timings by phase, the work of all, and its optimizer's operators."""
    first: Any = timings.iloc[0]
    # The implementation of AdamW of a brought model is told by its operators.
    told = updates["operator"].str.extract("_(foreach|fused)_")[0].dropna()
    optimizer = str(told.min()) if len(told) else str(first["optimizer"])
    compiled = first["execution"] == COMPILED
    given = combinations(first["precision"], first["attention"], optimizer)
    given = [each for each in given if not (compiled and COMPILE in each)]
    reasons = {
        "a CPU has no launches to replay": first["device"] != "cuda",
        "what a remedy changes in generated code isn't known": compiled,
        "the run has no table of ceilings": rates is None,
    }
    reason = next((why for why, holds in reasons.items() if holds), "")
    phases: dict[str, Phase] = {}
    if rates is None:
        return CaseOfRun(timings, phases, given, reason)
    # The bytes of addcdiv in a training step tell how many parameters there are, if it has it.
    addcdiv = updates["operator"].str.contains("addcdiv")
    parameters = float(updates.loc[addcdiv, "bytes_per_step"].sum()) / ADDCDIV_BYTES
    # Products of the models of its size and context don't count.
    others = rates.products["group"] != f"{first['size']} {first['context']}"
    known = replace(rates, products=rates.products[others]), str(first["precision"]), optimizer
    tokens = int(first["batch"]) * int(first["context"])
    for phase, last in zip(PHASES, PASSES, strict=True):
        rows = work.get((first["case"], phase))
        if rows is not None and timings["status"].get(phase) == "ok":
            row: Any = timings.loc[phase]
            about = About(launched(rows.reset_index(drop=True)), *known, tokens, parameters)
            ends = ("fastest_ms", "slowest_ms") if row["processes"] > 1 else ("p20_ms", "p80_ms")
            ends_ms = float(row[ends[0]]), float(row[ends[1]])
            phases[phase] = about, last, float(row["median_ms"]), ends_ms
    return CaseOfRun(timings, phases, given, reason)


def predictions(run: Run, only: Sequence[str] = ()) -> Iterator[Row]:
    """A row per case, phase and combination, without the columns of the case but `case`.

    Of `only` some cases, if any; how fast the host launches is told by all.
    """
    cases, graph_gap_ns = run.cases(), run.graph_gap_ns
    usual = usual_hosts([each.solutions for each in cases.values()])
    for name in only or cases:
        case = cases[name]
        plain = {} if case.reason else case.plain(usual, graph_gap_ns)
        timed = case.timings[case.timings["status"] == "ok"]
        for phase, plain_ms in timed["median_ms"].items():
            why = case.reason or "what launched it wasn't recorded"
            for remedies in case.given:
                about: Row = {"case": name, "phase": phase, "remedies": "+".join(remedies)}
                found = plain.get(str(phase), why)
                yield about | {"plain_ms": float(plain_ms)} | _row(found, remedies)


def _row(plain: PlainStep | str, remedies: Sequence[str]) -> Row:
    """What a phase takes with remedies, or why that isn't known."""
    if isinstance(plain, str):
        return {"status": "not_known", "reason": plain}
    try:
        low, usual, high = plain.predicted(remedies)
    except NotKnownError as error:
        return {"status": "not_known", "reason": str(error)}
    times = {"predicted_ms": usual, "low_ms": low, "high_ms": high}
    return {"status": "ok", "reason": "", **times}
