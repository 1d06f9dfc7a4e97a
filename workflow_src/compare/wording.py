"""The tables of a comparison, as Markdown."""

import math
from collections.abc import Sequence

from markupsafe import Markup

from workflow_src.compare.rows import Row, axes
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

BOUND_WORDS = {
    "device": "bound by device work",
    "cpu": "on a CPU, which launches nothing",
    "launch": "launch-bound",
    "unknown": "not captured, so that its bound is unknown",
}

KNOWN = {
    "processes": "medians",
    "extremes": "fastest and slowest",
    "steps": "steps",
    "medians": "median",
}
"""What is known of each run's processes, by the basis of a ratio."""


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


def known_of(row: Row) -> str:
    """What a ratio rests on, such as "medians of 10 processes each"."""
    a, b = row["a_processes"], row["b_processes"]
    if a != b:
        either = "medians or steps" if row["basis"] == "steps" else KNOWN[row["basis"]]
        return f"{either} of {a} and {b} processes"
    return f"{KNOWN[row['basis']]} of {a} {'process' if a == 1 else 'processes'} each"


def table(rows: Sequence[Row], columns: Sequence[Column], optional: Sequence[str] = ()) -> Markup:
    """A table without those of the `optional` raw columns that say nothing in any row."""
    empty = {name for name in optional if all(row[name] == DASH for row in rows)}
    return markdown_table(rows, [column for column in columns if column.source not in empty])


PHASE = Column("phase", "phase", phase_word)
INTERVAL = Column("99 % interval", "span")
RATIO = [Column("A (ms)", "a_ms", number), Column("B (ms)", "b_ms", number)]
RATIO += [Column("B / A", "ratio", ratio), INTERVAL]


def largest_table(rows: Sequence[Row], device_time: str) -> Markup:
    """The largest changes of unprofiled time, and of what `device_time` is called there."""
    shown = [row | _words(row) for row in rows]
    columns = [Column("case", "case"), PHASE, *RATIO, Column("verdict", "verdict_shown")]
    columns += [Column(f"{device_time} B / A", "device_ratio", ratio)]
    columns += [Column(f"{device_time} in B", "device_verdict"), Column("bound by", "bound")]
    return table(shown, columns, ["span"])


def times_table(rows: Sequence[Row]) -> Markup:
    """Each phase's ratio of unprofiled times, and the verdict."""
    shown = [row | _words(row) for row in rows]
    columns = [*case_columns(axes(rows)), PHASE, *RATIO, Column("known", "known")]
    columns += [Column("corrected p", "p_shown"), Column("bound by", "bound")]
    columns += [Column("verdict", "verdict_shown")]
    return table(shown, columns, ["span", "p_shown"])


def _words(row: Row) -> Row:
    return {
        "span": span(row),
        "known": known_of(row),
        "p_shown": probability(row["adjusted"]),
        "verdict_shown": verdict_word(row),
    }


def summary_table(rows: Sequence[Row]) -> Markup:
    """The geometric means of the ratios by bound and phase, and how often each verdict."""
    over = {"processes": "processes", "steps": "steps of one process", "medians": DASH}
    shown = [row | {"span": span(row), "over": over[row["basis"]]} for row in rows]
    columns = [Column("phases that are", "bound", BOUND_WORDS.__getitem__), PHASE]
    columns += [Column("number", "phases", plain), Column("geometric mean of B / A", "mean", ratio)]
    columns += [INTERVAL, Column("interval over", "over")]
    columns += [Column(word, word, plain) for word in VERDICTS]
    return table(shown, columns, ["span", "over"])


def device_table(rows: Sequence[Row]) -> Markup:
    """Each phase's ratio of device times."""
    return _device_table(rows, case_columns(axes(rows)))


def changed_table(rows: Sequence[Row]) -> Markup:
    """The ratios of device times of some phases, with the ids of their cases."""
    return _device_table(rows, [Column("case", "case")])


def _device_table(rows: Sequence[Row], case: Sequence[Column]) -> Markup:
    shown = [row | {"span": span(row)} for row in rows]
    return table(shown, [*case, PHASE, *RATIO, Column("in B", "verdict")], ["span"])


def kernel_table(rows: Sequence[Row], what: str) -> Markup:
    """Changes of kernels."""
    columns = [Column("case", "case"), PHASE, Column(what, "short_name")]
    columns += [Column("change", "change"), Column("calls A", "a_calls", calls)]
    columns += [Column("calls B", "b_calls", calls), Column("A (ms)", "a_ms", number)]
    columns += [Column("B (ms)", "b_ms", number), Column("change (ms)", "change_ms", signed_number)]
    return markdown_table(rows, columns)


def ledger_table(rows: Sequence[Row]) -> Markup:
    """Changes of a step, and of those terms that changed, which add up to it (ms)."""
    named = dict.fromkeys(term for row in rows for term in row["terms"])
    terms = [term for term in named if any(row["terms"].get(term) for row in rows)]
    shown = [row | row["terms"] for row in rows]
    columns = [Column("case", "case"), PHASE, Column("A (ms)", "a_ms", number)]
    columns += [Column("B (ms)", "b_ms", number), Column("step", "change_ms", signed_number)]
    columns += [Column(term_word(term), term, signed_number) for term in terms]
    return markdown_table(shown, columns)


def term_word(term: str) -> str:
    """What a term of the ledger is called."""
    if term == "device_active":
        return "device works"
    return "idle" if term == "idle" else f"idle: {term.removeprefix('idle_')}"


def environments_table(rows: Sequence[Row]) -> Markup:
    """What differs, and what it was in each run."""
    return markdown_table(rows, [Column("what", "what"), Column("A", "a"), Column("B", "b")])


def absent_table(rows: Sequence[Row]) -> Markup:
    """Phases that ran in one run only, with their status in each."""
    sides = [Column("A", "a_status"), Column("B", "b_status")]
    return markdown_table(rows, [Column("case", "case"), PHASE, *sides])
