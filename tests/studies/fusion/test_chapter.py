"""What one kernel gains, from small tables done by hand."""

import pandas as pd
import pytest

from tests.studies.tables import printed, table
from workflow_src.paper.show import Printer
from workflow_src.studies.fusion.chapter import Fusion, Verdict, headline, result
from workflow_src.studies.fusion.copies import LARGE
from workflow_src.studies.fusion.named import power


def timed(
    implementation: str, ms: float | None, operation: str = "gelu", **other: object
) -> dict[str, object]:
    """An operation on LARGE elements of which a copy would take 0.9 ms."""
    columns = LARGE if operation == "gelu" else 128
    about = {"operation": operation, "implementation": implementation, "dtype": "float32"}
    about |= {"rows": LARGE // columns, "columns": columns, "elements": LARGE, "gpu": "H200"}
    work = {"median_ms": ms, "bytes_moved": 8 * LARGE, "relative_error": 1e-7}
    rates = {"achieved_gb_per_s": 900 / ms, "share_of_copy": 0.9 / ms} if ms else {}
    return about | work | rates | {"kernels_launched": 1} | other


def found(*rows: dict[str, object]) -> Fusion:
    return result(table(*rows), pd.DataFrame())


@pytest.mark.parametrize(
    ("count", "said"), [(1, "2^0"), (2**18, "2^18"), (3, "3"), (2**18 + 1, "262,145"), (0, "0")]
)
def test_a_number_of_elements_in_words(count: int, said: str) -> None:
    assert power(count) == said


def test_triton_stands_for_one_kernel_and_without_it_torchs_own() -> None:
    rows = [timed("written_out", 8.0), timed("torch", 2.0), timed("triton", 1.0)]
    both = found(*rows, timed("triton", 9.0, dtype="bfloat16"))
    assert (both.kernel, [value.number for value in both.speedups]) == ("Triton", [8.0])
    without = found(*rows[:2], timed("written_out", 6.0, "softmax"), timed("torch", 1.5, "softmax"))
    assert (without.kernel, [value.number for value in without.speedups]) == ("torch's own", [4, 4])
    assert Printer()(without.gains) == "GeLU 4.0 x, Softmax 4.0 x"


def test_only_the_largest_size_counts_for_the_gain() -> None:
    small = {"elements": 2**20, "columns": 2**20, "rows": 1}
    rows = [timed("written_out", 8.0), timed("triton", 1.0)]
    rows += [timed("written_out", 9.0, **small), timed("triton", 1.0, **small)]
    assert [value.number for value in found(*rows).speedups] == [8.0]


def test_times_over_all_shapes_with_shares_of_the_best_rate() -> None:
    rows = [timed("copy", 0.9), timed("triton", 1.0), timed("triton", 2.0, rows=2, columns=64)]
    assert printed(found(*rows).largest) == [
        ["copy", "0.900 at 100 %"],
        ["Triton", "1.00 to 2.00 at 45 % to 90 %"],
    ]
    in_cache = [row | {"elements": 2**20} for row in rows]
    assert printed(found(*in_cache).largest)[1] == ["Triton", "1.00 to 2.00 (fits in a cache)"]


def test_how_often_triton_comes_near_a_copy_and_is_slower_than_torch() -> None:
    half, small = {"dtype": "bfloat16"}, {"elements": 2**20}
    rows = [timed("triton", 1.0), timed("torch", 1.0), timed("triton", 9.0, rows=7, **small)]
    rows += [timed("triton", 2.0, **half), timed("torch", 1.9, **half)]
    assert printed(found(*rows).goals) == [["GeLU", "1 of 2", "45.0 %", "1 of 2"]]
    assert printed(found(timed("triton", 1.02), timed("torch", 1.0)).goals)[0][-1] == "0 of 1"


def test_what_is_missing_says_why() -> None:
    oom = timed("triton", None, status="oom", reason="full")
    rows = found(timed("torch", 1.0), oom, oom | {"rows": 2, "columns": 7})
    assert printed(rows.unmeasured) == [["GeLU, Triton", "OOM", "full", "2"]]
    (times,) = rows.times
    assert [cell for row in printed(times) for cell in row].count("OOM") == 2


@pytest.mark.parametrize(
    ("gelu", "softmax", "verdict"),
    [
        (8.0, 2.0, Verdict.PAYS),
        (8.0, 1.01, Verdict.PARTLY),
        (1.02, 0.5, Verdict.DOESNT),
        (None, None, Verdict.CANT_TELL),
    ],
)
def test_verdicts(gelu: float | None, softmax: float | None, verdict: Verdict) -> None:
    times = {"gelu": gelu, "softmax": softmax}
    rows = [timed("triton", 1.0, name) for name in times]
    rows += [timed("written_out", time, name) for name, time in times.items() if time]
    assert headline(found(*rows)).verdict is verdict
