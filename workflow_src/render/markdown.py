"""From raw rows to Markdown: number formats, tables, and templates that escape all values."""

import html
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import (
    Environment,
    FileSystemLoader,
    StrictUndefined,
    Template,
    TemplateSyntaxError,
)
from markupsafe import Markup
from tabulate import tabulate

from workflow_src.common.case import COUNTS
from workflow_src.common.errors import StageError
from workflow_src.common.reading import reading

STATE_WORDS = {
    "ok": "not measured",
    "oom": "OOM",
    "skipped": "skipped",
    "not_supported": "not supported",
    "not_capturable": "not capturable",
    "failed": "failed",
    "not_measured": "not measured",
    "no_activity": "no device activity",
    "not_finite": "not finite",
    "not_comparable": "not comparable",
    "fused": "fused",
    "none": "\N{EN DASH}",
}
"""What a cell without a value says, by the state of its row."""

PHASE_WORDS = {
    "forward": "forward",
    "backward": "backward",
    "forward_backward": "forward + backward",
    "train_step": "training step",
}

NAMES_SHOWN = 5
DASH = "\N{EN DASH}"


def number(value: float) -> str:
    """Three significant digits, without an exponent where that is readable: 1,234 12.3 0.0123."""
    if value == 0:
        return "0"
    text = f"{value:,.0f}" if abs(value) >= 99.95 else f"{value:#.3g}"
    return text.rstrip(".")


def precise(value: float) -> str:
    """Four significant digits, for arithmetic that a reader does again: 1,235 12.35."""
    if value == 0:
        return "0"
    text = f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:#.4g}"
    return text.rstrip(".")


def plain(value: float) -> str:
    """An integer that identifies rather than counts, without separators: 1024."""
    return str(int(value))


def formatted(text: str) -> str:
    """A number that is text already."""
    return text


def whole(value: float) -> str:
    """A count rounded to an integer, with thousands separators: 1,234."""
    return f"{value:,.0f}"


def percent(share: float) -> str:
    """A share as a percentage with one decimal: 12.3 %."""
    return f"{100 * share:.1f} %"


def fine_percent(share: float) -> str:
    """A small share as a percentage with three significant digits: 0.0123 %; NaN: "unknown"."""
    return "unknown" if math.isnan(share) else f"{number(100 * share)} %"


def limit(share: float) -> str:
    """A limit as a percentage without trailing zeros: 10 %, 0.1 %."""
    return f"{100 * share:g} %"


def ratio(value: float) -> str:
    """A ratio near 1, with three decimals: 1.023."""
    return f"{value:.3f}"


def signed_percent(share: float) -> str:
    """A change as a percentage with its sign: +12.3 %."""
    return f"{100 * share:+.1f} %"


def signed_number(value: float) -> str:
    """A change with its sign, in three significant digits: +1.23."""
    sign = "+" if value > 0 else "-" if value < 0 else ""
    return sign + number(abs(value))


def calls(value: float) -> str:
    """Calls per step; a non-integer is marked as such."""
    near = abs(value - round(value)) < 1e-9
    return whole(round(value)) if near else f"{value:.2f} (not an integer)"


def joined(words: Iterable[str]) -> str:
    """A list in words: "a, b and c"; "a, b; c and d; e" if a word is itself a list."""
    said = [str(word) for word in words]
    if not said[1:] or any(", " in word or " and " in word for word in said):
        return "; ".join(said)
    return f"{', '.join(said[:-1])} and {said[-1]}"


def names(values: Sequence[str]) -> str:
    """Up to NAMES_SHOWN names, and how many more there are."""
    shown, more = list(values[:NAMES_SHOWN]), len(values) - NAMES_SHOWN
    return joined([*shown, f"{more} more"] if more > 0 else shown)


def between(values: Sequence[float], text: Callable[[float], str] = number) -> str:
    """ "x", or "x to y" if the smallest and the largest value are formatted differently."""
    low, high = text(min(values)), text(max(values))
    return low if low == high else f"{low} to {high}"


def tally(counts: Mapping[str, int], what: str) -> str:
    """How often each outcome occurs, omitting those that never do: "rises in 2, falls in 1 of 3 x".

    `what` names what is counted, in the plural; at least one count is above zero.
    """
    total = sum(counts.values())
    held = {text: count for text, count in counts.items() if count}
    if len(held) == 1:
        (text,) = held
        every = "both" if total == 2 else f"all {total}"
        return text if total == 1 else f"{text} in {every} {what}"
    return ", ".join(f"{text} in {count}" for text, count in held.items()) + f" of {total} {what}"


