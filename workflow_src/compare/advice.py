"""What to do where two runs allow no verdict."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from workflow_src.common.case import PHASES
from workflow_src.compare.resampling import FEWEST_EXTREMES
from workflow_src.compare.rows import Row
from workflow_src.compare.times import SPREAD, TOO_FEW, UNKNOWN, fewest_processes
from workflow_src.render.markdown import between, names, plain


def advice(rows: Sequence[Row]) -> str:
    """What a verdict takes; "" if nothing is open that measuring again could settle."""
    doubted = [row for row in rows if row["verdict"] == UNKNOWN]
    said = []
    if any(row["why"] == SPREAD for row in doubted):
        said.append("Where processes vary too much, it takes more of them, or a quieter machine.")
    warned = list(dict.fromkeys(row["case"] for row in doubted if row["warned"]))
    if warned:
        said.append(
            f"Measure {names(warned)} again on a quiet machine, so that no warning is left."
        )
    if few(rows):
        said.append(_more_processes(rows))
    return " ".join(said)


def few(rows: Sequence[Row]) -> list[str]:
    """Which of the runs "a" and "b" have too few processes for a verdict on all phases."""
    if not any(row["why"] in TOO_FEW for row in rows):
        return []
    needed = _needed(rows)
    return [run for run in "ab" if min(_processes(rows, run)) < needed]


def _needed(rows: Sequence[Row]) -> int:
    """The fewest processes for a verdict on all phases."""
    least = fewest_processes(len(rows))
    published = any(row["basis"] == "extremes" for row in rows)
    return max(least, FEWEST_EXTREMES) if published else least


def _processes(rows: Sequence[Row], run: str) -> list[int]:
    return [row[f"{run}_processes"] for row in rows]


def _more_processes(rows: Sequence[Row]) -> str:
    needed, alone, lacking = _needed(rows), fewest_processes(len(PHASES)), few(rows)
    now = [count for run in lacking for count in _processes(rows, run)]
    one_case = f"; one case alone takes {alone}" if alone < needed else ""
    runs = "both runs" if len(lacking) == 2 else lacking[0].upper()
    again = "A and B again, each" if len(lacking) == 2 else f"{runs} again,"
    return (
        f"For a verdict, time each case of {runs} in at least {needed} processes (now "
        f"{between(now, plain)}{one_case}). Run what measured {again} with its own "
        f"code, suite and other settings, and with processes={needed} in --config; captures are "
        "not made again."
    )


def commands(rows: Sequence[Row], runs: Mapping[str, str]) -> list[str]:
    """The commands of that advice; none where a folder doesn't tell them.

    `runs` are the folders of "a" and "b". Only a run in results/ has a tag, and what else it was
    measured with isn't known here.
    """
    folders = [Path(runs[run]) for run in few(rows)]
    if any(folder.parts[:-1] != ("results",) for folder in folders):
        return []
    start, end = "snakemake --cores 1 report.md --config", f"processes={_needed(rows)}"
    return [f"{start} tag={shlex.quote(folder.name)} {end}" for folder in folders]
