import pytest

from tests.studies.attention.small import derived
from workflow_src.studies.attention import analyze as attention

NSYS = {"sweep": "nsys", "implementation": "naive", "context": 64, "status": "ok", "reason": ""}


def activity(name: str, calls: int, busy_ns: int, operator: str | None = None) -> dict:
    operator = name if operator is None else operator
    about = {"range": "", "kind": "operator", "operator": operator, "name": name}
    return about | {"calls": calls, "busy_ns": busy_ns}


ALL = [
    activity("aten::mm", 2, 3_000_000),
    activity("aten::exp", 1, 1_000_000),
    activity("aten::view", 5, 7),
]


FORWARD = [activity("aten::mm", 1, 1_000_000), activity("aten::view", 3, 5)]


def test_kernels_of_a_module_by_operator():
    kernel_row = {"sweep": "kernel", "implementation": "naive", "status": "ok", "activities": ALL}
    names = ("operator", "kernel", "family", "calls", "busy_ms", "share")
    rows = derived([kernel_row])
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("aten::mm", "aten::mm", "gemm", 2, 3.0, 0.75),
        ("aten::exp", "aten::exp", "elementwise", 1, 1.0, 0.25),
    ]
    assert {row["implementation"] for row in rows} == {"naive"}


def test_kernels_of_one_short_name_and_family_are_one_row():
    mul = "void at::native::vectorized_elementwise_kernel<{}, at::native::MulFunctor<float> >(int)"
    found = [
        activity(mul.format(4), 2, 500_000, ""),
        activity("a_gemm", 1, 3_000_000, ""),
        activity(mul.format(8), 1, 500_000, ""),
    ]
    rows = derived([NSYS | {"passes": 10, "activities": found}])
    assert [(r["kernel"], r["family"], r["calls"], r["busy_ms"], r["share"]) for r in rows] == [
        ("a_gemm", "gemm", 1, 3.0, 0.75),
        ("vectorized_elementwise(mul)", "elementwise", 3, 1.0, 0.25),
    ]


@pytest.mark.parametrize("sweep", ["core", "module"])
def test_kernels_of_backward_are_those_of_both_less_those_of_forward(sweep):
    about = {"sweep": sweep, "status": "ok", "samples_ns": [1_000_000, 2_000_000, 6_000_000]}
    forward, backward, plain = derived(
        [
            about | {"phase": "forward", "activities": FORWARD},
            about | {"phase": "backward", "both_activities": ALL, "forward_activities": FORWARD},
            about | {"phase": "forward"},
        ]
    )
    assert (forward["kernels"], backward["kernels"]) == (1, 2)
    assert "kernels" not in plain
    assert (plain["samples"], plain["median_ms"], plain["mean_ms"]) == (3, 2.0, 3.0)
    assert "samples_ns" not in plain and "activities" not in forward


def test_a_profile_that_recorded_nothing_counts_no_kernels():
    about = {"sweep": "core", "status": "ok", "samples_ns": [1_000_000] * 3}
    forward, backward = derived(
        [
            about | {"phase": "forward", "activities": []},
            about | {"phase": "backward", "both_activities": ALL, "forward_activities": []},
        ]
    )
    assert "kernels" not in forward and "kernels" not in backward


def test_what_was_not_measured_stays_as_it_is():
    rows = [
        {"sweep": sweep, "status": "oom", "reason": "CUDA out of memory"}
        for sweep in ("core", "module", "nsys")
    ]
    assert attention.derive({}, rows) == rows
