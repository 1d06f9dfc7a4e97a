"""How cells are printed: as Markdown, or as Markdown whose values link to their sources."""

import html
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

import pandas as pd
from markupsafe import Markup
from tabulate import tabulate

from workflow_src.common.words import DASH
from workflow_src.paper.markdown import calls, earned, escape, literal, number, precise, whole
from workflow_src.paper.page_table import PageCell, PageTable
from workflow_src.paper.prose import inline
from workflow_src.paper.value import Cell, Joined, Marked, Ranged, Rounded, Value

ARROW = "\N{RIGHTWARDS ARROW}"


def share(value: float) -> str:
    """A share in percent: two significant digits below 10 %, else whole percents."""
    percent = 100 * value
    if percent == 0 or abs(percent) >= 9.95:
        return f"{percent:.0f} %"
    return f"{percent:.1f} %" if abs(percent) >= 0.095 else f"{percent:#.1g} %".replace(". ", " ")


def two_digits(value: float) -> str:
    """Two significant digits below 10, else whole numbers: what a few samples tell of a spread."""
    return f"{value:.0f}" if abs(value) >= 9.95 else f"{value:#.2g}".rstrip(".")


def times(value: float) -> str:
    """A ratio, "1.2 x"."""
    return f"{two_digits(value)} x"


def points(difference: float) -> str:
    """A difference of shares in points of a percent, "-6.8"."""
    return f"{round(100 * difference, 1) + 0.0:+.1f}"


def near_one(value: float) -> str:
    """A ratio near 1 with three decimals, "1.023 x"."""
    return f"{value:.3f} x"


def change(value: float) -> str:
    """A change in whole percents with its sign, "+12 %"; "0 %" if that is what it rounds to."""
    percent = round(100 * value)
    return f"{percent:+} %" if percent else "0 %"


SHARES = {
    0.0: "next to nothing",
    1 / 4: "about a quarter",
    1 / 3: "about a third",
    2 / 5: "about two fifths",
    1 / 2: "about half",
    2 / 3: "about two thirds",
    3 / 4: "about three quarters",
    9 / 10: "about nine tenths",
    1.0: "nearly all",
}


def rough(value: float) -> str:
    """A share that a few processes can't tell to the percent, in words."""
    return SHARES[min(SHARES, key=lambda known: abs(known - value))]


FORMATS: Mapping[str, Callable[[float], str]] = {
    "share": share,
    "saved": lambda part: share(part) if abs(part) >= 0.0005 else "0 %",
    "points": points,
    "rough": rough,
    "change": change,
    "times": times,
    "near_one": near_one,
    "calls": calls,
    "count": whole,
    "bytes": whole,
    "flops": lambda flops: f"{flops:.3g}",
    **dict.fromkeys(("std_ms", "two digits"), two_digits),
    "error": lambda error: f"{error:.2g}",
    **dict.fromkeys(("", "ms", "us", "s", "GiB", "MiB", "GB/s", "TFLOP/s", "MHz", "W"), number),
    "precise": precise,
    "sum": lambda value: f"{value:#.5g}",
    "tenths": lambda share: f"{100 * share:.1f} %",
    "hundredths": lambda value: f"{value:,.2f}",
    "rate": lambda rate: number(float(f"{rate:.3g}")),
}
"""How a number of each unit is printed. The units of times, sizes and rates stand in the column's
heading or in the sentence, so that a table says them once."""


class Piece(NamedTuple):
    """A piece of a cell: text, with the key that it leads to, or Markdown as it is."""

    text: str
    key: str = ""
    is_markdown: bool = False

    @property
    def markdown(self) -> str:
        """The piece in Markdown."""
        if self.is_markdown:
            return self.text
        return f"[{escape(self.text)}](#{self.key})" if self.key else escape(self.text)

    @property
    def html(self) -> str:
        """The piece in HTML."""
        if self.is_markdown:
            return str(inline(self.text))
        text = html.escape(literal(self.text), quote=False)
        return f'<a href="#{html.escape(self.key)}">{text}</a>' if self.key else text


def joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Pieces with one link around what leads to the same rows, as a value and its interval do."""
    held: list[Piece] = []
    for piece in pieces:
        if piece.is_markdown or (piece.key and held and piece.key != held[0].key):
            yield from _linked(held)
            held = []
        if held or piece.key:
            held.append(piece)
        else:
            yield piece
    yield from _linked(held)


def _linked(held: Sequence[Piece]) -> Iterator[Piece]:
    """Pieces of which the first is linked: one link to the last that is, and what follows it."""
    end = max((place for place, piece in enumerate(held) if piece.key), default=-1) + 1
    if end:
        yield Piece("".join(piece.text for piece in held[:end]), held[0].key)
    yield from held[end:]


Lines = Sequence[Sequence[object]]
"""The cells of a table, by row."""


@dataclass
class Printer:
    """Prints cells; for a page, tables keep their cells. If that has the rows that values rest on,
    each value is a link to `#{its key}`, and `printed` keeps it."""

    page: bool = False
    linked: bool = True
    printed: list[Value] = field(default_factory=list)

    def __call__(self, cell: object) -> Markup:
        """A cell as Markdown."""
        return Markup("".join(piece.markdown for piece in self._pieces(cell)))

    def _pieces(self, cell: object) -> Iterator[Piece]:
        match cell:
            case None:
                yield Piece(DASH)
            case Markup():
                yield Piece(str(cell), is_markdown=True)
            case Value():
                yield self._value(cell)
            case Rounded():
                yield self._rounded(cell)
            case Joined():
                for place, each in enumerate(cell.cells):
                    yield from (*([Piece(cell.by)] if place else []), *self._pieces(each))
            case Marked():
                yield from (*self._pieces(cell.cell), Piece(cell.mark))
            case Ranged():
                yield from self._ranged(cell)
            case StrEnum():
                yield Piece(cell.value)
            case _:
                yield Piece(str(cell))

    def _value(self, value: Value) -> Piece:
        return self._linked_to(value, FORMATS[value.unit](value.number))

    def _rounded(self, cell: Rounded) -> Piece:
        least, most = (end.number if end else None for end in (cell.least, cell.most))
        return self._linked_to(cell.value, earned(cell.value.number, least, most))

    def _linked_to(self, value: Value, text: str) -> Piece:
        if not (self.page and self.linked and value.sources):
            return Piece(text)
        self.printed.append(value)
        return Piece(text, value.key)

    def _ranged(self, cell: Ranged) -> Iterator[Piece]:
        if cell.least is None or cell.most is None:
            yield from self._pieces(cell.value)
            return
        least, most = self._value(cell.least), self._value(cell.most)
        yield from self._pieces(cell.value)
        yield from (Piece(" ("), least, Piece(" to "), most, Piece(")"))

    def table(self, frame: pd.DataFrame, intro: str = "") -> Markup:
        """A table in Markdown, or for a page the line that it is made from; columns of numbers are
        aligned right, and their names are the headings.

        `intro` is the literal sentence before it. Empty for a frame without rows.
        """
        if frame.empty:
            return Markup("")
        rows = [list(map(_plain, row)) for row in frame.itertuples(index=False)]
        right = tuple(_is_numeric(frame.iloc[:, i]) for i in range(frame.shape[1]))
        text = self._line(frame, rows, right) if self.page else self._markdown(frame, rows, right)
        return Markup(f"{intro}\n\n{text}" if intro else text)

    def _markdown(self, frame: pd.DataFrame, rows: Lines, right: Sequence[bool]) -> str:
        cells = [[str(self(cell)) for cell in row] for row in rows]
        heads, sides = map(escape, frame.columns), ["right" if each else "left" for each in right]
        return tabulate(
            cells, headers=list(heads), tablefmt="pipe", disable_numparse=True, colalign=sides
        )

    def _line(self, frame: pd.DataFrame, rows: Lines, right: tuple[bool, ...]) -> str:
        cells = tuple(tuple(map(self.page_cell, row)) for row in rows)
        return PageTable(tuple(map(literal, frame.columns)), cells, right).line()

    def page_cell(self, cell: object) -> PageCell:
        """A cell of a page's table."""
        made = Markup("".join(piece.html for piece in joined(self._pieces(cell)))).strip()
        return PageCell(made.striptags(), made)


def _plain(cell: object) -> object:
    """A cell as it was given: pandas turns None into NaN in columns of numbers."""
    return None if isinstance(cell, float) and cell != cell else cell


def _is_numeric(column: pd.Series) -> bool:
    cells = [cell for cell in map(_plain, column) if cell is not None]
    return bool(cells) and not any(isinstance(cell, str) for cell in cells)


@dataclass(frozen=True)
class Headline:
    """A verdict in words: one literal format string for it, with slots that hold cells."""

    verdict: StrEnum
    sentence: str
    slots: Mapping[str, Cell] = field(default_factory=dict)

    def text(self, show: Printer) -> Markup:
        """The sentence with its slots filled."""
        filled = {name: show(cell) for name, cell in self.slots.items()}
        return Markup(self.sentence).format(**filled)
