import json
from collections.abc import Iterator

import pandas as pd
import pytest

from tests.studies.attention.small import (
    COMPILED,
    LOOPS,
    SMALL_CORES,
    SMALL_MODULE,
    SMALL_PLAIN,
    derived,
)
from tests.studies.tables import table
from workflow_src.studies.attention import points, task
from workflow_src.studies.attention.chapter import result
from workflow_src.studies.attention.measure import measure
from workflow_src.studies.attention.plain import shapes


@pytest.fixture(scope="module")
def measured() -> list[dict]:
    """The raw rows of all three points, on a CPU."""
    return [*measure(SMALL_CORES), *measure(COMPILED), *measure(SMALL_MODULE)]


def test_measuring_on_a_cpu(measured):
    rows = derived(measured)
    status = {(r["implementation"], r["status"]) for r in rows if r["sweep"] == "core"}
    ran = {"naive", "fused_softmax", "sdpa_math", "sdpa_flash"}
    gone = {"sdpa_efficient", "sdpa_cudnn", "compiled"}
    assert status == {(n, "ok") for n in ran} | {(n, "skipped") for n in gone}
    shares = [r["share"] for r in rows if r["sweep"] == "kernel" and r["implementation"] == "sdpa"]
    assert sum(shares) == pytest.approx(1.0)
    naive = [r for r in rows if r["implementation"] == "naive" and r["sweep"] == "core"]
    assert [r.get("kernels", 0) > 0 for r in naive] == [False, False, True, True]
    module = [r for r in rows if r["sweep"] == "module"]
    assert [(r["implementation"], r["phase"]) for r in module] == [
        (version, phase) for version in points.VERSIONS for phase in task.PHASES
    ]
    assert all(row["kernels"] > 0 and row["samples"] >= 5 for row in module)
    assert [row["kept_mib"] > 0 for row in module[::2]] == [True, True]
    found = result(table(*(row | {"gpu": None} for row in rows)), pd.DataFrame())
    assert list(found.modules.changes["context"]) == [10]


ACTIVITY = {"range", "kind", "operator", "name", "calls", "busy_ns"}


ABOUT = {"sweep", "implementation", "precision", "batch", "heads", "context", "head_size"}


MEASURED = {"phase", "status", "reason", "samples_ns", "calls_per_sample", "peak_mib", "kept_mib"}


PROFILED = {"activities", "both_activities", "forward_activities"}


def activities(rows: list[dict]) -> Iterator[dict]:
    for row in rows:
        for key in PROFILED & set(row):
            yield from row[key]


def test_a_measured_point_holds_nothing_that_is_worked_out(measured):
    assert {key for row in measured for key in row} == ABOUT | MEASURED | PROFILED
    assert {frozenset(found) for found in activities(measured)} == {frozenset(ACTIVITY)}
    samples = [ns for row in measured for ns in row.get("samples_ns", [])]
    assert samples and all(type(ns) is int for ns in samples)
    once = [row for row in measured if row["sweep"] == "kernel"]
    assert [row["implementation"] for row in once] == list(points.VERSIONS)
    profiled = {(r["phase"], *sorted(PROFILED & set(r))) for r in measured if r.get("kept_mib")}
    assert profiled == {("forward",), ("forward", "activities")}
    assert json.loads(json.dumps(measured)) == measured


def test_the_plain_module_beside_ours_on_a_cpu() -> None:
    assert list(shapes(SMALL_PLAIN)) == [(2, 8), (2, 16), (3, 8)]
    rows = derived(measure(SMALL_PLAIN))
    times = [row for row in rows if row["sweep"] == "plain"]
    assert [(row["implementation"], row["batch"], row["context"]) for row in times] == [
        (name, *shape) for shape in shapes(SMALL_PLAIN) for name in ("plain", "packed")
    ]
    products = {
        name: {
            row["product"]
            for row in rows
            if (row["sweep"], row["implementation"], row.get("family"))
            == ("plain_kernel", name, "gemm")
        }
        for name in ("plain", "packed")
    }
    assert products["plain"] >= {"q", "k", "v", "scores", "values", "output"}
    assert products["packed"] >= {"qkv", "scores", "values", "output"}
    found = result(table(*rows), pd.DataFrame())
    assert list(found.modules.plain["context"]) == [8, 8, 16]
    assert set(found.modules.plain_kernels["module"]) == {"plain", "this project's"}


def test_passes_in_turn_as_the_course_asks_need_what_is_predicted() -> None:
    """8 x 16 rows of scores: q, k, v, output and gradient of 8,192 bytes each, 3 matrices of 8,192,
    two numbers a row, and the mask's 256 bytes: 66,816; both passes 6 of the former, 7 of these."""
    point = LOOPS | {"contexts": [16], "head_sizes": [16], "passes": 3}
    forward, backward = derived(measure(point))
    assert forward["samples"] == backward["samples"] == 3
    assert forward["before_backward_mib"] == forward["predicted_before_backward_mib"]
    assert forward["before_backward_mib"] * 2**20 == 8 * 8192 + 8 * 16 * 2 * 4 + 256
    assert backward["predicted_peak_mib"] * 2**20 == 13 * 8192 + 8 * 16 * 2 * 4 + 256
    (row,) = result(table(forward, backward), pd.DataFrame()).loops.to_dict("records")
    assert row["passes"].number == 3 and row["forward, ms"].number == pytest.approx(
        3 * forward["mean_ms"]
    )
