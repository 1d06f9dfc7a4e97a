"""The report's opening."""

from typing import Any

import pandas as pd

from workflow_src.answers.cards.modules import modules
from workflow_src.answers.facts import disturbed, phases, tables_of
from workflow_src.answers.machines import conditions, counted, hosts, of_cases, warned
from workflow_src.answers.questions import OPENING, QUESTIONS
from workflow_src.common import words
from workflow_src.common.case import LATER, OWN
from workflow_src.common.environment import SAME_EVERYWHERE
from workflow_src.paper.cells import Both, Link
from workflow_src.paper.number import of, over, to
from workflow_src.paper.run import Run
from workflow_src.paper.written import Facts, main
from workflow_src.report.lessons import bound_by_memory, leads, pace, precision
from workflow_src.report.ran import missing
from workflow_src.report.steps import figure

NO_LESSON = ("failed", "can't tell", "")

DIFFERENT = 0.005
"""Processes differ if the slowest takes longer than the fastest by more than this share: less
vanishes in rounding."""

MODULES, ELSEWHERE = 8, ", elsewhere"
"""So many modules are listed; what follows the name of one that has inner ones."""

LISTED = 3
"""Of more values of an axis the first and the last are told."""


def facts(run: Run) -> Facts:
    """What the template says."""
    first = run.chapters.get("f", {})
    told = "html" in first and first["verdict"] not in NO_LESSON
    return pace(run) | {
        "leads": leads(run),
        "device": devices(run),
        "cases": of_cases(run, run.cases.index, "cases"),
        "axes": axes(run),
        "precision": precision(run),
        "bound": bound_by_memory(run),
        "change": Both(first["headline"], first["html"]["headline"]) if told else None,
        "sure": how_sure(run),
        "failed": {n: said["log"] for n, said in run.chapters.items() if said.get("log")},
        "medians": medians(run),
        **largest_modules(run),
        "figure": figure(run),
    }


def largest_modules(run: Run) -> Facts:
    """Of a brought model, the innermost modules that take most of a step of `example`, the longest
    case in the best precision, with `part` of the step."""
    found = modules(run) if (run["plan"]["workload"] != "").any() else pd.DataFrame()
    best = run.cases.index[run.cases["precision"].isin(run.precisions[-1:])]
    found = found[found.index.isin(best)]
    if found.empty:
        return {"modules": found, "example": ""}
    case = str(found["ms"].astype(float).idxmax())
    rows = found.loc[[case]]
    rows = rows[~rows["node"].isin(rows["node"].str.rpartition("/")[0])]
    inner = rows["node"].str.split("/", n=2).str[2].str.replace("/", ".").str.rstrip(".")
    rows = rows.assign(
        part=rows["node"].str.split("/").str[1],
        module=inner.where(~rows["node"].str.endswith("/"), inner + ELSEWHERE),
    )
    largest = rows.sort_values("share", ascending=False, kind="stable")[:MODULES]
    return {"modules": largest, "example": run.cases["label"][case]}


def devices(run: Run) -> str:
    """The devices by name."""
    rows = run["environments"]
    names = rows["cpu"].where(rows["device"] == "cpu", rows["gpu"])
    return " and ".join(name for name in names.unique() if name)


def axes(run: Run) -> dict[str, str]:
    """The values of each axis in words, "128 to 1024"; without those that say nothing."""
    found = {}
    for name in [str(name) for name in run.cases if name != "label"]:
        nothing = ("", "0", OWN, LATER.get(name))
        known = [each for each in run.cases[name].unique() if each not in nothing]
        if name in ("context", "batch"):
            known = sorted(known, key=float)
        said = [words.VALUES.get(name, {}).get(each, each) for each in known]
        found[name] = f"{said[0]} to {said[-1]}" if len(said) > LISTED else ", ".join(said)
    return found


def how_sure(run: Run) -> dict[str, Any]:
    """How far steps and processes differ, and in how many cases something is in doubt.

    repeats: how far the device time of a phase's captured steps differs, at most, where nothing
    disturbed them. processes: the slowest over the fastest, at most. alone: cases of one process.
    mixed: columns of hardware and versions in which cases differ, so that times don't compare.
    """
    spoiled = disturbed(run)
    steps, timed, machines = run["ledger"], phases(run), run["environments"]
    steps = steps[~steps["case"].map(spoiled).eq(True)]
    ends = [over(steps, ["case", "phase"], "busy_ns", how) for how in ("max", "min", "median")]
    ratios = timed["slowest"] / timed["fastest"]
    differ = ratios.where((ratios > 1 + DIFFERENT).astype(bool))
    rows = conditions(run)
    warnings = warned(run, rows).eq(True)
    processes = timed.groupby("case")["processes"].max()
    without = run.cases.index[run.cases.index.isin(missing(run)["case"])]
    return {
        "repeats": of(to((ends[0] - ends[1]) / ends[2], "share"), "max"),
        "processes": of(differ, "max"),
        "alone": of_cases(run, processes.index[processes == 1], "cases of one process"),
        "warned": [
            (str(name), counted(rows[has], str(name), rows))
            for name, has in warnings.items()
            if has.any()
        ],
        "incomplete": of_cases(run, without, "without a time or a capture"),
        "disturbed": of_cases(run, run.cases.index[spoiled], "capture disturbed"),
        "hosts": hosts(run),
        "mixed": ", ".join(n for n in SAME_EVERYWHERE if machines[n].nunique() > 1),
    }


def medians(run: Run) -> pd.DataFrame:
    """The rows that answers add."""
    lines = [
        {"medians and counts": Link(row["label"], name)}
        | {each: Both(cell["text"], cell["page"]) for each, cell in row["cells"].items()}
        for name in QUESTIONS
        for row in run.chapters.get(name, {}).get("opening", ())
    ]
    return pd.DataFrame(lines, columns=["medians and counts", *run.precisions], dtype=object)


if __name__ == "__main__":
    main("opening", facts, ["report/opening.j2"], "#", tables_of(OPENING))
