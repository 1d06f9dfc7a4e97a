"""All cases in one table."""

import pandas as pd

from workflow_src.answers.cards.phases import phases
from workflow_src.answers.facts import captured, marked, tables_of
from workflow_src.answers.machines import of_cases
from workflow_src.answers.questions import FRONT
from workflow_src.common.case import PHASES
from workflow_src.common.words import STATES, VALUES
from workflow_src.paper.cells import Link
from workflow_src.paper.number import of, over, to
from workflow_src.paper.run import AXES, Run
from workflow_src.paper.written import Facts, main

STEP = PHASES[-1]


def facts(run: Run) -> Facts:
    """What the template says."""
    rows, timed = run.cases.copy(), phases(run)
    rows["name"] = [Link(case, f"case-{case}") for case in rows.index]
    of_phase = timed.index.get_level_values("phase")
    for name in PHASES:
        rows[name] = marked(timed[of_phase == name].droplevel("phase"))
    lost = captured(run, STEP).replace("ok", "not_measured").map(STATES).astype(object)
    peak = over(run["timings"], "case", "peak_memory_mib", "max").reindex(rows.index)
    step = timed[of_phase == STEP].droplevel("phase")
    ran_out = run["timings"]["case"][run["timings"]["status"] == "oom"]
    rows = rows.assign(
        works=step["busy"].where(step["busy"].notna(), lost),
        products=step["products"],
        mfu=step["mfu"],
        memory=to(peak.astype(object), "GiB"),
    )
    return {
        "verdict": "",
        "cases": of_cases(run, run.cases.index, "cases"),
        "ran_out": of_cases(run, rows.index[rows.index.isin(ran_out)], "ran out of memory"),
        "most": of(rows["memory"], "max"),
        "memory": of(run.numbers("environments")["gpu_memory_gib"], "min"),
        "bound": bool(timed["waits"].any()),
        "rows": varied(rows).rename_axis("case").reset_index(),
    }


def varied(rows: pd.DataFrame) -> pd.DataFrame:
    """Axes in words; "" where all cases are alike."""
    others = [name for name in AXES if name not in ("size", "context", "precision")]
    said = {name: rows[name].replace(VALUES.get(name, {})) for name in others}
    alike = [name for name in others if rows[name].nunique() < 2]
    return rows.assign(**said).assign(**{name: "" for name in alike})


if __name__ == "__main__":
    main("cases", facts, ["report/cases.j2"], tables=tables_of(FRONT["cases"]))
