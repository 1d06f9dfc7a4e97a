"""Steps as pictures in report.html: flame charts of some cases, and their timelines if made."""

import os
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from workflow_src.answers.components import COMPONENTS
from workflow_src.answers.evidence import cases_of, of, words
from workflow_src.common.case import PHASES
from workflow_src.common.errors import StageError
from workflow_src.render.flame import Times, flame
from workflow_src.render.html import figure
from workflow_src.render.markdown import PHASE_WORDS, escape

HOVER = "A box says more when it is pointed at."
ZOOM = (
    "A click zooms in, Shift and a click out, a double click shows all again; so do the keys +, - "
    "and 0 once the picture has the focus, and the arrows move along it."
)


def shown(timelines: Sequence[Path], captures: pd.DataFrame) -> list[str]:
    """The cases to show: those with a timeline, else the first and the last that were captured."""
    captured = [str(case["case"]) for case in cases_of(captures)]
    return [path.stem for path in timelines] or list(dict.fromkeys(captured[:1] + captured[-1:]))


def text(
    timelines: Sequence[Path],
    folder: Path,
    kernels: pd.DataFrame,
    captures: pd.DataFrame,
    tag: str,
) -> str:
    """The section as Markdown; "" without a capture that holds device time.

    Raises StageError for a timeline of another case.
    """
    known = {str(case["case"]) for case in cases_of(captures)}
    for path in timelines:
        if path.stem not in known:
            raise StageError(f"{path} is the timeline of no case that was captured")
    cases = [name for name in shown(timelines, captures) if times(kernels, name)]
    if not cases:
        return ""
    path_of = {path.stem: Path(os.path.relpath(path, folder)).as_posix() for path in timelines}
    said = words(cases_of(captures))
    parts = ["## Steps as pictures", f"Shown here: {' and '.join(map(escape, cases))}. {HOVER}"]
    if timelines:
        parts.append(
            f"A timeline of any other case is made by naming its file: `snakemake --cores 1 "
            f"results/{tag}/timelines/{{case}}.svg`. Beside it is the whole capture for Perfetto "
            "(`{case}.trace.json.gz`) and for speedscope (`{case}.speedscope.json`)."
        )
    for case in cases:
        if case in path_of:
            label = f"Timeline of {escape(case)}: host ranges, launches, device work, idle time"
            parts += [
                f"### Timeline of {escape(case)}",
                "The step of each phase with the median wall time, under the profiler. Host "
                "ranges, launches and device work have the color of their component of the model, "
                "idle time that of its cause in the ledger; within a gap, only the lengths of its "
                f"parts are known exactly, not always their order. {ZOOM}",
                f"![{label}]({path_of[case]})",
            ]
        parts += [
            f"### Flame chart of {escape(case)}",
            f"{said['device_time'].capitalize()} of all captured steps by the range that launched "
            f"it; widths are exact, in nanoseconds. {ZOOM}",
            f"{{{{flame {shown(timelines, captures).index(case)}}}}}",
        ]
    return "\n\n".join(parts) + "\n"


def parts(
    timelines: Sequence[Path], kernels: pd.DataFrame, captures: pd.DataFrame
) -> dict[str, Markup]:
    """The flame charts, as the parts of the page that the Markdown names."""
    found = {}
    for place, case in enumerate(shown(timelines, captures)):
        svg = flame(times(kernels, case), list(COMPONENTS))
        found[f"flame {place}"] = figure(svg, f"Flame chart of {case}")
    return found


def times(kernels: pd.DataFrame, case: str) -> dict[str, Times]:
    """Device time (ns) of a case by path and family, for each captured phase by its title."""
    found: dict[str, Times] = {}
    for phase in PHASES:
        mine = of(kernels, case, phase)
        sums = mine.groupby(["path", "family"], as_index=False)["busy_ns"].sum()
        if len(sums):
            columns = sums[["path", "family", "busy_ns"]].to_numpy().tolist()
            found[PHASE_WORDS[phase]] = {(path, family): int(ns) for path, family, ns in columns}
    return found
