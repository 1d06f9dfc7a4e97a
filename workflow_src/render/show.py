"""How cells are printed: as Markdown, or as Markdown whose values link to their sources."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import pandas as pd
from markupsafe import Markup
from tabulate import tabulate

from workflow_src.common.words import DASH
from workflow_src.render.markdown import calls, escape, number, precise, whole
from workflow_src.render.value import Cell, Joined, Marked, Ranged, Value

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
    1 / 2: "about half",
    2 / 3: "about two thirds",
    3 / 4: "about three quarters",
    1.0: "nearly all",
}


def rough(value: float) -> str:
    """A share that a few processes can't tell to the percent, in words."""
    return SHARES[min(SHARES, key=lambda known: abs(known - value))]


FORMATS: Mapping[str, Callable[[float], str]] = {
    "share": share,
    "points": points,
    "rough": rough,
    "change": change,
    "times": times,
    "near_one": near_one,
    "calls": calls,
    "count": whole,
    "bytes": whole,
    "flops": lambda flops: f"{flops:.3g}",
    "std_ms": two_digits,
    "error": lambda error: f"{error:.2g}",
    **dict.fromkeys(("", "ms", "us", "s", "GiB", "MiB", "GB/s", "TFLOP/s", "MHz", "W"), number),
    "precise": precise,
    "hundredths": lambda value: f"{value:,.2f}",
    "rate": lambda rate: number(float(f"{rate:.3g}")),
}
"""How a number of each unit is printed. The units of times, sizes and rates stand in the column's
heading or in the sentence, so that a table says them once."""


@dataclass
class Printer:
    """Prints cells; as a page, each value is a link to `#{its key}`, and `printed` keeps it."""

    page: bool = False
    printed: list[Value] = field(default_factory=list)

    def __call__(self, cell: object) -> Markup:
        """A cell as Markdown."""
        match cell:
            case None:
                return Markup(DASH)
            case Markup():
                return cell
            case Value():
                return self._value(cell)
            case Joined():
                return Markup(escape(cell.by)).join(map(self, cell.cells))
            case Marked():
                return self(cell.cell) + Markup(escape(cell.mark))
            case Ranged():
                return self._ranged(cell)
            case StrEnum():
                return Markup(escape(cell.value))
        return Markup(escape(cell))

    def _value(self, value: Value) -> Markup:
        text = FORMATS[value.unit](value.number)
        if not self.page or not value.sources:
            return Markup(text)
        self.printed.append(value)
        return Markup(f"[{text}](#{value.key})")

    def _ranged(self, cell: Ranged) -> Markup:
        if cell.least is None or cell.most is None:
            return self(cell.value)
        ends = Markup(" to ").join((self(cell.least), self(cell.most)))
        return self(cell.value) + Markup(" (") + ends + Markup(")")

    def table(self, frame: pd.DataFrame, intro: str = "") -> Markup:
        """A Markdown table: the columns' names as headings, columns of numbers right-aligned.

        `intro` is the literal sentence before it. Empty for a frame without rows.
        """
        if frame.empty:
            return Markup("")
        cells = [[str(self(_plain(cell))) for cell in row] for row in frame.itertuples(index=False)]
        aligned = [
            "right" if _is_numeric(frame.iloc[:, i]) else "left" for i in range(frame.shape[1])
        ]
        heads = [escape(name) for name in frame.columns]
        text = tabulate(
            cells, headers=heads, tablefmt="pipe", disable_numparse=True, colalign=aligned
        )
        return Markup(f"{intro}\n\n{text}" if intro else text)


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
