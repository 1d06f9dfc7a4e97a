"""Reads the tables: which rows support a number, and why a number is missing."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_src.answers.answer import Answer, Fact
from workflow_src.common.case import CASE_COLUMNS, COUNTS, PRECISIONS
from workflow_src.common.errors import StageError, remake
from workflow_src.common.reading import reading
from workflow_src.common.schema import one_of


class TableError(StageError):
    """A table can't be read; the message says what to do."""


OUTSIDE_LIMIT = 0.001
"""Answers are partial if more than this share of a capture's device time is outside all ranges."""

COLUMNS = {
    "timings": "phase status reason samples mean_ms median_ms std_ms p20_ms p80_ms cv",
    "ranges": "phase path step instances host_ms busy_ms span_ms",
    "kernels": "phase path name short_name kind family precision_ran calls steps busy_ns",
    "captures": "profiler total_ns attributed_ns outside_ns outside_share stats_total_ns "
    "family_coverage",
    "work": "component flops bytes",
    "environments": "",
    "api_calls": "phase steps kind calls total_ns",
    "launches": "phase kernels kernels_under_5us kernels_under_10us delay_median_us depth_median "
    "empty_queue_share",
    "ledger": "phase step wall_ns device_active_ns idle_ns",
    "products": "phase product direction m n k matrices short_name kernels_per_step "
    "busy_ms_per_step flops_per_step",
    "operators": "phase path family operator shapes dtypes short_name calls_per_step "
    "bytes_per_step",
    "alignment": "phase status reason aligned_share gemm_share_with_shape flops flops_expected "
    "family_disagreement_share family_disagreement",
    "ceilings": "kind name best_gb_per_s best_giga_exp_per_s",
    "plan": "warmup_steps steps capture_steps",
}
"""The columns that are read from each table, and from the plan, besides those of the case."""

OF_THE_MACHINE = frozenset({"ceilings"})
"""The tables whose rows belong to no case."""

SPARSE = frozenset({"alignment"})
"""The tables with rows that say why they hold no numbers."""

OPTIONAL_COLUMNS = {
    "timings": "replay_samples replayed_median_ms replayed_p20_ms replayed_p80_ms "
    "least_launch_bound_share most_launch_bound_share",
}
"""Columns with numbers that are read where a table has them; tables of older runs don't."""

_FILLED = """instances host_ms busy_ms span_ms calls steps warmup_steps capture_steps busy_ns
total_ns attributed_ns outside_ns outside_share flops bytes wall_ns device_active_ns idle_ns
m n k matrices calls_per_step kernels_per_step busy_ms_per_step flops_per_step"""
FILLED = frozenset(_FILLED.split())
"""The columns with a number in every row; those of timings are empty if a phase didn't run."""

TEXTS = "phase status reason path name short_name kind family precision_ran profiler component "
TEXTS += "replay_status replay_reason product direction operator shapes dtypes family_disagreement"
TEXT_COLUMNS = (frozenset(CASE_COLUMNS) - frozenset(COUNTS)) | frozenset(TEXTS.split())

STATUSES = ("ok", "oom", "skipped", "not_measured", "missing", "failed")
"""What the column status may say."""

REPLAY_STATUSES = ("ok", "oom", "skipped", "not_capturable", "failed")
"""What the column replay_status may say; it is empty where nothing was replayed."""

ALLOWED = {
    "status": STATUSES,
    "precision": PRECISIONS,
    "replay_status": (*REPLAY_STATUSES, ""),
}
"""The columns that may hold only certain texts."""

Row = dict[str, Any]


@dataclass(frozen=True)
class State:
    """Whether a case has numbers ("ok"), or why it has none.

    `word` is "ok", "oom", "skipped", "not_measured", "no_activity" or "fused"; the last where one
    kernel does what a question asks about separately.
    """

    word: str
    reason: str = ""


def read_table(directory: Path, name: str, case: Row | None = None) -> pd.DataFrame:
    """The table `name`.csv in `directory`, indexed by row number; the header is row 1.

    A case's own tables, which lack the case's columns, get them from `case`, but not those whose
    rows belong to no case.

    Empty cells become "" in text columns and NaN in others. In `environments`, all columns but
    the case's are text. Raises TableError if the file doesn't exist, if it has
    rows but lacks a required column, or if a numeric column holds anything but valid numbers.
    """
    return read_file(directory / f"{name}.csv", name, case)


def read_file(path: Path, name: str, case: Row | None = None) -> pd.DataFrame:
    """As `read_table`, from a file of any name."""
    with reading(path, "a readable table", remake(path), TableError):
        return _read_table(path, name, case or {})


