"""Study profiler: a forward pass with the profiler over one without, by pairs of processes."""

import pandas as pd

from workflow_src.common.summary import of_each_process
from workflow_src.paper.number import holds, of, over
from workflow_src.paper.run import Run
from workflow_src.paper.written import Facts
from workflow_src.studies.facts import load, span, unmeasured
from workflow_src.studies.study import Point, Row

FEWEST = 3
"""With fewer pairs, that all lie on one side says little."""


def facts(run: Run) -> Facts:
    """What the study's table says."""
    table = load(run, "profiler")
    ok = table[table["ok"]]
    pairs = ok.assign(times=ok["profiled_ms"] / ok["plain_ms"])
    pairs["first"] = pairs["profiled_first"].map({True: "profiled", False: "unprofiled"})
    cases = by_case(pairs)
    slower = cases[cases["slower"]]
    shown = "costs" if len(slower) else "not shown"
    return {
        "verdict": shown if len(cases) else "can't tell",
        "slower": of(holds(cases["times"], cases["slower"], "longer in each pair"), "count"),
        "times": span(slower["times"]),
        "cases": cases,
        "pairs": pairs,
        "missing": unmeasured(table, "case"),
    }


def by_case(pairs: pd.DataFrame) -> pd.DataFrame:
    """A row per case: medians of its pairs, how many, and whether the profiler makes it longer.

    slower: if it does so in each of FEWEST pairs or more.
    """
    one = holds(pairs["times"], pairs["times"].notna(), "profiled / unprofiled")
    rows = pairs.assign(one=one)
    made = {name: over(rows, "case", name, "spread") for name in ("plain_ms", "profiled_ms")}
    made |= {"times": over(rows, "case", "times", "spread"), "n": over(rows, "case", "one")}
    cases = pd.DataFrame(made, rows["case"].unique(), dtype=object).rename_axis("case")
    slower = (over(rows, "case", "times", "min") > 1) & (cases["n"] >= FEWEST)
    slower = slower.reindex(cases.index).eq(True)
    said = slower.map({True: "yes", False: "not shown"})
    return cases.assign(slower=slower, said=said).reset_index()


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """A row per pair: the medians of its two processes (ms); if one has none, why.

    profiled_first: whether the process with the profiler ran before the other.
    """
    about = {"case": point["point"], "size": next(iter(point["sizes"]))}
    about |= {name: point[name] for name in ("context", "precision")}
    lost = [row for row in rows if row["status"] != "ok"]
    if lost:
        return [about | {name: lost[0][name] for name in ("phase", "status", "reason")}]
    medians = {row["name"]: of_each_process(row["samples_ns"], row["process"]) for row in rows}
    pairs = zip(medians["plain"], medians["profiled"], strict=True)
    return [
        about
        | {"phase": rows[0]["phase"], "status": "ok", "reason": ""}
        | {"pair": pair, "profiled_first": pair % 2 == 1}
        | {"plain_ms": plain["median_ms"], "profiled_ms": profiled["median_ms"]}
        for pair, (plain, profiled) in enumerate(pairs)
    ]
