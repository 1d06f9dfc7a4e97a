"""What an allocator, or operators, hand out: sizes, ends and lines of code."""

from pathlib import Path
from typing import Any

import torch

from workflow_src.measure.allocations import LiveTensors, allocations_of, own_line, storage_bytes

PACKAGE = Path("/clone/workflow_src")
MODEL = (str(PACKAGE / "model" / "attention.py"), 48)
MEASURING = (str(PACKAGE / "measure" / "workload.py"), 130)
LIBRARY = (str(Path(torch.__file__).parent / "functional.py"), 7)


def entry(action: str, address: int, size: int = 0, *stack: tuple[str, int]) -> dict[str, Any]:
    """An entry of a device's trace, as torch's snapshot has it."""
    frames = [{"filename": file, "line": line, "name": "f"} for file, line in stack]
    return {"action": action, "addr": address, "size": size, "frames": frames}


def test_a_trace_tells_when_each_allocation_began_and_ended() -> None:
    trace = [
        entry("free_completed", 1),  # of something older
        entry("segment_alloc", 2, 2**21),
        entry("alloc", 2, 100, LIBRARY, MODEL, MEASURING),
        entry("alloc", 3, 200, MEASURING),
        entry("free_requested", 2, 100),
        entry("free_completed", 2, 100),
        entry("alloc", 2, 50),
    ]
    found = [(a.size, a.start, a.end, a.line) for a in allocations_of(trace)]
    assert found == [(100, 1, 3, "model/attention.py:48"), (200, 2, None, ""), (50, 4, None, "")]


def test_the_innermost_line_of_the_model_counts() -> None:
    outer = (str(PACKAGE / "model" / "transformer.py"), 75)
    assert own_line([LIBRARY, MODEL, outer, MEASURING]) == "model/attention.py:48"
    assert own_line([LIBRARY, MEASURING]) == own_line([]) == ""


def test_operators_results_live_until_nothing_holds_them() -> None:
    known = torch.ones(10)
    with LiveTensors([known]) as live:
        kept = known + 1  # 40 bytes
        known.mul_(2)
        kept.view(2, 5)
        torch.ones(25).sum()  # 100 and 4 bytes, one after another in use
    assert [each.size for each in live.allocations] == [40, 100, 4]
    assert (live.peak_bytes, live.live_bytes) == (144, 40)
    assert [each.end is None for each in live.allocations] == [True, False, False]
    assert storage_bytes([known, known[:5], kept]) == 80
