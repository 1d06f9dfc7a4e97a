"""The remedies of all cases of a run, from its tables: rows of remedies.csv."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from workflow_src.common.case import PHASES
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.remedies.combinations import combinations
from workflow_src.diagnosis.remedies.effects import About, NotKnownError
from workflow_src.diagnosis.remedies.host import (
    Hosts,
    Solved,
    host_span,
    solved,
    usual_hosts,
)
from workflow_src.diagnosis.remedies.predict import MEASURED, PlainStep, Prediction
from workflow_src.diagnosis.remedies.rates import Rates, rates_of
from workflow_src.diagnosis.remedies.span import Span
from workflow_src.diagnosis.remedies.steps import launched
from workflow_src.diagnosis.remedies.work import OPTIMIZER, PASSES, work_of

Row = dict[str, object]

ADDCDIV_BYTES = 16
"""What AdamW's last operator, addcdiv, moves per parameter in float32."""

GRAPH_GAP_NS = Span(0.0, 500.0, 1_500.0)
"""Between two kernels of a graph, where the run replayed none."""


@dataclass(frozen=True)
class Run:
    """The joined tables that predictions rest on."""

    timings: pd.DataFrame
    operators: pd.DataFrame
    products: pd.DataFrame
    ceilings: pd.DataFrame

    @cached_property
    def rates(self) -> Rates:
        """How fast the machine is."""
        return rates_of(self.ceilings, self.products)

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
        gaps = (beyond_ms * NS_PER_MS / both["calls_per_step"]).clip(lower=0.0)
        return Span(*(float(q) for q in np.quantile(gaps, (0.05, 0.5, 0.95))))

    def case(self, name: str) -> "CaseOfRun":
        """A case's rows."""
        timings = self.timings[self.timings["case"] == name].set_index("phase")
        operators = self.operators[self.operators["case"] == name]
        return CaseOfRun(timings, operators, self.rates)


@dataclass(frozen=True)
class CaseOfRun:
    """A case's timings by phase, its operators, and its run's rates."""

    timings: pd.DataFrame
    operators: pd.DataFrame
    rates: Rates

    @cached_property
    def abouts(self) -> dict[str, About]:
        """What is known of each phase that was both timed and recorded."""
        return {
            phase: self._about(phase)
            for phase in PHASES
            if phase in self.timings.index
            and self.timings.loc[phase, "status"] == "ok"
            and (self.operators["phase"] == phase).any()
        }

    def _about(self, phase: str) -> About:
        first = self.timings.iloc[0]
        rows = self.operators[self.operators["phase"] == phase]
        group = f"{first['size']} {first['context']}"
        return About(
            launched(work_of(rows)),
            self.rates.without(group),
            str(first["precision"]),
            _optimizer_of(first["optimizer"], self.operators),
            int(first["batch"]) * int(first["context"]),
            _parameters(self.operators),
        )

    @cached_property
    def solutions(self) -> dict[str, Solved]:
        """What each phase tells of its last pass, by that pass's name."""
        found: dict[str, Solved] = {}
        for phase, last in zip(PHASES, PASSES, strict=True):
            if phase in self.abouts:
                earlier = {name: each.host_ns for name, each in found.items()}
                for name in PASSES:
                    earlier.setdefault(name, 0.0)
                plain_ms = float(self.timings.loc[phase, "median_ms"])
                found[last] = solved(self.abouts[phase].step, plain_ms, earlier, last)
        return found

    def hosts(self, usual: Mapping[str, Span]) -> Hosts:
        """The host's time for a launch in each pass (ns)."""
        found: dict[str, Span] = {}
        for phase, last in zip(PHASES, PASSES, strict=True):
            if last in self.solutions:
                earlier = {name: each.usual for name, each in found.items()}
                for name in PASSES:
                    earlier.setdefault(name, 0.0)
                step, solution = self.abouts[phase].step, self.solutions[last]
                found[last] = host_span(step, solution, earlier, last, usual.get(last))
        return found

    def plain(self, phase: str, usual: Mapping[str, Span], graph_gap_ns: Span) -> PlainStep:
        """A phase without remedies."""
        row, hosts = self.timings.loc[phase], dict(self.hosts(usual))
        for name in PASSES:
            hosts.setdefault(name, Span(0.0, 0.0, 0.0))
        about = self.abouts[phase]
        return PlainStep(about, float(row["median_ms"]), hosts, _luck(row), graph_gap_ns)


def _optimizer_of(optimizer: object, operators: pd.DataFrame) -> str:
    """The implementation of AdamW: of a brought model as its operators tell it."""
    updates = operators.loc[operators["path"].str.endswith(f"/{OPTIMIZER}"), "operator"]
    if updates.str.contains("_foreach_").any():
        return "foreach"
    return "fused" if updates.str.contains("_fused_").any() else str(optimizer)


def _parameters(operators: pd.DataFrame) -> float:
    """The number of parameters, from the bytes of addcdiv in a training step; 0 if it has none."""
    updates = operators[
        operators["path"].str.endswith(f"/{OPTIMIZER}")
        & operators["operator"].str.contains("addcdiv")
    ]
    return float(updates["bytes_per_step"].sum()) / ADDCDIV_BYTES


def _luck(row: pd.Series) -> Span:
    """How processes differ, as factors; of a single one, as its steps do."""
    ends = ("fastest_ms", "slowest_ms") if row.get("processes", 1) > 1 else ("p20_ms", "p80_ms")
    least, most = (float(row[name]) / float(row["median_ms"]) for name in ends)
    return Span(min(least, 1 - MEASURED), 1.0, max(most, 1 + MEASURED))


def predictions(run: Run, only: Sequence[str] = ()) -> Iterator[Row]:
    """A row per case, phase and combination, without the columns of the case but `case`.

    Of `only` some cases, if any; how fast the host launches is told by all.
    """
    cases = {name: run.case(name) for name in run.timings["case"].unique()}
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
    first = case.timings.loc[phase]
    if first["status"] != "ok":
        return
    optimizer = _optimizer_of(first["optimizer"], case.operators)
    plain = None
    if phase in case.abouts and first["device"] == "cuda":
        plain = case.plain(phase, usual, graph_gap_ns)
    for remedies in combinations(first["precision"], first["attention"], optimizer):
        about: Row = {"case": name, "phase": phase, "remedies": "+".join(remedies)}
        yield about | {"plain_ms": float(first["median_ms"])} | _row(plain, remedies, first)


def _row(plain: PlainStep | None, remedies: Sequence[str], timing: pd.Series) -> Row:
    if plain is None:
        on_gpu = timing["device"] == "cuda"
        why = "no operators of it were recorded" if on_gpu else "a CPU has no launches to replay"
        return {"status": "not_known", "reason": why}
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
