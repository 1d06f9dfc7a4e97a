"""The remedies of all cases of a run, from its tables: rows of remedies.csv."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.common.case import COMPILED, PHASES
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.remedies.combinations import COMPILE, combinations
from workflow_src.diagnosis.remedies.host import (
    GAP_NS,
    Hosts,
    Solved,
    Told,
    host_span,
    solved,
    unsure_ms,
    usual_hosts,
)
from workflow_src.diagnosis.remedies.phase import About
from workflow_src.diagnosis.remedies.predict import PlainStep, Prediction, luck
from workflow_src.diagnosis.remedies.rates import Rates, rates_of
from workflow_src.diagnosis.remedies.span import Span
from workflow_src.diagnosis.remedies.steps import launched
from workflow_src.diagnosis.remedies.trial import NotKnownError
from workflow_src.diagnosis.remedies.work import NO_HOST, OPTIMIZER, PASSES, work_of

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

    @cached_property
    def rates(self) -> Rates | None:
        """How fast the machine is, if that was measured."""
        return None if self.ceilings is None else rates_of(self.ceilings, self.products)

    @cached_property
    def graph_gap_ns(self) -> Span:
        """Between two kernels of a graph, as the run's replays show it."""
        work = self.operators.groupby(["case", "phase"], sort=False)[
            ["calls_per_step", "busy_ms_per_step"]
        ].sum()
        if "replayed_median_ms" not in self.timings:
            return GRAPH_GAP_NS
        timed = self.timings.set_index(["case", "phase"])["replayed_median_ms"].dropna()
        both = work.join(timed, how="inner")
        if not len(both):
            return GRAPH_GAP_NS
        beyond_ms = both["replayed_median_ms"] - both["busy_ms_per_step"]
        gaps = (beyond_ms * NS_PER_MS / both["calls_per_step"]).clip(0.0, GAP_NS)
        return Span(*(float(q) for q in np.quantile(gaps, (0.05, 0.5, 0.95))))

    @cached_property
    def work(self) -> dict[tuple[str, str], pd.DataFrame]:
        """The work of each case and phase that was recorded."""
        found = work_of(self.operators).groupby(["case", "phase"], sort=False)
        return {
            (str(case), str(phase)): rows.reset_index(drop=True) for (case, phase), rows in found
        }

    def cases(self) -> dict[str, "CaseOfRun"]:
        """All cases in their order."""
        updates = self.operators[self.operators["path"].str.endswith(f"/{OPTIMIZER}")]
        by_case = {str(case): rows for case, rows in updates.groupby("case")}
        found = {}
        for case, rows in self.timings.groupby("case", sort=False):
            work = {
                phase: self.work[str(case), phase]
                for phase in PHASES
                if (str(case), phase) in self.work
            }
            mine = by_case.get(str(case), updates.iloc[:0])
            found[str(case)] = CaseOfRun(rows.set_index("phase"), work, mine, self.rates)
        return found


