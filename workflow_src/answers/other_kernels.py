"""(c) What besides matrix multiplication takes time in the forward pass?"""

import pandas as pd
from markupsafe import Markup

from workflow_src.answers import command, evidence
from workflow_src.answers.answer import Answer, Fact
from workflow_src.answers.evidence import Row, State
from workflow_src.answers.shares import by_kernel, family_shares
from workflow_src.render import markdown
from workflow_src.render.markdown import Column

TITLE = "What besides matrix multiplication takes time in the forward pass?"
PHASE = "forward"

MATMUL_FAMILIES = ("gemm", "attention")
"""Fused attention includes its two matrix multiplications, so it doesn't count as "besides"."""

SHOWN_ABOVE = 0.01
"""Families and kernels with more than this share of the forward pass's device time are shown."""

STEADY_WITHIN = 0.01
"""A share that changes by at most this much over contexts is called steady."""


def measure(case: Row, timings: pd.DataFrame, kernels: pd.DataFrame, captures: pd.DataFrame) -> Row:
    """One case's share per family ("shares"), and of all but matrix multiplication ("besides")."""
    state = evidence.profile_state(timings, captures, kernels, case["case"], PHASE)
    row = case | {"state": state.word, "reason": state.reason, "shares": {}}
    if state.word != "ok":
        return row
    shares = family_shares(evidence.of(kernels, case["case"], PHASE))
    matmul = sum(shares.get(family, 0.0) for family in MATMUL_FAMILIES)
    return row | {"shares": shares, "besides": max(0.0, 1.0 - matmul)}


def kernels_of(row: Row, kernels: pd.DataFrame) -> list[Row]:
    """The case's kernels above SHOWN_ABOVE besides matrix multiplication, most time first."""
    ranked = by_kernel(evidence.of(kernels, row["case"], PHASE)) if row["state"] == "ok" else []
    return [
        kernel
        for kernel in ranked
        if kernel["family"] not in MATMUL_FAMILIES and kernel["share"] > SHOWN_ABOVE
    ]


def facts_of(row: Row, found: list[Row], kernels: pd.DataFrame) -> list[Fact]:
    """The shares of one case's families, and of the kernels found in it, as facts."""
    case, mine = row["case"], evidence.of(kernels, row["case"], PHASE)
    facts = [
        Fact(
            case,
            f"family/{family}",
            share,
            "1",
            "kernels",
            evidence.row_numbers(mine[mine["family"] == family]),
        )
        for family, share in row["shares"].items()
    ]
    if "besides" in row:
        sources = tuple(f"family/{f}" for f in row["shares"] if f in MATMUL_FAMILIES)
        facts.append(Fact(case, "besides_matmul", row["besides"], "1", derived_from=sources))
    facts += [
        Fact(case, f"kernel/{k['name']}", k["share"], "1", "kernels", k["evidence"]) for k in found
    ]
    return facts


def answer(timings: pd.DataFrame, kernels: pd.DataFrame, captures: pd.DataFrame) -> Answer:
    """Answer (c) from timings.csv, kernels.csv and captures.csv."""
    cases = evidence.cases_of(timings, captures)
    rows = [measure(case, timings, kernels, captures) for case in cases]
    states = {(row["case"], ""): State(row["state"], row["reason"]) for row in rows}
    facts: list[Fact] = []
    above: list[Row] = []
    for row in rows:
        found = kernels_of(row, kernels)
        facts += facts_of(row, found, kernels)
        above += [row | kernel for kernel in found]
    columns = ("shares", "besides")
    frames = {
        "families": pd.DataFrame(rows),
        "kernels": pd.DataFrame(
            [{k: v for k, v in kernel.items() if k not in columns} for kernel in above]
        ),
    }
    summary = summarize(rows)
    return evidence.answered("c", TITLE, cases, states, captures, facts, frames, summary)


def summarize(rows: list[Row]) -> Row:
    """Values for the template: families above the limit in some case, and the share's trend."""
    measured = [row for row in rows if "besides" in row]
    found = {family for row in measured for family in row["shares"]} - set(MATMUL_FAMILIES)
    ranges = {
        family: [row["shares"].get(family, 0.0) for row in measured] for family in sorted(found)
    }
    above = {family: shares for family, shares in ranges.items() if max(shares) > SHOWN_ABOVE}
    ordered = sorted(above, key=lambda family: -sum(above[family]))
    return {
        "above": {family: above[family] for family in ordered},
        "besides": [row["besides"] for row in measured],
        "fused": [row["case"] for row in measured if row["shares"].get("attention", 0.0) > 0],
        "trend": evidence.trend(measured, lambda row: float(row["besides"]), STEADY_WITHIN),
        "shown_above": SHOWN_ABOVE,
    }


def tables(answer: Answer) -> dict[str, Markup]:
    """The answer's tables as Markdown: families by case, and kernels by case."""
    rows = [row | row["shares"] for row in markdown.records(answer.rows["families"])]
    above = answer.summary["above"]
    for row in rows:
        if row["state"] == "ok":
            shown = {family: row["shares"].get(family, 0.0) for family in above}
            row |= {"gemm": row["shares"].get("gemm", 0.0), **shown}
            row["rest"] = max(0.0, row["besides"] - sum(shown.values()))
            row["attention"] = row["shares"].get("attention", 0.0)
    fused = (
        [Column("fused attention", "attention", markdown.percent)]
        if answer.summary["fused"]
        else []
    )
    families = [
        *markdown.case_columns(evidence.axes(rows)),
        Column("gemm", "gemm", markdown.percent),
        *(fused if answer.summary["fused"] else []),
        *(Column(family, family, markdown.percent) for family in above),
        Column("smaller families", "rest", markdown.percent),
        Column("besides matmul", "besides", markdown.percent),
    ]
    return {
        "families": markdown.markdown_table(rows, families),
        "kernels": kernel_table(answer, rows),
        "matrix": markdown.matrix(rows, "besides", markdown.percent),
    }


def kernel_table(answer: Answer, cases: list[Row]) -> Markup:
    """The kernels above the limit as Markdown, a row per case and kernel."""
    columns = [
        *markdown.case_columns(evidence.axes(cases)),
        Column(answer.summary["words"]["kernel"], "short_name"),
        Column("family", "family"),
        Column("calls per pass", "calls_per_step", markdown.calls),
        Column("share of the forward pass", "share", markdown.percent),
    ]
    return markdown.markdown_table(markdown.records(answer.rows["kernels"]), columns)


if __name__ == "__main__":
    command.main("c", answer, tables)
