"""Study fusion: what one kernel gains over one per step of a formula, and how near a copy it is."""

from typing import Any

import pandas as pd

from workflow_src.common.units import NS_PER_MS
from workflow_src.paper.figures import Panel, Plot, power
from workflow_src.paper.number import Numbers, of, over, to
from workflow_src.paper.run import Run, first, wide
from workflow_src.paper.written import Facts
from workflow_src.studies.facts import load, or_state, sortable, unmeasured
from workflow_src.studies.study import Point, Row

NAMES = {
    "copy": "copy",
    "written_out": "written out",
    "torch": "torch's own",
    "compiled": "torch.compile",
    "triton": "Triton",
    # Of tables of runs that measured it: nothing here does.
    "cuda": "CUDA C++",
}
OPERATIONS = {"gelu": "GeLU", "softmax": "Softmax"}

ONE_KERNEL = ("triton", "torch")
"""The implementations that the verdict is on: this project's, or where it didn't run, torch's."""

SAME_WITHIN = 0.02
"""How far apart equal medians may be."""

SHAPE = ["words", "dtype", "rows", "columns"]
"""What rows must have in common to be compared with each other."""

ORDER = ["words", "dtype", "columns", "elements"]
"""By what rows are sorted."""


def facts(run: Run) -> Facts:
    """What the study's table says."""
    table = load(run, "fusion")
    table = named(table[table["operation"].isin([*OPERATIONS])])
    ran = table[table["ok"]]
    return gains(ran) | {
        "best": best_rate(ran),
        "on_cpu": bool((ran["gpu"] == "").any()),
        "largest": at_largest(ran),
        "every": table.sort_values(ORDER, key=sortable, kind="stable"),
        "missing": unmeasured(table, "words", "name"),
        "figure": figure(ran),
    }


def size(elements: object) -> object:
    """A number of elements as text, as a power of two if it is one: 2^20."""
    return power(int(float(elements))) if elements == elements else ""  # type: ignore[arg-type]


def named(table: pd.DataFrame) -> pd.DataFrame:
    """The table with names, and with rates over a copy's and memory's best on a GPU.

    A CPU's cache may hold the tensors; a GPU takes several in turn.
    """
    on_gpu = table["gpu"] != ""
    many = table["rows"] > 1
    compared = on_gpu & (table["implementation"] != "copy")
    return table.assign(
        words=table["operation"].map(OPERATIONS),
        name=table["implementation"].map(NAMES),
        size=table["elements"].map(size),
        high=table["rows"].where(many),
        long=table["columns"].where(many),
        ms=or_state(table["time"], table),
        of_memory=to(table["achieved_gb_per_s"] / best_rate(table[table["ok"]]), "share"),
        of_copy=table["share_of_copy"].where(compared),
    )


def best_rate(ran: pd.DataFrame) -> Any:
    """The best rate of a GPU's memory at one read a write: of a copy; NaN without any."""
    return of(
        ran["achieved_gb_per_s"][(ran["implementation"] == "copy") & (ran["gpu"] != "")], "max"
    )


def largest(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of each operation with its most elements."""
    elements = rows["elements"].astype(float)
    return rows[elements == elements.groupby(rows["words"]).transform("max")]


def speedups(rows: pd.DataFrame, kernel: str) -> Numbers:
    """The median written out over that of `kernel`, at each shape that has both."""
    of_shape = rows.drop_duplicates([*SHAPE, "implementation"])
    both = of_shape.pivot(index=SHAPE, columns="implementation", values="median_ms")
    both = both.reindex(columns=["written_out", kernel]).astype(object)
    return (both["written_out"] / both[kernel]).dropna().astype(object)


def gains(ran: pd.DataFrame) -> Facts:
    """The verdict on the largest sizes: how many times as fast one kernel is as written out."""
    every = {kernel: speedups(largest(ran), kernel) for kernel in ONE_KERNEL}
    kernel = next((name for name in ONE_KERNEL if len(every[name])), ONE_KERNEL[0])
    faster = every[kernel] > 1 + SAME_WITHIN
    verdict = "pays" if faster.all() else "partly" if faster.any() else "doesn't"
    gains = over(every[kernel].rename("gain").reset_index(), "words", "gain", "spread")
    return {
        "verdict": verdict if len(faster) else "can't tell",
        "kernel": NAMES[kernel],
        "gains": [*gains.items()],
    }


def at_largest(ran: pd.DataFrame) -> pd.DataFrame:
    """A row per implementation at the largest sizes: shares of the best rate of memory.

    Times (ms) on a CPU.
    """
    rows = largest(ran)
    heading = rows["words"] + " of " + rows["size"] + ", " + rows["dtype"]
    cells = "time" if (rows["gpu"] == "").any() else "of_memory"
    found = wide(over(rows.assign(heading=heading), ["name", "heading"], cells, "spread"))
    order = [name for name in NAMES.values() if name in found.index]
    return found.loc[order].rename_axis("").reset_index() if order else found


def figure(ran: pd.DataFrame) -> Plot:
    """GB/s of each implementation: GeLU over elements, softmax over columns at its largest size."""
    panels = []
    for (operation, dtype), every in ran.groupby(["operation", "dtype"], sort=False):
        across = "elements" if operation == "gelu" else "columns"
        mine = every if operation == "gelu" else largest(every)
        of_size = "" if operation == "gelu" else f" (of {first(mine)['size']} elements)"
        panel = Panel(
            mine.sort_values(across, key=sortable, kind="stable"),
            x=across,
            y="achieved_gb_per_s",
            by="name",
            log="x",
            reference=NAMES["copy"],
            title=f"{first(mine)['words']}, {dtype}",
            xlabel=across + of_size,
        )
        panels.append(panel)
    return Plot(panels, "nothing was measured", "GB/s (one read, one write)", (4.2, 3.0), wide=2)


ELEMENT_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """The rows with elements, launches, bytes, rate, and its share of the rate of a copy.

    The ceilings that older points measured, too, are left out.
    """
    rows = [row | {"elements": row["rows"] * row["columns"]} for row in rows if "kind" not in row]
    launched = {launches_alike(row): row["kernels"] for row in rows if "activities" in row}
    copied: dict[tuple[object, ...], float] = {}
    for row in (row for row in rows if row["status"] == "ok"):
        moved = 2 * row["elements"] * ELEMENT_BYTES[row["dtype"]]
        row["kernels_launched"] = launched.get(launches_alike(row))
        row["bytes_moved"] = moved
        # Bytes per nanosecond are 10^9 bytes per second.
        rate = row["achieved_gb_per_s"] = moved / (row["median_ms"] * NS_PER_MS)
        shape = row["operation"], row["dtype"], row["rows"], row["columns"]
        if row["implementation"] == "copy":
            copied[shape] = rate
        # The copy of a shape comes first; see measure.
        row["share_of_copy"] = rate / copied[shape] if shape in copied else None
    return rows


def launches_alike(row: Row) -> tuple[str, str, int]:
    """What rows share that launch equally many kernels, of which one is profiled; see measure."""
    columns = row["columns"] if row["operation"] == "softmax" else 0
    return row["implementation"], row["dtype"], columns
