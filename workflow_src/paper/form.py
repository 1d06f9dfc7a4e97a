"""Printing in two forms, Markdown and HTML, with the evidence of each number."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import pandas as pd
from markupsafe import Markup, escape

from workflow_src.common.words import DASH
from workflow_src.paper.cells import Both, Link, is_missing, is_share, meter, number_in, ranges
from workflow_src.paper.html import figure
from workflow_src.paper.markdown import escape as escape_markdown
from workflow_src.paper.markdown import literal
from workflow_src.paper.number import Number
from workflow_src.paper.prose import inline, paragraph

CARDS_FROM = 5
"""Tables of so many columns are cards on a narrow screen."""

LONG = 12
"""A table of more rows is one to search and sort in a box that scrolls."""


@dataclass
class Form:
    """Prints; HTML keeps the evidence of each number by its key.

    picture: the path of the chapter's figure, as Markdown names it; drawing: its SVG.
    """

    html: bool
    picture: str = ""
    drawing: str = ""
    evidence: dict[str, dict[str, Any]] = field(default_factory=dict)

    def escape(self, text: object) -> Markup:
        """A text as it is, in one line."""
        if isinstance(text, Markup):
            return text
        if not self.html:
            return Markup(escape_markdown(text))
        said = escape(literal(text))
        return Markup(re.sub(r"[*_`\[\]]", lambda each: f"&#{ord(each[0])};", said))

    def cell(self, cell: Any) -> Markup:
        """Any expression of a template. Raises TypeError for a bare number."""
        match cell:
            case Number():
                return self.number(cell)
            case Link():
                return self.link(cell.text, cell.to)
            case Both():
                return Markup(cell.html if self.html else cell.markdown)
            case tuple():
                said = Markup("").join(map(self.cell, cell))
                return Markup("<span>{}</span>").format(said) if self.html else said
            case str():
                return self.escape(cell)
        if is_missing(cell):
            return Markup(DASH)
        raise TypeError(f"{cell!r} has no evidence: only Numbers and texts are printed")

    def number(self, number: Number) -> Markup:
        """A number; in HTML a button that opens its evidence, which what identifies hasn't."""
        text = str(number)
        if number.unit == "whole" or not self.html:
            return self.escape(text)
        why = {name: getattr(number, name) for name in ("value", "unit", "formula")}
        why |= {"ends": [each.value for each in number.ends]} if number.ends else {}
        why |= {"rows": ranges(number.rows)}
        key = "n" + hashlib.sha256(repr((text, why)).encode()).hexdigest()[:10]
        self.evidence[key] = {"text": text, **why}
        return Markup(f'<button class="n" value="{key}">{escape(text)}</button>')

    def marked(self, text: object) -> Markup:
        """A text in which `code` shows as code."""
        pieces = str(text).split("`")
        pieces[::2] = map(self.escape, pieces[::2])
        code = "<code>{}</code>" if self.html else "`{}`"
        shown = self.escape if self.html else str
        pieces[1::2] = [code.format(shown(piece)) for piece in pieces[1::2]]
        return Markup("".join(pieces))

    def link(self, text: object, to: str) -> Markup:
        """A text that leads to a place in the page."""
        said = self.cell(text)
        return Markup(f'<a href="#{escape(to)}">{said}</a>') if self.html else said

    def count(self, cell: Any, noun: str) -> Markup:
        """A count and its noun, in the plural unless 1."""
        said = self.cell(cell)
        plural = "" if str(number_in(cell) or cell).split()[-1] == "1" else "s"
        return said + Markup(f" {noun}{plural}")

    def _barred(self, cell: Any) -> Markup:
        said, number = self.cell(cell), number_in(cell)
        return Markup(meter(number.value, said)) if number and is_share(cell) else said

    def table(
        self,
        rows: pd.DataFrame,
        /,
        caption: str = "",
        bars: bool = False,
        data: Sequence[str] = (),
        **headings: str,
    ) -> Markup:
        """The named columns below their headings, or all, without empty ones; of no rows, "".

        bars: shares have one in HTML. data: columns that a row of HTML has as attributes,
        "data-size", by which a page filters; `level` makes a tree, each row of which is folded into
        the last one above of a lower level.
        """
        chosen = rows.reindex(columns=[*(headings or rows)]).rename(columns=headings)
        frame = chosen.loc[:, [not all(map(is_missing, chosen[name])) for name in chosen]]
        # What is only named says nothing.
        if frame.empty or (frame.shape[1] == 1 < chosen.shape[1]):
            return Markup("")
        drawn = self.html and bars
        made = self._barred if drawn else self.cell
        texts = [[made(cell) for cell in row] for row in frame.itertuples(index=False, name=None)]
        cells = ([cell for cell in frame[name] if not is_missing(cell)] for name in frame)
        left = [self._is_text(mine) or (drawn and any(map(is_share, mine))) for mine in cells]
        kind = "cards" if len(left) >= CARDS_FROM else "summary" if bars else "plain"
        # What has no heading names rows of one thing, as in a card.
        kind = "long" if len(texts) > LONG and kind != "summary" and frame.columns[0] else kind
        kind = "tree" if "level" in data else kind
        about = [_data(row) for row in rows[[*data]].to_dict("records")]
        return self._laid_out([*map(self.escape, frame)], texts, left, caption, kind, about)

    def _is_text(self, cells: list[Any]) -> bool:
        """Whether a column has texts; in HTML, more of them than numbers."""
        texts = sum(number_in(cell) is None for cell in cells)
        return 2 * texts > len(cells) if self.html else texts > 0

    def _laid_out(
        self,
        heads: list[Markup],
        rows: list[list[Markup]],
        left: list[bool],
        caption: str,
        kind: str,
        about: Sequence[str] = (),
    ) -> Markup:
        said = self.escape(caption)
        if not self.html:
            rule = "|".join(":--" if each else "--:" for each in left)
            lines = [f"| {' | '.join(row)} |" for row in [heads, *rows]]
            above = f"{said}:\n\n" if caption else ""
            return Markup("\n".join([f"\n\n{above}{lines[0]}", f"|{rule}|", *lines[1:], "\n"]))
        sides = ["" if each else ' class="r"' for each in left]
        # Of a row, the first cell is on the left and all others on the right unless they say so.
        own = [
            "" if each == (not at) else " class=l" if each else " class=r"
            for at, each in enumerate(left)
        ]
        filtered = zip_longest(rows, about, fillvalue="")
        body = "\n".join(_row("td", own, row, data) for row, data in filtered)
        above = f"<caption>{said}</caption>" if caption else ""
        # What heads nothing is no heading to a screen reader.
        head = f"<thead>{_row('th', sides, heads)}</thead>".replace("<th></th>", "<td></td>")
        made = f'<table class="{kind}">{above}{head}<tbody>\n{body}</tbody></table>'
        box = "table box" if kind == "long" else "table"
        return Markup(f'\n\n<div class="{box}" tabindex="0">{made}</div>\n\n')

    def cards(self, rows: pd.DataFrame, gain: str, /, **labels: str) -> Markup:
        """A card per row: its first column, its second in the text `gain`, and its third, a share,
        in HTML a bar; below, the named columns beside their labels."""
        made: list[Markup] = []
        chosen = rows[[*list(rows)[:3], *labels]]
        for title, gained, share, *cells in chosen.itertuples(index=False, name=None):
            saves = "" if is_missing(gained) else Markup(gain).format(self.cell(gained))
            pairs = zip(labels.values(), cells, strict=True)
            said = [(label, self.cell(cell)) for label, cell in pairs if not is_missing(cell)]
            made.append(self._card(len(made) + 1, self.cell(title), saves, share, said))
        cards = Markup("" if self.html else "\n").join(made)
        boxed = f'<div class="findings">{cards}</div>' if self.html and made else cards
        return Markup(f"\n\n{boxed}\n\n")

    def _card(
        self, place: int, title: Markup, gain: str, share: Any, said: list[tuple[str, Markup]]
    ) -> Markup:
        of = "" if is_missing(share) else self.cell(share)
        if not self.html:
            below = (f"   - {label}: {cell}" for label, cell in said)
            gain += f" ({of})" if of else ""
            return Markup("\n".join([f"{place}. **{title}** {gain}".rstrip(), *below]))
        head = f'<span class="no">{place}</span><h3>{title}</h3><span class="saves">{gain}</span>'
        head += meter(float(share), of) if of else ""
        pairs = "".join(f"<dt>{label}</dt><dd>{cell}</dd>" for label, cell in said)
        return Markup(f'<article class="finding">{head}<dl>{pairs}</dl></article>')

    def matrix(
        self, frames: Mapping[str, pd.DataFrame], caption: str, most: float = 0.0, family: str = ""
    ) -> Markup:
        """Tables by name, in Markdown as one; shares have a bar, or all up to `most`."""
        if not self.html and len(frames) > 1:
            whole = pd.concat([frame.assign(_=name) for name, frame in frames.items()])
            size, *contexts = whole.columns.drop("_")
            # Tables of fewer contexts may have come first.
            across = sorted(contexts, key=lambda each: float(each or 0))
            whole = whole[["_", size, *across]].rename(columns={"_": "", "size": " "})
            return self.table(whole, caption)
        made = Markup("")
        for name, frame in frames.items():
            texts = [[self._under(c, most, family) for c in row] for row in frame.to_numpy(object)]
            heads = [self.escape(each) for each in ("" if self.html else name, *frame.columns[1:])]
            left = [place == 0 for place in range(len(heads))]
            made += self._laid_out(
                heads, texts, left, f"{caption} in {name}" if self.html else caption, "matrix"
            )
        return Markup(f'\n\n<div class="matrix">{made}</div>\n\n') if self.html and made else made

    def _under(self, cell: Any, most: float, family: str) -> Markup:
        said, number = self.cell(cell), number_in(cell)
        if not self.html or not number or not (most or is_share(cell)):
            return said
        wide = f"width:{min(100.0, 100 * number.value / (most or 1)):.1f}%"
        bar = f'<span class="under c-{escape(family)}"><i style="{wide}"></i></span>'
        return said + Markup(bar)

    def rows(self, rows: pd.DataFrame, part: str, /, caption: str = "", **labels: str) -> Markup:
        """The named columns as rows, with a column for each `part`."""
        every = [[label, *rows[name]] for name, label in labels.items()]
        known = [row for row in every if not all(map(is_missing, row[1:]))]
        return self.table(pd.DataFrame(known, columns=["", *rows[part]], dtype=object), caption)

    def card(self, text: str, case: str, heading: str = "###") -> Markup:
        """A case's texts and tables below its name; in HTML a section, `case-{case}`."""
        said, name = self.prose(text), self.escape(case)
        if not self.html:
            return Markup(f"\n\n{heading} {name}\n\n{said}\n\n")
        made = f'<section class="case" id="case-{escape(case)}"><h3>{name}</h3>\n{said}\n</section>'
        return Markup(f"\n\n{made}\n\n")

    def figure(self, alt: object) -> Markup:
        """The chapter's figure; alt: what it shows, in words."""
        if not self.picture:
            return Markup("")
        image = f"![{self.escape(alt)}]({self.picture})"
        return Markup(f"\n\n{figure(self.drawing, str(alt)) if self.html else image}\n\n")

    def prose(self, text: str) -> Markup:
        """A block's text."""
        parts = [part.strip() for part in re.split(r"\n\s*\n", str(text)) if part.strip()]
        return Markup("\n".join(map(paragraph, parts)) if self.html else "\n\n".join(parts))

    def line(self, text: str) -> Markup:
        """A block's text as one line."""
        said = " ".join(str(text).split())
        return Markup(inline(said) if self.html else said)


def _row(tag: str, attributes: Iterable[str], cells: Iterable[str], about: str = "") -> str:
    made = (f"<{tag}{a}>{c}</{tag}>" for a, c in zip(attributes, cells, strict=True))
    return f"<tr{about}>{''.join(made)}</tr>"


def _data(row: Mapping[Any, Any]) -> str:
    return "".join(f' data-{name}="{escape(text)}"' for name, text in row.items())
