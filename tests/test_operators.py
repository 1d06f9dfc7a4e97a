"""What launched each activity: recorded with its inputs, aligned with captures, summed up."""

import gc
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
import torch
from torch._C._profiler import RecordScope, _EventType

from tests.joined import check, joined
from workflow_src.captures.export_case import export
from workflow_src.common.atomic_write import write_json
from workflow_src.common.case import PHASES, TABLES, Case
from workflow_src.measure import (
    activities,
    benchmark,
    machine,
    operators,
    processes,
    profiled_run,
)
from workflow_src.measure.rows import Row
from workflow_src.measure.workload import Workload
from workflow_src.model.flops import forward_work
from workflow_src.placing.case_capture import with_places
from workflow_src.tables.case_tables import case_tables
from workflow_src.tables.operators import operator_tables
from workflow_src.tables.products import expected_flops
from workflow_src.tables.records import REACH, align, normal_names
from workflow_src.tables.traffic import moved_bytes

# As many tokens as d_model: sizes alone don't tell a weight's gradient from an input's.
CASE = Case("t", "tiny", 16, 32, 2, 2, 50, 2, 8, "fp32", "naive", "adamw", "cpu")
VARIANTS = [("fp32", "naive"), ("bf16", "fused_softmax"), ("fp32", "sdpa")]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Any]:
    """The case, the benchmark's result and the tables of a tiny model on this CPU, kept."""

    @cache
    def measure(precision: str, attention: str) -> Any:
        case = replace(CASE, precision=precision, attention=attention)
        folder = tmp_path_factory.mktemp("operators")
        profiled_run.profiled_run(case, 1, 2, folder / "c.kineto.json.gz")
        export(folder / "c.kineto.json.gz", folder / "export")
        write_json(folder / "b.json", benchmark.benchmark(case, 1, 1))
        tables = case_tables(folder / "export", folder / "b.json")
        return case, json.loads((folder / "b.json").read_text()), tables

    return measure


@pytest.mark.parametrize(("precision", "attention"), VARIANTS)
def test_a_capture_is_explained_with_the_formulas_flops_and_obeys_all_laws(
    measured: Callable[[str, str], Any], tmp_path: Path, precision: str, attention: str
) -> None:
    case, _, tables = measured(precision, attention)
    assert set(tables) == set(TABLES)
    of_two_steps_on_this_host(tables, case)
    alignment = tables["alignment"].set_index("phase")
    assert list(alignment.index) == list(PHASES)
    assert (alignment["aligned_share"] >= 0.99).all(), alignment.to_string()
    assert (alignment["gemm_share_with_shape"] >= 0.99).all(), alignment.to_string()
    assert (alignment["family_disagreement_share"] == 0).all()
    assert (tables["captures"]["family_coverage"] == 1).all()
    assert (alignment["flops"] == alignment["flops_expected"]).all()
    assert (
        alignment["flops"] == alignment.loc["forward", "flops"] * pd.Series([1, 3, 3]).array
    ).all()
    operators = tables["operators"].dropna(subset="flops_per_step")
    component = operators["path"].str.rpartition("/")[2]
    work = {each.component: each.flops for each in forward_work(case)}
    absent = {"softmax"} | ({"scores", "values"} if attention == "sdpa" else set())
    for phase in PHASES:
        times = 1 if phase == "forward" else 3
        found = operators[operators["phase"] == phase].groupby(component)["flops_per_step"].sum()
        assert found.to_dict() == {n: times * work[n] for n in work if n not in absent}
    assert check(joined(tables, case, tmp_path)).to_dict("records") == []


def of_two_steps_on_this_host(tables: dict[str, pd.DataFrame], case: Case) -> None:
    capture, ranges = tables["captures"].iloc[0], tables["ranges"]
    assert [*tables["environments"]["host_id"], capture["host_id"]] == [machine.host_id()] * 2
    assert float(capture["host_operation_us"]) > 0 and capture["total_ns"] > 0
    steps = ranges[ranges["path"] == ranges["phase"]]
    assert steps.groupby("phase")["step"].count().to_dict() == dict.fromkeys(PHASES, 2)
    calls = tables["kernels"]["calls_per_step"]
    assert (calls % 1 == 0).all(), "the window opens after the warm-up"
    layers = ranges[ranges["path"] == "train_step/forward/block/attention"]
    assert layers["instances"].tolist() == [case.layers] * 2
    assert tables["ledger"]["idle_launch_ns"].isna().all(), "a CPU launches nothing"


