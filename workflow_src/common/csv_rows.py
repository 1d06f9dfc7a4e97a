"""Reading a CSV that belongs to the code."""

import csv
from pathlib import Path


def csv_rows(path: Path) -> list[dict[str, str]]:
    """The rows, texts by heading."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
