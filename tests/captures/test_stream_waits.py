"""Which stream waited for which record of an event, as profilers write it down."""

from pathlib import Path
from typing import Any

import pytest

from tests.captures.building import Export, event, global_id, trace_file
from workflow_src.captures.capture import STREAM_WAITS, UNKNOWN, Capture
from workflow_src.captures.reading import read

TABLES = """
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER,
    contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
    syncType INTEGER, eventId INTEGER, eventSyncId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId INTEGER, contextId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, eventId INTEGER,
    eventSyncId INTEGER);
CREATE TABLE TARGET_INFO_CUDA_CONTEXT_INFO (processId INTEGER, contextId INTEGER,
    deviceId INTEGER);
"""


def rows(capture: Capture) -> list[list[int]]:
    return capture.waits[list(STREAM_WAITS)].to_numpy().tolist()


@pytest.mark.parametrize("has_records", [True, False])
def test_waits_of_nsys_are_of_their_context_s_device(tmp_path: Path, has_records: bool) -> None:
    # Each process's context has number 1, and each wait says device 0.
    export = Export(tmp_path)
    export.connection.executescript(TABLES)
    for process, device in ((1, 0), (2, 1)):
        place = dict(deviceId=0, contextId=1, globalPid=global_id(process))
        export.insert(
            "TARGET_INFO_CUDA_CONTEXT_INFO", processId=process, contextId=1, deviceId=device
        )
        export.work(10, process=process, device=device)
        # The event is recorded anew between the wait and the record that it waits for.
        for number, (at, sync) in enumerate(((20, 5), (30, 6), (40, 5), (50, 4)), start=90):
            about = dict(**place, correlationId=number, eventId=3, eventSyncId=sync)
            export.api(None, at + device, at + device + 2, number, process=process)
            if number < 92:
                export.insert("CUPTI_ACTIVITY_KIND_CUDA_EVENT", streamId=7, **about)
            else:
                times = dict(start=at + device + 1, end=at + device + 2, syncType=2)
                export.insert("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", streamId=9, **times, **about)
        export.insert("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", syncType=3, streamId=7, **place)
        unknown = about | dict(contextId=2, streamId=9, start=55, syncType=2)
        export.insert("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", **unknown)
    if not has_records:
        export.sql("DROP TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT")
    untold = [UNKNOWN] * 3
    first, second = ([0, 7, 20], [1, 7, 21]) if has_records else (untold, untold)
    assert rows(export.read()) == [
        [1, 0, 9, 40, *first], [2, 1, 9, 41, *second],
        [1, 0, 9, 50, *untold], [2, 1, 9, 51, *untold],
    ]  # fmt: skip


def call(number: int, at: int) -> Any:
    return event("cuda_runtime", "cudaStreamWaitEvent", at, 2, args={"correlation": number})


@pytest.mark.parametrize(
    ("stream", "number", "expected"),
    [
        pytest.param(7, 4, [0, 7, 10_000], id="told"),
        pytest.param(-1, -1, [UNKNOWN] * 3, id="the waiting stream alone, as CUDA 13 tells"),
        pytest.param(7, 6, [UNKNOWN] * 3, id="a record after the wait"),
    ],
)
def test_waits_of_torch_are_of_their_call_s_process(
    tmp_path: Path, stream: int, number: int, expected: list[int]
) -> None:
    arguments = {"stream": 9, "device": 0, "correlation": 5, "wait_on_stream": stream}
    arguments |= {"wait_on_cuda_event_record_corr_id": number, "wait_on_cuda_event_id": 3}
    wait = event("cuda_sync", "Stream Wait Event", 20.5, 1, pid=0, tid=9, args=arguments)
    other = event("cuda_sync", "Context Sync", 20.5, 1, pid=0, tid=-1, args={"device": 0})
    step = event("user_annotation", "step", 0, 90)
    capture = read(trace_file(tmp_path, [step, call(4, 10), call(5, 20), call(6, 30), wait, other]))
    assert rows(capture) == [[1, 0, 9, 20_000, *expected]]
