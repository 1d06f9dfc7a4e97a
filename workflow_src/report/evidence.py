"""Where the page's numbers come from: a line for each set of table rows that values rest on."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from workflow_src.paper.value import Rows, Value

SHOWN = 20
"""The most line numbers and formulas that are listed."""


@dataclass(frozen=True)
class Evidence:
    """What the values of one key rest on: files with line numbers, and how they follow."""

    key: str
    rows: tuple[str, ...]
    formulas: tuple[str, ...]


def evidence(values: Iterable[Value]) -> tuple[Evidence, ...]:
    """The sources of all values, a line for each key, in order of appearance."""
    formulas: dict[str, dict[str, None]] = {}
    sources: dict[str, tuple[Rows, ...]] = {}
    for value in values:
        sources[value.key] = value.sources
        formulas.setdefault(value.key, {})[value.formula] = None
    return tuple(
        Evidence(
            key,
            tuple(map(_lines, found)),
            tuple(islice(filter(None, formulas[key]), SHOWN)),
        )
        for key, found in sources.items()
    )


def _lines(rows: Rows) -> str:
    """A file with its first line numbers, ranges of them as "3-7"."""
    shown = ", ".join(islice(_ranges(rows.numbers), SHOWN))
    total = len(rows.numbers)
    return f"{file_of(rows.table)}: {shown}" + (f" ({total} lines)" if total > 1 else "")


def file_of(table: str) -> str:
    """The path of a table in its run's folder."""
    return "plan.csv" if table == "plan" else f"tables/{table}.csv"


def _ranges(numbers: Iterable[int]) -> Iterator[str]:
    ordered = sorted(numbers)
    start = 0
    for end, number in enumerate(ordered):
        if end + 1 == len(ordered) or ordered[end + 1] != number + 1:
            first = ordered[start]
            yield str(first) if first == number else f"{first}-{number}"
            start = end + 1
