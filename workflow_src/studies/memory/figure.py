"""The figure of the memory study: active memory over time, by what it is held for."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from workflow_src.common.components import COMPONENTS
from workflow_src.common.units import MIB_PER_GIB
from workflow_src.paper.drawing import LINE_COLORS, label_left, legend_of, nothing
from workflow_src.studies.lines import Line, grouped, lines, where
from workflow_src.studies.memory.details import KINDS, RECORD

MOST = 3
"""Records that are drawn."""

DRAWN = ("start_ms", "end_ms", "active_mib")
NAMED_SHARE = 0.02
"""A stretch shorter than this share of a panel has no room for its name."""


def draw(table: pd.DataFrame) -> Figure:
    """A row per record: all of it with the parts of a step, and its last block with components."""
    every = [line for line in lines(table, "memory") if line.ok and line.has(*DRAWN)]
    records = _chosen(where(every, measurement="segment"))
    if not records:
        return nothing("no allocations were recorded")
    drawn, grid = plt.subplots(
        len(records), 2, figsize=(10.6, 2.9 * len(records)), squeeze=False, layout="constrained"
    )
    for mine, (whole, close) in zip(records, grid, strict=True):
        key = {column: mine[0].text(column) for column in RECORD}
        block = where(every, measurement="close", **key)
        _panel(whole, mine, _title(mine[0]), [_part(line) for line in mine])
        _panel(close, block, "its last block", [_component(line) for line in block])
    label_left(drawn, "active memory, GiB")
    legend_of(drawn)
    return drawn


def _chosen(segments: Sequence[Line]) -> list[list[Line]]:
    """Of each size and phase the longest context; training steps first, which show the most."""
    longest: dict[tuple[str, str], list[Line]] = {}
    for mine in grouped(segments, *RECORD):
        key = mine[0].text("size"), mine[0].text("phase")
        if key not in longest or mine[0].amount("context") > longest[key][0].amount("context"):
            longest[key] = mine
    return sorted(longest.values(), key=lambda mine: mine[0].text("phase") == "forward")[:MOST]


def _title(line: Line) -> str:
    phase = "forward pass" if line.text("phase") == "forward" else "two training steps"
    return (
        f"{line.text('size')}, context {line.whole('context')}, {line.text('precision')}: {phase}"
    )


def _part(line: Line) -> str:
    """The part of a step, but for the loss, which is over at once."""
    part = line.text("part")
    return part if part in ("forward", "backward", "optimizer") else ""


def _component(line: Line) -> str:
    """The component of a stretch, or the part where it is in none."""
    name = line.text("component") or line.text("block")
    if name.startswith("block"):
        return COMPONENTS["block"].name if line.text("part") == "forward" else ""
    return COMPONENTS[name].name if name in COMPONENTS else line.text("part").replace("_", " ")


def _panel(axes: Axes, mine: Sequence[Line], title: str, names: Sequence[str]) -> None:
    """Each stretch is as high as its peak; a name stands where it begins to be true."""
    axes.set_title(title, fontsize=10)
    axes.set_xlabel("ms of the host, recorded")
    if not mine:
        return
    edges = [each for line in mine for each in (line.amount("start_ms"), line.amount("end_ms"))]
    heights = [
        [line.amount(f"{kind}_mib") / MIB_PER_GIB for line in mine for _ in range(2)]
        for kind in KINDS
    ]
    axes.stackplot(edges, heights, labels=list(KINDS.values()), colors=LINE_COLORS, linewidth=0)
    top = axes.get_ylim()[1]
    axes.set_xlim(edges[0], max(edges[-1], edges[0] + 1e-6))
    axes.set_ylim(0, 1.45 * top)
    shown = NAMED_SHARE * (edges[-1] - edges[0])
    last = edges[0] - shown
    for line, name, before in zip(mine, names, ["", *names], strict=False):
        start = line.amount("start_ms")
        if name and name != before:
            axes.axvline(start, color="black", linewidth=0.5, linestyle=":")
            if start - last >= shown:
                axes.annotate(name, (start, 1.43 * top), fontsize=6, rotation=90, va="top")
                last = start