def empty_table(name: str) -> pd.DataFrame:
    """The table `name` without rows."""
    return pd.DataFrame(columns=[*CASE_COLUMNS, *COLUMNS[name].split()])


def _read_table(path: Path, name: str, case: Row) -> pd.DataFrame:
    header = list(pd.read_csv(path, nrows=0).columns)
    everything = name == "environments"
    text = [c for c in header if c in TEXT_COLUMNS or (everything and c not in CASE_COLUMNS)]
    types = dict.fromkeys(text, "object")
    table = pd.read_csv(path, dtype=types, keep_default_na=False, na_values=[""])
    table[text] = table[text].fillna("")
    front = () if name in OF_THE_MACHINE else CASE_COLUMNS
    if case and "case" not in header:
        table = table.assign(**{column: case[column] for column in front})
        header += front
    absent = [c for c in (*front, *COLUMNS[name].split()) if c not in header]
    if absent and len(table):
        raise ValueError(f"no column {', '.join(absent)}")
    table = table.reindex(columns=[*header, *absent])
    optional = [c for c in OPTIONAL_COLUMNS.get(name, "").split() if c in header]
    required = [c for c in COLUMNS[name].split() if c not in TEXT_COLUMNS]
    counts = [c for c in COUNTS if c in table]
    filled = frozenset() if name in SPARSE else FILLED
    for column in (*counts, *required, *optional):
        table[column] = _amounts(table[column], filled)
    for column, allowed in ALLOWED.items():
        unknown = {str(value) for value in table.get(column, ())} - set(allowed)
        if unknown:
            raise ValueError(one_of(column, sorted(unknown)[0], allowed))
    if len(table):
        table[counts] = table[counts].astype("int64")
    return table.set_index(pd.RangeIndex(2, len(table) + 2))


def _amounts(column: pd.Series, filled: frozenset[str]) -> pd.Series:
    """A column as numbers.

    Raises ValueError for a negative or infinite one, or for a missing one of a `filled` column.
    """
    numbers = pd.to_numeric(column)
    if column.name in filled and column.isna().any():
        raise ValueError(f"{column.name} is empty in some row")
    if ((numbers < 0) | (numbers == float("inf"))).any():
        raise ValueError(f"{column.name} holds a negative or infinite number")
    return numbers


def cases_of(*tables: pd.DataFrame) -> list[Row]:
    """The cases in any of the tables, in order of first appearance, as rows of case columns."""
    columns = list(CASE_COLUMNS)
    every = pd.concat([table[columns] for table in tables if len(table)] or [tables[0][columns]])
    found: list[Row] = every.drop_duplicates("case").to_dict("records")  # type: ignore[assignment]
    return found


def of(table: pd.DataFrame, case: str, phase: str | None = None) -> pd.DataFrame:
    """The rows of one case, restricted to `phase` if given."""
    mine = table[table["case"] == case]
    return mine if phase is None else mine[mine["phase"] == phase]


def row_numbers(frame: pd.DataFrame) -> tuple[int, ...]:
    """The numbers of the table's rows that are in `frame`."""
    return tuple(int(number) for number in frame.index)


def under(paths: "pd.Series[str]", prefix: str) -> "pd.Series[bool]":
    """Which paths are `prefix` itself or lie below it."""
    return (paths == prefix) | paths.str.startswith(prefix + "/")


def benchmark_state(timings: pd.DataFrame, case: str, phase: str) -> State:
    """The state of a phase in the unprofiled benchmark."""
    rows = of(timings, case, phase)
    if rows.empty:
        return State("not_measured")
    status, reason = str(rows["status"].iloc[0]), str(rows["reason"].iloc[0])
    return State("not_measured") if status == "missing" else State(status, reason)


def profile_state(
    timings: pd.DataFrame, captures: pd.DataFrame, profiled: pd.DataFrame, case: str, phase: str
) -> State:
    """Whether `profiled` (kernels or ranges) holds a phase of a case, or why not.

    A phase that ran out of memory is "oom" even if part of one of its steps was captured.
    """
    benchmark = benchmark_state(timings, case, phase)
    if benchmark.word in ("oom", "skipped"):
        return benchmark
    if holds_no_activity(captures, case):
        return State("no_activity")
    return State("not_measured" if of(profiled, case, phase).empty else "ok")


def holds_no_activity(captures: pd.DataFrame, case: str) -> bool:
    """Whether the case was captured but the capture holds no device activity."""
    mine = of(captures, case)
    return not mine.empty and not mine["total_ns"].sum() > 0


