"""What chapters said of random subsets, and comparisons of pairs: verdicts, and all numbers.

What changes on purpose is written again, with GOLDEN=1: python -m pytest -n 0 tests/answers
tests/studies tests/compare
"""

import csv
import os
import re
import zlib

from tests.examples import DRAWN
from tests.workflow import ROOT

PATH = ROOT / "tests" / "data" / "subsets.csv"


def same_as_before(chapter: str, seed: object, verdict: str, *texts: str) -> None:
    """Fail if a chapter has another verdict or other numbers than PATH says.

    Words may change. A subset that was never kept is not compared, if EXAMPLES draws more of them.
    """
    said = re.sub(r"\]\([^)]*\)", "]", "\n".join(texts))
    numbers = re.findall(r"\d[\d.,]*", said)
    total = zlib.crc32(" ".join(numbers).encode())
    row = [chapter, str(seed), verdict, str(len(numbers)), f"{total:08x}"]
    with PATH.open(newline="") as file:
        kept = {tuple(each[:2]): each for each in csv.reader(file)}
    if os.environ.get("GOLDEN"):
        kept[row[0], row[1]] = row
        with PATH.open("w", newline="") as file:
            csv.writer(file).writerows(kept[key] for key in sorted(kept))
    elif not DRAWN or (row[0], row[1]) in kept:
        before = kept.get((row[0], row[1]))
        assert before == row, f"{before} before, and {row} now"
