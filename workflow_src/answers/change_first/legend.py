"""What the marks and words of (f)'s cells mean: each sentence where a cell has its mark."""

from collections.abc import Iterable

import pandas as pd
from markupsafe import Markup

from workflow_src.answers.change_first.cells import NOTHING_SURE, PREDICTED
from workflow_src.answers.marks import ALONE, CAPPED
from workflow_src.paper.show import Printer

LEGEND = {
    " or ": "*Or*: not sure, as by its interval each may save most (all, with ms: in the case's "
    "table, but no parts of a named pair); of ten steps tried [blind](docs/replay.md) on H200s, "
    "without tf32, the first named saved most in nine.",
    NOTHING_SURE: f"*{NOTHING_SURE}*: each, at its longest, takes as long as the fastest plain "
    "process.",
    " ms": "*of*: by the study levers, of its own plain step; its graph ends with backward, in "
    "place of fused+graph.",
    "bf16": "*bf16*: autocast.",
    "tf32": "*tf32*: fp32's products on tensor cores, in fewer bits.",
    "sdpa": "*sdpa*: torch's fused attention.",
    "foreach": "*foreach*: torch's AdamW, not fused.",
    "fused": "*fused*: torch's AdamW, fused.",
    "compile": "*compile*: torch.compile, if its gradients are right ([not always]"
    "(docs/replay.md)).",
    "graph": "*graph*: one CUDA graph, of fixed shapes, predicted with the gaps of the replays "
    "that measure it, so near by construction.",
    "train": "*no training*: of AdamW written out.",
    "rest": "*rest*: plain time without matrix products.",
    PREDICTED: f"*{PREDICTED}*: [predicted](docs/replay.md), with an interval of 95 %; all else "
    "was measured (how: appendix).",
    ALONE: f"*{ALONE}*: a time of one process; if measured, its interval is as wide as others'.",
    CAPPED: f"*{CAPPED}*: the clock of its plain steps was limited.",
}
"""Sentences by what stands in the cells that they are about."""


def legend(frames: Iterable[pd.DataFrame]) -> tuple[Markup, ...]:
    """The sentences of what stands in some cell of some tables."""
    printer = Printer()
    text = "\n".join(str(printer(cell)) for frame in frames for cell in frame.to_numpy().flat)
    return tuple(Markup(sentence) for mark, sentence in LEGEND.items() if mark in text)
