"""Whether the numbers can be trusted: one table of checks, each with its result and its limit."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from markupsafe import Markup

from workflow_src.answers.among import named
from workflow_src.answers.conditions import Conditions, conditions, hosts
from workflow_src.answers.doubts import OF_THE_DEVICE, Warned, environments
from workflow_src.answers.tables import Tables
from workflow_src.common.case import is_brought
from workflow_src.common.thresholds import HOST_CHANGED, MATCH_WITHIN, OUTSIDE_LIMIT, SLOWER_HOST
from workflow_src.paper.value import Cell, Joined, Marked, Rows, Value, ratio, rows_of, value
from workflow_src.report.opening import spread
from workflow_src.report.run import Run

BEYOND = "\N{BALLOT X}"
"""The mark of a result beyond its limit."""

ALL, NONE, DASH = "all", "none", None

STATS = Markup("`nsys stats` counts the same kernel time; captures")


@dataclass(frozen=True)
class Check:
    """A check: what is looked at, what was found, what may be found, and whether it was.

    `touches`: what is unsure where it wasn't; "" for what CHECKS says of its kind.
    """

    what: str
    result: Cell
    limit: str | None
    held: bool = True
    touches: str = ""


@dataclass(frozen=True)
class Trust:
    """All checks that could be made, as a table; `failed`: whether any result has the mark."""

    table: pd.DataFrame
    failed: bool


def trust(run: Run) -> Trust:
    """Every check of a run; those of what it didn't record are left out."""
    checks = [(each, touches) for made, touches in CHECKS.items() for each in made(run)]
    lines = [
        [
            each.what,
            each.result if each.held else Marked(each.result, f" {BEYOND}"),
            each.limit,
            each.touches or touches,
        ]
        for each, touches in checks
    ]
    columns = ["check", "result", "limit", f"unsure at {BEYOND}"]
    table = pd.DataFrame(lines, columns=columns, dtype="object")
    return Trust(table, any(not each.held for each, _ in checks))


def _time(run: Run) -> Iterator[Check]:
    """Whether all device time is accounted for."""
    captures = run.tables["captures"]
    whole = captures["attributed_ns"] + captures["outside_ns"] == captures["total_ns"]
    yield from _in_all("device time in ranges + outside = total, in ns; captures", captures, whole)
    yield from _at_most(
        "device time outside all ranges", captures, "captures", "outside_share", OUTSIDE_LIMIT
    )
    counted = captures[captures["stats_total_ns"].notna()]
    kernels = run.tables["kernels"]
    ours = kernels[kernels["kind"] == "kernel"].groupby("case")["busy_ns"].sum()
    same = counted["case"].map(ours).fillna(0) == counted["stats_total_ns"]
    yield from _in_all(STATS, counted, same)
    yield from _at_least(
        "device time whose kernel's family is known", captures, "captures", "family_coverage"
    )
    if "doubts" in captures:
        sure = captures["doubts"].isna() | (captures["doubts"] == "")
        yield from _in_all("nothing lost or told twice in recording; captures", captures, sure)


def _operators(run: Run) -> Iterator[Check]:
    """How much is known of what launched the device's work, and whether it agrees."""
    known = run.tables["alignment"]
    known = known[known["status"] == "ok"]
    name = "alignment"
    yield from _at_least("device time with operator and shapes", known, name, "aligned_share")
    yield from _at_least(
        "time of matrix products with M, N and K", known, name, "gemm_share_with_shape"
    )
    counted = ("torch's counter", "flops_counted")
    whose, column = counted if is_brought(run.plan) else ("the formulas", "flops_expected")
    told = known[known[column].notna()]
    same = told["flops"] == told[column]
    yield from _in_all(f"FLOPs of products are those of {whose}; phases", told, same, name)
    yield from _at_most(
        "device time of another family by the kernel's name than by its operator",
        known,
        name,
        "family_disagreement_share",
    )


def _precision(run: Run) -> Iterator[Check]:
    """Whether matrix products ran in the precision asked for, as far as names tell."""
    gemm = run.tables["kernels"]
    gemm = gemm[(gemm["family"] == "gemm") & (gemm["precision_ran"] != "")]
    if gemm.empty:
        return
    wrong = gemm[gemm["precision_ran"] != gemm["precision"]]
    told, other = gemm["case"].nunique(), wrong["case"].nunique()
    agreeing = Value(
        told - other, "count", (rows_of("kernels", wrong if other else gemm),), "cases"
    )
    every = Value(told, "count", (rows_of("kernels", gemm),), "cases whose names tell")
    result = Joined((agreeing, every), by=" of ")
    yield Check("products ran in the precision asked for; cases", result, ALL, not other)


def _repeats(run: Run) -> Iterator[Check]:
    """Over how many processes and steps, and how far processes differ."""
    timed = run.tables["timings"]
    timed = timed[timed["status"] == "ok"]
    for what, column in (("processes of a case", "processes"), ("unprofiled steps", "samples")):
        if column in timed and timed[column].notna().any():
            yield Check(f"{what}, least to most", _range(timed, "timings", column, "count"), DASH)
    yield from _of_one_process(timed)
    if most := spread(run.times):
        limit = f"{1 + MATCH_WITHIN:g} x"
        held = most.number <= 1 + MATCH_WITHIN
        yield Check("slowest process of a phase over its fastest, at most", most, limit, held)


