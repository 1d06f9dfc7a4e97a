"""What was run: the models' sizes, and the settings, versions and hosts."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from markupsafe import Markup

from workflow_src.answers.conditions import elsewhere, gpus, host_ids, hosts
from workflow_src.answers.doubts import environments
from workflow_src.answers.times import PhaseTimes
from workflow_src.common import words
from workflow_src.common.case import Case, is_brought
from workflow_src.common.datasheets import peak_tflop_per_s
from workflow_src.model.flops import parameter_count
from workflow_src.paper.markdown import escape
from workflow_src.paper.value import Cell, Joined, Rows, Value, rows_of, spread, value
from workflow_src.report.run import Run

SIZE = ("d_model", "d_ff", "layers", "heads")

RECORDED = {
    "gpu": "GPU",
    "cpu": "CPU",
    "cpu_cores": "CPU cores",
    "cpu_threads": "CPU threads of torch",
    "torch": "torch",
    "cuda": "CUDA",
    "driver": "driver",
    "python": "Python",
}
"""The columns of environments.csv that are shown, with what they are called."""

PROFILERS = {"nsys": "Nsight Systems", "torch": "torch.profiler"}
"""What recorded a capture, by name."""

PLANNED = {
    "warmup_steps": "steps of warm-up",
    "steps": "steps timed per process",
    "processes": "processes",
    "capture_steps": "steps captured",
    "memory_limit_gib": "memory limit, GiB",
    "vocabulary": "vocabulary",
    "seed": "seed",
}
"""The columns of the plan that are shown, with what they are called."""

NO_RESULT = "the run has no result of it, and allow_missing lets it be left out"
"""Why a phase has no time or capture, where nothing that was recorded says so."""

SHOWN = 4
"""A setting with more values is shown by its smallest and largest."""


@dataclass(frozen=True)
class WhatRan:
    """Two tables; the phases that lack a time or a capture, for the appendix.

    `elsewhere`: the studies of hosts on which no case ran, as far as they tell; `without_host`:
    those that don't.
    """

    sizes: pd.DataFrame
    settings: pd.DataFrame
    incomplete: pd.DataFrame
    elsewhere: tuple[str, ...]
    without_host: tuple[str, ...]


def what_ran(run: Run) -> WhatRan:
    """What a run consisted of."""
    cases = run.tables["environments"]
    studies = {part.name: run.tables[f"studies/{part.name}"] for part in run.studies}
    return WhatRan(
        sizes=sizes(run.plan),
        settings=settings(run),
        incomplete=incomplete(run.times),
        elsewhere=tuple(
            f"{name}{_part(rows)}" for name, rows in studies.items() if elsewhere(rows, cases)
        ),
        without_host=tuple(name for name, rows in studies.items() if not host_ids(rows)),
    )


def _part(rows: pd.DataFrame) -> str:
    """Behind a study some of whose rows name no host, and may be of any."""
    return "" if rows["host_id"].replace("", pd.NA).notna().all() else " (in part)"


def sizes(plan: pd.DataFrame) -> pd.DataFrame:
    """A row per size; empty if the plan doesn't tell them."""
    if not set(SIZE) <= set(plan.columns):
        return pd.DataFrame()
    rows = plan.drop_duplicates("size")
    lines = [_size(int(number), rows.loc[number]) for number in rows.index]
    columns = ["size", *SIZE, "head size", "parameters, millions"]
    return pd.DataFrame(lines, columns=columns, dtype="object")


def _size(number: int, row: pd.Series) -> list[Cell]:
    source = Rows("plan", (number,))
    cells = [value(row[name], "count", source, formula=name) for name in SIZE]
    case = Case.from_dict({str(name): cell for name, cell in row.items()})
    millions = value(parameter_count(case) / 1e6, "", source, formula="parameters / 10^6")
    head = value(case.d_head, "count", source, formula="d_model / heads")
    return [str(row["size"]), *cells, head, millions]


