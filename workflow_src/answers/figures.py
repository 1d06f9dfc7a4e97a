"""Draw the report's figures from the joined tables alone; equal tables give identical bytes."""

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from workflow_src.answers import gemm_share, hosts, share_bars, softmax_matmul
from workflow_src.answers.component_figure import component_shares
from workflow_src.answers.evidence import Row, benchmark_state, cases_of, of, read_table, words
from workflow_src.answers.questions import FIGURES
from workflow_src.common.arguments import Parser, existing_folder, new_file
from workflow_src.common.atomic_write import write_text
from workflow_src.common.case import PHASES
from workflow_src.common.errors import one_sentence
from workflow_src.render.drawing import (
    context_axis,
    facets,
    label_left,
    legend_of,
    lines,
    log_values,
    nothing,
    panels,
    styles,
    svg,
)
from workflow_src.render.markdown import PHASE_WORDS, records

# After Paul Tol's "muted" scheme, distinguishable with any color vision.
FAMILY_COLORS = {
    "gemm": "#332288",
    "attention": "#88CCEE",
    "softmax": "#CC6677",
    "elementwise": "#DDCC77",
    "normalization": "#44AA99",
    "reduction": "#117733",
    "copy": "#999933",
    "optimizer": "#882255",
    "loss": "#AA4499",
    "unknown": "#000000",
}
OPTIMIZER = "optimizer"
OTHERS = "other families"


def forward_time(timings: pd.DataFrame, environments: pd.DataFrame, ranges: pd.DataFrame) -> Figure:
    """Unprofiled median of the forward pass (ms, p20 to p80) over context, a line per size.

    A hollow marker tells a case that has a mark in the answer: see `hosts.summarize`. A dashed line
    is what a GPU works of it, by the capture: what lies between the two is the host's.
    """
    rows = [
        case | records(of(timings, case["case"], "forward"))[0]
        for case in cases_of(timings)
        if benchmark_state(timings, case["case"], "forward").word == "ok"
    ]
    if not rows:
        return nothing("no forward pass was measured")
    look, by_facet = styles(rows), facets(rows)
    apart = hosts.summarize(hosts.hosts_of([row["case"] for row in rows], environments))
    marks = apart["marks"]
    figure, places = panels(rows)
    worked = False
    for heading, axes in places:
        for size, mine in lines(by_facet[heading]).items():
            color, marker = look[size]
            middle = [row["median_ms"] for row in mine]
            low = [max(0.0, row["median_ms"] - row["p20_ms"]) for row in mine]
            high = [max(0.0, row["p80_ms"] - row["median_ms"]) for row in mine]
            contexts = [int(row["context"]) for row in mine]
            axes.errorbar(
                contexts, middle, (low, high), color=color, marker=marker, capsize=3, label=size
            )
            hollow(axes, [row for row in mine if row["case"] in marks], color, marker)
            worked |= working(axes, mine, ranges, color)
        log_values(axes)
        context_axis(axes, [int(row["context"]) for row in rows])
    label_left(figure, "forward pass, median ms\n(bars: 20th to 80th percentile)")
    if worked:
        figure.axes[-1].plot([], [], "--", color="black", label="of that, the GPU works")
    if marks:
        few_fast = apart["slow"] and apart["slow"]["few_fast"]
        said = f"hollow: another or\na {'faster' if few_fast else 'slower'} host"
        figure.axes[-1].plot([], [], "o", color="black", markerfacecolor="white", label=said)
    legend_of(figure)
    return figure


def working(axes: Axes, rows: Sequence[Row], ranges: pd.DataFrame, color: str) -> bool:
    """A dashed line of the GPU's work in a forward pass (ms), if a case of `rows` has a capture."""
    busy = ranges[ranges["path"] == "forward"].groupby("case")["busy_ms"].median()
    there = [row for row in rows if row["device"] == "cuda" and busy.get(row["case"], 0.0) > 0]
    if there:
        contexts = [int(row["context"]) for row in there]
        axes.plot(contexts, busy[[row["case"] for row in there]], "--", color=color, linewidth=1)
    return bool(there)


def hollow(axes: Axes, rows: Sequence[Row], color: str, marker: str) -> None:
    """The markers of some cases, in white with a colored edge, over those of the line."""
    contexts, middle = [int(row["context"]) for row in rows], [row["median_ms"] for row in rows]
    look: Any = {"markerfacecolor": "white", "linestyle": "", "zorder": 3}
    axes.plot(contexts, middle, color=color, marker=marker, **look)


