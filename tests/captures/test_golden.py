"""All that is read and placed of every recorded capture is what it was: see tests/golden.py.

What is right was known of many by other ways when it was recorded: see tests/data/*/README.md.
"""

import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.golden import DATA, same_rows
from workflow_src.captures.reading import read
from workflow_src.placing.attributed import Attributed, attributed
from workflow_src.placing.steps import steps

SUFFIXES = (".sqlite", ".sqlite.gz", ".json", ".json.gz")
CAPTURES = sorted(
    path
    for folder in ("captures", "nsys", "strangers", "torch")
    for path in (DATA / folder).rglob("*")
    if path.name.endswith(SUFFIXES) and path.stem not in ("s_ascend", "t_tf_jax")
)


def tables(found: Attributed) -> dict[str, pd.DataFrame]:
    """Of a capture what is read, where it lies, what it is, and which steps there are."""
    capture, text = found.capture, np.append(found.paths.text, "")
    work = found.work.assign(
        path=text[found.work["path"]],
        made_in=text[np.maximum(found.work["made_in"], -1)],
        named=found.names["short_name"].to_numpy()[found.work["named"]],
    )
    ranges = found.placed.ranges.assign(
        path=text[found.paths.of_range], step=found.steps.is_step, rule=str(found.steps.rule)
    )
    notes = pd.DataFrame([(each.code, each.count, each.about) for each in found.notes])
    read = {name: getattr(capture, name) for name in ("calls", "copies", "waits", "operators")}
    return {"ranges": ranges, "work": work, "notes": notes, "steps": steps(found), **read}


def row(table: pd.DataFrame) -> list[str]:
    """How many rows a table has, the sum of each column of times, and a checksum of all."""
    sums = [
        f"{name[:-3]}={sum(table[name].dropna().astype('int64').tolist())}"
        for name in table.columns
        if str(name).endswith("_ns")
    ]
    total = 0
    for name in table.columns:
        total = zlib.crc32("\n".join(map(str, [name, *table[name].tolist()])).encode(), total)
    return [str(len(table)), " ".join(sums), f"{total:08x}"]


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: str(path.relative_to(DATA)))
def test_a_recorded_capture_is_read_and_placed_as_before(path: Path) -> None:
    name = str(path.relative_to(DATA))
    found = tables(attributed(read(path), None))
    same_rows(DATA / "captures.csv", [[name, key, *row(each)] for key, each in found.items()])
