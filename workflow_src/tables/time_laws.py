"""Laws of device time, and of the time of steps and ranges: each nanosecond is counted once."""

import pandas as pd

from workflow_src.common.units import NS_PER_MS
from workflow_src.placing.ledger import CAUSES
from workflow_src.tables.law import FLOATS, Law, Side, Tables, is_equal, summed, total

CASE, PHASE, STEP = ("case",), ("case", "phase"), ("case", "phase", "step")
PATH = ("case", "phase", "path")


def ranges_in_ns(tables: Tables) -> pd.DataFrame:
    """The ranges table with host_ns and busy_ns, which its milliseconds give exactly."""
    ranges = tables["ranges"]
    times = {
        f"{name}_ns": (ranges[f"{name}_ms"] * NS_PER_MS).round().astype("int64")
        for name in ("host", "busy")
    }
    return ranges.assign(**times)


def whole_steps(tables: Tables) -> pd.DataFrame:
    """The ranges that are whole steps: their path is the phase."""
    ranges = ranges_in_ns(tables)
    return ranges[ranges["path"] == ranges["phase"]]


def with_outer_paths(tables: Tables) -> pd.DataFrame:
    """The kernels in steps, a row for each range that they were launched in, outer ones too."""
    kernels = tables["kernels"]
    sums = kernels[kernels["phase"] != ""].groupby(list(PATH), as_index=False)[["busy_ns"]].sum()
    parts = sums["path"].str.split("/")
    outer = [["/".join(each[: n + 1]) for n in range(len(each))] for each in parts]
    return sums.assign(path=pd.Series(outer, index=sums.index, dtype=object)).explode("path")


def inside_parents(tables: Tables) -> pd.DataFrame:
    """The ranges with the path of the range around each, which is not in the table for a step."""
    ranges = ranges_in_ns(tables)
    inner = ranges[ranges["path"] != ranges["phase"]]
    return inner.assign(path=inner["path"].str.rpartition("/")[0])


def counted_by_nsys(column: str) -> Side:
    """A column of captures, of the cases whose kernels nsys counted too."""
    return total("captures", column, *CASE, only=lambda rows: rows["stats_total_ns"].notna())


def kernels_counted_by_nsys(tables: Tables) -> pd.Series:
    """The device time of kernels of these cases."""
    known = counted_by_nsys("stats_total_ns")(tables).index
    return total("kernels", "busy_ns", *CASE, only=is_equal("kind", "kernel"))(tables).reindex(
        known, fill_value=0
    )


def added(table: str, columns: list[str], *keys: str) -> Side:
    """The side that adds up several columns of a table, of rows that have them all."""

    def rows(tables: Tables) -> pd.DataFrame:
        known = tables[table].dropna(subset=columns)
        return known.assign(sum=known[columns].sum(axis=1))

    return summed(rows, "sum", *keys)


CAUSE_COLUMNS = [f"idle_{cause}_ns" for cause in CAUSES]


def explained_idle(tables: Tables) -> pd.DataFrame:
    """The steps whose idle time is split by cause."""
    return tables["ledger"].dropna(subset=CAUSE_COLUMNS)


def steps_by_kernels(tables: Tables) -> pd.Series:
    """The steps of each phase by kernels.csv."""
    kernels = tables["kernels"]
    return kernels[kernels["phase"] != ""].groupby(list(PHASE))["steps"].max()


def steps_by_ledger(tables: Tables) -> pd.Series:
    """The steps of each phase by ledger.csv."""
    return tables["ledger"].groupby(list(PHASE))["step"].nunique()


def per_step(column: str, factor: float) -> Side:
    """A column per step of kernels.csv, multiplied by its steps."""

    def rows(tables: Tables) -> pd.DataFrame:
        kernels = tables["kernels"]
        return kernels.assign(all=kernels[column] * kernels["steps"] * factor)

    return summed(rows, "all", *PHASE)


def in_steps(rows: pd.DataFrame) -> "pd.Series[bool]":
    """Chooses what was launched in a step."""
    return rows["phase"] != ""


def kernels_in_steps(rows: pd.DataFrame) -> "pd.Series[bool]":
    """Chooses the kernels launched in a step."""
    return in_steps(rows) & (rows["kind"] == "kernel")


def device_work_in_steps(rows: pd.DataFrame) -> "pd.Series[bool]":
    """Chooses kernels, copies and sets launched in a step."""
    return in_steps(rows) & (rows["kind"] != "operator")