def operator(name: str, inputs: str = "", **other: Any) -> dict[str, Any]:
    """An operator with inputs as in "4x8 4x8:bfloat16": sizes, and a type if it isn't float32."""
    given = [each.partition(":") for each in inputs.split()]
    shapes = [[int(size) for size in sizes.split("x") if size] for sizes, _, _ in given]
    about = {"operator": name, "forward_operator": "", "range": "", "values": []}
    return about | {"shapes": shapes, "dtypes": [each or "float32" for *_, each in given]} | other


ROWS = [None, [-1], True, None]
"""What a sum is over, and that it keeps the dimension."""
BYTES = [
    # What is called with which inputs (one of no size is a number) and values; bytes.
    ("mul", "4x8:bfloat16 8", [], 96 + 128),
    ("gt", "4x8 x", [], 128 + 4 + 32),
    ("copy_", "4x8:bfloat16 4x8", [], 64 + 128),
    ("zero_", "4x8", [], 128),
    ("mm", "2x3 3x5", [], 24 + 60 + 40),
    ("sum", "4x8", ROWS, 128 + 16),
    ("sum", "4x8 4", [], 128 + 16),
    ("sum", "4x8", [None, [-1], True, [1]], None),
    ("_softmax", "4x8", [], 256),
    ("_softmax", "4x8:float16", [None, 1, True], 32 * 6),
    ("_softmax", "4x8:bfloat16", [None, 1, False], 32 * 4),
    # Its gradient has the number of its input's type.
    ("_softmax_backward_data", "4x8 4x8", [None, None, -1, 5], 32 * 10),
    ("nll_loss_forward", "4x8", [], None),
    ("mul", "4 5", [], None),
    ("neg", "4:complex64", [], None),
]


@pytest.mark.parametrize(("name", "inputs", "values", "expected"), BYTES)
def test_bytes_are_those_of_inputs_and_outputs(
    name: str, inputs: str, values: list[Any], expected: int | None
) -> None:
    assert moved_bytes(operator(f"aten::{name}", inputs, values=values)) == expected


def test_lists_of_tensors_count_each_tensor() -> None:
    lists = [([[2], [3]], ["float32", "float32"])] * 4
    fused = operator("aten::_fused_adamw_")
    fused |= {"shapes": [each[0] for each in lists], "dtypes": [each[1] for each in lists]}
    assert moved_bytes(fused) == (4 + 3) * 20
    assert moved_bytes(fused | {"operator": "aten::_foreach_add_"}) == (4 + 1) * 20


def test_what_lies_once_in_memory_is_read_once() -> None:
    """Views of one storage are different tensors: q, k and v of one product are not read once."""
    a, b, row = torch.ones(4, 8), torch.ones(4, 8), torch.ones(8)

    @torch.no_grad()
    def step() -> None:
        a.addcmul_(b, b)
        torch.addcmul(a, b[:2].view(4, 4).repeat(1, 2), row.expand(4, 8))
        torch.mul(a[:2], a[2:])
        torch._foreach_addcmul_([a], [b], [b])

    found = operators.launched(step, "cpu")["operators"]
    assert gc.isenabled()
    moved = {each["operator"]: moved_bytes(each) for each in found}
    whole, half = 4 * 4 * 8, 4 * 2 * 8
    assert moved["aten::addcmul_"] == moved["aten::_foreach_addcmul_"] == 3 * whole
    assert moved["aten::addcmul"] == 3 * whole + 4 * 8
    assert moved["aten::mul"] == 3 * half
    (twice,) = [each for each in found if each["operator"] == "aten::_foreach_addcmul_"]
    assert twice["stored"][:3] == [[[4, 8]], [[4, 8]], [None]]


def test_the_record_says_which_operators_one_calls() -> None:
    x = torch.ones(4, 8)
    found = operators.launched(lambda: (x.square(), torch.mm(x, x.t())), "cpu")["operators"]
    calls = {each["operator"]: each.get("calls") for each in found}
    assert calls["aten::square"] == ["aten::pow"] and "aten::mm" not in calls["aten::mm"]


