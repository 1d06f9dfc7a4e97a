"""Whether the numbers can be trusted, as checks."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pandas as pd

from workflow_src.answers import machines as doubts
from workflow_src.answers.facts import tables_of
from workflow_src.answers.questions import FRONT
from workflow_src.common.thresholds import MATCH_WITHIN, OUTSIDE_LIMIT, SLOWER_HOST
from workflow_src.paper.number import NAN, Number, lift, of
from workflow_src.paper.run import Run
from workflow_src.paper.written import Facts, main

ANSWERS = "all answers, in these cases"
UNPROFILED = "unprofiled and profiled times: (a), (d)'s rates, (f)"
"""What checks touch; the host decides UNPROFILED."""

OPERATORS = "modules' rates, (f)'s predictions, FLOPs"

TOUCHED = {
    doubts.BUSY: UNPROFILED,
    doubts.CHANGED: UNPROFILED,
    doubts.OVERLAPPED: UNPROFILED,
    doubts.DISTURBED: "(b) to (f), in these cases",
    doubts.NOT_FINITE: "what was computed, not its time",
}
"""What a warning makes unsure, where that isn't all of its cases."""


class Check(NamedTuple):
    """A check; one without a `limit` only says how much is known."""

    what: str
    result: Any
    touches: str
    limit: str = ""
    held: bool = True


def facts(run: Run) -> Facts:
    """What the template says."""
    every = pd.DataFrame(
        [each for part in CHECKS for each in part(run)], columns=Check._fields
    ).astype({"held": bool})
    every = every[every["result"].notna()]
    failed = every[~every["held"]]
    limited = int((every["limit"] != "").sum())
    return {
        "verdict": "none" if not limited else "doubts" if len(failed) else "passed",
        "failed": failed,
        "fails": len(failed),
        "passes": limited - len(failed),
        "every": every,
    }


def accounted(run: Run) -> Iterator[Check]:
    """Whether all device time is accounted for."""
    rows, answers = run["captures"], "(b) to (e)"
    whole = rows["attributed_ns"] + rows["outside_ns"] == rows["total_ns"]
    yield in_all("device time in ranges + outside = total, in ns; captures", rows, whole, answers)
    outside = most(rows["outside_share"])
    yield at_most("device time outside all ranges, at most", outside, OUTSIDE_LIMIT, answers)
    counted = rows[rows["stats_total_ns"].notna()]
    kernels = run["kernels"]
    ours = kernels[kernels["kind"] == "kernel"].groupby("case")["busy_ns"].sum()
    same = counted["case"].map(ours).fillna(0) == counted["stats_total_ns"]
    yield in_all("nsys stats counts the same kernel time; captures", counted, same, answers)
    yield known("device time whose kernel's family is known", rows["family_coverage"], answers)
    told = rows if run.has("captures", "doubts") else rows[:0]
    sure = told["doubts"] == ""
    yield in_all("nothing lost or told twice in recording; captures", told, sure, answers)


def operators(run: Run) -> Iterator[Check]:
    """How much is known of the operators, and whether it agrees."""
    rows = run["alignment"]
    rows = rows[rows["status"] == "ok"]
    yield known("device time with operator and shapes", rows["aligned_share"], OPERATORS)
    shapes = rows["gemm_share_with_shape"]
    yield known("time of matrix products with M, N and K", shapes, OPERATORS, "share")
    for whose, column in (("the formulas", "flops_expected"), ("torch's counter", "flops_counted")):
        told = rows[rows[column].notna()]
        same = told["flops"] == told[column]
        yield in_all(f"FLOPs of products are those of {whose}; phases", told, same, OPERATORS)
    other = most(rows["family_disagreement_share"])
    what = "device time of another family by the kernel's name than by its operator, at most"
    yield Check(what, other, OPERATORS)


def precision(run: Run) -> Iterator[Check]:
    """Whether products ran in their precision, as far as names tell."""
    rows = run["kernels"]
    rows = rows[(rows["family"] == "gemm") & (rows["precision_ran"] != "")]
    agree = (rows["precision_ran"] == rows["precision"]).groupby(rows["case"]).all()
    cases = rows.drop_duplicates("case")
    held = cases["case"].map(agree).astype(bool)
    yield in_all("products ran in the precision asked for; cases", cases, held, ANSWERS)


def repeats(run: Run) -> Iterator[Check]:
    """How far the processes of a case differ."""
    rows = run["timings"]
    rows = rows[rows["status"] == "ok"]
    several = rows[rows["processes"] > 1]
    ratio = (lift(several["slowest_ms"]) / lift(several["fastest_ms"])).astype(object)
    what = "slowest process of a phase over its fastest, at most"
    yield at_most(what, of(ratio, "max"), 1 + MATCH_WITHIN, UNPROFILED)


def hosts(run: Run) -> Iterator[Check]:
    """Whether hosts differ."""
    rows = doubts.conditions(run)
    for column, what in (("launch_us", "a launch"), ("operation_us", "an eager operation")):
        times = rows[column].dropna()
        slower = of(times, "max") / of(times, "min") if len(times) > 1 else NAN
        said = f"{what} on the host before a case, slowest over fastest"
        yield at_most(said, slower, SLOWER_HOST, UNPROFILED)


def disturbances(run: Run) -> Iterator[Check]:
    """In how many cases there is each warning."""
    rows = doubts.conditions(run)
    for warning, told in doubts.warned(run, rows).items():
        there = rows[told.notna()]
        found = there[told.dropna().astype(bool)]
        name = str(warning)
        count: Any = doubts.counted(found, name, there)
        few = ", ".join(found["case"]) if 0 < len(found) <= FEW else ""
        result = (count, ": ", few) if few else count
        yield Check(f"{name}; cases", result, TOUCHED.get(name, ANSWERS), "none", found.empty)


def studies(run: Run) -> Iterator[Check]:
    """Studies on hosts that no case ran on."""
    cases = {*run["environments"]["host_id"]} - {""}
    there = [name for name in run.files if name.startswith("studies/")]
    hosts = {name.partition("/")[2]: {*run[name]["host_id"]} - {""} for name in there}
    known = {name: mine for name, mine in hosts.items() if mine and cases}
    other = [name for name, mine in known.items() if mine.isdisjoint(cases)]
    found = ", ".join(other) if other else "none" if known else NAN
    yield Check("studies measured on other hosts", found, "those beside cases", "none", not other)


FEW = 3
"""So many cases with a warning are named."""

CHECKS = (accounted, operators, precision, repeats, hosts, disturbances, studies)


def in_all(what: str, rows: pd.DataFrame, held: pd.Series, touches: str) -> Check:
    """A check that each row should pass."""
    passed = Number(float(held.sum()), f"of {len(rows)}", frozenset(rows.index), "rows that pass")
    return Check(what, passed if len(rows) else NAN, touches, "all", bool(held.all()))


def at_most(what: str, number: Any, limit: float, touches: str) -> Check:
    """A check of a number against a limit."""
    said = f"{100 * limit:g} %" if getattr(number, "unit", "") == "share" else f"{limit:g} ×"
    return Check(what, number, touches, said, not number > limit)


def known(what: str, column: pd.Series, touches: str, unit: str = "") -> Check:
    """How much is known, at least."""
    least = of(lift(column).dropna(), "min")
    least = least.to(unit) if unit and least == least else least
    return Check(f"{what}, at least", least, touches)


def most(column: pd.Series) -> Any:
    """The largest of a column."""
    return of(lift(column).dropna(), "max")


if __name__ == "__main__":
    main("trust", facts, ["report/trust.j2"], tables=tables_of(FRONT["trust"]))
