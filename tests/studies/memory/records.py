"""A record of two training steps of a model of one block, made by hand."""

from typing import Any

MIB = 2**20
ABOUT = {"size": "s", "context": 8, "batch": 4, "precision": "fp32", "phase": "train_step"}


def marks() -> list[list[Any]]:
    """Events, nanoseconds, path: 7 events in the first step, 2 in the second."""
    paths = [
        (0, "step 1"),
        (0, "step 1/forward"),
        (0, "step 1/forward/block 0"),
        (0, "step 1/forward/block 0/attention"),
        (0, "step 1/forward/block 0/attention/softmax"),
        (3, "step 1/forward/block 0/attention"),
        (3, "step 1/forward/block 0"),
        (3, "step 1"),
        (3, "step 1/backward"),
        (4, "step 1/backward/block 0/attention"),
        (6, "step 1"),
        (6, "step 1/optimizer"),
        (7, "step 1"),
        (7, "step 2"),
        (7, "step 2/forward"),
        (9, "step 2"),
        (9, ""),
    ]
    return [[event, 10**6 * number, path] for number, (event, path) in enumerate(paths)]


def record() -> dict[str, Any]:
    """Softmax allocates 2 MiB (kept for backward), 8 MiB and frees these; backward 4 MiB."""
    allocations = [
        [2 * MIB, 0, 5, 0, ""],  # an activation
        [8 * MIB, 1, 2, 1, ""],  # a temporary
        [1 * MIB, 3, None, 2, ""],  # backward, and never freed
        [4 * MIB, 4, None, 2, "gradients"],
        [3 * MIB, 6, None, 3, "state"],
        [5 * MIB, 7, 8, 0, ""],
    ]
    return ABOUT | {
        "measurement": "record",
        "status": "ok",
        "reason": "",
        "there_bytes": 10 * MIB,
        "allocations": allocations,
        "lines": ["model/attention.py:21", "model/attention.py:22", "", "model/adamw.py:70"],
        "marks": marks(),
    }
