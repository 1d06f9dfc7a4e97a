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
    """The joined tables that predictions rest on; older runs have no ceilings."""

    timings: pd.DataFrame
    operators: pd.DataFrame
    products: pd.DataFrame
    ceilings: pd.DataFrame | None

    @property
    def graph_gap_ns(self) -> Span:
        """Between two kernels of a graph, as the run's replays show it."""
        if "replayed_median_ms" not in self.timings:
            return GRAPH_GAP_NS
        by = ["case", "phase"]
        work = self.operators.groupby(by)[["calls_per_step", "busy_ms_per_step"]].sum()
        timed = self.timings.set_index(by)["replayed_median_ms"].dropna()
        both = work.join(timed, how="inner")
        beyond_ms = both["replayed_median_ms"] - both["busy_ms_per_step"]
        gaps = (beyond_ms * NS_PER_MS / both["calls_per_step"]).clip(0.0, GAP_NS)
        return Span(*np.quantile(gaps, (0.05, 0.5, 0.95)).tolist()) if len(gaps) else GRAPH_GAP_NS

    def cases(self) -> dict[str, "CaseOfRun"]:
        """All cases in their order."""
        rates = None if self.ceilings is None else rates_of(self.ceilings, self.products)
        work = {name: rows for name, rows in work_of(self.operators).groupby(["case", "phase"])}
        updates = self.operators[self.operators["path"].str.endswith(f"/{OPTIMIZER}")]
        return {
            str(case): CaseOfRun(
                rows.set_index("phase"),
                {phase: work[case, phase] for phase in PHASES if (case, phase) in work},
                updates[updates["case"] == case],
                rates,
            )
            for case, rows in self.timings.groupby("case", sort=False)
        }


@dataclass(frozen=True)
class CaseOfRun:
    """A case's timings and work by phase, its optimizer's operators, and its run's rates."""

    timings: pd.DataFrame
    work: Mapping[str, pd.DataFrame]
    updates: pd.DataFrame
    rates: Rates | None

    @cached_property
    def first(self) -> dict[str, Any]:
        """What all rows of the timings tell of the case."""
        return dict(self.timings.iloc[0])

    @property
    def compiled(self) -> bool:
        """Whether the model runs under torch.compile, which tables of older runs don't tell."""
        return "execution" in self.timings and bool((self.timings["execution"] == COMPILED).all())

    @cached_property
    def optimizer(self) -> str:
        """The implementation of AdamW: of a brought model as its operators tell it."""
        told = self.updates["operator"].str.extract("_(foreach|fused)_")[0].dropna()
        return str(told.min()) if len(told) else str(self.first["optimizer"])

    @cached_property
    def abouts(self) -> dict[str, About]:
        """What is known of each phase that was both timed and recorded."""
        status, first, rates = self.timings["status"], self.first, self.rates
        if rates is None:
            return {}
        # The bytes of addcdiv in a training step tell how many parameters there are, if it has it.
        addcdiv = self.updates["operator"].str.contains("addcdiv")
        parameters = float(self.updates.loc[addcdiv, "bytes_per_step"].sum()) / ADDCDIV_BYTES
        # Products of the models of its size and context don't count.
        mine = f"{first['size']} {first['context']}"
        about = (
            replace(rates, products=rates.products[rates.products["group"] != mine]),
            *(str(first["precision"]), self.optimizer),
            *(int(first["batch"]) * int(first["context"]), parameters),
        )
        return {
            phase: About(launched(rows.reset_index(drop=True)), *about)
            for phase, rows in self.work.items()
            if status.get(phase) == "ok"
        }

    def why_not(self, phase: str) -> str:
        """Why nothing can be told of a phase that was timed; "" if it can."""
        if self.first["device"] != "cuda":
            return "a CPU has no launches to replay"
        if self.compiled:
            return "what a remedy changes in generated code isn't known"
        if self.rates is None:
            return "the run has no table of ceilings"
        return "" if phase in self.abouts else "what launched it wasn't recorded"

    @cached_property
    def phases(self) -> list[tuple[str, str, dict[str, Any]]]:
        """The phases of which something is known, with their last pass and their timings."""
        return [
            (phase, last, dict(self.timings.loc[[phase]].iloc[0]))
            for phase, last in zip(PHASES, PASSES, strict=True)
            if phase in self.abouts
        ]

    @cached_property
    def solutions(self) -> dict[str, Solved]:
        """What each phase tells of its last pass, by that pass's name."""
        found: dict[str, Solved] = {}
        for phase, last, timed in self.phases:
            earlier = NO_HOST | {name: each.host_ns for name, each in found.items()}
            found[last] = solved(self.abouts[phase].step, timed["median_ms"], earlier, last)
        return found

    def plain(self, usual: Mapping[str, Span], graph_gap_ns: Span) -> dict[str, PlainStep]:
        """Each phase without remedies."""
        hosts: dict[str, Span] = {}
        ends = {phase: _ends_ms(timed) for phase, _, timed in self.phases}
        for number, (phase, last, _) in enumerate(self.phases):
            earlier = NO_HOST | {name: each.usual for name, each in hosts.items()}
            # What a phase takes beyond the one before it tells its last pass's.
            both = list(ends.values())[max(number - 1, 0) : number + 1]
            told, step = (usual.get(last), unsure_ms(both)), self.abouts[phase].step
            hosts[last] = host_span(step, self.solutions[last], earlier, last, *told)
        known = dict.fromkeys(PASSES, Span(0.0, 0.0, 0.0)) | hosts
        plain = {}
        for phase, _, timed in self.phases:
            plain_ms = float(timed["median_ms"])
            spread = luck(plain_ms, *ends[phase])
            plain[phase] = PlainStep(self.abouts[phase], plain_ms, known, spread, graph_gap_ns)
        return plain