def outside_share(captures: pd.DataFrame, case: str) -> float:
    """Share of the capture's device time outside all ranges; NaN without a capture."""
    mine = of(captures, case)
    return float("nan") if mine.empty else float(mine["outside_share"].iloc[0])


def axes(cases: Sequence[Mapping[str, Any]]) -> list[str]:
    """The case columns that distinguish `cases`: size, context, and any others that vary."""
    others = [c for c in CASE_COLUMNS[3:] if len({case[c] for case in cases}) > 1]
    return ["size", "context", *others]


def over_contexts(rows: Iterable[Row]) -> list[list[Row]]:
    """Series of two or more rows that differ only in context, shortest context first."""
    runs: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        key = tuple(row[column] for column in CASE_COLUMNS if column not in ("case", "context"))
        runs.setdefault(key, []).append(row)
    ordered = [sorted(run, key=lambda row: int(row["context"])) for run in runs.values()]
    return [run for run in ordered if len(run) > 1]


def whole_steps(ranges: pd.DataFrame, case: str, phase: str) -> pd.DataFrame:
    """The rows of ranges.csv that are whole steps of a phase."""
    steps = of(ranges, case, phase)
    return steps[steps["path"] == phase]


def trend(rows: Iterable[Row], value: Callable[[Row], float], tolerance: float) -> Row:
    """How `value` changes from the shortest context to the longest.

    Counts the series over contexts that rise, fall or are steady (within `tolerance`, in the unit
    of the value), and gives the values at both ends of the first series. Empty without a series.
    """
    runs = over_contexts(rows)
    if not runs:
        return {}
    changes = [value(run[-1]) - value(run[0]) for run in runs]
    first, last = runs[0][0], runs[0][-1]
    return {
        "runs": len(runs),
        "rises": sum(change > tolerance for change in changes),
        "falls": sum(change < -tolerance for change in changes),
        "steady": sum(abs(change) <= tolerance for change in changes),
        "from_case": first["case"],
        "from_value": value(first),
        "to_case": last["case"],
        "to_value": value(last),
    }


def coverage(states: Mapping[tuple[str, str], State], captures: pd.DataFrame) -> Row:
    """What an answer covers, from the states of its values, keyed by (case, part or "").

    Lists the keys in each state, as "case" or "case (part)", and the cases with too much device
    time outside all ranges.
    """
    named: dict[str, list[str]] = {}
    for (case, part), state in states.items():
        named.setdefault(state.word, []).append(f"{case} ({part})" if part else case)
    answered = dict.fromkeys(case for (case, _), state in states.items() if state.word == "ok")
    shares = {case: outside_share(captures, case) for case in answered}
    reasons = {state.reason for state in states.values() if state.word == "skipped"}
    return {
        "cases": len({case for case, _ in states}),
        "answered": len(answered),
        "skipped_why": sorted(reasons - {""}),
        "outside": {case: share for case, share in shares.items() if not share <= OUTSIDE_LIMIT},
        "outside_limit": OUTSIDE_LIMIT,
        **{word: named.get(word, []) for word in ("oom", "skipped", "not_measured", "no_activity")},
    }


def status_of(covered: Mapping[str, Any]) -> str:
    """The status of an answer with this coverage; see Answer."""
    if not covered["answered"]:
        return "missing"
    gaps = covered["not_measured"] or covered["no_activity"] or covered["outside"]
    return "partial" if gaps else "complete"


def words(cases: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What to call activities and their time: on a CPU, operators take the place of kernels."""
    devices = {case["device"] for case in cases}
    if devices == {"cpu"}:
        return {"kernel": "operator", "device_time": "operator time"}
    if "cpu" in devices:
        return {"kernel": "kernel or operator", "device_time": "device or operator time"}
    return {"kernel": "kernel", "device_time": "device time"}


def answered(
    question: str,
    title: str,
    cases: Sequence[Row],
    states: Mapping[tuple[str, str], State],
    captures: pd.DataFrame,
    facts: Sequence[Fact],
    rows: Mapping[str, pd.DataFrame],
    summary: Row,
) -> Answer:
    """The answer to a question, with its status; adds coverage and terms to its summary.

    `states` is as for `coverage`; `rows` are the tables to display, by name.
    """
    covered = coverage(states, captures)
    extended = summary | {"covered": covered, "words": words(cases)}
    return Answer(question, title, status_of(covered), tuple(facts), rows, extended)
