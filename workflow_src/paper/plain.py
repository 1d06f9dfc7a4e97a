"""Values without markup: for a terminal, and for programs."""

import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from workflow_src.paper.cells import ranges
from workflow_src.paper.form import Form
from workflow_src.paper.markdown import literal
from workflow_src.paper.number import Number
from workflow_src.paper.written import Facts, render

SCHEMA = 1
"""Of summary.json (docs/agents.md): it changes when what is there changes its meaning."""

DOCUMENT = re.compile(r"\[([^\]]+)\]\(docs/[^)]*\)")
"""A link into the documents, which an installed package lacks."""

WIDE = 100
"""Letters of a terminal's line."""


class Plain(Form):
    """Prints for a terminal; what would control it is escaped."""

    def escape(self, text: object) -> Markup:
        """A text in one line."""
        return text if isinstance(text, Markup) else Markup(literal(text))

    def number(self, number: Number) -> Markup:
        """A number without evidence."""
        return Markup(str(number))

    def prose(self, text: str) -> Markup:
        """A block's paragraphs, without links to documents."""
        return Markup(DOCUMENT.sub(r"\1", super().prose(text)))

    def _laid_out(
        self,
        heads: list[Markup],
        rows: list[list[Markup]],
        left: list[bool],
        caption: str,
        kind: str,
        about: Sequence[str] = (),
    ) -> Markup:
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        lines = [
            "  "
            + "  ".join(
                cell.ljust(wide) if to_left else cell.rjust(wide)
                for cell, wide, to_left in zip(row, widths, left, strict=True)
            ).rstrip()
            for row in (heads, *rows)
        ]
        return Markup("\n".join(["\n\n" + f"{caption}:" * bool(caption), *lines, "\n"]))


def paragraphs(templates: Path, name: str, facts: Facts) -> list[str]:
    """The section of a template for a terminal."""
    return render(templates, [name], facts, Plain(False))["section"].split("\n\n")


def screen(said: Iterable[str]) -> str:
    """Paragraphs for a terminal: all but tables in lines of WIDE letters."""
    return "\n\n".join(each if "\n  " in each else textwrap.fill(each, WIDE) for each in said)


def told(value: Any) -> Any:
    """A value for strict JSON: Numbers with lines of CSVs, frames as rows, NaN as null."""
    match value:
        case Number():
            at = [f"{file_of(name)}:{lines}" for name, lines in ranges(value.rows).items()]
            ends = {"interval": [end.value for end in value.ends]} if value.ends else {}
            return {"value": value.value, "unit": value.unit, **ends, "rows": "; ".join(at)}
        case pd.DataFrame():
            return [told(row) for row in value.to_dict("records")]
        case pd.Series():
            return told(value.to_dict())
        case Mapping():
            return {str(name): told(each) for name, each in value.items()}
        case StrEnum():
            return value.value
        case list() | tuple():
            return [told(each) for each in value]
        case float() if not math.isfinite(value):
            return None
    return value.item() if hasattr(value, "item") else value


def file_of(table: str) -> str:
    """The CSV of a capture's table, "A: findings.csv" where there are two captures."""
    return table.replace("capture/", "") + ".csv"
