"""Steps as pictures in report.html: flame charts of some cases, and their timelines if made."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from workflow_src.answers.tables import Tables
from workflow_src.common import words
from workflow_src.common.case import PHASES
from workflow_src.common.components import COMPONENTS
from workflow_src.common.errors import StageError
from workflow_src.paper.flame import Chart, Times, flame
from workflow_src.paper.html import figure
from workflow_src.paper.markdown import escape
from workflow_src.paper.svg import milliseconds
from workflow_src.report.device_time import device_time


@dataclass(frozen=True)
class Picture:
    """A case's pictures: the name of its flame chart's place, the chart, and its timeline.

    `timeline` is a Markdown image, or "" if none was made.
    """

    case: str
    chart: str
    drawn: Markup
    timeline: Markup


def pictures(
    tables: Tables, timelines: Sequence[Path], folder: Path, example: str
) -> tuple[Picture, ...]:
    """The pictures of the cases to show, without those whose capture holds no device time.

    They are the example and the cases with a timeline; if there are no timelines, the first and the
    last that were captured. Raises StageError for a timeline of another case.
    """
    captured = [str(case) for case in tables["captures"]["case"]]
    path_of = {path.stem: path for path in timelines}
    for case, path in path_of.items():
        if case not in captured:
            raise StageError(f"{path} is the timeline of no case that was captured")
    cases = dict.fromkeys([example, *(path_of or [*captured[:1], *captured[-1:]])])
    charts = {case: _phases(tables, case) for case in cases}
    return tuple(
        Picture(
            case=case,
            chart=f"flame {place}",
            drawn=figure(flame(phases, list(COMPONENTS)), f"Flame chart of {case}"),
            timeline=_timeline(case, path_of[case], folder) if case in path_of else Markup(""),
        )
        for place, (case, phases) in enumerate(charts.items())
        if phases
    )


def _phases(tables: Tables, case: str) -> list[Chart]:
    """A chart per captured phase of a case."""
    found = {phase: device_time(tables, case, phase) for phase in PHASES}
    return [
        Chart(_title(phase, times, int(tables.of("kernels", case, phase)["steps"].max())), times)
        for phase, times in found.items()
        if times
    ]


def _title(phase: str, times: Times, steps: int) -> str:
    """What a step takes, and the exact sum that it comes from."""
    total = sum(times.values())
    counted = f"{total:,} ns in {steps} step{'' if steps == 1 else 's'}"
    return f"{words.PHASES[phase]}: {milliseconds(total / steps)} per step ({counted})"


def _timeline(case: str, path: Path, folder: Path) -> Markup:
    label = f"Timeline of {escape(case)}: host ranges, launches, device work, idle time"
    return Markup(f"![{label}]({Path(os.path.relpath(path, folder)).as_posix()})")
