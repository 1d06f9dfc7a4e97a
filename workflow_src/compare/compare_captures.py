"""Compare the tables of two captures of other programs: as Markdown, HTML, JSON and CSV.

The exit status only says whether the comparison was made; `python -m workflow_src.compare.gate`
exits with its verdict.
"""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from workflow_src.common.errors import StageError
from workflow_src.common.units import NS_PER_MS
from workflow_src.compare.change import (
    Kind,
    Verdict,
    apart,
    as_floats,
    beside,
    by_change,
    spread,
    with_ratio,
    work_kind,
)
from workflow_src.compare.gate import usage_status
from workflow_src.compare.page import Compared, comparison_parser, write
from workflow_src.compare.steps import PARTS, findings, host, parts, step_times
from workflow_src.paper.number import over, to
from workflow_src.paper.plain import paragraphs, screen
from workflow_src.paper.run import Run, first
from workflow_src.paper.written import Facts
from workflow_src.placing.kernel_names import distinct_names, short_names

READ = ("paths", "kernels", "steps", "summary", "notes", "diagnoses", "findings", "smaller",
        "step_calls", "step_times")  # fmt: skip
ADVICE = "make its tables: snakemake --cores 1 report.md --config 'captures=[FILE]'"

FEWEST_STEPS = 3
"""In each capture, for a verdict: two may both be out of the ordinary."""

NAMED_APART = ("copy", "set")
"""Kinds of work whose short names differ between profilers: each is one row then."""

OF_PATH = {"times": "instances", "ms": "busy_ms", "own_ms": "own_ms"}

SHOWN = 10
"""Rows of a table in the comparison; the appendix has all."""

ORDER = {
    "slower": (Kind.DEVICE, Verdict.SLOWER),
    "longer": (Kind.STEP, Verdict.SLOWER),
    "faster": (Kind.DEVICE, Verdict.FASTER),
    "shorter": (Kind.STEP, Verdict.FASTER),
}
"""The first of these that a time shows is the verdict."""


def read_capture(folder: Path) -> Run:
    """The tables of a capture. Raises StageError if they aren't there, or it couldn't be read."""
    run = Run.of_capture(folder)
    for name in READ:
        if f"capture/{name}" not in run.files:
            raise StageError(f"{folder / name}.csv does not exist; {ADVICE}")
    notes = run["capture/notes"]
    for why in notes.loc[notes["note"] == "unreadable", "about"]:
        raise StageError(f"{folder} has no tables of its capture, which could not be read: {why}")
    return run


def compare(a: Path, b: Path) -> Compared:
    """All that differs between the captures whose tables are in two folders; times (ms) are of a
    step of a process, if both have steps. Raises StageError as read_capture does."""
    both = read_capture(a), read_capture(b)
    step = _shared_step(*both)
    steps = [len(_steps(run, step)) if step else 1 for run in both]
    profilers = [str(run["capture/summary"]["profiler"].iloc[-1]) for run in both]
    differ = profilers[0] != profilers[1]
    sides = [*zip(both, steps, strict=True)]
    ours, theirs = (_a_step(run["capture/paths"], "path", OF_PATH, count) for run, count in sides)
    by_path = with_ratio(beside(ours, theirs)).reset_index()
    work = beside(_kernels(*sides[0], differ), _kernels(*sides[1], differ))
    work = work.assign(kind=work_kind(work, float(work["a_ms"].dropna().astype(float).sum())))
    work["family"] = work.pop("a_family").fillna(work.pop("b_family"))
    work = by_change(work.reset_index())
    # They write C++ names differently: (anonymous namespace) and <unnamed>, lambda()#3 and
    # (instance 3).
    work["short_name"] = work["name"] if differ else distinct_names(work["name"])
    judged = with_ratio(beside(_times(both[0], step), _times(both[1], step), "inner"))
    judged, divided = judged.assign(verdict=apart(judged)), parts(*both)
    # On a CPU, which launches nothing, steps have no parts.
    recorded = divided.loc[divided["part"] == PARTS["recorded_ms"], "a_ms"].dropna()
    lengths = map(float, [*recorded, *judged.loc[judged.index == Kind.STEP, "a_ms"], 0.0])
    tables = {
        "paths": by_change(by_path, "own_ms", "own_change_ms"),
        "kernels": work,
        "findings": findings(*both),
        "host": host(*both, next(lengths)),
    }
    said: Facts = {"a": a.name, "b": b.name, "processes_needed": None}
    told = said | {"step": step, "parts": divided, "profilers": profilers}
    told |= facts(tables, judged if step else judged[:0])
    said |= {name: told[name] for name in ("judged", "parts", "findings", "host")}
    return Compared(told, {name: as_floats(rows) for name, rows in tables.items()}, said)


