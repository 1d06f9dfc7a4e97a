"""What was found before: of chapters on random subsets, of comparisons of pairs, and of captures.

What changes on purpose is written again, with GOLDEN=1: python -m pytest -n 0 tests/answers
tests/studies tests/compare tests/captures/test_golden.py
"""

import csv
import os
import re
import zlib
from collections.abc import Sequence
from pathlib import Path

from tests.examples import DRAWN
from tests.workflow import ROOT

DATA = ROOT / "tests" / "data"


def same_as_before(chapter: str, seed: object, verdict: str, *texts: str) -> None:
    """Fail if a chapter has another verdict or other numbers than subsets.csv says.

    Words may change. A subset that was never kept is not compared, if EXAMPLES draws more of them.
    """
    said = re.sub(r"\]\([^)]*\)", "]", "\n".join(texts))
    numbers = re.findall(r"\d[\d.,]*", said)
    total = zlib.crc32(" ".join(numbers).encode())
    row = [chapter, str(seed), verdict, str(len(numbers)), f"{total:08x}"]
    same_rows(DATA / "subsets.csv", [row])


def same_rows(path: Path, rows: Sequence[list[str]]) -> None:
    """Fail unless a file has these rows, each by its first two cells; with GOLDEN=1, write them."""
    with path.open(newline="") as file:
        kept = {tuple(each[:2]): each for each in csv.reader(file)}
    if os.environ.get("GOLDEN"):
        kept |= {tuple(row[:2]): row for row in rows}
        with path.open("w", newline="") as file:
            csv.writer(file).writerows(kept[key] for key in sorted(kept))
        return
    for row in rows:
        before = kept.get(tuple(row[:2]))
        assert before == row or (DRAWN and before is None), f"{before} before, and {row} now"
