"""(b) Which kernel takes the most time: in forward, in backward, and in both together?"""

from collections import Counter
from typing import Any

import pandas as pd
from markupsafe import Markup

from workflow_src.answers import command, evidence
from workflow_src.answers.answer import Answer, Fact
from workflow_src.answers.evidence import Row, State
from workflow_src.answers.shares import by_kernel
from workflow_src.render import markdown
from workflow_src.render.markdown import PHASE_WORDS, Column

TITLE = "Which {kernel} takes the most cumulative time, and how often is it called?"

PARTS = {
    "forward": "forward",
    "backward": "forward_backward",
    "forward_backward": "forward_backward",
}
"""The parts of a step that the question covers, and the phase whose rows each is taken from."""

KERNEL_KINDS = ("kernel", "operator")


def part_of(kernels: pd.DataFrame, part: str) -> pd.DataFrame:
    """The rows of kernels.csv that belong to a part.

    "backward" is what was launched inside a range named backward of phase forward_backward, on
    any thread.
    """
    mine = kernels[kernels["phase"] == PARTS[part]]
    if part != "backward":
        return mine
    return mine[[part in str(path).split("/") for path in mine["path"]]]


def measure(case: Row, part: str, kernels: pd.DataFrame, state: State) -> Row:
    """The kernel with the most time in one part of one case, ignoring memory copies and sets."""
    row = case | {"part": part, "state": state.word, "reason": state.reason}
    if state.word != "ok":
        return row
    ranked = by_kernel(evidence.of(part_of(kernels, part), case["case"]))
    top = next((kernel for kernel in ranked if kernel["kind"] in KERNEL_KINDS), None)
    return row | top if top else row | {"state": "not_measured"}


def facts_of(row: Row) -> list[Fact]:
    """The facts of one part of one case."""
    if "name" not in row:
        return []
    units = {
        "name": "",
        "short_name": "",
        "family": "",
        "calls_per_step": "calls",
        "busy_ms_per_step": "ms",
        "share": "1",
    }
    return [
        Fact(row["case"], f"{row['part']}/{name}", row[name], unit, "kernels", row["evidence"])
        for name, unit in units.items()
    ]


def compare(rows: list[Row]) -> list[Row]:
    """Per case: whether the forward pass's top kernel is also that of the other parts."""
    tops: dict[str, dict[str, str]] = {}
    for row in rows:
        tops.setdefault(row["case"], {})
        if "name" in row:
            tops[row["case"]][row["part"]] = row["name"]
    return [
        {"case": case, "part": part, "same": names["forward"] == names[part]}
        for case, names in tops.items()
        for part in ("backward", "forward_backward")
        if "forward" in names and part in names
    ]


def answer(timings: pd.DataFrame, kernels: pd.DataFrame, captures: pd.DataFrame) -> Answer:
    """Answer (b) from timings.csv, kernels.csv and captures.csv."""
    cases = evidence.cases_of(timings, captures)
    rows = []
    for case in cases:
        for part, phase in PARTS.items():
            state = evidence.profile_state(timings, captures, kernels, case["case"], phase)
            rows.append(measure(case, part, kernels, state))
    states = {(r["case"], PHASE_WORDS[r["part"]]): State(r["state"], r["reason"]) for r in rows}
    same = compare(rows)
    facts = [fact for row in rows for fact in facts_of(row)]
    facts += [
        Fact(
            pair["case"],
            f"{pair['part']}/same_as_forward",
            pair["same"],
            "",
            derived_from=("forward/name", f"{pair['part']}/name"),
        )
        for pair in same
    ]
    title = TITLE.format(**evidence.words(cases))
    frames = {"tops": pd.DataFrame(rows)}
    summary = summarize(rows, same)
    return evidence.answered("b", title, cases, states, captures, facts, frames, summary)


def summarize(rows: list[Row], same: list[Row]) -> Row:
    """Values for the template: the most common top kernel per part, and how often it's the same."""
    return {
        "parts": {part: commonest(rows, part) for part in PARTS},
        "same": {
            part: {
                "compared": sum(pair["part"] == part for pair in same),
                "same": sum(pair["part"] == part and pair["same"] for pair in same),
            }
            for part in ("backward", "forward_backward")
        },
        "not_whole": sorted({row["case"] for row in rows if row.get("whole") is False}),
    }


def commonest(rows: list[Row], part: str) -> dict[str, Any]:
    """The kernel that leads a part in the most cases, with its calls, shares and ms there."""
    mine = [row for row in rows if row["part"] == part and "name" in row]
    if not mine:
        return {"cases": 0}
    counted = Counter(row["name"] for row in mine)
    name = min(counted, key=lambda name: (-counted[name], name))
    at_top = [row for row in mine if row["name"] == name]
    return {
        "cases": len(mine),
        "name": name,
        "short_name": at_top[0]["short_name"],
        "at_top": len(at_top),
        "others": len(counted) - 1,
        "calls": [row["calls_per_step"] for row in at_top],
        "shares": [row["share"] for row in at_top],
        "ms": [row["busy_ms_per_step"] for row in at_top],
    }


def tables(answer: Answer) -> dict[str, Markup]:
    """The answer's tables as Markdown."""
    rows = markdown.records(answer.rows["tops"])
    terms = answer.summary["words"]
    columns = [
        *markdown.case_columns(evidence.axes(rows)),
        Column("part", "part", PHASE_WORDS.__getitem__),
        Column(f"{terms['kernel']} with the most time", "short_name"),
        Column("family", "family"),
        Column("calls per pass", "calls_per_step", markdown.calls),
        Column("ms per pass", "busy_ms_per_step", markdown.number),
        Column(f"share of the part's {terms['device_time']}", "share", markdown.percent),
    ]
    forward = [row for row in rows if row["part"] == "forward"]
    return {
        "tops": markdown.markdown_table(rows, columns),
        "matrix": markdown.matrix(forward, "share", markdown.percent),
    }


if __name__ == "__main__":
    command.main("b", answer, tables)
