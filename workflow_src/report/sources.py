"""Where the numbers of the answers' sentences come from, for the page that links each of them.

A number is linked to the value that it most likely shows, among those that fit it. How many others
fit is said beside it, because the match is by how a value is printed. A number has no link if
nothing fits that its sentence can be about, or if it is too common to tell.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import pandas as pd

from workflow_src.answers.evidence import OF_THE_MACHINE
from workflow_src.answers.provenance import NUMERAL, texts
from workflow_src.common.case import CASE_COLUMNS
from workflow_src.common.environment import PRIVATE
from workflow_src.report.fits import is_bare
from workflow_src.report.values import BY_VALUE, Rank, Value, walk

UNLINKED = re.compile(r"`[^`]*`|\[[^\]]*\]\([^)]*\)|\b(?:context|batch) \d+")
"""Parts of a line in which numbers stay as they are: code, links, and what names a case."""

ROWS_SHOWN = 2


@dataclass(frozen=True)
class Source:
    """A number of a sentence and what it shows.

    table and rows: the CSV and its rows that support the value, counted from 1 with the header;
    empty if it was computed from other values. others: how many other values fit as well.
    """

    key: str
    number: str
    question: str
    value: Value
    name: str
    unit: str
    table: str
    rows: tuple[int, ...]
    others: int


class Linker:
    """Links the numbers of one answer's sentences, and collects their sources."""

    def __init__(self, question: str, answer: Mapping[str, Any]) -> None:
        self.question = question
        self.sources: dict[tuple[str, Value], Source] = {}
        self._values: dict[str, list[Value]] = defaultdict(list)
        for value in walk(answer["summary"], "summary"):
            for text in set(texts(value.value)):
                self._values[text].append(value)
        # Each case has those of the machine, and so has what is of no case.
        self._facts: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for fact in answer["facts"]:
            for case in {fact["case"], "" if fact["table"] in OF_THE_MACHINE else fact["case"]}:
                self._facts[case].append(fact)

    def link(self, text: str) -> str:
        """An answer's Markdown with its sentences' numbers as links to the rows of `sources`."""
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

    def _source(self, number: re.Match[str]) -> Source | None:
        found = [(rank, value) for value in self._values[number[0]] if (rank := value.rank(number))]
        if not found:
            return None
        first, best = min(found, key=lambda each: each[0])
        names = {value.name for rank, value in found if rank[:2] == first[:2]}
        if is_bare(number) and first[0] == BY_VALUE and (len(names) > 1 or len(number[0]) == 1):
            return None
        if (number[0], best) not in self.sources:
            key = f"number-{self.question}-{len(self.sources) + 1}"
            self.sources[number[0], best] = self._described(key, number[0], best, _others(found))
        return self.sources[number[0], best]

    def _described(self, key: str, number: str, value: Value, others: int) -> Source:
        facts = [f for f in self._facts[value.case] if f["value"] == value.value]
        alike = [f for f in facts if f["name"].endswith(value.name)] or facts
        fact = next((f for f in alike if f["rows"]), alike[0] if alike else {})
        table, rows = fact.get("table", ""), tuple(fact.get("rows", ()))
        if fact.get("derived_from") and not rows:
            table, rows = self._first_rows(value.case, fact["derived_from"])
        name = fact.get("name", "")
        return Source(
            key, number, self.question, value, name, fact.get("unit", ""), table, rows, others
        )

    def _first_rows(self, case: str, names: Sequence[str]) -> tuple[str, tuple[int, ...]]:
        """The table and rows of the first of some facts of a case that has any."""
        supported = {fact["name"]: fact for fact in self._facts[case] if fact["rows"]}
        fact = next((supported[name] for name in names if name in supported), None)
        return (str(fact["table"]), tuple(fact["rows"])) if fact else ("", ())


def _others(found: Sequence[tuple[Rank, Value]]) -> int:
    """How many values fit besides the best, one that stands in several places counted once.

    Not those of a case that the sentence doesn't name, if the best is of one that it names, and
    not those that are only printed alike, if the best is a text that stands there word by word.
    """
    (kind, away, *_), _ = min(found, key=lambda each: each[0])
    close = [value for rank, value in found if rank[0] == kind and (rank[1] < inf or away == inf)]
    return len({(value.case, value.name, value.value) for value in close}) - 1


def row_texts(source: Source, tables: Mapping[str, pd.DataFrame]) -> list[str]:
    """The first rows that support a source, as text: "row 24: forward, forward/block, ..."."""
    table = tables.get(source.table)
    if table is None:
        return []
    shown = [row for row in source.rows if row in table.index][:ROWS_SHOWN]
    columns = [c for c in table.columns if c not in (*CASE_COLUMNS, *PRIVATE, "name")]
    found = []
    for row in shown:
        cells = [f"{c} {v}" for c, v in table.loc[row, columns].items() if v != "" and v == v]
        found.append(f"row {row}: " + ", ".join(cells[:9]))
    return found