def settings(run: Run) -> pd.DataFrame:
    """Settings, versions and hosts, a row each; without what wasn't recorded."""
    table, plan, of_cases = run.tables["environments"], run.plan, environments(run.tables)
    rows: dict[str, Cell] = {
        **_named(run),
        **{said: recorded(table, name) for name, said in RECORDED.items()},
        **{said: recorded(plan, name) for name, said in PLANNED.items()},
        "profiler": _profilers(run),
        "dense peak by datasheet, TFLOP/s": _peaks(run),
        "cases measured on": _days(table),
        "hosts": hosts(run.tables),
        "GPUs": gpus(run.tables),
        "cases under torch.compile, so without ranges of modules": _compiled(table),
        "a launch on the host, us: median (least to most)": spread(
            each.launch_us for each in of_cases
        ),
        "an eager operation, us: median (least to most)": spread(
            each.operation_us for each in of_cases
        ),
    }
    lines = [[name, cell] for name, cell in rows.items() if cell]
    return pd.DataFrame(lines, columns=["what", "value"], dtype="object")


def _peaks(run: Run) -> str:
    """What MFU is a share of, by precision; "" of GPUs without a datasheet here."""
    gpus_there = run.tables["environments"].get("gpu", pd.Series(dtype=object)).unique()
    peaks = {
        case.precision: peak
        for case in run.tables.cases
        for gpu in gpus_there
        if (peak := peak_tflop_per_s(str(gpu), case.precision))
    }
    return ", ".join(f"{precision} {peak}" for precision, peak in peaks.items())


def _profilers(run: Run) -> Markup:
    """The profilers by name, with the versions recorded; torch.profiler's is torch's."""
    names = dict.fromkeys(map(str, run.tables["captures"].get("profiler", ())))
    told = Markup(", ").join(PROFILERS.get(name, name) for name in names)
    versions = recorded(run.tables["environments"], "profiler_version")
    return Markup(" ").join(filter(None, (told, versions)))


def _named(run: Run) -> dict[str, Cell]:
    """The workload, if one was brought, else the suite; with the tag."""
    brought = is_brought(run.plan)
    first = str(run.plan["workload"].iloc[0]) if brought else run.suite
    what = "workload, tag" if brought else "suite, tag"
    return {what: Markup(f"`{escape(first)}`, `{escape(run.tag)}`")}


def recorded(table: pd.DataFrame, column: str) -> Markup:
    """The values of a column as code, as they were recorded; "" if there are none."""
    found = [_plain(cell) for cell in table.get(column, ()) if cell == cell and cell != ""]
    counts = list(dict.fromkeys(found))
    if len(counts) > SHOWN:
        ordered = sorted(counts, key=_order)
        return Markup(" to ").join((_code(ordered[0]), _code(ordered[-1])))
    return Markup(", ").join(map(_code, counts))


def _plain(cell: object) -> str:
    """A cell as text: numbers of the plan without a decimal point where they are whole."""
    return f"{cell:.4g}" if isinstance(cell, float) and cell != round(cell) else _whole(cell)


def _whole(cell: object) -> str:
    return str(round(cell)) if isinstance(cell, float) else str(cell)


def _order(text: str) -> tuple[float, str]:
    try:
        return float(text), text
    except ValueError:
        return float("inf"), text


def _code(text: str) -> Markup:
    return Markup(f"`{escape(text)}`")


def _days(environments: pd.DataFrame) -> Markup:
    days = sorted({str(at)[:10] for at in environments.get("started_at", ()) if at})
    return Markup(" to ").join(_code(day) for day in dict.fromkeys([*days[:1], *days[-1:]]))


def _compiled(environments: pd.DataFrame) -> Cell:
    """How many of the cases ran under torch.compile; None if none did."""
    if "compiled" not in environments:
        return None
    mine = environments[environments["compiled"] == "True"]
    counts = [Value(len(e), "count", (rows_of("environments", e),)) for e in (mine, environments)]
    return Joined(tuple(counts), by=" of ") if len(mine) else None


def incomplete(times: Sequence[PhaseTimes]) -> pd.DataFrame:
    """The phases without a time or a capture, and why."""
    lines = [line for each in times if (line := _lacking(each))]
    columns = ["case", "phase", "unprofiled", "profiled", "reason"]
    return pd.DataFrame(lines, columns=columns, dtype="object")


def _lacking(times: PhaseTimes) -> list[Cell]:
    if times.complete:
        return []
    states = [words.STATES[state] for state in (times.state, times.profiled_state)]
    reason = times.reason or (NO_RESULT if words.STATES["not_measured"] in states else None)
    return [times.case.case, words.PHASES[times.phase], *states, reason]