def escape(value: Any) -> str:
    """Text escaped so that Markdown and HTML show it literally, in sentences and table cells."""
    text = html.escape(re.sub(r"\s+", " ", str(value)), quote=False).replace("|", "&#124;")
    text = re.sub(r"([\\`*\[\]])", r"\\\1", text)
    return re.sub(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\_", text)


_PERCENTAGES = (percent, fine_percent, signed_percent)
NUMERIC = (number, precise, plain, formatted, whole, *_PERCENTAGES, signed_number, ratio, calls)
"""Columns with these formats are right-aligned."""


@dataclass(frozen=True)
class Column:
    """A column to show: its heading, the raw column, and the format of its values."""

    heading: str
    source: str
    text: Callable[[Any], str] = str
    state: str = "state"
    """The raw column that says why a value is missing."""

    def cell(self, row: Mapping[str, Any]) -> str | None:
        """The text of this column's cell in `row`; None where there is no value."""
        value = row.get(self.source)
        absent = value is None or (isinstance(value, float) and math.isnan(value))
        return None if absent else self.text(value)


def _cells(row: Mapping[str, Any], columns: Sequence[Column]) -> list[str]:
    """A row's cells. The first one without a value says why; later ones are dashes."""
    explained: set[str] = set()
    cells = []
    for column in columns:
        cell = column.cell(row)
        if cell is None:
            why = STATE_WORDS[str(row.get(column.state, "not_measured"))]
            cell = DASH if column.state in explained else why
            explained.add(column.state)
        cells.append(escape(cell))
    return cells


def case_columns(axes: Sequence[str]) -> list[Column]:
    """Columns for the axes that distinguish the cases of a table."""
    return [Column(axis, axis, plain if axis in COUNTS else str) for axis in axes]


class Table(Markup):
    """A Markdown table, and the rows that it shows."""

    rows: Sequence[Mapping[str, Any]] = ()


def markdown_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> Table:
    """A Markdown table, numbers right-aligned. If any row has a reason, a last column shows it."""
    if any(row.get("reason") for row in rows):
        columns = [*columns, Column("note", "reason")]
    cells = [_cells(row, columns) for row in rows]
    aligned = ["right" if c.text in NUMERIC else "left" for c in columns]
    headings = [escape(column.heading) for column in columns]
    table = Table(_laid_out(cells, headings, aligned) if cells else "(no rows)")
    table.rows = rows
    return table


WIDE = 140
"""Characters of a table's line from which on its columns no longer line up on a screen."""


def _laid_out(
    cells: Sequence[Sequence[str]], headings: Sequence[str], aligned: Sequence[str]
) -> str:
    """The table as text, its columns padded to line up unless a line is too long to show them."""
    text = tabulate(
        cells, headers=headings, tablefmt="pipe", disable_numparse=True, colalign=aligned
    )
    lines = text.splitlines()
    if len(lines[0]) <= WIDE:
        return text
    lines[1] = re.sub("-+", "---", lines[1])
    return "\n".join(re.sub(" {2,}", " ", line) for line in lines)


def matrix(rows: Sequence[Mapping[str, Any]], source: str, text: Callable[[Any], str]) -> Markup:
    """Tables of one value, sizes down and contexts across: one for each combination of the others.

    `rows` are cases with the value under `source`, and a state where they have none.
    """
    parts = []
    for label, mine in _by_other_axes(rows).items():
        contexts = sorted({int(row["context"]) for row in mine})
        cells: dict[str, dict[int, Any]] = {}
        for row in mine:
            cells.setdefault(str(row["size"]), {})[int(row["context"])] = row
        lines = [
            [
                escape(size),
                *(_matrix_cell(found.get(c), Column("", source, text)) for c in contexts),
            ]
            for size, found in cells.items()
        ]
        headings = [escape(f"{label}, context"), *map(plain, contexts)]
        aligned = ["left"] + ["right"] * len(contexts)
        parts.append(_laid_out(lines, headings, aligned))
    return Markup("\n\n".join(parts) or "(no rows)")


def _by_other_axes(
    rows: Sequence[Mapping[str, Any]],
) -> dict[str, list[Mapping[str, Any]]]:
    """Rows by the precision and whatever else tells cases of one size and context apart."""
    others = ("batch", "attention", "optimizer", "device")
    varying = [name for name in others if len({row[name] for row in rows}) > 1]
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        parts = [f"batch {row[name]}" if name == "batch" else str(row[name]) for name in varying]
        found.setdefault(", ".join([str(row["precision"]), *parts]), []).append(row)
    return found


def _matrix_cell(row: Mapping[str, Any] | None, column: Column) -> str:
    if row is None:
        return DASH
    return escape(column.cell(row) or STATE_WORDS[str(row.get(column.state, "not_measured"))])


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of `frame` as dictionaries."""
    found: list[dict[str, Any]] = frame.to_dict("records")  # type: ignore[assignment]
    return found


def template_in(templates: Path, name: str) -> Template:
    """A template of report_templates. Raises StageError if `templates` has no valid one."""
    advice = "give this project's folder report_templates"
    with reading(templates / name, "a template", advice, StageError):
        try:
            return environment(templates).get_template(name)
        except TemplateSyntaxError as error:
            raise StageError(f"{templates / name}, line {error.lineno}: {error.message}") from None


@cache
def environment(templates: Path) -> Environment:
    """A Jinja environment for Markdown: every value is escaped unless it already is Markup.

    One per folder, which keeps its compiled templates.
    """
    made = Environment(
        loader=FileSystemLoader(templates),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        finalize=lambda value: value if isinstance(value, Markup) else escape(value),
    )
    texts: list[Callable[..., str]] = [number, whole, percent, fine_percent, signed_percent, ratio]
    texts += [precise, limit, calls, names, joined, between, tally]
    made.filters |= {text.__name__: text for text in texts}
    made.globals |= {text.__name__: text for text in texts}
    return made
