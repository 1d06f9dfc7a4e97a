"""What is missing is missing: no number, no saving and no absence is made of it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.captures.building import (
    Export,
    as_capture,
    event,
    launched,
    notes,
    tables_in,
    trace_file,
)
from tests.captures.test_report import found, sentences
from workflow_src.capture_report.chapter import facts

STRANGERS = Path(__file__).parents[1] / "data" / "strangers"


def traced(name: str) -> Callable[[Path], Path]:
    return lambda folder: STRANGERS / f"{name}.json.gz"


def copies_alone(folder: Path) -> Path:
    """Three steps, each of a copy, a launch and a wait, of which nsys kept no kernel."""
    export = Export(folder)
    for start in (0, 1000, 2000):
        export.range("step", start, start + 900)
        export.work(start + 10, 100, kind="MEMCPY", copyKind=1, srcKind=0, dstKind=2)
        export.api("cudaLaunchKernel_v7000", start + 200, start + 210, number=start + 7)
        export.wait(start + 300, start + 800)
    return export.write()


def of_intel(folder: Path) -> Path:
    events = json.loads((STRANGERS / "q_xpu.json").read_text())["traceEvents"]
    return trace_file(folder, [each for each in events if each.get("cat") != "kernel"])


def cut_before_ranges(folder: Path) -> Path:
    text = json.dumps(
        [*launched(1, 5)[:1], *launched(2, 7)[:1], event("user_annotation", "s", 0, 9)]
    )
    return trace_file(folder, text[:-40])


@pytest.mark.parametrize(
    ("capture", "lost"),
    [
        (traced("gpu_trace_without_kernels"), "36 of 36"),
        (traced("gpu_trace_cut"), "35 of 35"),
        (copies_alone, "3 of 3"),
        (of_intel, "12 of 12"),
        (cut_before_ranges, "2 of 2"),
    ],
)
def test_launches_without_kernels_are_lost_kernels_and_no_time_of_a_device(
    tmp_path: Path, capture: Callable[[Path], Path], lost: str
) -> None:
    tables = tables_in(capture(tmp_path), diagnosed=True)
    of = facts(as_capture(tables))
    assert of["verdict"] == "lost" and lost in sentences(of)[0]
    told = ("steps", "findings", "smaller", "step_work", "step_calls", "idle_causes")
    assert not any(len(tables[name]) for name in told)
    assert "operator" not in tables["kernels"]["kind"].tolist()
    assert tables["paths"][["busy_ms", "own_ms"]].isna().all(axis=None)
    certificate = tables["certificate"].set_index("check")
    assert certificate.loc["launches without an activity", "verdict"] == "doubt"
    assert certificate.loc["device time in ranges", "verdict"] == "unknown"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([], None),
        (launched(9, 20)[:1], "1 of 4 launches"),
        # Recorded into a graph, by autograd's thread too: launched with that, if at all.
        (
            [
                event("cuda_runtime", "cudaStreamBeginCapture", 18, 1),
                *launched(9, 20, tid=2)[:1],
                event("cuda_runtime", "cudaStreamEndCapture", 22, 1),
            ],
            None,
        ),
        # Left out and told of as such.
        ([*launched(9, 20)[:1], event("kernel", "gemm", 21, -1, args={"correlation": 9})], None),
    ],
)
def test_some_launches_without_kernels_are_counted_on_the_first_screen(
    tmp_path: Path, more: list[object], said: str | None
) -> None:
    step = event("user_annotation", "step", 0, 100)
    some = [each for number in (1, 2, 3) for each in launched(number, 5 * number)]
    of = found(tmp_path, trace_file(tmp_path, [step, *some, *more]))
    lost = [each for each in sentences(of) if each.startswith("Launches without kernels")]
    assert len(lost) == (said is not None) and all(said in text for text in lost if said)


def test_where_no_work_has_a_path_no_range_is_said_to_hold_it() -> None:
    """The launches of both activities share a number."""
    tables = tables_in(STRANGERS / "sj_reused_corr_launch.sqlite", diagnosed=True)
    assert facts(as_capture(tables))["once"] == ""


def test_calls_without_a_table_of_kernels_name_the_remedy(tmp_path: Path) -> None:
    export = Export(tmp_path)
    export.range("step", 0, 100)
    for start in (10, 20):
        export.api("cudaLaunchKernel_v7000", start, start + 1, number=start)
    export.sql("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL")
    tables = export.tables()
    assert notes(tables) == {"no kernels": 2}
    assert "--trace=cuda-sw,nvtx" in tables["notes"]["meaning"].iloc[0]
