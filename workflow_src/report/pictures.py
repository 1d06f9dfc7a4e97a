"""Steps as pictures in report.html: flame charts of some cases, and their timelines if made."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from workflow_src.answers.components import COMPONENTS
from workflow_src.answers.evidence import cases_of, words
from workflow_src.common.case import PHASES
from workflow_src.common.errors import StageError
from workflow_src.render.flame import KNOWN, Times, flame
from workflow_src.render.html import figure
from workflow_src.render.markdown import PHASE_WORDS, escape, limit
from workflow_src.report.ceilings import Ceilings
from workflow_src.report.device_time import Tables, device_time

ZOOM = (
    "A box says more when it is pointed at. A click zooms in, Shift and a click out, a double "
    "click shows all again; so do the keys +, - and 0 once the picture has the focus, and the "
    "arrows move along it."
)
WIDTHS = (
    "In a flame chart a box is a range of the model's code, as wide as the {device_time} of what "
    "was launched in it, over all captured steps. Widths are exact, in nanoseconds."
)
GRADIENTS = (
    "Inside of backward a box is the gradient of the forward range of that name. What the record "
    "of operators doesn't place stays in backward itself."
)
OF_CEILING = (
    f"Where the work behind {limit(KNOWN)} of a family's time is known, its box gives the share "
    "of its ceiling: the time that the work would take at the best rate measured, divided by the "
    "time that it took. For gemm the work is FLOPs and the rate that of matrix products in this "
    "precision; for other families it is the bytes of inputs and outputs and the bandwidth of "
    "memory. More than 100 % means that a cache supplied some of the bytes."
)

Charts = Mapping[str, Mapping[str, Times]]
"""Per case, device time by path and family for each captured phase, by the phase's title."""


def charts(
    timelines: Sequence[Path],
    captures: pd.DataFrame,
    tables: Tables,
    ceilings: Ceilings,
    example: Sequence[str] = (),
) -> Charts:
    """The charts of the cases to show, without those whose capture holds no device time.

    They are the `example` that the answers work through, and the cases with a timeline; if there
    are no timelines, the first and the last that were captured. Raises StageError for a timeline
    of another case.
    """
    captured = [str(case["case"]) for case in cases_of(captures)]
    for path in timelines:
        if path.stem not in captured:
            raise StageError(f"{path} is the timeline of no case that was captured")
    ends = [path.stem for path in timelines] or [*captured[:1], *captured[-1:]]
    every = {
        case: {
            PHASE_WORDS[phase]: times
            for phase in PHASES
            if (times := device_time(tables, ceilings, case, phase))
        }
        for case in dict.fromkeys([*example, *ends])
    }
    return {case: chart for case, chart in every.items() if chart}


def text(
    timelines: Sequence[Path],
    folder: Path,
    charts: Charts,
    captures: pd.DataFrame,
    tag: str,
) -> str:
    """The section as Markdown; "" without charts."""
    if not charts:
        return ""
    path_of = {path.stem: Path(os.path.relpath(path, folder)).as_posix() for path in timelines}
    every = [f"Shown here: {', '.join(map(escape, charts))}.", _reading(charts, captures)]
    if timelines:
        every.append(
            f"A timeline of any other case is made by naming its file: `snakemake --cores 1 "
            f"results/{tag}/timelines/{{case}}.svg`. Beside it is the whole capture for Perfetto "
            "(`{case}.trace.json.gz`) and for speedscope (`{case}.speedscope.json`)."
        )
    for place, case in enumerate(charts):
        every += _timeline(case, path_of[case]) if case in path_of else []
        every += [f"### Flame chart of {escape(case)}", f"{{{{flame {place}}}}}"]
    return "\n\n".join(["## Steps as pictures", *every]) + "\n"


def _reading(charts: Charts, captures: pd.DataFrame) -> str:
    """How to read the pictures, as a list."""
    boxes = [box for chart in charts.values() for times in chart.values() for box in times.items()]
    lines = [ZOOM, WIDTHS.format(device_time=words(cases_of(captures))["device_time"])]
    lines += [GRADIENTS] if any("/backward/" in path for (path, _), _ in boxes) else []
    lines += [OF_CEILING] if any(spent.at_ceiling for _, spent in boxes) else []
    return "\n".join(f"- {line}" for line in lines)


def _timeline(case: str, path: str) -> list[str]:
    label = f"Timeline of {escape(case)}: host ranges, launches, device work, idle time"
    return [
        f"### Timeline of {escape(case)}",
        "The step of each phase with the median wall time, under the profiler. Host "
        "ranges, launches and device work have the color of their component of the model, "
        "idle time that of its cause in the ledger; within a gap, only the lengths of its "
        "parts are known exactly, not always their order.",
        f"![{label}]({path})",
    ]


def parts(charts: Charts) -> dict[str, Markup]:
    """The flame charts, as the parts of the page that the Markdown names."""
    return {
        f"flame {place}": figure(flame(chart, list(COMPONENTS)), f"Flame chart of {case}")
        for place, (case, chart) in enumerate(charts.items())
    }
