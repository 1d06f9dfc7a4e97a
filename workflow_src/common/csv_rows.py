"""Reading a CSV that belongs to the code, such as the laws: texts by heading, a row each."""

import csv
from pathlib import Path


def csv_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV of this project, all cells as texts."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
