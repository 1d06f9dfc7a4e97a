"""Small modules around an attention, from small tables done by hand."""

from typing import Any

from tests.studies.attention.test_chapter import found, pair
from tests.studies.tables import printed, table
from workflow_src.common.words import DASH
from workflow_src.studies.attention.modules import calls_compared
from workflow_src.studies.lines import lines

BEFORE = pair("naive", 100, 3.0, 1.0, sweep="module", kernels=20)
AFTER = pair("sdpa", 100, 1.0, 2.0, sweep="module", kernels=5)


def kernel(name: str, operator: str, version: str, share: float, **other: Any) -> dict[str, Any]:
    about = {"sweep": "kernel", "implementation": version, "context": 100, "operator": operator}
    about |= {"kernel": name, "family": "gemm", "calls": 2, "gpu": "NVIDIA H200"}
    return about | {"busy_ms": share * 10, "share": share} | other


def test_a_module_before_and_after_sdpa() -> None:
    kernels = [kernel("a", "mm", "naive", 0.3), kernel("b", "mm", "naive", 0.1)]
    rows = found(*BEFORE, *AFTER, *kernels).modules.changes
    cells = ["100", "9.00 → 3.00", "3.0 x", "40 → 10", f"4.00 → {DASH}", "2.00 → 4.00"]
    assert printed(rows) == [cells]
    assert found(*BEFORE, *kernels).modules.changes.empty


def test_kernels_stand_side_by_side_and_small_ones_are_summed_up() -> None:
    rows = [
        kernel("gemm_a", "aten::mm", "naive", 0.6),
        kernel("gemm_a", "aten::mm", "sdpa", 0.9),
        kernel("flash", "aten::flash", "sdpa", 0.1),
        kernel("tiny_a", "aten::x", "naive", 0.004),
        kernel("tiny_b", "aten::y", "naive", 0.003),
    ]
    (kernels,) = found(*rows).modules.kernels
    assert printed(kernels) == [
        ["aten::mm", "gemm_a", "2 → 2", "6.00 → 9.00", "60 % → 90 %"],
        ["aten::flash", "flash", f"{DASH} → 2", f"{DASH} → 1.00", f"{DASH} → 10 %"],
        ["others", "each below 0.5 %", f"4 → {DASH}", f"0.0700 → {DASH}", f"0.7 % → {DASH}"],
    ]


def differing(by_nsys: list[dict[str, Any]], kernels: list[dict[str, Any]]) -> tuple[float, float]:
    counted, other = calls_compared(
        lines(table(*by_nsys), "attention"), lines(table(*kernels), "attention")
    )
    assert counted and other
    return counted.number, other.number


def test_calls_of_nsys_are_compared_with_those_of_torch_profiler() -> None:
    summed = {"sweep": "nsys", "passes": 10, "calls": 40}
    ours = [kernel("gemm_a", "mm", "naive", 0.6), kernel("gemm_a", "addmm", "naive", 0.4)]
    same = [kernel("gemm_a", "", "naive", 1.0, **summed)]
    assert differing(same, ours) == (1, 0)
    assert differing([same[0] | {"calls": 30}], ours) == (1, 1)
    assert differing(same, [*ours, kernel("lost", "exp", "naive", 0.1)]) == (1, 1)
    assert differing(same, [*ours, kernel("Memset (Device)", "zero_", "naive", 0.1)]) == (1, 0)
    assert differing(same, [*ours, kernel("flash", "sdpa", "sdpa", 0.1)]) == (1, 0), "not by nsys"
    two = [same[0] | {"calls": 10}, same[0] | {"calls": 30, "family": "loss"}]
    assert differing(two, ours) == (1, 0), "in two families"
    assert calls_compared([], []) == (None, None)


def plain(version: str, shape: tuple[int, int], ms: float, busy: float) -> list[dict[str, Any]]:
    about = {"implementation": version, "batch": shape[0], "context": shape[1], "gpu": "H200"}
    parts = {"softmax": 0.3, "scores": 0.7}
    return [about | {"sweep": "plain", "phase": "forward", "median_ms": ms}] + [
        about
        | {"sweep": "plain_kernel", "product": product, "kernel": f"{product} kernel"}
        | {"calls": 1, "busy_ms": busy * share * ms}
        for product, share in parts.items()
    ]


def test_the_plain_module_beside_this_projects() -> None:
    rows = plain("plain", (8, 512), 9.0, 0.95) + plain("packed", (8, 512), 6.0, 0.99)
    rows += plain("plain", (8, 128), 1.0, 0.9) + plain("packed", (8, 128), 2.0, 0.5)
    rows += plain("plain", (32, 128), 3.0, 1.0)
    made = found(*rows).modules
    assert printed(made.plain) == [
        ["8", "128", "1.00", "2.00", "0.50 x", "90 %", "50 %"],
        ["8", "512", "9.00", "6.00", "1.5 x", "95 %", "99 %"],
    ]
    largest = ["plain", "scores", "scores kernel", "1", "5.98"]
    assert printed(made.plain_kernels)[0] == largest
    without = [row | {"gpu": None} for row in rows]
    assert printed(found(*without).modules.plain)[0] == ["8", "128", "1.00", "2.00", "0.50 x"]
    failed = [rows[0] | {"status": "oom", "median_ms": None}, *rows[1:]]
    assert len(found(*failed).modules.plain) == 1
