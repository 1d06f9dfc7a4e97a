"""Study profiler: a forward pass with the profiler over one without, by pairs of processes."""

import pandas as pd

from workflow_src.paper.number import holds, of, over
from workflow_src.paper.run import Run
from workflow_src.paper.written import Facts
from workflow_src.studies.facts import load, span, unmeasured

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
