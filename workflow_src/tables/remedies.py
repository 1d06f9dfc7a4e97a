"""What each plain step would take with remedies: remedies.csv, from the joined tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_src.common.arguments import (
    existing_file,
    existing_folder,
    new_file,
    stage_arguments,
)
from workflow_src.common.atomic_write import write_csv
from workflow_src.common.case import CASE_COLUMNS, COMPILED, PHASES
from workflow_src.common.errors import StageError, one_sentence, remake
from workflow_src.common.read_table import read_table, with_texts
from workflow_src.common.reading import reading
from workflow_src.common.table_schema import own_columns
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.remedies import predict
from workflow_src.diagnosis.remedies.effects import COMPILE, NotKnownError, combinations
from workflow_src.diagnosis.remedies.rates import About, rates_of
from workflow_src.diagnosis.remedies.steps import OPTIMIZER, PASSES, launched, work_of

READ = ("timings", "operators")

USUAL_HOST_NS = 15_000.0
"""The host's time for a launch where no case of the run is launch-bound, as those of examples/h100
and examples/h200 of 6a6a4d6."""

GRAPH_GAP_NS = 160.0
"""Between two kernels of a graph where the run replayed none: as on H100s and H200s."""

Run = Mapping[str, pd.DataFrame]
"""Joined tables by name; without ceilings if the run has none."""


def graph_gap_ns(run: Run) -> float:
    """Between two kernels of a graph, as the run's replays show it."""
    by = ["case", "phase"]
    work = run["operators"].groupby(by)[["calls_per_step", "busy_ms_per_step"]].sum()
    # A run on a CPU replays nothing, and has no such column.
    timed = run["timings"].set_index(by).reindex(columns=["replayed_median_ms"]).dropna()
    both = work.join(timed, how="inner")
    beyond_ms = both["replayed_median_ms"] - both["busy_ms_per_step"]
    gaps = (beyond_ms * NS_PER_MS / both["calls_per_step"]).clip(0.0, predict.GAP_NS)
    return float(gaps.median()) if len(gaps) else GRAPH_GAP_NS


Phases = Mapping[str, Mapping[str, About]]
"""By case, and by name in the order of PHASES."""


def phases_of(run: Run) -> dict[str, dict[str, About]]:
    """The phases that can be replayed; none if the run measured no ceilings."""
    if "ceilings" not in run:
        return {}
    rates, timings, gap_ns = rates_of(run["ceilings"]), run["timings"], graph_gap_ns(run)
    work = dict(iter(work_of(run["operators"]).groupby(["case", "phase"])))
    found: dict[str, dict[str, About]] = {}
    for phase in PHASES:
        timed = timings[(timings["phase"] == phase) & (timings["status"] == "ok")]
        for row in timed.to_dict("records"):
            case = row["case"]
            if (case, phase) not in work:
                continue
            step = launched(work[case, phase].reset_index(drop=True))
            parameters = float(row.get("parameters", 0.0))
            about = About(step, row["median_ms"], rates, row["precision"], parameters, gap_ns)
            found.setdefault(case, {})[phase] = about
    return found


def plain_steps(phases: Phases) -> Phases:
    """The same with the host's time for a launch.

    Where the host doesn't set a phase's pace, its plain time tells but the most that a launch may
    take: then no more than is usual where it does.
    """
    rows = list[tuple[str, str, float, bool]]()
    for case, abouts in phases.items():
        earlier = dict[str, float]()
        for phase, about in abouts.items():
            last = PASSES[PHASES.index(phase)]
            earlier[last], told = predict.host_of(about, earlier, last)
            rows.append((case, last, earlier[last], told))
    hosts = pd.DataFrame(rows, columns=["case", "pass", "ns", "told"]).astype({"told": bool})
    usual = hosts["pass"].map(hosts[hosts["told"]].groupby("pass")["ns"].median())
    hosts["ns"] = hosts["ns"].where(
        hosts["told"], hosts["ns"].clip(upper=usual.fillna(USUAL_HOST_NS))
    )
    ns = hosts.set_index(["case", "pass"])["ns"]
    return {
        case: {phase: replace(about, host_ns=dict(ns[case])) for phase, about in abouts.items()}
        for case, abouts in phases.items()
    }


def predictions(run: Run) -> Iterator[dict[str, object]]:
    """A row per case, phase and combination, of the case's columns with `case` alone."""
    timings, operators, steps = run["timings"], run["operators"], plain_steps(phases_of(run))
    updates = operators[operators["path"].str.endswith(f"/{OPTIMIZER}")]
    # The implementation of AdamW of a brought model is told by its operators.
    told = updates["operator"].str.extract("_(foreach|fused)_")[0].dropna()
    optimizers = told.groupby(updates["case"]).min()
    for case, rows in timings.groupby("case", sort=False):
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
        plain = {} if reason else steps.get(str(case), {})
        timed = rows[rows["status"] == "ok"].set_index("phase")["median_ms"].to_dict()
        for (phase, plain_ms), remedies in product(timed.items(), given):
            if compiled and COMPILE in remedies:
                continue
            row = {"case": case, "phase": phase, "remedies": "+".join(remedies)}
            row |= {"plain_ms": float(plain_ms), "status": "ok", "reason": ""}
            try:
                if phase not in plain:
                    raise NotKnownError(reason or "what launched it wasn't recorded")
                low, predicted, high = predict.predicted(plain[phase], remedies)
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
    files = {"tables": existing_folder, "ceilings": (existing_file,), "output": new_file}
    given = stage_arguments(__doc__, **files)
    with reading(given.tables, "the joined tables", remake(given.output), StageError):
        found = table(read_run(given.tables, given.ceilings))
    write_csv(given.output, found)


if __name__ == "__main__":
    main()