def _of_one_process(timed: pd.DataFrame) -> Iterator[Check]:
    """In how many cases no phase was timed in several processes, so that they tell no spread."""
    if "processes" not in timed:
        return
    most = timed["processes"].groupby(timed["case"]).max()
    rows = timed[timed["case"].isin(most[most == 1].index)]
    if len(rows):
        alone = Value(rows["case"].nunique(), "count", (rows_of("timings", rows),), "cases")
        yield Check("cases of one process, without a spread", alone, DASH)


def _hosts(run: Run) -> Iterator[Check]:
    """Whether hosts differ, and whether they changed while measuring."""
    every = environments(run.tables)
    changes = [each.changed for each in every if each.changed]
    if changes:
        most = max(changes, key=lambda each: each.number)
        what = "host's speed after a case against before, at most"
        yield Check(what, most, f"{HOST_CHANGED:g} x", most.number <= HOST_CHANGED)
    speeds = {
        "a launch": [each.launch_us for each in every],
        "an eager operation": [each.operation_us for each in every],
    }
    for what, times in speeds.items():
        known = sorted(filter(None, times), key=lambda each: each.number)
        if len(known) > 1 and (slower := ratio(known[-1], known[0], "times")):
            held = slower.number <= SLOWER_HOST
            yield Check(f"{what} on the host before a case, slowest over fastest",
                        slower, f"{SLOWER_HOST:g} x", held)  # fmt: skip


def _disturbed(run: Run) -> Iterator[Check]:
    """In how many cases something else disturbed the measurement."""
    every = conditions(run.tables)
    recorded: dict[Warned, Sequence[Conditions]] = {
        Warned.THROTTLED: [each for each in every if not run.tables["environments"].empty],
        Warned.SHARED: [each for each in every if each.recorded.others is not None],
        Warned.BUSY: [each for each in every if each.recorded.load is not None],
        Warned.NOT_LOCKED: [each for each in every if not each.recorded.locked],
        Warned.DISTURBED: [each for each in every if each.disturbed is not None],
        Warned.OVERLAPPED: every if hosts(run.tables) else (),
        Warned.NOT_FINITE: [each for each in every if is_brought(run.plan)],
    }
    for warning, mine in recorded.items():
        found = [each.case for each in mine if warning in each.warnings]
        if mine:
            cells = (_cases(run.tables, found), _cases(run.tables, [each.case for each in mine]))
            result = Joined(cells, by=" of ")
            if found and warning in OF_THE_DEVICE:
                result = Joined((result, named(found)), by=": ")
            yield Check(f"{warning}; cases", result, NONE, not found, TOUCHED.get(warning, ""))


PLAIN = "plain, profiled times: (a), (d)'s rates, (f)"
"""What the host decides."""

TOUCHED = {
    Warned.THROTTLED: "all answers, in these cases; if by power, in phases with §",
    Warned.BUSY: PLAIN,
    Warned.OVERLAPPED: PLAIN,
    Warned.DISTURBED: "(b) to (f), in these cases",
    Warned.NOT_FINITE: "what was computed, not its time",
}
"""What a warning makes unsure, where that isn't all of its cases."""

CHECKS: Mapping[Callable[[Run], Iterator[Check]], str] = {
    _time: "(b) to (e)",
    _operators: "(d)'s layouts, (f)'s predictions, FLOPs",
    _precision: "all answers, in these cases",
    _repeats: PLAIN,
    _hosts: PLAIN,
    _disturbed: "all answers, in these cases",
}
"""All checks, in the order of the table, and what is unsure where one fails."""


def _cases(tables: Tables, cases: Sequence[str]) -> Value:
    rows = tables["environments"]
    mine = rows[rows["case"].isin(list(cases))] if cases else rows
    return Value(len(cases), "count", (rows_of("environments", mine),), "cases")


def _in_all(
    what: str, rows: pd.DataFrame, held: "pd.Series[bool]", name: str = "captures"
) -> Iterator[Check]:
    """A check that each of `rows` should pass."""
    if rows.empty:
        return
    passed = Value(int(held.sum()), "count", (rows_of(name, rows),), "rows that pass")
    every = Value(len(rows), "count", (rows_of(name, rows),), "rows")
    yield Check(what, Joined((passed, every), by=" of "), ALL, bool(held.all()))


def _at_most(
    what: str, rows: pd.DataFrame, name: str, column: str, limit: float | None = None
) -> Iterator[Check]:
    """The largest of a column of shares."""
    found = _extreme(rows, name, column, largest=True)
    if found is not None:
        said = DASH if limit is None else f"{100 * limit:g} %"
        yield Check(f"{what}, at most", found, said, limit is None or found.number <= limit)


def _at_least(what: str, rows: pd.DataFrame, name: str, column: str) -> Iterator[Check]:
    """The smallest of a column of shares."""
    found = _extreme(rows, name, column, largest=False)
    if found is not None:
        yield Check(f"{what}, at least", found, DASH)


def _extreme(
    rows: pd.DataFrame, name: str, column: str, largest: bool, unit: str = "share"
) -> Value | None:
    numbers = pd.to_numeric(rows[column], errors="coerce").dropna()
    if numbers.empty:
        return None
    at = int(str(numbers.idxmax() if largest else numbers.idxmin()))
    return value(numbers.loc[at], unit, Rows(name, (at,)), formula=column)


def _range(rows: pd.DataFrame, name: str, column: str, unit: str) -> Cell:
    low, high = (_extreme(rows, name, column, largest, unit) for largest in (False, True))
    same = low is not None and high is not None and low.number == high.number
    return low if same else Joined((low, high), by=" to ")
