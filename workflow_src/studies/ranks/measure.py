"""Measures a point by several ranks, each a process, and reads what their traces tell."""

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from workflow_src.measure.processes import written_by
from workflow_src.measure.rows import Row
from workflow_src.studies.ranks.launch import run_ranks
from workflow_src.studies.study import Point
from workflow_src.studies.tasks import main

RANK = "workflow_src.studies.ranks.rank"
READER = "workflow_src.studies.ranks.read_traces"
"""Programs of their own: the reader needs pandas, which measuring doesn't."""

MEMORY = ("initialized_mib", "held_mib", "before_optimizer_mib", "optimizer_mib")
ERRORS = ("gradient_error", "parameter_error")


def tasks(point: Point) -> list[Row]:
    """The rows of a point, as of the rank that took most; skipped where GPUs are too few."""
    there = torch.cuda.device_count()
    if point["device"] == "cuda" and there < point["ranks"]:
        reason = f"needs {point['ranks']} GPUs, and {there} can be used"
        return [row | {"status": "skipped", "reason": reason} for row in _planned(point)]
    with TemporaryDirectory() as name:
        folder = Path(name)
        run_ranks(RANK, point, folder)
        found = [
            json.loads((folder / f"rows{number}.json").read_text(encoding="utf-8"))
            for number in range(point["ranks"])
        ]
        return with_traces([of_all(rows) for rows in zip(*found, strict=True)], folder)


def _planned(point: Point) -> list[Row]:
    if point["measurement"] == "all_reduce":
        return [{"measurement": "all_reduce", "bytes": size} for size in point["sizes_bytes"]]
    about = {name: point[name] for name in ("size", "context", "batch", "precision")}
    return [{"measurement": "training", "way": way} | about for way in point["ways"]]


def of_all(rows: Sequence[Row]) -> Row:
    """One row of all ranks': the first's, with the most memory and the largest errors of any.

    A row of a rank that ran out of memory, if one did.
    """
    failed = next((row for row in rows if row["status"] != "ok"), None)
    if failed:
        return failed
    most = {
        name: max(row[name] for row in rows)
        for name in (*MEMORY, *ERRORS)
        if rows[0].get(name) is not None
    }
    return rows[0] | most


def with_traces(rows: list[Row], folder: Path) -> list[Row]:
    """The rows, with what their traces in the folder say, if there are any."""
    if not any(folder.glob("*.json.gz")):
        return rows
    found = written_by(
        READER, ["--folder", str(folder)], folder / "traces.json", "the reader of the capture"
    )
    return [row | found.get(row.get("way"), {}) for row in rows]


if __name__ == "__main__":
    main(tasks)
