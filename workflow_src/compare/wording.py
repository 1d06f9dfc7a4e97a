"""The tables of a comparison, as Markdown."""

import math
from collections.abc import Sequence

from markupsafe import Markup

from workflow_src.answers.evidence import Row, axes
from workflow_src.compare.times import VERDICTS
from workflow_src.render.markdown import (
    DASH,
    PHASE_WORDS,
    Column,
    calls,
    case_columns,
    markdown_table,
    number,
    plain,
    ratio,
    signed_number,
)

SHOWN = 20
"""Rows of a table in the text; the CSV beside it has all."""

BOUND_WORDS = {
    "device": "bound by device work",
    "cpu": "on a CPU, which launches nothing",
    "launch": "launch-bound",
    "unknown": "not captured, so that its bound is unknown",
}

BASES = {
    "processes": "processes",
    "extremes": "fastest and slowest process",
    "steps": "steps of one process",
    "medians": "none",
}
"""What an interval is over, by the basis of a ratio."""


def span(row: Row) -> str:
    """The interval of a ratio, or a dash."""
    if math.isnan(row["low"]):
        return DASH
    return f"{ratio(row['low'])} to {ratio(row['high'])}"


def probability(p: float) -> str:
    """A probability: three digits, and no more than matter."""
    return DASH if math.isnan(p) else "< 0.0001" if p < 1e-4 else f"{p:.4f}"


def phase_word(phase: str) -> str:
    """What a phase is called; "" stands for all of them."""
    return PHASE_WORDS.get(phase, "all phases")


def verdict_word(row: Row) -> str:
    """A row's verdict, with the reason if it can't be told."""
    return f"{row['verdict']} ({row['why']})" if row["why"] else str(row["verdict"])


PHASE = Column("phase", "phase", phase_word)
RATIO = [Column("A (ms)", "a_ms", number), Column("B (ms)", "b_ms", number)]
RATIO += [Column("B / A", "ratio", ratio), Column("99 % interval", "span")]


def times_table(rows: Sequence[Row]) -> Markup:
    """Each phase's ratio of unprofiled times, and the verdict."""
    shown = [row | _words(row) for row in rows]
    columns = [*case_columns(axes(rows)), PHASE, *RATIO, Column("interval over", "over")]
    columns += [Column("processes A, B", "processes"), Column("corrected p", "p_shown")]
    columns += [Column("bound by", "bound"), Column("verdict", "verdict_shown")]
    return markdown_table(shown, columns)


def _words(row: Row) -> Row:
    return {
        "span": span(row),
        "over": BASES[row["basis"]],
        "processes": f"{row['a_processes']}, {row['b_processes']}",
        "p_shown": probability(row["adjusted"]),
        "verdict_shown": verdict_word(row),
    }


def summary_table(rows: Sequence[Row]) -> Markup:
    """The geometric means of the ratios by bound and phase, and how often each verdict."""
    shown = [row | {"span": span(row), "over": BASES[row["basis"]]} for row in rows]
    columns = [Column("phases that are", "bound", BOUND_WORDS.__getitem__), PHASE]
    columns += [Column("number", "phases", plain), Column("geometric mean of B / A", "mean", ratio)]
    columns += [Column("99 % interval", "span"), Column("interval over", "over")]
    columns += [Column(word, word, plain) for word in VERDICTS]
    return markdown_table(shown, columns)


def device_table(rows: Sequence[Row]) -> Markup:
    """Each phase's ratio of device times."""
    shown = [row | {"span": span(row)} for row in rows]
    columns = [*case_columns(axes(rows)), PHASE, *RATIO, Column("B against A", "verdict")]
    return markdown_table(shown, columns)


def kernel_table(rows: Sequence[Row], what: str) -> Markup:
    """The largest changes of kernels."""
    columns = [Column("case", "case"), PHASE, Column(what, "short_name")]
    columns += [Column("change", "change"), Column("calls A", "a_calls", calls)]
    columns += [Column("calls B", "b_calls", calls), Column("A (ms)", "a_ms", number)]
    columns += [Column("B (ms)", "b_ms", number), Column("change (ms)", "change_ms", signed_number)]
    return markdown_table(rows[:SHOWN], columns)


def ledger_table(rows: Sequence[Row]) -> Markup:
    """The largest changes of a step, and of the terms that add up to it (ms)."""
    terms = list(dict.fromkeys(term for row in rows[:SHOWN] for term in row["terms"]))
    shown = [row | row["terms"] for row in rows[:SHOWN]]
    columns = [Column("case", "case"), PHASE, Column("A (ms)", "a_ms", number)]
    columns += [Column("B (ms)", "b_ms", number), Column("step", "change_ms", signed_number)]
    columns += [Column(term_word(term), term, signed_number) for term in terms]
    return markdown_table(shown, columns)


def term_word(term: str) -> str:
    """What a term of the ledger is called."""
    if term == "device_active":
        return "device works"
    return "idle" if term == "idle" else f"idle: {term.removeprefix('idle_')}"


def plain_table(rows: Sequence[Row], headings: dict[str, str]) -> Markup:
    """A table of texts: the headings by the raw columns."""
    return markdown_table(rows, [Column(text, source) for source, text in headings.items()])
