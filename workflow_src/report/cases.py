"""All cases in one table: unprofiled times, the device's work, products' share, memory."""

import pandas as pd

from workflow_src.answers.facts import captured, kernels, phase, tables_of
from workflow_src.answers.gemm_share.chapter import product_share
from workflow_src.answers.questions import FRONT
from workflow_src.common.case import PHASES
from workflow_src.common.words import STATES, VALUES
from workflow_src.paper.form import Link
from workflow_src.paper.number import NAN, each, over, to
from workflow_src.paper.run import AXES, Run
from workflow_src.paper.written import Facts, main
from workflow_src.report.conditions import of_cases

STEP = PHASES[-1]
BOUND = "\N{DAGGER}"
"""Behind the unprofiled time of a phase that waits for its launches."""


def facts(run: Run) -> Facts:
    """What the template says of all cases."""
    rows, by_phase = run.cases.copy(), {name: phase(run, name) for name in PHASES}
    rows["name"] = [Link(case, f"case-{case}") for case in rows.index]
    for name, found in by_phase.items():
        rows[name] = times(found)
    lost = captured(run, STEP).replace("ok", "not_measured").map(STATES).astype(object)
    works = by_phase[STEP]["busy"]
    peak = over(run["timings"], "case", "peak_memory_mib", "max").reindex(rows.index)
    share = product_share(kernels(run, STEP)).reindex(rows.index).astype(object)
    rows = rows.assign(
        works=works.where(works.notna(), lost),
        products=share,
        memory=to(peak.astype(object), "GiB"),
    )
    return {
        "verdict": "",
        "cases": of_cases(run, run.cases.index, "cases"),
        "bound": any(found["waits"].any() for found in by_phase.values()),
        "rows": varied(rows).rename_axis("case").reset_index(),
    }


def times(found: pd.DataFrame) -> pd.Series:
    """Unprofiled times of a phase, with a mark where launches set the pace, or why there is none.

    A marked one has two digits, as other processes take another time.
    """
    told = each(found["unprofiled"], lambda number: (number.within(NAN, NAN), BOUND))
    told = told.where(found["waits"], found["unprofiled"])
    words = found["state"].replace(STATES["ok"], STATES["not_measured"])
    return told.where(told.notna(), words)


def varied(rows: pd.DataFrame) -> pd.DataFrame:
    """Axes that are the same in all cases say nothing; the others say it in words."""
    others = [name for name in AXES if name not in ("size", "context", "precision")]
    said = {name: rows[name].replace(VALUES.get(name, {})) for name in others}
    alike = [name for name in others if rows[name].nunique() < 2]
    return rows.assign(**said).assign(**{name: "" for name in alike})


if __name__ == "__main__":
    main("cases", facts, ["report/cases.j2"], tables=tables_of(FRONT["cases"]))