TIME_LAWS = (
    Law(
        "captures: attributed + outside = total",
        added("captures", ["attributed_ns", "outside_ns"], *CASE),
        total("captures", "total_ns", *CASE),
        "ns",
    ),
    Law(
        "kernels = captures",
        total("kernels", "busy_ns", *CASE),
        total("captures", "total_ns", *CASE),
        "ns",
    ),
    Law(
        "kernels outside all steps = captures, outside",
        total("kernels", "busy_ns", *CASE, only=is_equal("phase", "")),
        total("captures", "outside_ns", *CASE),
        "ns",
    ),
    Law(
        "kernels = captures, activities",
        total("kernels", "calls", *CASE),
        total("captures", "activities", *CASE),
        "activities",
    ),
    Law(
        "kernels = nsys stats",
        kernels_counted_by_nsys,
        counted_by_nsys("stats_total_ns"),
        "ns",
        why="captures of torch.profiler have no second count",
    ),
    Law(
        "kernels per step x steps = kernels",
        per_step("busy_ms_per_step", NS_PER_MS),
        total("kernels", "busy_ns", *PHASE, only=in_steps),
        "ns",
        allowed=0.5,
        why=FLOATS,
    ),
    Law(
        "kernels' calls per step x steps = calls",
        per_step("calls_per_step", 1.0),
        total("kernels", "calls", *PHASE, only=in_steps),
        "activities",
        allowed=1e-3,
        why=FLOATS,
    ),
    Law(
        "kernels = ledger",
        total("kernels", "busy_ns", *PHASE, only=in_steps),
        total("ledger", "busy_ns", *PHASE),
        "ns",
    ),
    Law(
        "kernels = ranges",
        summed(with_outer_paths, "busy_ns", *PATH),
        summed(ranges_in_ns, "busy_ns", *PATH),
        "ns",
    ),
    Law(
        "ledger = ranges, busy",
        total("ledger", "busy_ns", *STEP),
        summed(whole_steps, "busy_ns", *STEP),
        "ns",
    ),
    Law(
        "ledger = ranges, wall time",
        total("ledger", "wall_ns", *STEP),
        summed(whole_steps, "host_ns", *STEP),
        "ns",
    ),
    Law(
        "ledger: active + idle = wall time",
        added("ledger", ["device_active_ns", "idle_ns"], *STEP),
        total("ledger", "wall_ns", *STEP),
        "ns",
    ),
    Law(
        "ledger: idle = its causes",
        summed(explained_idle, "idle_ns", *STEP),
        added("ledger", CAUSE_COLUMNS, *STEP),
        "ns",
        why="captures without API calls have no causes",
    ),
    Law(
        "ledger: active <= wall time",
        total("ledger", "device_active_ns", *STEP),
        total("ledger", "wall_ns", *STEP),
        "ns",
        at_most=True,
    ),
    Law(
        "ranges: inner <= outer, host time",
        summed(inside_parents, "host_ns", *STEP, "path"),
        summed(ranges_in_ns, "host_ns", *STEP, "path"),
        "ns",
        at_most=True,
    ),
    Law("kernels = ledger, steps", steps_by_kernels, steps_by_ledger, "steps"),
    Law(
        "launches <= kernels, launched kernels",
        total("launches", "kernels", *PHASE),
        total("kernels", "calls", *PHASE, only=kernels_in_steps),
        "kernels",
        at_most=True,
        why="a launch whose call is not in the capture has no delay",
    ),
    Law(
        "launches <= kernels, all launches",
        total("launches", "launches", *PHASE),
        total("kernels", "calls", *PHASE, only=device_work_in_steps),
        "activities",
        at_most=True,
        why="a launch whose call is not in the capture has no delay",
    ),
    Law(
        "launch delays = launches",
        total("launch_delays", "kernels", *PHASE),
        total("launches", "kernels", *PHASE),
        "kernels",
    ),
    Law(
        "launches: under 5 us <= under 10 us",
        total("launches", "kernels_under_5us_ns", *PHASE),
        total("launches", "kernels_under_10us_ns", *PHASE),
        "ns",
        at_most=True,
    ),
    Law(
        "launches: under 10 us <= kernels",
        total("launches", "kernels_under_10us_ns", *PHASE),
        total("kernels", "busy_ns", *PHASE, only=kernels_in_steps),
        "ns",
        at_most=True,
    ),
)
"""kernels, captures, ledger, ranges and launches agree to the nanosecond."""
