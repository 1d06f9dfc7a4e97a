"""Sentences of marks: each stands only where a cell has its mark."""

from collections.abc import Iterable, Iterator

import pandas as pd
from markupsafe import Markup

from workflow_src.paper.show import Printer
from workflow_src.paper.value import Joined, Marked, Ranged


def legend(
    show: Printer, sentence: str, *tables: pd.DataFrame | Iterable[pd.DataFrame], **slots: object
) -> Markup:
    """The sentence of a mark, its first word, with its slots filled; empty if no cell has it."""
    mark = sentence.split()[0]
    frames = (each for given in tables for each in _frames(given))
    cells = (cell for frame in frames for cell in frame.to_numpy(dtype=object).ravel())
    if not any(mark in found for cell in cells for found in marks(cell)):
        return Markup("")
    return Markup(sentence).format(**{name: show(cell) for name, cell in slots.items()})


def _frames(given: pd.DataFrame | Iterable[pd.DataFrame]) -> Iterable[pd.DataFrame]:
    return [given] if isinstance(given, pd.DataFrame) else given


def marks(cell: object) -> Iterator[str]:
    """The marks that stand in a cell: of each part of it those together that stand behind it."""
    match cell:
        case Marked():
            yield cell.mark
            yield from marks(cell.cell)
        case Joined():
            for each in cell.cells:
                yield from marks(each)
        case Ranged():
            yield from marks(cell.value)