@pytest.mark.parametrize(
    ("kind", "expected"), [("operator", {"aten::square": 0, "aten::pow": 256}), ("kernel", None)]
)
def test_on_a_cpu_bytes_count_with_the_operator_that_does_the_work(
    kind: str, expected: dict[str, int] | None
) -> None:
    """pow looks at types, which is no work, before it raises."""
    square = operator("aten::square", "4x8", calls=["aten::pow"])
    power = operator("aten::pow", "4x8", calls=["aten::result_type", "aten::to"])
    names = ["aten::square", "aten::pow"]
    launched = recorded((0, names[0]), (1, names[1])) | {"operators": [square, power]}
    ranges, activities = captured(*((name, 5) for name in names))
    result = {"case": CASE.as_dict(), "phases": {"forward": {"launched": launched}}}
    placed = with_places(ranges, activities.assign(kind=kind))
    table = operator_tables(ranges, placed, result)["operators"]
    found = table.set_index("operator")["bytes_per_step"].to_dict()
    assert found == (expected or dict.fromkeys(names, 256))


LETTERS = list("abcdefghijklmnopqrstuvwxyz")


@pytest.mark.parametrize(
    ("names", "others", "expected"),
    [
        (LETTERS, LETTERS, list(range(26))),
        (LETTERS[:10], [], [-1] * 10),
        (LETTERS, LETTERS[:5] + LETTERS[8:], [*range(5), -1, -1, -1, *range(5, 23)]),
        (["x", *LETTERS], LETTERS, [-1, *range(26)]),
        ([*LETTERS[:5], "x", *LETTERS[6:]], LETTERS, [*range(5), -1, *range(6, 26)]),
        (["a"] * 9 + ["b"], ["a"] * 10 + ["b"], [*range(9), 10]),
    ],
)
def test_sequences_are_aligned_where_they_agree(
    names: Sequence[str], others: Sequence[str], expected: list[int]
) -> None:
    assert align(names, others).tolist() == expected


def test_beyond_reach_only_the_ends_are_aligned() -> None:
    far = [f"x{n}" for n in range(2 * REACH)]
    found = align([*LETTERS, *far, *LETTERS], [*LETTERS, *LETTERS]).tolist()
    assert found == [*range(26), *[-1] * len(far), *range(26, 52)]


def test_both_profilers_names_have_the_same_normal_form() -> None:
    pairs = {
        "[CUDA memset]": "Memset (Device)",
        "[CUDA memcpy Device-to-Device]": "Memcpy DtoD (Device -> Device)",
        "void at::native::vectorized_elementwise_kernel<(int)4, at::native::FillFunctor<float>, "
        "std::array<char *, (unsigned long)1>>(int, T2, T3)": "void at::native::"
        "vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >"
        "(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)",
        "void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>(T1::Params)": "void "
        "cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>"
        "(cutlass_80_simt_sgemm_256x128_8x4_nn_align1::Params)",
    }
    nsys, kineto = (normal_names(pd.Series(list(names))) for names in (pairs, pairs.values()))
    assert nsys.tolist() == kineto.tolist()
    assert len(set(nsys)) == len(pairs)


GEMM, SPLIT, ADD = "nvjet_sm90_sss_128x128", "void splitKreduce_kernel<32>()", "void add_kernel()"