def facts(tables: dict[str, pd.DataFrame], judged: pd.DataFrame) -> Facts:
    """What the template says of two captures."""
    shown = set(judged["verdict"].items())
    found = next((name for name, each in ORDER.items() if each in shown), "same")
    verdict = found if Kind.DEVICE in judged.index else "can't tell"
    work = tables["kernels"]
    return tables | {
        "verdict": verdict,
        "device": first(judged[judged.index == Kind.DEVICE]),
        "time": first(judged[judged.index == Kind.STEP]),
        "path": first(tables["paths"])["path"],
        "most": _most(tables, 1 if verdict == "longer" else -1),
        "judged": judged.rename_axis("kind").reset_index(),
        "kernels": work[work["kind"] != ""],
        "shown": SHOWN,
    }


def _shared_step(a: Run, b: Run) -> str:
    """The one range path of which both have FEWEST_STEPS that hold device work, or ""."""
    found = []
    for run in (a, b):
        steps = run["capture/steps"].groupby("path")["busy_ns"].agg(["size", "min"])
        found.append(steps.index[(steps["size"] >= FEWEST_STEPS) & (steps["min"] > 0)])
    shared = found[0].intersection(found[1])
    return str(shared[0]) if len(shared) == 1 else ""


def _steps(run: Run, path: str) -> pd.DataFrame:
    rows = run["capture/steps"]
    return rows[rows["path"] == path]


def _times(run: Run, step: str) -> pd.DataFrame:
    steps, times = _steps(run, step), step_times(run, FEWEST_STEPS)
    device = steps.assign(kind=Kind.DEVICE, ms=steps["busy_ns"] / NS_PER_MS)
    step_to_step = times.assign(kind=Kind.STEP, ms=times["time_ms"])
    return spread(pd.concat([device, step_to_step]), "kind", "ms")


def _most(tables: dict[str, pd.DataFrame], sign: int) -> pd.Series:
    """The finding that changed most in this direction, else what the host does."""
    found = tables["findings"].rename(columns={"name": "what"})
    every = pd.concat([found, tables["host"]])[["what", "path", "change_ms"]]
    return first(every[every["change_ms"].astype(float) * sign > 0])


def _a_step(rows: pd.DataFrame, by: str, names: dict[str, str], steps: int) -> pd.DataFrame:
    """Sums over all processes of a step, by new name."""
    made = {name: over(rows, by, column) for name, column in names.items()}
    index = pd.Index(rows[by].unique(), name=by)
    found = pd.DataFrame(made, index, dtype=object)
    return found / steps if steps > 1 else found


def _kernels(run: Run, steps: int, by_short_name: bool) -> pd.DataFrame:
    """Calls and ms a step of each kernel, copy or set, over all paths and processes."""
    rows = run["capture/kernels"]
    if by_short_name:
        short = short_names(rows["name"])
        rows = rows.assign(name=short.where(~rows["kind"].isin(NAMED_APART), rows["kind"]))
    found = _a_step(rows, "name", {"calls": "activities", "ms": "busy_ns"}, steps)
    family = rows.drop_duplicates("name").set_index("name")["family"]
    return found.assign(family=family, calls=to(found["calls"], "calls"), ms=to(found["ms"], "ms"))


def write_comparison(a: Path, b: Path, templates: Path, output: Path) -> int:
    """Compare two captures into a third folder, and print what changed; gives the status. Raises
    StageError as `compare` does."""
    found = compare(a, b)
    status = write(found, "compare_captures", templates, output)
    print("", screen(paragraphs(templates, "compare_captures.text.j2", found.facts)), sep="\n")
    return status


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the comparison of two captures."""
    what = ("tables of the capture before", "tables of the capture after")
    parser = comparison_parser("workflow_src.compare.compare_captures", __doc__, *what)
    given = parser.parse_args(arguments)
    with usage_status():
        write_comparison(given.a, given.b, given.templates, given.output)


if __name__ == "__main__":
    main()
