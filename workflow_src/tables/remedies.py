"""What each plain step would take with remedies: remedies.csv, from the joined tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

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
from workflow_src.diagnosis.remedies.rates import About, rates_of
from workflow_src.diagnosis.remedies.steps import OPTIMIZER, PASSES, launched, work_of

READ = ("timings", "operators", "products")

ADDCDIV_BYTES = 16
"""Of AdamW's last operator, per parameter in float32."""

GRAPH_GAP_NS = Span(0.0, 500.0, 1_500.0)
"""Between two kernels of a graph, where the run replayed none."""

Run = Mapping[str, pd.DataFrame]
"""Joined tables by name; without ceilings if the run has none."""


class Phase(NamedTuple):
    """A phase that was timed and recorded.

    last: its last pass; ends_ms: the plain times of the fastest and the slowest process, or of a
    single one percentiles of its steps.
    """

    about: About
    last: str
    plain_ms: float
    ends_ms: tuple[float, float]


Phases = Mapping[str, Phase]
"""Of a case by name, in the order of PHASES."""


def graph_gap_ns(run: Run) -> Span:
    """Between two kernels of a graph, as the run's replays show it."""
    by = ["case", "phase"]
    work = run["operators"].groupby(by)[["calls_per_step", "busy_ms_per_step"]].sum()
    # A run on a CPU replays nothing, and has no such column.
    timed = run["timings"].set_index(by).reindex(columns=["replayed_median_ms"]).dropna()
    both = work.join(timed, how="inner")
    beyond_ms = both["replayed_median_ms"] - both["busy_ms_per_step"]
    gaps = (beyond_ms * NS_PER_MS / both["calls_per_step"]).clip(0.0, predict.GAP_NS)
    return Span(*np.quantile(gaps, (0.05, 0.5, 0.95)).tolist()) if len(gaps) else GRAPH_GAP_NS


def updates_of(run: Run) -> pd.DataFrame:
    """The optimizer's operators."""
    operators = run["operators"]
    return operators[operators["path"].str.endswith(f"/{OPTIMIZER}")]


def phases_of(run: Run) -> dict[str, dict[str, Phase]]:
    """The phases that can be replayed, by case; none if the run measured no ceilings."""
    if "ceilings" not in run:
        return {}
    rates, timings = rates_of(run["ceilings"], run["products"]), run["timings"]
    work = dict(iter(work_of(run["operators"]).groupby(["case", "phase"])))
    # The bytes of addcdiv in a training step tell how many parameters there are.
    addcdiv = updates_of(run).query("operator.str.contains('addcdiv')").groupby("case")
    parameters = addcdiv["bytes_per_step"].sum() / ADDCDIV_BYTES
    found: dict[str, dict[str, Phase]] = {}
    for phase, last in zip(PHASES, PASSES, strict=True):
        timed = timings[(timings["phase"] == phase) & (timings["status"] == "ok")]
        for row in timed.to_dict("records"):
            case = row["case"]
            if (case, phase) not in work:
                continue
            step = launched(work[case, phase].reset_index(drop=True))
            # Products of models of its size and context don't count.
            others = rates.products["group"] != f"{row['size']} {row['context']}"
            known = replace(rates, products=rates.products[others])
            tokens = int(row["batch"]) * int(row["context"])
            about = About(step, known, row["precision"], tokens, float(parameters.get(case, 0.0)))
            ends = ("fastest_ms", "slowest_ms") if row["processes"] > 1 else ("p20_ms", "p80_ms")
            ends_ms = row[ends[0]], row[ends[1]]
            found.setdefault(case, {})[phase] = Phase(about, last, row["median_ms"], ends_ms)
    return found


def solutions(phases: Phases) -> dict[str, predict.Solved]:
    """What each phase of a case tells of its last pass, by that pass."""
    found: dict[str, predict.Solved] = {}
    for about, last, plain_ms, _ in phases.values():
        earlier = {name: each.host_ns for name, each in found.items()}
        found[last] = predict.solved(about.step, plain_ms, earlier, last)
    return found


