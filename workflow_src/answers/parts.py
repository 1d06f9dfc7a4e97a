"""Parts of a step or of softmax with their times, and a table of them at each precision."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from workflow_src.paper.value import Cell, Value


@dataclass(frozen=True)
class Part:
    """A part of something: its device time per step, and a share; its maker says of what."""

    name: str
    ms: Value
    share: Value


def parts_table(
    about: tuple[str, str], order: Sequence[str], columns: Mapping[str, Sequence[Part]]
) -> pd.DataFrame:
    """A row per part, those in `order` that there are; two columns for each precision with parts.

    `about`: what the parts are called, and what their share is called.
    """
    first, shared = about
    found = {precision: {each.name: each for each in mine} for precision, mine in columns.items()}
    names = [name for name in order if any(name in mine for mine in found.values())]
    cells: dict[str, list[Cell]] = {first: [*names]}
    for precision, mine in found.items():
        if mine:
            rows = [mine.get(name) for name in names]
            cells[f"{precision}: ms"] = [each.ms if each else None for each in rows]
            cells[f"{precision}: {shared}"] = [each.share if each else None for each in rows]
    return pd.DataFrame(cells, dtype="object")
