"""(c) What besides matrix multiplication takes time in the forward pass?"""

from typing import Any

import pandas as pd
from markupsafe import Markup

from workflow_src.answers import (
    command,
    component_bytes,
    component_table,
    evidence,
    other_leaders,
    other_summary,
)
from workflow_src.answers.answer import Answer, Fact
from workflow_src.answers.component_shares import (
    MATMUL_FAMILIES,
    cast_facts,
    casts_of,
    component_facts,
    component_rows,
    operation_facts,
    operations_of,
    times_of,
)
from workflow_src.answers.evidence import Row, State
from workflow_src.answers.moved import bandwidth
from workflow_src.answers.shares import by_kernel, family_shares
from workflow_src.render import markdown
from workflow_src.render.markdown import Column

TITLE = "What besides matrix multiplication takes time in the forward pass?"
PHASE = "forward"

SHOWN_ABOVE = 0.01
"""Families and kernels with more than this share of the forward pass's device time are in the
appendix's tables."""


def measure(case: Row, timings: pd.DataFrame, kernels: pd.DataFrame, captures: pd.DataFrame) -> Row:
    """One case's share per family ("shares"), and of all but matrix multiplication ("besides").

    With them go its components, see component_rows, and its casts.
    """
    state = evidence.profile_state(timings, captures, kernels, case["case"], PHASE)
    row = case | {"state": state.word, "reason": state.reason, "shares": {}}
    if state.word != "ok":
        return row
    mine = evidence.of(kernels, case["case"], PHASE)
    shares = family_shares(mine)
    if not shares:
        return row
    matmul = sum(shares.get(family, 0.0) for family in MATMUL_FAMILIES)
    row |= {"shares": shares, "besides": max(0.0, 1.0 - matmul)}
    return row | times_of(mine) | {"components": component_rows(mine), "casts": casts_of(mine)}


def kernels_of(row: Row, kernels: pd.DataFrame) -> list[Row]:
    """The case's kernels above SHOWN_ABOVE besides matrix multiplication, most time first."""
    ranked = by_kernel(evidence.of(kernels, row["case"], PHASE)) if row["state"] == "ok" else []
    return [
        kernel
        for kernel in ranked
        if kernel["family"] not in MATMUL_FAMILIES and kernel["share"] > SHOWN_ABOVE
    ]


def facts_of(row: Row, found: list[Row], kernels: pd.DataFrame) -> list[Fact]:
    """One case's shares of families and components, and of the kernels found in it, as facts."""
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
    facts += [
        Fact(case, f"kernel/{k['name']}", k["share"], "1", "kernels", k["evidence"]) for k in found
    ]
    if "besides" not in row:
        return facts
    sources = tuple(f"family/{f}" for f in row["shares"] if f in MATMUL_FAMILIES)
    rest = tuple(f"family/{f}" for f in row["shares"])
    facts.append(Fact(case, "besides_matmul", row["besides"], "1", derived_from=sources or rest))
    facts.append(Fact(case, "forward_ms", row["ms"], "ms", "kernels", evidence.row_numbers(mine)))
    times = ("besides_matmul", "forward_ms")
    facts.append(Fact(case, "besides_ms", row["besides_ms"], "ms", derived_from=times))
    facts.append(Fact(case, "matmul_ms", row["matmul_ms"], "ms", derived_from=times))
    return facts + component_facts(case, row["components"]) + cast_facts(case, row["casts"])


def answer(
    timings: pd.DataFrame,
    kernels: pd.DataFrame,
    captures: pd.DataFrame,
    operators: pd.DataFrame,
    ceilings: pd.DataFrame,
    example: Row | None = None,
) -> Answer:
    """Answer (c) from timings.csv, kernels.csv and captures.csv.

    operators.csv and ceilings.csv, which may be empty, add bytes and the rate to hold them against.
    `example` is the case to work through; see example_case.
    """
    cases = evidence.cases_of(timings, captures)
    rows = [measure(case, timings, kernels, captures) for case in cases]
    states = {(row["case"], ""): State(row["state"], row["reason"]) for row in rows}
    facts: list[Fact] = []
    above: list[Row] = []
    moves = {
        row["case"]: component_bytes.measure(row, kernels, operators, bandwidth(ceilings))
        for row in rows
        if "components" in row
    }
    for row in rows:
        found = kernels_of(row, kernels)
        facts += facts_of(row, found, kernels)
        facts += component_bytes.facts_of(row["case"], moves.get(row["case"]))
        above += [{c: row[c] for c in cases[0]} | kernel for kernel in found]
    summary = other_summary.summarize(rows, example) | {"shown_above": SHOWN_ABOVE}
    summary |= component_bytes.summarize(summary["beside"], summary["measured"], moves)
    operations: list[Row] = []
    for row in summary["beside"]:
        found = operations_of(evidence.of(kernels, row["case"], PHASE))
        facts += operation_facts(row["case"], found)
        operations += [{c: row[c] for c in cases[0]} | operation for operation in found]
    frames = {
        "families": pd.DataFrame(rows),
        "kernels": pd.DataFrame(above),
        "operations": pd.DataFrame(operation_lines(operations)),
        "moves": pd.DataFrame(component_bytes.lines(rows, moves, SHOWN_ABOVE)),
    }
    return evidence.answered("c", TITLE, cases, states, captures, facts, frames, summary)


