"""Which API calls and copies a capture holds."""

import math
from pathlib import Path
from typing import Any

import pytest

from tests.captures.building import Export, event, trace_file
from workflow_src.captures.capture import Capture
from workflow_src.captures.reading import read


def rows(found: Capture, table: str, *columns: str) -> list[list[Any]]:
    return getattr(found, table)[list(columns)].to_numpy(dtype=object).tolist()


NO_BYTES = pytest.approx(math.nan, nan_ok=True)


def test_copies_and_sets_say_between_which_memories_and_how_much(tmp_path: Path) -> None:
    export = Export(tmp_path)
    export.range("step", 0, 100)
    for kind, column in (("MEMCPY", "bytes"), ("MEMSET", "bytes"), ("MEMSET", "memKind")):
        export.sql(f"ALTER TABLE CUPTI_ACTIVITY_KIND_{kind} ADD COLUMN {column} INTEGER")
    export.work(10, kind="MEMSET", memKind=2, bytes=7)
    export.work(20)
    export.work(30, kind="MEMCPY", copyKind=2, srcKind=2, dstKind=1, bytes=8)
    export.work(40, kind="MEMCPY", copyKind=99)
    of_nsys = export.read()
    # Work stands by kind: the kernel, both copies, the set.
    columns = ("work", "direction", "source", "target", "bytes")
    assert rows(of_nsys, "copies", *columns) == [
        [1, "DtoH", "device", "pinned", 8],
        [2, "unknown", "unknown", "unknown", NO_BYTES],
        [3, "set", "unknown", "device", 7],
    ]
    moved = {"correlation": 1, "device": 0, "stream": 7, "bytes": 64}
    events = [
        event("user_annotation", "step", 0, 9),
        event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 1, 1, args=moved),
        event("gpu_memset", "Memset (Device)", 3, 1, args=moved | {"bytes": 5}),
        event("gpu_memcpy", "CopyDeviceToDevice", 5, 1, args={"correlation": 2}),
    ]
    assert rows(read(trace_file(tmp_path, events)), "copies", *columns) == [
        [0, "HtoD", "pageable", "device", 64],
        [1, "unknown", "unknown", "unknown", NO_BYTES],
        [2, "set", "unknown", "device", 5],
    ]
