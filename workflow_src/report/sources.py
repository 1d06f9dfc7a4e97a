"""Where the numbers of the report's sentences come from, for the page that links each of them.

A number is linked to the value that it most likely shows, among those that fit it. How many others
fit as well is said beside it, because the match is by how a value is printed. A number has no link
if nothing fits that its sentence can be about, or if it is too common to tell.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import pandas as pd

from workflow_src.answers.provenance import NUMERAL, texts
from workflow_src.common.case import CASE_COLUMNS
from workflow_src.common.environment import PRIVATE
from workflow_src.report.fits import is_bare
from workflow_src.report.support import Facts, Support, Supported, is_exact
from workflow_src.report.values import BY_VALUE, COUNT, Rank, Value, walk

UNLINKED = re.compile(r"`[^`]*`|\[[^\]]*\]\([^)]*\)|\b(?:context|batch) \d+|\b\d{4}-\d\d-\d\d\b")
"""Parts of a line in which numbers stay as they are: code, links, what names a case, and dates."""

ROWS_SHOWN = 2


@dataclass(frozen=True)
class Source:
    """A number of a sentence of a part of the report, and what it shows.

    support: the rows that support the value, if any. others: how many other values fit as well.
    """

    key: str
    number: str
    part: str
    value: Value
    support: Support
    others: int


class Linker:
    """Links the numbers of a part's sentences to values of its summary, and collects them."""

    def __init__(self, part: str, summary: Mapping[str, Any], supported: Supported) -> None:
        self.part = part
        self.sources: dict[tuple[str, Value], Source] = {}
        self._supported = supported
        self._values: dict[str, list[Value]] = defaultdict(list)
        for value in walk(summary, "summary"):
            for text in set(texts(value.value)):
                self._values[text].append(value)

    def link(self, text: str) -> str:
        """Markdown with its sentences' numbers as links to the rows of `sources`."""
        return "\n".join(map(self._line, text.split("\n")))

    def _line(self, line: str) -> str:
        if line.startswith(("#", "|")):
            return line
        kept = [match.span() for match in UNLINKED.finditer(line)]

        def linked(match: re.Match[str]) -> str:
            inside = any(start <= match.start() < end for start, end in kept)
            source = None if inside else self._source(match)
            return f"[{match[0]}](#{source.key})" if source else match[0]

        return NUMERAL.sub(linked, line)

    def _counts(self, number: str) -> bool:
        """Whether a number is also how many a list holds, as in "15 of 16 steps"."""
        return any(value.path.startswith(COUNT) for value in self._values[number])

    def _source(self, number: re.Match[str]) -> Source | None:
        found = [(rank, value) for value in self._values[number[0]] if (rank := value.rank(number))]
        if not found:
            return None
        first, best = min(found, key=lambda each: each[0])
        names = {value.name for rank, value in found if rank[:3] == first[:3]}
        if is_bare(number) and first.kind == BY_VALUE:
            unsaid = first.unworded == 0 and self._counts(number[0])
            if len(names) > 1 or len(number[0]) == 1 or unsaid:
                return None
        if (number[0], best) not in self.sources:
            key = f"number-{self.part}-{len(self.sources) + 1}"
            self.sources[number[0], best] = Source(
                key, number[0], self.part, best, self._supported(best), others(found)
            )
        return self.sources[number[0], best]


def of_answer(question: str, answer: Mapping[str, Any]) -> Linker:
    """A linker of the sentences of an answer, from its JSON."""
    return Linker(question, answer["summary"], Facts(answer["facts"]))


def others(found: Sequence[tuple[Rank, Value]]) -> int:
    """How many values fit besides the best and are told from it by nothing in the text.

    One that stands in several places is counted once. Not counted is one of a case that the
    sentence doesn't name, if the best is of one that it names.
    """
    first, best = min(found, key=lambda each: each[0])
    near = [(rank, value) for rank, value in found if rank.away < inf or first.away == inf]
    alike = [(rank, value) for rank, value in near if rank.told <= first.told]
    # Names are this project's own: only of values side by side does a sentence's word choose one.
    left = {_what(v) for r, v in alike if v.holder != best.holder or r.unworded <= first.unworded}
    return len(left - {_what(best)})


def _what(value: Value) -> tuple[Any, ...]:
    """What a value is: an exact number is the same wherever it stands, another by its name."""
    if is_exact(value.value):
        return (f"{value.value:.9g}",)
    return value.case, value.name, value.value


def row_texts(source: Source, tables: Mapping[str, pd.DataFrame]) -> list[str]:
    """The first rows that support a source, as text: "row 24: forward, forward/block, ..."."""
    table = tables.get(source.support.table)
    if table is None:
        return []
    shown = [row for row in source.support.rows if row in table.index][:ROWS_SHOWN]
    columns = [c for c in table.columns if c not in (*CASE_COLUMNS, *PRIVATE, "name")]
    columns.sort(key=lambda column: column not in (source.value.name, "point"))
    found = []
    for row in shown:
        cells = [f"{c} {v}" for c, v in table.loc[row, columns].items() if v != "" and v == v]
        found.append(f"row {row}: " + ", ".join(cells[:9]))
    return found