def captured(*kernels: tuple[str, int]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The ranges and activities of one forward step with these kernels and durations."""
    ranges = pd.DataFrame({"phase": ["forward"], "step": [0], "path": ["forward"]})
    activities = pd.DataFrame(kernels, columns=["name", "duration_ns"])
    kind = ["set" if name == "[CUDA memset]" else "kernel" for name in activities["name"]]
    return ranges, activities.assign(kind=kind, start_ns=range(len(kernels)), range=0, operator="")


def recorded(*sequence: tuple[int, str], continued: Sequence[Sequence[int]] = ()) -> Row:
    """The record of a step: two products and an addition, as numbered in `sequence`."""
    product = operator("aten::mm", "16x16 16x48", range="block/qkv")
    addition = operator("aten::add", "16 16", range="block")
    names = list(dict.fromkeys(name for _, name in sequence))
    rows = [[number, names.index(name)] for number, name in sequence]
    row = {"status": "ok", "reason": "", "operators": [product, addition]}
    return row | {"names": names, "sequence": rows, "continued": continued}


def tables_of(kernels: Sequence[tuple[str, int]], launched: Row | None) -> dict[str, pd.DataFrame]:
    phases = {"forward": {"launched": launched} if launched else {}}
    ranges, activities = captured(*kernels)
    result = {"case": CASE.as_dict(), "phases": phases}
    return operator_tables(ranges, with_places(ranges, activities), result)


def test_a_call_of_several_kernels_is_one_product() -> None:
    launched = recorded(
        (0, "Memset (Device)"), (0, GEMM), (0, SPLIT), (0, GEMM), (1, ADD),
        continued=[[1, 0], [2, 0]],
    )  # fmt: skip
    kernels = [("[CUDA memset]", 1), (GEMM, 60), (SPLIT, 9), (GEMM, 20), (ADD, 10)]
    tables = tables_of(kernels, launched)
    flops = tables["operators"].dropna(subset="flops_per_step").set_index("short_name")
    assert flops["flops_per_step"].to_dict() == {
        GEMM: 2 * (2 * 16 * 16 * 48), "splitKreduce_kernel": 0, "[CUDA memset]": 0,
    }  # fmt: skip
    row = tables["alignment"].iloc[0]
    assert (row["aligned_share"], row["gemm_share_with_shape"]) == (1.0, 1.0)
    moved = tables["operators"].groupby("operator")["bytes_per_step"].sum()
    product = 4 * (16 * 16 + 16 * 48 + 16 * 48)
    assert moved.to_dict() == {"aten::add": 3 * 64, "aten::mm": 2 * product}
    of_kernels = tables["operators"].groupby("short_name")["bytes_per_step"].sum()
    assert of_kernels[GEMM] == 2 * product, "not the Memset that clears its workspace"


PRODUCT = 4 * (16 * 16 + 2 * 16 * 48)
"""Bytes of the product of `recorded`."""


@pytest.mark.parametrize(
    ("kernels", "sequence", "continued", "expected"),
    [
        pytest.param(
            [("[CUDA memset]", 1), ("void other()", 9)],
            [(0, "Memset (Device)"), (0, "void other()")], [[1, 0]],
            [("aten::mm", "other", PRODUCT), ("aten::mm", "[CUDA memset]", 0)],
            id="bytes of a call without a kernel of its family lie with its first kernel",
        ),
        pytest.param(
            [("[CUDA memset]", 1), ("void other()", 9)],
            [(0, "Memset (Device)"), (0, GEMM)], [[1, 0]],
            [("", "other", None), ("aten::mm", "[CUDA memset]", 0)],
            id="setting memory moves no bytes of a product whose kernel is elsewhere",
        ),
    ],
)  # fmt: skip
def test_bytes_lie_with_one_kernel_of_a_call(
    kernels: Any, sequence: Any, continued: Any, expected: Any
) -> None:
    table = tables_of(kernels, recorded(*sequence, continued=continued))["operators"]
    found = table[["operator", "short_name", "bytes_per_step"]].astype(object)
    assert found.where(found.notna(), None).values.tolist() == [list(row) for row in expected]


def test_where_the_sequences_part_nothing_is_claimed() -> None:
    launched = recorded((0, GEMM), (1, ADD), (0, GEMM))
    kernels = [(GEMM, 50), ("void other_kernel()", 20), (ADD, 10), (GEMM, 20)]
    tables = tables_of(kernels, launched)
    row = tables["alignment"].iloc[0]
    assert row["aligned_share"] == 0.8
    lost = tables["operators"][tables["operators"]["operator"] == ""]
    assert lost[["path", "short_name", "calls_per_step"]].values.tolist() == [
        ["forward", "other_kernel", 1.0]
    ]
    assert lost["bytes_per_step"].isna().all(), "nothing is known of them, not that they moved none"


def test_families_that_disagree_are_counted() -> None:
    tables = tables_of([(GEMM, 70), (GEMM, 30)], recorded((0, GEMM), (1, GEMM)))
    row = tables["alignment"].iloc[0]
    assert row["family_disagreement_share"] == 0.3
    assert row["gemm_share_with_shape"] == 0.7


@pytest.mark.parametrize(
    ("launched", "status"),
    [
        (None, "missing"),
        ({"status": "failed", "reason": "RuntimeError: no CUPTI"}, "failed"),
        ({"status": "oom", "reason": "CUDA out of memory"}, "oom"),
    ],
)
def test_a_record_that_is_missing_is_said_to_be(launched: Row | None, status: str) -> None:
    tables = tables_of([(GEMM, 70)], launched)
    assert tables["alignment"]["status"].tolist() == [status]
    assert tables["alignment"]["flops_expected"].tolist() == [expected_flops(CASE, "forward")]
    assert tables["operators"].empty
    assert {"phase", "operator"} <= set(tables["operators"].columns)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (RuntimeError("CUPTI_ERROR_UNKNOWN"), "failed"),
        (torch.OutOfMemoryError("CUDA out of memory. Tried"), "oom"),
    ],
)
def test_what_was_timed_is_not_lost_to_a_profiler(
    monkeypatch: pytest.MonkeyPatch, error: Exception, status: str
) -> None:
    def fail(step: object, device: str) -> Row:
        raise error

    monkeypatch.setattr(operators, "launched", fail)
    found = benchmark.benchmark(CASE, 0, 1)["phases"]
    for phase in PHASES:
        assert found[phase]["status"] == "ok" and len(found[phase]["samples_ns"]) == 1
        assert found[phase]["launched"]["status"] == status and found[phase]["launched"]["reason"]


def test_only_the_first_of_several_processes_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def run(command: list[str]) -> SimpleNamespace:
        monkeypatch.setattr(sys, "argv", command[2:])
        benchmark.main()
        return SimpleNamespace(returncode=0)

    def measured(case: Case, warmup_steps: int, steps: int, *first: Any) -> dict[str, Any]:
        asked.append(first[0])
        return {}

    monkeypatch.setattr(processes, "run_tied", run)
    monkeypatch.setattr(benchmark, "benchmark", measured)
    row = CASE.as_dict() | {"warmup_steps": 0, "steps": 1, "processes": 3}
    processes.in_fresh_processes("workflow_src.measure.benchmark", row)
    assert asked == [True, False, False]


def host_event(name: str, start: int, end: int, number: int, *children: Any, **other: Any) -> Any:
    scope = other.get("scope", RecordScope.FUNCTION)
    inputs, sequence = other.get("inputs", []), other.get("sequence", -1)
    fields = SimpleNamespace(scope=scope, inputs=inputs, sequence_number=sequence)
    times = {"start_time_ns": start, "end_time_ns": end}
    about = {"name": name, "correlation_id": number, "children": list(children)}
    return SimpleNamespace(tag=_EventType.TorchOp, extra_fields=fields, **about, **times)


def device_event(
    name: str, start: int, linked: int, kind: str = "CUDA", marks: bool = False,
    duration_ns: int = 1,
) -> Any:  # fmt: skip
    values: dict[str, Any] = {
        "name": name, "start_ns": start, "linked_correlation_id": linked, "correlation_id": 7,
        "device_type": SimpleNamespace(name=kind), "is_user_annotation": marks,
        "concrete_inputs": [], "duration_ns": duration_ns,
    }  # fmt: skip
    return SimpleNamespace(**{key: lambda value=value: value for key, value in values.items()})


def test_on_a_gpu_each_activity_has_the_operator_that_launched_it() -> None:
    """Backward runs on a thread of its own, without ranges; runtime calls reuse numbers."""
    main = host_event("forward", 0, 50, 1, host_event("qkv", 1, 40, 2,
        host_event("aten::linear", 2, 30, 3, host_event("aten::mm", 3, 20, 4, sequence=9),
            sequence=9)), scope=RecordScope.USER_SCOPE)  # fmt: skip
    main.children[0].extra_fields.scope = RecordScope.USER_SCOPE
    backward = host_event("backward", 60, 99, 5, scope=RecordScope.USER_SCOPE)
    node = host_event(f"{activities.NODE}MmBackward0", 61, 80, 6,
        host_event("MmBackward0", 62, 79, 7, host_event("aten::mm", 63, 70, 8)),
        sequence=9)  # fmt: skip
    other = host_event(
        f"{activities.NODE}Accumulate", 81, 90, 9, host_event("aten::add_", 82, 83, 10)
    )
    events = [
        device_event("add", 300, 10),
        device_event("Memset (Device)", 100, 4),
        device_event("gemm", 110, 4),
        device_event("gemm", 200, 8),
        device_event("unknown", 400, 0),
        device_event("cudaLaunchKernel", 4, 4, kind="CPU"),
        device_event("forward", 100, 1, marks=True),
    ]
    result = SimpleNamespace(
        experimental_event_tree=lambda: [main, backward, node, other], events=lambda: events
    )
    found = operators.compact(result, "cuda")
    assert [found["names"][name] for _, name in found["sequence"]] == [
        "Memset (Device)", "gemm", "gemm", "add", "unknown",
    ]  # fmt: skip
    assert [number for number, _ in found["sequence"]] == [0, 0, 1, 2, -1]
    assert found["continued"] == [[1, 0]]
    said = [(o["operator"], o["forward_operator"], o["range"]) for o in found["operators"]]
    assert said == [
        ("aten::mm", "", "forward/qkv"),
        ("aten::mm", "aten::mm", "forward/qkv"),
        ("aten::add_", "", "backward"),
    ]


def test_a_phase_that_ran_out_of_memory_has_no_record() -> None:
    rows = {"forward": {"status": "oom", "reason": "x"}}
    assert operators.add_launched(Workload(CASE), rows) == rows
