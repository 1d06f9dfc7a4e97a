"""What each plain step would take with remedies: remedies.csv, predicted from the joined tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.common.arguments import Parser, existing_file, existing_folder, new_file
from workflow_src.common.atomic_write import write_csv
from workflow_src.common.case import CASE_COLUMNS, COMPILED, PHASES
from workflow_src.common.errors import StageError, one_sentence, remake
from workflow_src.common.read_table import read_table, with_texts
from workflow_src.common.reading import reading
from workflow_src.common.table_schema import own_columns
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.recording import Span
from workflow_src.diagnosis.remedies import predict
from workflow_src.diagnosis.remedies.effects import COMPILE, NotKnownError, combinations
from workflow_src.diagnosis.remedies.rates import About, Rates, rates_of
from workflow_src.diagnosis.remedies.steps import OPTIMIZER, PASSES, launched, work_of

READ = ("timings", "operators", "products")

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
        gaps = (beyond_ms * NS_PER_MS / both["calls_per_step"]).clip(0.0, predict.GAP_NS)
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
    def solutions(self) -> dict[str, predict.Solved]:
        """What each phase tells of its last pass, by that pass's name."""
        found: dict[str, predict.Solved] = {}
        for about, last, plain_ms, _ in self.phases.values():
            earlier = {name: each.host_ns for name, each in found.items()}
            found[last] = predict.solved(about.step, plain_ms, earlier, last)
        return found

    def plain(self, usual: Mapping[str, Span], graph_gap_ns: Span) -> dict[str, predict.PlainStep]:
        """Each phase without remedies."""
        hosts: dict[str, Span] = {}
        every = [*self.phases.values()]
        for number, (about, last, *_) in enumerate(every):
            earlier = {name: each.usual for name, each in hosts.items()}
            # What a phase takes beyond the one before it tells its last pass's.
            both = [ends_ms for *_, ends_ms in every[max(number - 1, 0) : number + 1]]
            told = usual.get(last), both
            hosts[last] = predict.host_span(about.step, self.solutions[last], earlier, last, *told)
        known = dict.fromkeys(PASSES, Span(0.0, 0.0, 0.0)) | hosts
        return {
            phase: predict.PlainStep(
                about, plain_ms, known, predict.luck(plain_ms, *ends_ms), graph_gap_ns
            )
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
    known = replace(rates, products=rates.products[others]), str(first["precision"])
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


def predictions(run: Run, only: Sequence[str] = ()) -> Iterator[dict[str, object]]:
    """A row per case, phase and combination, without the columns of the case but `case`.

    Of `only` some cases, if any; how fast the host launches is told by all.
    """
    cases, graph_gap_ns = run.cases(), run.graph_gap_ns
    usual = predict.usual_hosts([each.solutions for each in cases.values()])
    for name in only or cases:
        case = cases[name]
        plain = {} if case.reason else case.plain(usual, graph_gap_ns)
        timed = case.timings.loc[case.timings["status"] == "ok", "median_ms"].to_dict()
        for (phase, plain_ms), remedies in product(timed.items(), case.given):
            row = {"case": name, "phase": phase, "remedies": "+".join(remedies)}
            row |= {"plain_ms": float(plain_ms), "status": "ok", "reason": ""}
            try:
                if phase not in plain:
                    raise NotKnownError(case.reason or "what launched it wasn't recorded")
                low, predicted, high = plain[phase].predicted(remedies)
                yield row | {"predicted_ms": predicted, "low_ms": low, "high_ms": high}
            except NotKnownError as error:
                yield row | {"status": "not_known", "reason": str(error)}


def table(run: Run) -> pd.DataFrame:
    """The predictions for all cases of a run: a row per case, phase and combination of remedies."""
    about = run.timings.drop_duplicates("case").set_index("case")[list(CASE_COLUMNS[1:])]
    rows = pd.DataFrame([*predictions(run)], columns=["case", *own_columns("remedies")])
    return about.join(rows.set_index("case"), how="inner").reset_index()


def read_run(folder: Path, ceilings: Sequence[Path]) -> Run:
    """The joined tables that predictions rest on; a run may have no ceilings."""
    given = read_table(ceilings[0], "ceilings") if ceilings else None
    joined = {name: with_texts(read_table(folder / f"{name}.csv", name), name) for name in READ}
    return Run(**joined, ceilings=given)


@one_sentence()
def main() -> None:
    """Write the table of remedies."""
    parser = Parser(description=__doc__)
    parser.add_argument("--tables", type=existing_folder, required=True, help="the joined CSVs")
    parser.add_argument("--ceilings", type=existing_file, nargs="*", default=[])
    parser.add_argument("--output", type=new_file, required=True)
    given = parser.parse_args()
    with reading(given.tables, "the joined tables", remake(given.output), StageError):
        found = table(read_run(given.tables, given.ceilings))
    write_csv(given.output, found)


if __name__ == "__main__":
    main()
