"""How many rows of a capture's tables are shown, and which: those of the most time."""

import pandas as pd

FIRST, SHOWN, PAGE = 10, 30, 1000
"""Rows of a table in Markdown, fewer of the diagnosis', and on the page; the CSVs have all."""

FIRST_SCREEN = 6
"""At most so many rows have the tables of what a step does, and of what saves little."""


def most(rows: pd.DataFrame, column: str, count: int = PAGE) -> pd.DataFrame:
    """The rows with the most in a column of numbers, in their order."""
    place = rows[column].fillna(0).rank(method="first", ascending=False)
    return rows[place <= count]
