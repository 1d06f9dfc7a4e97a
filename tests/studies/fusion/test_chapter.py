"""What one kernel gains, from small tables done by hand."""

from typing import Any

import pytest

from tests.studies.chapters import facts, texts
from tests.studies.tables import table
from workflow_src.common.words import DASH
from workflow_src.studies.fusion.chapter import LARGE


def timed(
    implementation: str, ms: float | None, operation: str = "gelu", **other: object
) -> dict[str, object]:
    """An operation on LARGE elements of which a copy would take 0.9 ms."""
    columns = LARGE if operation == "gelu" else 128
    about = {"operation": operation, "implementation": implementation, "dtype": "float32"}
    about |= {"rows": LARGE // columns, "columns": columns, "elements": LARGE, "gpu": "other"}
    work = {"median_ms": ms, "bytes_moved": 8 * LARGE, "relative_error": 1e-7, "samples": 1}
    rates = {"achieved_gb_per_s": 900 / ms, "share_of_copy": 0.9 / ms} if ms else {}
    return about | work | rates | {"kernels_launched": 1} | other


def found(*rows: dict[str, object]) -> dict[str, Any]:
    return facts("fusion", table(*rows))


def gains(*rows: dict[str, object]) -> tuple[str, list[str]]:
    """The implementation that stands for one kernel, and what each operation gains from it."""
    said = found(*rows)
    return said["kernel"], [f"{name} {gain}" for name, gain in said["gains"]]


def test_triton_stands_for_one_kernel_and_without_it_torchs_own() -> None:
    rows = [timed("written_out", 8.0), timed("torch", 2.0), timed("triton", 1.0)]
    assert gains(*rows, timed("triton", 9.0, dtype="bfloat16")) == ("Triton", ["GeLU 8.0 ×"])
    softmax = [timed("written_out", 6.0, "softmax"), timed("torch", 1.5, "softmax")]
    assert gains(*rows[:2], *softmax) == ("torch's own", ["GeLU 4.0 ×", "Softmax 4.0 ×"])


@pytest.mark.parametrize(
    ("cells", "share"),
    [
        ({"gpu": "NVIDIA H200", "bytes_moved": 100 * 2**20}, DASH),
        ({"gpu": "NVIDIA H200", "bytes_moved": 101 * 2**20}, "99 %"),
        ({"elements": LARGE // 2}, DASH),
        ({"elements": LARGE // 2, "sets": 26}, "99 %"),
    ],
)
def test_no_rate_is_memorys_of_what_fits_in_a_cache(cells: dict[str, object], share: str) -> None:
    slow = timed("copy", 1.0, achieved_gb_per_s=990.0, ceiling_gb_per_s=1000.0)
    assert texts(found(slow | cells)["every"]["of_memory"]) == [share]


@pytest.mark.parametrize(
    ("gelu", "softmax", "verdict"),
    [
        (8.0, 2.0, "pays"),
        (8.0, 1.01, "partly"),
        (1.02, 0.5, "doesn't"),
        (None, None, "can't tell"),
    ],
)
def test_verdicts(gelu: float | None, softmax: float | None, verdict: str) -> None:
    times = {"gelu": gelu, "softmax": softmax}
    rows = [timed("triton", 1.0, name) for name in times]
    rows += [timed("written_out", time, name) for name, time in times.items() if time]
    assert found(*rows)["verdict"] == verdict