def tables(answer: Answer) -> dict[str, Markup]:
    """The answer's tables as Markdown: by component and operation, and by family and kernel."""
    rows = [row | row["shares"] for row in markdown.records(answer.rows["families"])]
    summary = answer.summary
    lines = markdown.records(answer.rows["operations"])
    ends = {each["precision"] for each in (*summary["beside"][:1], *summary["beside"][-1:])}
    return {
        "matrix": markdown.matrix(rows, "besides", markdown.percent),
        "components": component_table.table(summary["beside"], summary),
        "operations": operation_table([line for line in lines if line["precision"] in ends]),
        "all_operations": operation_table(lines),
        "growths": growth_table(summary["growths"]),
        "families": family_table(answer, rows),
        "kernels": kernel_table(answer, rows),
        "all_components": all_components(rows),
        "moves": component_bytes.table(markdown.records(answer.rows["moves"])),
    }


def operation_lines(rows: list[Row]) -> list[Row]:
    """A line per precision and component above the limit, from the rows of operations_of."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row["precision"], row["component"]), []).append(row)
    lines: list[Row] = [
        {
            "precision": precision,
            "component": component,
            "calls": sum(row["calls"] for row in mine),
            "ms": sum(row["ms"] for row in mine),
            "share": sum(row["share"] for row in mine),
            "what": ", ".join(f"{markdown.calls(row['calls'])} {row['what']}" for row in mine),
        }
        for (precision, component), mine in found.items()
    ]
    return [line for line in lines if line["share"] > other_summary.MATTERS_ABOVE]


def operation_table(rows: list[dict[str, Any]]) -> Markup:
    """What runs besides products, a row per precision and component; see operation_lines."""
    columns = [
        Column("precision", "precision"),
        Column("component", "component"),
        Column("share of the pass", "share", markdown.percent),
        Column("ms", "ms", markdown.number),
        Column("calls per pass", "calls", markdown.calls),
        Column("of what, most time first", "what"),
    ]
    return markdown.markdown_table(rows, columns)


def growth_table(rows: list[Row]) -> Markup:
    """What grows how much over contexts, a row per precision."""
    columns = [
        Column("precision", "precision"),
        Column("contexts", "contexts"),
        Column("share rises in", "rises"),
        Column("growth of softmax, scaling and mask", "square", markdown.number),
        Column("of products", "products", markdown.number),
        Column("of all else", "else", markdown.number),
    ]
    return markdown.markdown_table(rows, columns)


def family_table(answer: Answer, rows: list[Row]) -> Markup:
    """Shares of families, a row per case."""
    above = answer.summary["above"]
    for row in rows:
        if row["state"] == "ok":
            shown = {family: row["shares"].get(family, 0.0) for family in above}
            row |= {"gemm": row["shares"].get("gemm", 0.0), **shown}
            row["rest"] = max(0.0, row["besides"] - sum(shown.values()))
            row["attention"] = row["shares"].get("attention", 0.0)
    fused = [Column("fused attention", "attention", markdown.percent)]
    columns = [
        *markdown.case_columns(evidence.axes(rows)),
        Column("gemm", "gemm", markdown.percent),
        *(fused if answer.summary["fused"] else []),
        *(Column(family, family, markdown.percent) for family in above),
        Column("smaller families", "rest", markdown.percent),
        Column("besides matmul", "besides", markdown.percent),
    ]
    return markdown.markdown_table(rows, columns)


def all_components(rows: list[Row]) -> Markup:
    """Shares of components besides products, a row per case."""
    measured = [row for row in rows if row["state"] == "ok"]
    names = other_leaders.component_names(measured)
    for row in measured:
        for name in names:
            row[f"in {name}"] = row["components"].get(name, {}).get("besides", 0.0)
    columns = [
        *markdown.case_columns(evidence.axes(rows)),
        *(Column(name, f"in {name}", markdown.percent) for name in names),
    ]
    return markdown.markdown_table(rows, columns)


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
