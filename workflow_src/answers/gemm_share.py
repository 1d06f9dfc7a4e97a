"""(d) How does the share of matrix multiplication change from inference to a training step?"""

from collections.abc import Mapping

import pandas as pd
from markupsafe import Markup

from workflow_src.answers import (
    backward_share,
    command,
    evidence,
    example_case,
    gemm_summary,
    step_parts,
    wording,
)
from workflow_src.answers.answer import Answer, Fact
from workflow_src.answers.evidence import Row, State
from workflow_src.answers.shares import family_shares
from workflow_src.common.case import CASE_COLUMNS, PHASES
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


def compare(rows: list[Row], parts: Mapping[str, list[Row]]) -> list[Row]:
    """Shares in forward pass and training step, for each case in which both were measured.

    `parts` holds the parts of each case's training step; see step_parts.effects for what is added.
    """
    phases: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row["shares"]:
            phases.setdefault(row["case"], {})[row["phase"]] = row
    return [
        _pair(found["forward"], found["train_step"], parts[case])
        for case, found in phases.items()
        if "forward" in found and "train_step" in found
    ]


def _pair(forward: Row, step: Row, parts: list[Row]) -> Row:
    change = step["gemm"] - forward["gemm"]
    pair = {column: forward[column] for column in CASE_COLUMNS} | {
        "gemm_before": forward["gemm"],
        "gemm_after": step["gemm"],
        "verdict": direction(change),
        "parts": {row["part"]: row for row in parts},
    }
    pair |= step_parts.effects(forward["gemm"], parts)
    if "backward_richer" in pair:
        pair["backward_verdict"] = direction(pair["backward_richer"])
    return pair


def pair_facts(pair: Row) -> list[Fact]:
    """The change of one case's share, and what backward and the optimizer add to it."""
    shares = ("forward/gemm", "train_step/gemm")
    without = f"train_step/{step_parts.NOT_OPTIMIZER}/share"
    sources = {
        "verdict": shares,
        "by_backward": ("forward/gemm", without),
        "by_optimizer": (without, f"train_step/{step_parts.STEP}/share"),
        "backward_richer": ("train_step/forward/share", "train_step/backward/share"),
    }
    names = {"verdict": "gemm_from_forward_to_train_step"}
    return [
        Fact(
            pair["case"],
            names.get(key, key),
            pair[key],
            "" if key == "verdict" else "1",
            derived_from=found,
        )
        for key, found in sources.items()
        if key in pair
    ]


def answer(
    timings: pd.DataFrame,
    kernels: pd.DataFrame,
    captures: pd.DataFrame,
    example: Row | None = None,
) -> Answer:
    """Answer (d) from timings.csv, kernels.csv and captures.csv.

    `example` is the case to work through; see example_case.
    """
    cases = evidence.cases_of(timings, captures)
    rows = [measure(c, phase, timings, kernels, captures) for c in cases for phase in PHASES]
    states = {(r["case"], PHASE_WORDS[r["phase"]]): State(r["state"], r["reason"]) for r in rows}
    parts: dict[str, list[Row]] = {case["case"]: [] for case in cases}
    for row in rows:
        if row["phase"] == "train_step" and row["shares"]:
            mine = evidence.of(kernels, row["case"], "train_step")
            parts[row["case"]] = step_parts.parts_of(mine)
    pairs = compare(rows, parts)
    for pair in pairs:
        step = evidence.of(kernels, pair["case"], "train_step")
        pair |= {"backward": backward_share.measure(pair["parts"], step)}
    facts = [fact for row in rows for fact in facts_of(row, kernels)]
    facts += [fact for case, found in parts.items() for fact in step_parts.facts_of(case, found)]
    facts += [fact for pair in pairs for fact in pair_facts(pair)]
    facts += [f for p in pairs for f in backward_share.facts_of(p["case"], p["backward"])]
    frames = {
        "shares": pd.DataFrame(rows),
        "parts": pd.DataFrame([c | part for c in cases for part in parts[c["case"]]]),
    }
    summary = summarize(rows, pairs, example)
    return evidence.answered("d", TITLE, cases, states, captures, facts, frames, summary)


def summarize(rows: list[Row], pairs: list[Row], example: Row | None = None) -> Row:
    """Values for the template: how the share changes at each precision, and what changes it."""
    named = wording.named(pairs)
    known = [pair for pair in named if "by_optimizer" in pair]
    chosen = example_case.pick(known, example) or gemm_summary.own(named)
    fused = [row for row in rows if row["shares"].get("attention") and row["phase"] == "forward"]
    return {
        "pairs": named,
        "precisions": [
            gemm_summary.precision_row(precision, mine)
            for precision, mine in wording.by_precision(named).items()
        ],
        "causes": gemm_summary.causes(named),
        "optimizers": gemm_summary.optimizers(known),
        "replaced": gemm_summary.replaced(known),
        "chosen": chosen,
        "said": example_case.said(chosen, example, "a typical case", len(named)),
        "backwards": backward_share.summarize([p | p["backward"] for p in known if p["backward"]]),
        "beside": gemm_summary.beside(known, chosen) if chosen else [],
        "fused": len(fused),
        "changed_by": UNCHANGED_WITHIN,
    }


def arrow(shares: tuple[float, float]) -> str:
    """Two shares as whole percentages with an arrow between them."""
    before, after = (f"{100 * share:.0f} %" for share in shares)
    return f"{before} \N{RIGHTWARDS ARROW} {after}"


def parts_table(beside: list[Row]) -> Markup:
    """The parts of one training step, with two columns for each of the precisions in `beside`."""
    names = [name for name in beside[0]["parts"] if name != step_parts.NOT_OPTIMIZER]
    columns = [Column("part", "part")]
    for pair in beside:
        precision = pair["precision"]
        columns.append(Column(f"{precision}: ms", f"{precision}/ms", markdown.number))
        columns.append(Column("multiplying", f"{precision}/share", markdown.percent))
    lines = [
        {"part": "whole step" if name == step_parts.STEP else name}
        | {
            f"{pair['precision']}/{key}": pair["parts"].get(name, {}).get(key, 0.0)
            for pair in beside
            for key in ("ms", "share")
        }
        for name in names
    ]
    return markdown.markdown_table(lines, columns)


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
    beside = answer.summary["beside"]
    return {
        "shares": markdown.markdown_table(rows, columns),
        "matrix": change_matrix(rows, answer.summary["pairs"]),
        "parts": parts_table(beside) if beside else Markup(""),
        "backwards": backward_share.table(answer.summary["backwards"]),
        "all_parts": all_parts(markdown.records(answer.rows["parts"])),
    }


def change_matrix(rows: list[Row], pairs: list[Row]) -> Markup:
    """The share of matrix multiplication in forward pass and training step, by size and context."""
    shares = {pair["case"]: (pair["gemm_before"], pair["gemm_after"]) for pair in pairs}
    steps = [row for row in rows if row["phase"] == "train_step"]
    return markdown.matrix(
        [row | {"change": shares.get(row["case"])} for row in steps], "change", arrow
    )


def all_parts(rows: list[Row]) -> Markup:
    """The parts of every case's training step."""
    columns = [
        *markdown.case_columns(evidence.axes(rows) if rows else []),
        Column("part", "part"),
        Column("ms per step", "ms", markdown.number),
        Column("matrix multiplication ms", "matmul_ms", markdown.number),
        Column("its share", "share", markdown.percent),
    ]
    return markdown.markdown_table(rows, columns)


if __name__ == "__main__":
    command.main("d", answer, tables)
