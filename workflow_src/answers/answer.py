"""An answer: facts, each with the table rows that support it, and rows to display."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import pandas as pd

Value = float | int | str | bool | None


@dataclass(frozen=True)
class Fact:
    """One value and where it comes from.

    `table` is the name of a CSV without ".csv", and `rows` are the numbers of its rows that
    support the value, counted as in a spreadsheet: the header is row 1. A value computed from
    other facts of the same case names them in `derived_from` and has no rows of its own.
    """

    case: str
    name: str
    value: Value
    unit: str
    table: str = ""
    rows: tuple[int, ...] = ()
    derived_from: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """One question's answer.

    status is "complete" (every case has its numbers, or a recorded reason for having none: out of
    memory, skipped), "partial" (numbers are missing, or too much device time lies outside all
    ranges) or "missing" (no numbers at all). `rows` are raw values by table name; `summary`
    holds the values by which the template chooses its sentences.
    """

    question: str
    title: str
    status: str
    facts: tuple[Fact, ...]
    rows: Mapping[str, pd.DataFrame]
    summary: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The answer as plain values for strict JSON; NaN and infinity become null."""
        return {
            "question": self.question,
            "title": self.title,
            "status": self.status,
            "facts": [_plain(asdict(fact)) for fact in self.facts],
            "rows": {name: _plain(frame.to_dict("records")) for name, frame in self.rows.items()},
            "summary": _plain(self.summary),
        }


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