def _ends_ms(row: Mapping[str, Any]) -> tuple[float, float]:
    """The medians of the fastest and the slowest process; of one, percentiles of its steps."""
    ends = ("fastest_ms", "slowest_ms") if row.get("processes", 1) > 1 else ("p20_ms", "p80_ms")
    return float(row[ends[0]]), float(row[ends[1]])


def predictions(run: Run, only: Sequence[str] = ()) -> Iterator[Row]:
    """A row per case, phase and combination, without the columns of the case but `case`.

    Of `only` some cases, if any; how fast the host launches is told by all.
    """
    cases, graph_gap_ns = run.cases(), run.graph_gap_ns
    solutions = [each.solutions for each in cases.values()]
    usual = usual_hosts({last: [s[last] for s in solutions if last in s] for last in PASSES})
    for name in only or cases:
        case = cases[name]
        first, plain = case.first, dict[str, PlainStep]()
        given = combinations(first["precision"], first["attention"], case.optimizer)
        timed = case.timings[case.timings["status"] == "ok"]
        for phase, plain_ms in timed["median_ms"].items():
            why = case.why_not(str(phase))
            plain = plain if why or plain else case.plain(usual, graph_gap_ns)
            for remedies in given:
                if not (case.compiled and COMPILE in remedies):
                    about: Row = {"case": name, "phase": phase, "remedies": "+".join(remedies)}
                    found = why or plain[str(phase)]
                    yield about | {"plain_ms": float(plain_ms)} | _row(found, remedies)


def _row(plain: PlainStep | str, remedies: Sequence[str]) -> Row:
    """What a phase takes with remedies, or why that isn't known."""
    if isinstance(plain, str):
        return {"status": "not_known", "reason": plain}
    try:
        found = plain.predicted(remedies)
    except NotKnownError as error:
        return {"status": "not_known", "reason": str(error)}
    low, usual, high = found.time_ms
    return {
        "status": "ok", "reason": "", "predicted_ms": usual, "low_ms": low, "high_ms": high,
        "device_ms": found.device_ms, "launches": found.launches,
    }  # fmt: skip