@dataclass(frozen=True)
class CaseOfRun:
    """A case's timings and work by phase, its optimizer's operators, and its run's rates."""

    timings: pd.DataFrame
    work: dict[str, pd.DataFrame]
    updates: pd.DataFrame
    rates: Rates | None

    @property
    def compiled(self) -> bool:
        """Whether the model runs under torch.compile, which tables of older runs don't tell."""
        told = self.timings.get("execution")
        return told is not None and bool((told == COMPILED).all())

    @cached_property
    def optimizer(self) -> str:
        """The implementation of AdamW: of a brought model as its operators tell it."""
        for name in ("foreach", "fused"):
            if self.updates["operator"].str.contains(f"_{name}_").any():
                return name
        return str(self.timings["optimizer"].iloc[0])

    @cached_property
    def parameters(self) -> float:
        """How many there are, from the bytes of addcdiv in a training step; 0 if it has none."""
        rows = self.updates[self.updates["operator"].str.contains("addcdiv")]
        return float(rows["bytes_per_step"].sum()) / ADDCDIV_BYTES

    def timing(self, phase: str) -> dict[str, Any]:
        """The phase's row of timings."""
        return dict(self.timings.loc[[phase]].iloc[0])

    def plain_ms(self, phase: str) -> float:
        """The phase's median."""
        return float(self.timing(phase)["median_ms"])

    @cached_property
    def abouts(self) -> dict[str, About]:
        """What is known of each phase that was both timed and recorded."""
        return {
            phase: self._about(rows)
            for phase, rows in self.work.items()
            if self.rates is not None
            and phase in self.timings.index
            and self.timings.loc[phase, "status"] == "ok"
        }

    def _about(self, work: pd.DataFrame) -> About:
        first = self.timings.iloc[0]
        assert self.rates is not None, "see abouts"
        return About(
            launched(work),
            self.rates.without(f"{first['size']} {first['context']}"),
            str(first["precision"]),
            self.optimizer,
            int(first["batch"]) * int(first["context"]),
            self.parameters,
        )

    def why_not(self, phase: str) -> str:
        """Why nothing can be told of a phase that was timed; "" if it can."""
        if self.timings["device"].iloc[0] != "cuda":
            return "a CPU has no launches to replay"
        if self.compiled:
            return "what a remedy changes in generated code isn't known"
        if self.rates is None:
            return "the run has no table of ceilings"
        return "" if phase in self.abouts else "what launched it wasn't recorded"

    @cached_property
    def solutions(self) -> dict[str, Solved]:
        """What each phase tells of its last pass, by that pass's name."""
        found: dict[str, Solved] = {}
        for phase, last in zip(PHASES, PASSES, strict=True):
            if phase in self.abouts:
                earlier = NO_HOST | {name: each.host_ns for name, each in found.items()}
                plain_ms = self.plain_ms(phase)
                found[last] = solved(self.abouts[phase].step, plain_ms, earlier, last)
        return found

    def hosts(self, usual: Mapping[str, Span]) -> Hosts:
        """The host's time for a launch in each pass (ns)."""
        found: dict[str, Span] = {}
        for phase, last in zip(PHASES, PASSES, strict=True):
            if last in self.solutions:
                earlier = NO_HOST | {name: each.usual for name, each in found.items()}
                step, solution = self.abouts[phase].step, self.solutions[last]
                told = Told(usual.get(last), self._unsure_ms(phase))
                found[last] = host_span(step, solution, earlier, last, told)
        return found

    def _unsure_ms(self, phase: str) -> float:
        """How far what a phase takes beyond the one before it may be off."""
        timed = [name for name in PHASES[: PHASES.index(phase) + 1] if name in self.abouts][-2:]
        return unsure_ms([_ends_ms(self.timing(name)) for name in timed])

    def plain(self, phase: str, usual: Mapping[str, Span], graph_gap_ns: Span) -> PlainStep:
        """A phase without remedies."""
        hosts = dict(self.hosts(usual))
        for name in PASSES:
            hosts.setdefault(name, Span(0.0, 0.0, 0.0))
        plain_ms = self.plain_ms(phase)
        spread = luck(plain_ms, *_ends_ms(self.timing(phase)))
        return PlainStep(self.abouts[phase], plain_ms, hosts, spread, graph_gap_ns)


def _ends_ms(row: dict[str, Any]) -> tuple[float, float]:
    """The medians of the fastest and the slowest process; of one, percentiles of its steps."""
    ends = ("fastest_ms", "slowest_ms") if row.get("processes", 1) > 1 else ("p20_ms", "p80_ms")
    return float(row[ends[0]]), float(row[ends[1]])


def predictions(run: Run, only: Sequence[str] = ()) -> Iterator[Row]:
    """A row per case, phase and combination, without the columns of the case but `case`.

    Of `only` some cases, if any; how fast the host launches is told by all.
    """
    cases = run.cases()
    bound: dict[str, list[Solved]] = {name: [] for name in PASSES}
    for each in cases.values():
        for last, solution in each.solutions.items():
            bound[last].append(solution)
    usual = usual_hosts(bound)
    for name in only or cases:
        each = cases[name]
        for phase in each.timings.index:
            yield from _phase(name, phase, each, usual, run.graph_gap_ns)


def _phase(
    name: str, phase: str, case: CaseOfRun, usual: Mapping[str, Span], graph_gap_ns: Span
) -> Iterator[Row]:
    first = case.timing(phase)
    if first["status"] != "ok":
        return
    plain: PlainStep | str = case.why_not(phase)
    if not plain:
        plain = case.plain(phase, usual, graph_gap_ns)
    for remedies in combinations(first["precision"], first["attention"], case.optimizer):
        if case.compiled and COMPILE in remedies:
            continue
        about: Row = {"case": name, "phase": phase, "remedies": "+".join(remedies)}
        yield about | {"plain_ms": float(first["median_ms"])} | _row(plain, remedies)


def _row(plain: PlainStep | str, remedies: Sequence[str]) -> Row:
    if isinstance(plain, str):
        return {"status": "not_known", "reason": plain}
    try:
        found = plain.predicted(remedies)
    except NotKnownError as error:
        return {"status": "not_known", "reason": str(error)}
    return _cells(found)


def _cells(found: Prediction) -> Row:
    low, usual, high = found.time_ms
    return {
        "status": "ok", "reason": "", "predicted_ms": usual, "low_ms": low, "high_ms": high,
        "device_ms": found.device_ms, "launches": found.launches,
    }  # fmt: skip
