"""A table of the page, from its cells: kept as one line of the page's text, made HTML at the end.

Only then is known what all tables of the page are filtered by, and which heading stands above it.
"""

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from workflow_src.paper.rows import Axes, row_axes, sort_keys

MARK = "@@table "
"""What the line of a table begins with; the bracket that follows is escaped in all other text."""

LONG = 12
"""A table with more rows is one to search, sort and filter."""

LONG_WORD = re.compile(r"\S{20}")
"""What is broken where paper is too narrow for it: a kernel's name."""

WIDE = 24
"""A cell with more characters than this may be broken into lines on a screen; others may not."""


@dataclass(frozen=True)
class PageCell:
    """A cell's text, by which it sorts and is found, and its HTML.

    kind: what its style is, if that isn't told by its length; "text" is as wide as a screen allows.
    """

    text: str
    html: Markup
    kind: str | None = None

    @classmethod
    def plain(cls, text: str) -> "PageCell":
        """A cell that is nothing but text."""
        return cls(text, Markup(html.escape(text, quote=False)))

    @property
    def classes(self) -> str:
        """What its style depends on, in short: a page has tens of thousands of cells."""
        if self.kind is not None:
            return self.kind
        word, wide = bool(LONG_WORD.search(self.text)), len(self.text) > WIDE
        return " ".join(["word"] * word + ["wide"] * wide)


@dataclass(frozen=True)
class PageTable:
    """A table: its headings, its rows, and which columns are numbers, aligned right.

    ids: those of its rows, if links lead to them. title: of its CSV, and label: what it is called,
    where that isn't told by the heading above it.
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[PageCell, ...], ...]
    right: tuple[bool, ...]
    ids: tuple[str, ...] = ()
    title: str = ""
    label: str = ""

    @property
    def texts(self) -> list[list[str]]:
        """The texts of its cells, by row."""
        return [[cell.text for cell in row] for row in self.rows]

    def line(self) -> str:
        """The table as the line of a text."""
        rows = [[_packed(cell) for cell in row] for row in self.rows]
        return MARK + json.dumps([self.heads, self.right, rows], ensure_ascii=False)

    def is_long(self, heading: str) -> bool:
        """Whether it is one to search, below a heading.

        Not the table of one thing, whose first heading is that of its section: its rows aren't of
        a kind.
        """
        return bool(self.ids or self.title) or (len(self.rows) > LONG and self.heads[0] != heading)

    def html(self, label: str, title: str, long: bool, axes: Axes) -> Markup:
        """The table in a box of its own that scrolls.

        Before that of a long one is a box for its tools, which scripts fill; its title is the
        heading's id.
        """
        tools = Markup('<div class="tools" data-title="{}"></div>').format(title) if long else ""
        box = Markup('<div class="table" tabindex="0" role="group" aria-label="{}">').format(label)
        kind = ' class="long"' if long else ""
        head = "".join(map(_head, self.heads, self.right))
        body = "\n".join(self._rows(axes if long else None))
        table = f"<table{kind}>\n<thead>\n<tr>{head}</tr>\n</thead>\n<tbody>\n{body}\n</tbody>\n"
        return tools + box + Markup(f"{table}</table></div>")

    def _rows(self, axes: Axes | None) -> Iterator[str]:
        """Each row; with `axes` with what scripts know of it.

        data-order of a cell is what it sorts by, if that isn't its text; "" sorts last. A row has
        what it says of each axis under the axis's name, such as data-size; "" if it is of no one
        case.
        """
        texts = self.texts
        keys = sort_keys(self.heads, texts, axes) if axes else [None] * len(self.heads)
        known = row_axes(self.heads, texts, axes) if axes else [{}] * len(texts)
        for place, (row, said) in enumerate(zip(self.rows, known, strict=True)):
            name = _attributes({"id": self.ids[place]}) if self.ids else ""
            data = _attributes({f"data-{axis}": value for axis, value in said.items()})
            cells = (
                _cell(cell, right, order[place] if order else None)
                for cell, right, order in zip(row, self.right, keys, strict=True)
            )
            yield f"<tr{name}{data}>{''.join(cells)}</tr>"


def _head(name: str, right: bool) -> str:
    side = "right" if right else "left"
    return f'<th style="text-align: {side};">{html.escape(name, quote=False)}</th>'


def _cell(cell: PageCell, right: bool, order: str | None) -> str:
    classes = " ".join(filter(None, ["right" * right, cell.classes]))
    known = {"class": classes or None, "data-order": order}
    attributes = _attributes({name: value for name, value in known.items() if value is not None})
    return f"<td{attributes}>{cell.html}</td>\n"


def _attributes(values: Mapping[str, str]) -> str:
    return "".join(f' {name}="{html.escape(value)}"' for name, value in values.items())


def _packed(cell: PageCell) -> str | list[str]:
    """A cell as JSON: its text, and its HTML if that is more."""
    return cell.text if cell == PageCell.plain(cell.text) else [cell.text, str(cell.html)]


def _unpacked(cell: str | Sequence[str]) -> PageCell:
    return PageCell.plain(cell) if isinstance(cell, str) else PageCell(cell[0], Markup(cell[1]))


def taken_out(text: str) -> tuple[str, list[PageTable]]:
    """A text with a paragraph @@table 1@@ and so on in place of each table, and the tables."""
    tables: list[PageTable] = []
    lines = []
    for line in text.split("\n"):
        if line.startswith(f"{MARK}["):
            heads, right, rows = json.loads(line.removeprefix(MARK))
            cells = tuple(tuple(map(_unpacked, row)) for row in rows)
            tables.append(PageTable(tuple(heads), cells, tuple(right)))
            line = f"{MARK}{len(tables)}@@"
        lines.append(line)
    return "\n".join(lines), tables
