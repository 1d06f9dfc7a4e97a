"""Steps as pictures in report.html: flame charts of some cases, and their timelines if made."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from workflow_src.answers.evidence import cases_of, of, words
from workflow_src.common.case import PHASES
from workflow_src.common.components import COMPONENTS
from workflow_src.common.errors import StageError
from workflow_src.render.flame import KNOWN, Phase, flame
from workflow_src.render.html import figure
from workflow_src.render.markdown import PHASE_WORDS, escape, limit
from workflow_src.report.beyond import CACHE
from workflow_src.report.ceilings import Ceilings
from workflow_src.report.device_time import Tables, device_time
from workflow_src.report.explore import Run

ZOOM = (
    "A box says more when it is pointed at or tapped. A click zooms in, Shift and a click out; so "
    "do the buttons below a picture and, once it has the focus, the keys + and -. 0 shows all "
    "again, the arrows up and down go from box to box, and left and right move along."
)
WIDTHS = (
    "In a flame chart a box is a range of the model's code, as wide as the {device_time} of what "
    "was launched in it, over all captured steps. Widths are exact, in nanoseconds; a box "
    "without a name is too narrow for it."
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
    f"memory. Where it is more than 100 %, {CACHE}, or gemm's ceiling was measured too low."
)

LANES = (
    "A timeline shows the step of each phase with the median wall time, under the profiler. Host "
    "ranges, launches and device work have the color of their component of the model, idle time "
    "that of its cause in the ledger; within a gap, only the lengths of its parts are known "
    "exactly, not always their order."
)
MAKE = (
    "The timeline of a case is made from its capture, by naming its file, where "
    "`results/{tag}/capture/` has that case: `snakemake --cores 1 "
    "results/{tag}/timelines/{{case}}.svg{options}`. Beside it is the whole capture for Perfetto "
    "(`{{case}}.trace.json.gz`) and for speedscope (`{{case}}.speedscope.json`)."
)

Charts = Mapping[str, Sequence[Phase]]
"""Per case, device time by path and family for each captured phase."""


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
    every = {case: _phases(tables, ceilings, case) for case in dict.fromkeys([*example, *ends])}
    return {case: phases for case, phases in every.items() if phases}


def _phases(tables: Tables, ceilings: Ceilings, case: str) -> list[Phase]:
    """The captured phases of a case."""
    found = ((phase, device_time(tables, ceilings, case, phase)) for phase in PHASES)
    return [
        Phase(PHASE_WORDS[phase], int(of(tables.kernels, case, phase)["steps"].max()), times)
        for phase, times in found
        if times
    ]


def text(
    timelines: Sequence[Path],
    folder: Path,
    charts: Charts,
    run: Run,
) -> str:
    """The section as Markdown; "" without charts."""
    if not charts:
        return ""
    path_of = {path.stem: Path(os.path.relpath(path, folder)).as_posix() for path in timelines}
    shown = f"Shown here: {', '.join(map(escape, charts))}."
    without = "" if timelines else " No timeline is among them."
    make = MAKE.format(tag=run.tag, options=run.options)
    every = [shown + without, _reading(charts, run.tables["captures"], bool(timelines)), make]
    for place, case in enumerate(charts):
        every += _timeline(case, path_of[case]) if case in path_of else []
        every += [f"### Flame chart of {escape(case)}", f"{{{{flame {place}}}}}"]
    return "\n\n".join(["## Steps as pictures", *every]) + "\n"


def _reading(charts: Charts, captures: pd.DataFrame, timelines: bool) -> str:
    """How to read the pictures, as a list."""
    phases = [phase for chart in charts.values() for phase in chart]
    boxes = [box for phase in phases for box in phase.times.items()]
    lines = [
        ZOOM,
        *([LANES] if timelines else []),
        WIDTHS.format(device_time=words(cases_of(captures))["device_time"]),
    ]
    lines += [GRADIENTS] if any("/backward/" in path for (path, _), _ in boxes) else []
    lines += [OF_CEILING] if any(spent.at_ceiling for _, spent in boxes) else []
    return "\n".join(f"- {line}" for line in lines)


def _timeline(case: str, path: str) -> list[str]:
    label = f"Timeline of {escape(case)}: host ranges, launches, device work, idle time"
    return [
        f"### Timeline of {escape(case)}",
        f"![{label}]({path})",
    ]


def parts(charts: Charts) -> dict[str, Markup]:
    """The flame charts, as the parts of the page that the Markdown names."""
    return {
        f"flame {place}": figure(flame(chart, list(COMPONENTS)), f"Flame chart of {case}")
        for place, (case, chart) in enumerate(charts.items())
    }