def family_shares(timings: pd.DataFrame, kernels: pd.DataFrame, captures: pd.DataFrame) -> Figure:
    """Each family's share of device time: a bar per case, a column of panels per phase.

    What the optimizer launches is one part, whatever its families: written out it is elementwise
    work, which would hide it.
    """
    cases = cases_of(timings, captures)
    parts = _optimizer_apart(kernels)
    rows = [
        gemm_share.measure(case, phase, timings, parts, captures)
        for case in cases
        for phase in PHASES
    ]
    if not any(row["shares"] for row in rows):
        return nothing("no device activity was measured")
    rows = share_bars.together(rows, list(FAMILY_COLORS), OTHERS)
    by_facet = facets(rows)
    counts = [len(mine) // len(PHASES) for mine in by_facet.values()]
    figure, grid = plt.subplots(
        len(by_facet),
        len(PHASES),
        figsize=(11, sum(counts) * 0.2 + 1.0 * len(counts) + 0.6),
        height_ratios=[count + 1 for count in counts],
        squeeze=False,
        sharex=True,
        layout="constrained",
    )
    shown = share_bars.shown(rows, FAMILY_COLORS)
    for line, (heading, mine) in zip(grid, by_facet.items(), strict=True):
        for axes, phase in zip(line, PHASES, strict=True):
            here = [row for row in mine if row["phase"] == phase]
            share_bars.stack(axes, here, shown, labeled=phase == PHASES[0])
            axes.set_title(f"{PHASE_WORDS[phase]} ({heading})", fontsize=10)
    for axes in grid[-1]:
        axes.set_xlabel(f"share of {words(cases)['device_time']}, %")
    legend_of(figure)
    return figure


def _optimizer_apart(kernels: pd.DataFrame) -> pd.DataFrame:
    """The rows of kernels.csv, those of the range `optimizer` as a family of that name."""
    launched = kernels["path"].astype(str).str.contains(rf"(?:^|/){OPTIMIZER}(?:/|$)")
    return kernels.assign(family=kernels["family"].mask(launched, OPTIMIZER))


RATIOS = {
    "time_ratio": ("time", "-", ""),
    "flop_ratio": ("FLOPs", ":", "x"),
    "byte_ratio": ("bytes", "--", "+"),
}
"""The ratios drawn for answer (e): name, line style and marker ("": that of the size)."""


def softmax_ratios(
    timings: pd.DataFrame, kernels: pd.DataFrame, captures: pd.DataFrame, work: pd.DataFrame
) -> Figure:
    """Softmax / matmuls of attention: time, FLOP and byte ratios over context, a color per size."""
    measured = softmax_matmul.measure_all(timings, kernels, captures, work)
    rows = [row for row in measured if "time_ratio" in row]
    if not rows:
        return nothing("softmax and attention's matrix products were not measured separately")
    look, by_facet = styles(rows), facets(rows)
    figure, places = panels(rows)
    for heading, axes in places:
        for size, mine in lines(by_facet[heading]).items():
            draw_ratios(axes, mine, *look[size])
        log_values(axes)
        context_axis(axes, [int(row["context"]) for row in rows])
    for size, (color, marker) in look.items():
        figure.axes[0].plot([], [], color=color, marker=marker, label=size)
    for name, style, marker in RATIOS.values():
        label = f"ratio in {name}"
        figure.axes[0].plot([], [], color="black", linestyle=style, marker=marker, label=label)
    label_left(figure, "softmax / matrix multiplications")
    legend_of(figure)
    return figure


def draw_ratios(axes: Axes, rows: Sequence[Row], color: str, marker: str) -> None:
    """One size's ratios over context."""
    for ratio, (_, style, own_marker) in RATIOS.items():
        there = [row for row in rows if ratio in row]
        contexts = [int(row["context"]) for row in there]
        values = [row[ratio] for row in there]
        axes.plot(contexts, values, color=color, linestyle=style, marker=own_marker or marker)


DRAW: dict[str, Callable[..., Figure]] = {
    "forward_time": forward_time,
    "component_shares": component_shares,
    "family_shares": family_shares,
    "softmax_matmul": softmax_ratios,
}


@one_sentence()
def main() -> None:
    """Draw one figure."""
    parser = Parser(prog="workflow_src.answers.figures", description=__doc__)
    parser.add_argument(
        "--tables", type=existing_folder, required=True, help="folder of joined CSVs"
    )
    parser.add_argument("--figure", choices=sorted(FIGURES), required=True)
    parser.add_argument("--output", type=new_file, required=True, help="an .svg")
    arguments = parser.parse_args()
    name = arguments.figure
    tables = {table: read_table(arguments.tables, table) for table in FIGURES[name]}
    write_text(arguments.output, svg(lambda: DRAW[name](**tables), name))


if __name__ == "__main__":
    main()
