"""Find, for each number in an answer's text, the value that it shows and where that comes from.

A sentence may show what the answer's summary holds, a table what its facts and rows hold. The match
is by how a value is printed, so it shows that a number can come from the tables, not that it does.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from workflow_src.render import markdown

NUMERAL = re.compile(r"(?<![\w.])\d(?:[\d,]*\d)?(?:\.\d+)?(?:e[-+]\d+)?(?!\.?\w)")
"""A number that stands alone, rather than as a part of a name such as fp32, 2.7B or 64x64x8."""

TARGET = re.compile(r"\]\([^)\n]*\)")
"""The target of a link or picture, whose numbers are names: results/2026-11-22/appendix.md."""

Form = Callable[[float], str]
Named = tuple[str, Any]
"""A value, after where it comes from."""

AMOUNTS: tuple[Form, ...] = (markdown.number, markdown.precise, markdown.whole)
SHARES: tuple[Form, ...] = (markdown.percent, markdown.fine_percent, markdown.limit)
POINTS: tuple[Form, ...] = (lambda share: f"{abs(100 * share):.1f} points",)
ERRORS: tuple[Form, ...] = ("{:.6f}".format, "{:.2e}".format, "{:.1e}".format, "{:g}".format)
FORMATS = (
    *(*AMOUNTS, *SHARES, *POINTS, *ERRORS),
    *(markdown.plain, lambda share: f"{abs(100 * share):.0f} %"),
)
"""How a report prints a value: as itself, as a share, as a difference of shares, and others."""


@dataclass(frozen=True)
class Numeral:
    """A number in a text: its line, counted from 1, and the values that are printed like it."""

    line: int
    text: str
    sources: tuple[str, ...]


def numerals(text: str, answer: Mapping[str, Any]) -> list[Numeral]:
    """All numbers in an answer's Markdown; `answer` is the content of its JSON file.

    A number that nothing in the answer supports has no sources. Headings are left out.
    """
    return numerals_from(
        text,
        values(answer["summary"], "summary"),
        [*values(answer["rows"], "rows"), *facts(answer["facts"])],
    )


def numerals_from(text: str, said: Iterable[Named], tabulated: Iterable[Named]) -> list[Numeral]:
    """All numbers in Markdown whose sentences show what is `said`, its tables what is in either."""
    summary, tables = printed(said), printed(tabulated)
    found = []
    for place, line in enumerate(text.splitlines(), start=1):
        shown = [] if line.startswith("#") else NUMERAL.findall(TARGET.sub("]", line))
        known = [summary, tables] if line.startswith("|") else [summary]
        found += [
            Numeral(place, number, tuple(source for held in known for source in held[number]))
            for number in shown
        ]
    return found


def unsupported(text: str, answer: Mapping[str, Any]) -> list[Numeral]:
    """The numbers in an answer's Markdown that nothing in the answer supports."""
    return [number for number in numerals(text, answer) if not number.sources]


def facts(rows: Sequence[Mapping[str, Any]]) -> Iterator[Named]:
    """The value of each fact, with its name and evidence in words."""
    for fact in rows:
        lines = ", ".join(map(str, fact["rows"]))
        evidence = f"{fact['table']}.csv rows {lines}" if lines else "computed from "
        evidence += ", ".join(fact["derived_from"])
        yield f"{fact['case']} {fact['name']} ({evidence})", fact["value"]


def values(held: Any, path: str) -> Iterator[Named]:
    """All numbers and texts inside nested values, and the length of each list, with their paths.

    Of a Markdown table the values in its rows.
    """
    if isinstance(held, markdown.Table):
        yield from values(held.rows, path)
    elif isinstance(held, Mapping):
        for key, inner in held.items():
            yield from values(inner, f"{path}.{key}")
    elif isinstance(held, list | tuple):
        yield f"how many in {path}", len(held)
        for place, inner in enumerate(held):
            yield from values(inner, f"{path}[{place}]")
    elif held is not None and not isinstance(held, bool):
        yield path, held


def printed(found: Iterable[Named]) -> dict[str, list[str]]:
    """Where each number comes from, by how it is printed."""
    sources: dict[str, list[str]] = defaultdict(list)
    for path, value in found:
        for text in set(texts(value)):
            sources[text].append(path)
    return sources


def texts(value: Any) -> Iterator[str]:
    """The numbers in every way to print a value."""
    if not isinstance(value, int | float):
        yield from NUMERAL.findall(str(value))
        return
    yield from numbers_in(value, FORMATS)


def numbers_in(value: float, forms: Sequence[Form]) -> Iterator[str]:
    """The numbers in a value as some formats print it."""
    for form in forms:
        with suppress(ValueError, OverflowError):
            yield from NUMERAL.findall(form(value))