def plain_steps(
    phases: Phases, solved: Mapping[str, predict.Solved], usual: Mapping[str, Span], gap_ns: Span
) -> dict[str, predict.PlainStep]:
    """Each phase of a case without remedies."""
    hosts: dict[str, Span] = {}
    every = [*phases.values()]
    for number, (about, last, *_) in enumerate(every):
        earlier = {name: each.usual for name, each in hosts.items()}
        # What a phase takes beyond the one before it tells its last pass's.
        both = [ends_ms for *_, ends_ms in every[max(number - 1, 0) : number + 1]]
        told = usual.get(last), both
        hosts[last] = predict.host_span(about.step, solved[last], earlier, last, *told)
    known = dict.fromkeys(PASSES, Span(0.0, 0.0, 0.0)) | hosts
    return {
        phase: predict.PlainStep(about, ms, known, predict.luck(ms, *ends_ms), gap_ns)
        for phase, (about, _, ms, ends_ms) in phases.items()
    }


def predictions(run: Run, only: Sequence[str] = ()) -> Iterator[dict[str, object]]:
    """A row per case, phase and combination, of the case's columns with `case` alone.

    only: some cases, if any; how fast the host launches is told by all.
    """
    timings, phases, updates = run["timings"], phases_of(run), updates_of(run)
    solved = {case: solutions(each) for case, each in phases.items()}
    usual, gap_ns = predict.usual_hosts([*solved.values()]), graph_gap_ns(run)
    # The implementation of AdamW of a brought model is told by its operators.
    told = updates["operator"].str.extract("_(foreach|fused)_")[0].dropna()
    optimizers = told.groupby(updates["case"]).min()
    for case in only or timings["case"].unique():
        rows = timings[timings["case"] == case]
        first: Any = rows.iloc[0]
        compiled = first["execution"] == COMPILED
        optimizer = optimizers.get(case, first["optimizer"])
        given = combinations(first["precision"], first["attention"], optimizer)
        reasons = {
            "a CPU has no launches to replay": first["device"] != "cuda",
            "what a remedy changes in generated code isn't known": compiled,
            "the run has no table of ceilings": "ceilings" not in run,
        }
        reason = next((why for why, holds in reasons.items() if holds), "")
        known = {} if reason else phases.get(case, {})
        plain = plain_steps(known, solved.get(case, {}), usual, gap_ns)
        timed = rows[rows["status"] == "ok"].set_index("phase")["median_ms"].to_dict()
        for (phase, plain_ms), remedies in product(timed.items(), given):
            if compiled and COMPILE in remedies:
                continue
            row = {"case": case, "phase": phase, "remedies": "+".join(remedies)}
            row |= {"plain_ms": float(plain_ms), "status": "ok", "reason": ""}
            try:
                if phase not in plain:
                    raise NotKnownError(reason or "what launched it wasn't recorded")
                low, predicted, high = plain[phase].predicted(remedies)
                yield row | {"predicted_ms": predicted, "low_ms": low, "high_ms": high}
            except NotKnownError as error:
                yield row | {"status": "not_known", "reason": str(error)}


def table(run: Run) -> pd.DataFrame:
    """The predictions for all cases of a run."""
    about = run["timings"].drop_duplicates("case").set_index("case")[list(CASE_COLUMNS[1:])]
    rows = pd.DataFrame([*predictions(run)], columns=["case", *own_columns("remedies")])
    return about.join(rows.set_index("case"), how="inner").reset_index()


def read_run(folder: Path, ceilings: Sequence[Path]) -> Run:
    """The joined tables of a folder, and ceilings.csv if the run has it."""
    run = {name: with_texts(read_table(folder / f"{name}.csv", name), name) for name in READ}
    if ceilings:
        run["ceilings"] = read_table(ceilings[0], "ceilings")
    return run


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
