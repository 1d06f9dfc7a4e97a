"""The tables of one case, from its export and its benchmark."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_src.common.arguments import (
    existing_file,
    existing_folder,
    new_folder,
    stage_arguments,
)
from workflow_src.common.atomic_write import write_csv
from workflow_src.common.case import TABLES, Brought, case_of
from workflow_src.common.errors import CAPTURE_AGAIN, StageError, TraceError, one_sentence, remake
from workflow_src.common.nesting import NOWHERE
from workflow_src.common.reading import reading
from workflow_src.common.units import NS_PER_MS
from workflow_src.model.flops import Work, forward_work
from workflow_src.placing.case_capture import CaseCapture, ledger, read_case, require_complete
from workflow_src.placing.families import coverage, families
from workflow_src.placing.kernel_names import precision_ran, short_names
from workflow_src.tables.certificate import doubts
from workflow_src.tables.measured import environment, timings
from workflow_src.tables.operators import operator_tables


def stats_total_ns(report: Path) -> int | None:
    """Total kernel time (ns) in cuda_gpu_kern_sum of `nsys stats`; None if that was skipped, which
    leaves an empty file. Raises TraceError if there is no file."""
    if not report.is_file():
        raise TraceError(f"{report} is missing from its export; {remake(report.parent)}")
    if not report.stat().st_size:
        return None
    with reading(report, "what nsys stats prints", remake(report.parent), TraceError):
        return int(pd.read_csv(report)["Total Time (ns)"].astype("int64").sum())


def ranges_table(ranges: pd.DataFrame) -> pd.DataFrame:
    """A row per path and step."""
    inside = ranges[ranges["phase"] != ""]
    inside = inside.assign(instances=1, host_ns=inside["end_ns"] - inside["start_ns"])
    times = ["host_ns", "busy_ns"]
    table = inside.groupby(["phase", "path", "step"])[["instances", *times]].sum()
    in_ms = (table[times] / NS_PER_MS).set_axis([f"{name[:-3]}_ms" for name in times], axis=1)
    return table[["instances"]].join(in_ms).reset_index()


def kernels_table(ranges: pd.DataFrame, activities: pd.DataFrame) -> pd.DataFrame:
    """A row per innermost path, kind and name; outside of steps phase and path are empty."""
    path = activities["path"].where(activities["phase"] != "", "")
    placed = activities.assign(path=path).astype({"name": object})
    grouped = placed.groupby(["phase", "path", "kind", "name"], as_index=False)
    table = grouped.agg(calls=("duration_ns", "size"), busy_ns=("duration_ns", "sum"))
    steps = ranges[ranges["step"] != NOWHERE].groupby("phase")["step"].nunique()
    table["steps"] = table["phase"].map(steps).fillna(0).astype("int64")
    per_step, family = table["steps"].where(table["steps"] > 0), families(table["name"])
    return table.assign(
        calls_per_step=table["calls"] / per_step,
        busy_ms_per_step=table["busy_ns"] / NS_PER_MS / per_step,
        short_name=short_names(table["name"]),
        family=family,
        precision_ran=precision_ran(table["name"], family),
    )


def capture_table(case: CaseCapture, kernels: pd.DataFrame, stats_ns: int | None) -> pd.DataFrame:
    """One row that accounts for all device time of a capture.

    Raises TraceError if the parts don't add up to the total, or nsys counted another total.
    """
    total_ns, busy = case.placed.capture.total_ns, kernels["busy_ns"]
    inside = kernels["phase"] != ""
    attributed_ns, outside_ns = int(busy[inside].sum()), int(busy[~inside].sum())
    if attributed_ns + outside_ns != total_ns:
        raise TraceError(
            f"{attributed_ns} ns in ranges and {outside_ns} ns outside are not the "
            f"{total_ns} ns of the capture"
        )
    kernel_ns = int(busy[kernels["kind"] == "kernel"].sum())
    if stats_ns is not None and stats_ns != kernel_ns:
        raise TraceError(
            f"nsys stats counts {stats_ns} ns of kernels where its export holds {kernel_ns} ns; "
            + CAPTURE_AGAIN
        )
    row = {
        "profiler": case.placed.capture.recording.profiler,
        "total_ns": total_ns,
        "attributed_ns": attributed_ns,
        "outside_ns": outside_ns,
        "outside_share": outside_ns / total_ns if total_ns else 0.0,
        "stats_total_ns": stats_ns,
        "activities": len(case.work),
        "family_coverage": coverage(kernels),
        **case.facts,
        "doubts": "; ".join(doubts(case.placed)),
    }
    return pd.DataFrame([row])


def work_table(result: dict[str, Any]) -> pd.DataFrame:
    """FLOPs and bytes of a forward pass by formula; of a brought model FLOPs that torch counts."""
    case = case_of(result["case"])
    if isinstance(case, Brought):
        counted = result["phases"]["forward"].get("counted", {}).get("flops", {})
        rows = [Work(name, flops, 0) for name, flops in counted.items()]
    else:
        rows = forward_work(case)
    return pd.DataFrame(rows, columns=Work._fields)


def case_tables(export: Path, benchmark: Path) -> dict[str, pd.DataFrame]:
    """All tables of a case by name. Raises StageError if one of its files can't be used."""
    case = read_case(export)
    require_complete(case)
    capture, ranges, activities = case.placed.capture, case.ranges, case.work
    kernels = kernels_table(ranges, activities)
    by_nsys = capture.recording.profiler == "nsys"
    stats_ns = stats_total_ns(export / "cuda_gpu_kern_sum.csv") if by_nsys else None
    with reading(benchmark, "a benchmark's result", remake(benchmark), StageError):
        result = json.loads(benchmark.read_text(encoding="utf-8"))
        version = capture.recording.version or result["environment"]["torch"]
        tables = {
            "timings": timings(result),
            "work": work_table(result),
            "environments": environment(result, version),
            **operator_tables(ranges, activities, result),
        }
        for table in tables.values():
            # Text that can't be written as UTF-8 fails here, where the message names the file.
            table.to_csv().encode()
    return tables | {
        "ranges": ranges_table(ranges),
        "kernels": kernels,
        "captures": capture_table(case, kernels, stats_ns),
        "ledger": ledger(case),
    }


def main() -> None:
    """Write the tables of one case into a folder."""
    files = {"export": existing_folder, "benchmark": existing_file, "output": new_folder}
    given = stage_arguments(__doc__, **files)
    with one_sentence(given.export.name):
        found = case_tables(given.export, given.benchmark)
        for name in TABLES:
            write_csv(given.output / f"{name}.csv", found[name])


if __name__ == "__main__":
    main()
