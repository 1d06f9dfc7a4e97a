"""Sentences of marks: each stands only where a cell has its mark."""

from collections.abc import Iterable, Iterator

import pandas as pd
from markupsafe import Markup

from workflow_src.common.words import DASH
from workflow_src.paper.show import Printer
from workflow_src.paper.value import Joined, Marked, Ranged


def legend(
    show: Printer, sentence: str, *tables: pd.DataFrame | Iterable[pd.DataFrame], **slots: object
) -> Markup:
    """The sentence of a mark, with its slots filled; empty if no cell has it.

    The mark is the first word, or what stands in asterisks before all else. Words may also be all
    that a cell says, or what it begins with; a dash is the mark of a missing cell.
    """
    mark = sentence.split("*")[1] if sentence.startswith("*") else sentence.split()[0]
    frames = (each for given in tables for each in _frames(given))
    cells = (cell for frame in frames for cell in frame.to_numpy(dtype=object).ravel())
    if not any(_has(cell, mark) for cell in cells):
        return Markup("")
    return Markup(sentence).format(**{name: show(cell) for name, cell in slots.items()})


def _frames(given: pd.DataFrame | Iterable[pd.DataFrame]) -> Iterable[pd.DataFrame]:
    return [given] if isinstance(given, pd.DataFrame) else given


def _has(cell: object, mark: str) -> bool:
    if isinstance(cell, str):
        return f"{cell} ".startswith(f"{mark} ")
    return _lacks(cell) if mark == DASH else any(mark in found for found in marks(cell))


def _lacks(cell: object) -> bool:
    """Whether a cell, or a part of it, is printed as a dash."""
    parts = cell.cells if isinstance(cell, Joined) else (cell,)
    return any(each is None or each != each for each in parts)


def marks(cell: object) -> Iterator[str]:
    """The marks that stand in a cell: of each part of it those together that stand behind it.

    Words that are a part by themselves count as marks: a sign that stands before a value.
    """
    match cell:
        case Marked():
            yield cell.mark
            yield from marks(cell.cell)
        case Joined():
            for each in cell.cells:
                yield from [each] if isinstance(each, str) else marks(each)
        case Ranged():
            yield from marks(cell.value)
