"""Copies and sets in an nsys export: between which memories, and how many bytes."""

import re
from collections.abc import Mapping

import numpy as np
import pandas as pd

from workflow_src.captures.capture import (
    COPY,
    SET,
    UNKNOWN_TEXT,
    coded,
    copies_frame,
    printable,
)
from workflow_src.captures.exported import COPY_KINDS, MEMORY_KINDS, Columns, Exported
from workflow_src.common.intervals import Indices

COPIED = {COPY: ("bytes", "copyKind", "srcKind", "dstKind"), SET: ("bytes", "memKind")}
"""What is read of copies and of sets, besides what is read of all work."""

OPERATIONS = {1: "HtoD", 2: "DtoH", 8: "DtoD", 9: "HtoH", 10: "PtoP"}
MEMORIES = dict(enumerate(("pageable", "pinned", "device", "device", "managed", "device")))
"""What nsys 2023.4 to 2025.3 means by the numbers, for exports without tables that say so."""

BETWEEN = re.compile(r"(\w)\w*-to-(\w)")
"""In the label of an operation: Host-to-Device, Unified Device-to-Host."""


def labels(found: Exported, table: str) -> dict[int, str]:
    """What the numbers of an enumeration mean, by a table of the export; empty without one."""
    if not found.has_columns(table, "id", "label"):
        return {}
    numbers, texts = found.integers(table, ("id",))["id"], found.values(table, "label")
    return dict(zip(numbers.tolist(), map(printable, texts), strict=True))


def copies(found: Exported, kind: str, columns: Columns) -> pd.DataFrame:
    """Copies or sets as in Capture.copies, numbered from 0; of other work, no rows."""
    if kind not in COPIED:
        return copies_frame({})
    memory = MEMORIES | {n: _memory(label) for n, label in labels(found, MEMORY_KINDS).items()}
    count = len(columns["bytes"])
    rows = {"work": np.arange(count), "bytes": columns["bytes"]}
    if kind == SET:
        memories = {"source": [UNKNOWN_TEXT] * count, "target": _meant(columns["memKind"], memory)}
        return copies_frame(rows | memories | {"direction": [SET] * count})
    operations = {
        number: "to".join(ends.groups())
        for number, label in labels(found, COPY_KINDS).items()
        if (ends := BETWEEN.search(label))
    }
    sides = {"source": columns["srcKind"], "target": columns["dstKind"]}
    memories = {side: _meant(numbers, memory) for side, numbers in sides.items()}
    direction = _meant(columns["copyKind"], OPERATIONS | operations)
    return copies_frame(rows | memories | {"direction": direction})


def _memory(label: str) -> str:
    """Device Static and arrays lie on the device; Managed Static is managed."""
    word = label.lower().split()[0]
    return "device" if word == "array" else word


def _meant(numbers: Indices, known: Mapping[int, str]) -> "pd.Categorical[str]":
    code, own = pd.factorize(numbers)
    return coded(code, [known.get(number, UNKNOWN_TEXT) for number in own.tolist()])
