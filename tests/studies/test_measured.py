"""Small points of studies on a CPU: how they end, and that they make the published columns."""

import json
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.published import published, read_study
from tests.workflow import ROOT, load
from workflow_src.common.table_schema import columns
from workflow_src.studies.join_points import join
from workflow_src.studies.points import points
from workflow_src.studies.tasks import rows

SETTINGS = load(ROOT / "config.yaml")
FEW = {"warmup_steps": 0, "steps": 2}
ONE = {"one": {"d_model": 8, "d_ff": 12, "layers": 1, "heads": 2}}

CASES: dict[str, tuple[dict[int, dict[str, Any]], dict[str, int]]] = {
    "warmup": ({1: {"context": 16, "steps": 3}}, {"ok": 2}),
    "precision": ({0: {}, 1: {"context": 16, "profiled": ["bf16"]}}, {"ok": 36}),
    "mlp": ({0: FEW | {"dims": [16, 32]}}, {"ok": 2}),
    "accounting": (
        {0: FEW | {"sizes": ONE, "measured": ["one"], "vocabulary": 50, "context": 8}},
        {"ok": 4},
    ),
}
"""What of which points is made smaller, and how many of their rows end how."""

DERIVED = ("median_ms", "busy_ms", "flops", "tflops", "predicted_peak_mib", "first_step_ms")
ELSEWHERE = {
    "warmup": {"loading", "prepared", "process", "build_ms", "sweep"},
}
"""Columns of other points, or of a GPU alone."""


def measured(folder: Path, study: str) -> Iterator[tuple[Path, list[dict[str, Any]]]]:
    """The file of each point of a case, and its raw rows."""
    for number, changes in CASES[study][0].items():
        point = points(study, "cpu", "small", SETTINGS)[number] | {"device": "cpu"} | changes
        raw = rows(import_module(f"workflow_src.studies.{study}.measure").tasks, point)
        path = folder / f"{number}.json"
        path.write_text(json.dumps({"point": point, "rows": raw, "environment": {"gpu": ""}}))
        yield path, raw


@pytest.mark.parametrize("study", CASES)
def test_a_small_point_makes_the_columns_of_the_published_table(study: str, tmp_path: Path) -> None:
    found = dict(measured(tmp_path, study))
    every = [row for raw in found.values() for row in raw]
    assert Counter(row["status"] for row in every) == CASES[study][1]
    assert not any(name in row for row in every for name in DERIVED)
    table = join(study, found)
    known = read_study(published("h200") / "tables" / "studies" / f"{study}.csv")
    told = {*known.dropna(axis=1, how="all")} & {*columns(f"studies/{study}")}
    hosts = {name for name in told if name.startswith("host_")}
    assert told - hosts - ELSEWHERE.get(study, set()) <= {*table}
    check = CHECKS.get(study)
    assert check is None or check(table.set_index(pd.RangeIndex(len(table)))).all()


CHECKS = {
    "mlp": lambda table: table["busy_ms"] > 0,
    "precision": lambda table: table["busy_ms"].notna() == (table["precision"] == "bf16"),
    "warmup": lambda table: (table["first_step_ms"] > 0) & (table["samples"] == 3),
    "accounting": lambda table: table["busy_ms"].notna() == (table["phase"] == "forward"),
}
