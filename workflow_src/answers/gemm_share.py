"""(d) How does the share of matrix multiplication change from inference to a training step?"""

import statistics

import pandas as pd
from markupsafe import Markup

from workflow_src.answers import command, evidence
from workflow_src.answers.answer import Answer, Fact
from workflow_src.answers.evidence import Row, State
from workflow_src.answers.shares import family_shares
from workflow_src.common.case import PHASES
from workflow_src.render import markdown
from workflow_src.render.markdown import PHASE_WORDS, Column

TITLE = "How does the share of matrix multiplication change from inference to training?"

UNCHANGED_WITHIN = 0.01
"""Shares that differ by at most this much count as unchanged."""


def measure(
    case: Row, phase: str, timings: pd.DataFrame, kernels: pd.DataFrame, captures: pd.DataFrame
) -> Row:
    """Each family's share of the device time of one phase of one case."""
    state = evidence.profile_state(timings, captures, kernels, case["case"], phase)
    row = case | {"phase": phase, "state": state.word, "reason": state.reason, "shares": {}}
    mine = evidence.of(kernels, case["case"], phase)
    shares = family_shares(mine) if state.word == "ok" else {}
    if not shares:
        return row
    ms = float(mine["busy_ns"].sum() / mine["steps"].max() / 1e6)
    return row | {"shares": shares, "gemm": shares.get("gemm", 0.0), "busy_ms_per_step": ms}


def facts_of(row: Row, kernels: pd.DataFrame) -> list[Fact]:
    """The shares of one phase of one case as facts."""
    mine = evidence.of(kernels, row["case"], row["phase"])
    return [
        Fact(
            row["case"],
            f"{row['phase']}/{family}",
            share,
            "1",
            "kernels",
            evidence.row_numbers(mine[mine["family"] == family]),
        )
        for family, share in row["shares"].items()
    ]


def direction(change: float) -> str:
    """Whether a share "rises", "falls" or is "unchanged"."""
    if abs(change) <= UNCHANGED_WITHIN:
        return "unchanged"
    return "rises" if change > 0 else "falls"


def compare(rows: list[Row]) -> list[Row]:
    """Shares in forward pass and training step, for each case in which both were measured."""
    phases: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row["shares"]:
            phases.setdefault(row["case"], {})[row["phase"]] = row
    return [
        {
            "case": case,
            "before": found["forward"]["shares"],
            "after": found["train_step"]["shares"],
            "gemm_before": found["forward"]["gemm"],
            "gemm_after": found["train_step"]["gemm"],
            "verdict": direction(found["train_step"]["gemm"] - found["forward"]["gemm"]),
        }
        for case, found in phases.items()
        if "forward" in found and "train_step" in found
    ]


def movers(pairs: list[Row]) -> list[Row]:
    """Families besides gemm by the median change of their share, largest rise first."""
    families = {f for pair in pairs for f in (*pair["before"], *pair["after"])} - {"gemm"}
    found = []
    for family in sorted(families):
        before = [pair["before"].get(family, 0.0) for pair in pairs]
        after = [pair["after"].get(family, 0.0) for pair in pairs]
        change = statistics.median(b - a for a, b in zip(before, after, strict=True))
        found.append({"family": family, "before": before, "after": after, "change": change})
    return sorted(found, key=lambda mover: -mover["change"])


def answer(timings: pd.DataFrame, kernels: pd.DataFrame, captures: pd.DataFrame) -> Answer:
    """Answer (d) from timings.csv, kernels.csv and captures.csv."""
    cases = evidence.cases_of(timings, captures)
    rows = [measure(c, phase, timings, kernels, captures) for c in cases for phase in PHASES]
    states = {(r["case"], PHASE_WORDS[r["phase"]]): State(r["state"], r["reason"]) for r in rows}
    pairs = compare(rows)
    facts = [fact for row in rows for fact in facts_of(row, kernels)]
    facts += [
        Fact(
            pair["case"],
            "gemm_from_forward_to_train_step",
            pair["verdict"],
            "",
            derived_from=("forward/gemm", "train_step/gemm"),
        )
        for pair in pairs
    ]
    frames = {"shares": pd.DataFrame(rows)}
    summary = summarize(pairs)
    return evidence.answered("d", TITLE, cases, states, captures, facts, frames, summary)


def summarize(pairs: list[Row]) -> Row:
    """Values for the template: in which cases gemm's share falls, and which families change."""
    moved = movers(pairs)
    return {
        "pairs": pairs,
        "before": [pair["gemm_before"] for pair in pairs],
        "after": [pair["gemm_after"] for pair in pairs],
        "verdicts": {
            word: [pair["case"] for pair in pairs if pair["verdict"] == word]
            for word in ("falls", "rises", "unchanged")
        },
        "gains": [mover for mover in moved if mover["change"] > UNCHANGED_WITHIN][:2],
        "losses": [mover for mover in reversed(moved) if mover["change"] < -UNCHANGED_WITHIN][:2],
        "unchanged_within": UNCHANGED_WITHIN,
    }


def tables(answer: Answer) -> dict[str, Markup]:
    """The answer's table as Markdown: a row per case and phase, a column per family."""
    rows, terms = markdown.records(answer.rows["shares"]), answer.summary["words"]
    totals: dict[str, float] = {}
    for row in rows:
        for family, share in row["shares"].items():
            totals[family] = totals.get(family, 0.0) + share
    families = sorted(set(totals) - {"gemm"}, key=lambda family: (-totals[family], family))
    for row in rows:
        if row["shares"]:
            row |= {f"share/{family}": row["shares"].get(family, 0.0) for family in families}
    columns = [
        *markdown.case_columns(evidence.axes(rows)),
        Column("phase", "phase", PHASE_WORDS.__getitem__),
        Column(
            f"{terms['device_time']} ms per step",
            "busy_ms_per_step",
            markdown.number,
        ),
        Column("gemm", "gemm", markdown.percent),
        *(Column(family, f"share/{family}", markdown.percent) for family in families),
    ]
    steps = [row for row in rows if row["phase"] == "train_step"]
    return {
        "shares": markdown.markdown_table(rows, columns),
        "matrix": markdown.matrix(steps, "gemm", markdown.percent),
    }


if __name__ == "__main__":
    command.main("d", answer, tables)
