import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workflow import ROOT
from workflow_src.common.atomic_write import write_json
from workflow_src.studies.warmup.host_time import (
    CATEGORIES,
    Call,
    category_of,
    host_time,
    sorted_calls,
    split,
)
from workflow_src.studies.warmup.read_capture import recorded


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("cudaLaunchKernel_v7000", "launch"),
        ("cudaLaunchKernelExC_v11060", "launch"),
        ("cuLaunchKernelEx", "launch"),
        ("cudaGraphLaunch_v10000", "launch"),
        ("cudaMalloc_v3020", "allocate"),
        ("cudaHostAlloc_v3020", "allocate"),
        ("cudaFree_v3020", "allocate"),
        ("cuMemAlloc_v2", "allocate"),
        ("cuMemRelease", "allocate"),
        ("cuMemCreate", "allocate"),
        ("cuMemMap", "allocate"),
        ("cuMemAddressReserve", "allocate"),
        ("cuMemSetAccess", "allocate"),
        ("cuLibraryLoadData", "load"),
        ("cuLibraryGetKernel", "load"),
        ("cuModuleLoadDataEx", "load"),
        ("cuModuleGetFunction", "load"),
        ("cuKernelGetFunction", "load"),
        ("cudaFuncGetAttributes_v3020", "load"),
        ("cudaDeviceSynchronize_v3020", "synchronize"),
        ("cudaEventSynchronize_v3020", "synchronize"),
        ("cudaMemcpyAsync_v3020", "other_call"),
        ("cudaStreamIsCapturing_v10000", "other_call"),
        ("cudaMemsetAsync_v3020", "other_call"),
        ("cudaMemGetInfo_v3020", "other_call"),
    ],
)
def test_what_a_call_does_by_its_name(name, category):
    assert category_of(name) == category


LAUNCH, MALLOC, WAIT = "cudaLaunchKernel_v7000", "cudaMalloc_v3020", "cudaDeviceSynchronize_v3020"


def test_the_parts_of_a_step_add_up_with_nested_calls_and_two_threads():
    calls = [
        Call(1, 110, 150, LAUNCH, ("a",)),
        Call(1, 120, 130, "cuLibraryLoadData"),  # A part of the launch around it.
        Call(2, 140, 170, MALLOC),  # The first 10 ns are the launch's, which began before.
        Call(1, 145, 149, MALLOC),  # Nested, too.
        Call(1, 155, 160, LAUNCH, ("a",)),  # Hidden by the other thread's call, but counted.
        Call(1, 180, 190, LAUNCH, ("b", "a")),
        Call(1, 190, 220, WAIT),  # Goes on after the step.
        Call(2, 90, 105, "cudaMemcpyAsync_v3020"),  # Began before the step.
    ]
    found = host_time(100, 200, sorted_calls(calls))
    assert found.wall_ns == 100 == sum(found.ns.values())
    assert found.ns == dict.fromkeys(CATEGORIES, 0) | {
        "other_call": 5,
        "first_launch": 40 + 10,
        "allocate": 20,
        "synchronize": 10,
        "outside": 5 + 10,
    }
    assert found.calls == {
        "first_launch": 2, "launch": 1, "load": 0, "synchronize": 1, "allocate": 1, "other_call": 0,
    }  # fmt: skip
    assert found.kernels == 2


def test_a_kernel_launched_inside_another_call_is_launched_by_it():
    inner = Call(1, 2, 8, "cuLaunchKernel", ("a",))
    first, again = Call(1, 0, 9, LAUNCH), Call(1, 10, 12, LAUNCH, ("a",))
    found = sorted_calls([again, inner, first])
    assert [(call.category, call.new_kernels) for call in found] == [
        ("first_launch", 1),
        ("launch", 0),
    ]


CALLS = st.builds(
    lambda thread, start, length, name, kernel: Call(thread, start, start + length, name, kernel),
    st.integers(1, 3),
    st.integers(0, 300),
    st.integers(0, 80),
    st.sampled_from([LAUNCH, MALLOC, WAIT, "cuLibraryLoadData", "cudaMemcpyAsync_v3020"]),
    st.lists(st.sampled_from("abc"), max_size=2).map(tuple),
)


@settings(deadline=None)
@given(st.lists(CALLS, max_size=30))
def test_the_parts_of_any_steps_add_up_exactly(calls):
    ordered = sorted_calls(calls)
    found = [host_time(start, start + 100, ordered) for start in (50, 150, 250)]
    for time in found:
        assert sum(time.ns.values()) == time.wall_ns == 100
        assert min(time.ns.values()) >= 0
    in_all = host_time(50, 350, ordered)
    assert in_all.ns == {name: sum(time.ns[name] for time in found) for name in CATEGORIES}


@pytest.mark.parametrize("case", ["tiny-ctx64-fp32", "tiny-ctx64-bf16-sdpa-fused"])
def test_the_parts_of_recorded_steps_of_an_h200_add_up(case, tmp_path):
    phases = ("forward", "forward_backward", "train_step")
    found = recorded(ROOT / "tests" / "data" / "nsys" / case / "trace.sqlite", phases)
    calls = sum(len(thread["call"]) for thread in found["threads"])
    write_json(tmp_path / "point.json", {"rows": [found]})
    assert (tmp_path / "point.json").stat().st_size < 20 * calls + 40_000, "small enough to keep"
    rows = split(found)
    assert {row["phase"] for row in rows} == set(phases)
    for row in rows:
        assert sum(row["ns"].values()) == row["wall_ns"] > 0
    assert rows[0]["kernels"] > 3 and rows[0]["calls"]["first_launch"] > 3
    assert rows[1]["kernels"] == 0
