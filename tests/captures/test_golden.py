"""All that is read and placed of every recorded capture is what it was: see tests/golden.py.

What is right was known of many by other ways when it was recorded: see tests/data/*/README.md.
"""

import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.captures.building import tables_in
from tests.golden import DATA, same_rows
from workflow_src.captures import files, store
from workflow_src.captures.capture import UNKNOWN
from workflow_src.captures.reading import read
from workflow_src.common.nesting import NOWHERE
from workflow_src.placing.attributed import Attributed, attributed
from workflow_src.placing.case_capture import ledger, read_case
from workflow_src.placing.placing import NO_CALL, NO_RANGE
from workflow_src.placing.steps import steps
from workflow_src.tables.case_tables import ranges_table

SUFFIXES = (".sqlite", ".sqlite.gz", ".json", ".json.gz")
CAPTURES = sorted(
    path
    for folder in ("captures", "nsys", "strangers", "torch")
    for path in (DATA / folder).rglob("*")
    if path.name.endswith(SUFFIXES) and path.stem not in ("s_ascend", "t_tf_jax")
)
CASES = [path for path in CAPTURES if path.name.startswith("trace.")]
THREADS = sorted((DATA / "captures" / "threads").iterdir())


def tables(found: Attributed) -> dict[str, pd.DataFrame]:
    """Of a capture what is read, where it lies, what it is, and which steps there are."""
    capture, text = found.capture, np.append(found.paths.text, "")
    work, nowhere = found.work.copy(), found.work["path"] == NOWHERE
    why = np.where(work["launch_ns"] == UNKNOWN, NO_CALL, NO_RANGE)
    work.insert(work.columns.get_loc("path"), "reason", np.where(nowhere, why, ""))
    work = work.assign(
        path=text[found.work["path"]],
        made_in=text[np.maximum(found.work["made_in"], -1)],
        named=found.names["short_name"].to_numpy()[found.work["named"]],
    )
    ranges = found.placed.ranges.assign(
        path=text[found.paths.of_range], step=found.steps.is_step, rule=str(found.steps.rule)
    )
    notes = pd.DataFrame([(each.code, each.count, each.about) for each in found.notes])
    read = {name: getattr(capture, name) for name in ("calls", "copies", "operators")}
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


def compared(path: Path, found: dict[str, pd.DataFrame]) -> None:
    name = str(path.relative_to(DATA))
    same_rows(DATA / "captures.csv", [[name, key, *row(each)] for key, each in found.items()])


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: str(path.relative_to(DATA)))
def test_a_recorded_capture_is_read_and_placed_as_before(path: Path) -> None:
    compared(path, tables(attributed(read(path), None)))


@pytest.mark.parametrize("name", ["ddp.sqlite.gz", "graph.json.gz"])
def test_parts_of_a_file_make_up_the_whole(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "JOINED", 97)
    monkeypatch.setattr(files, "BLOCK", 7_000)
    path = DATA / "captures" / name
    compared(path, tables(attributed(read(path), None)))


@pytest.mark.parametrize("path", THREADS, ids=lambda path: path.name)
def test_without_names_of_threads_turns_place_the_same(path: Path) -> None:
    capture = read(path)
    capture = replace(capture, thread_names=capture.thread_names[:0])
    found = tables(attributed(capture, None))
    compared(path, {name: found[name] for name in ("ranges", "work", "steps")})


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.parent.name)
def test_a_capture_of_a_case_has_the_steps_and_the_ledger_of_before(path: Path) -> None:
    case = read_case(path.parent)
    compared(path, {"case": case.ranges, "ledger": ledger(case)})
    # The same ranges are placed in the same way as those of any other capture.
    paths = tables_in(path, fold="")["paths"].set_index("path")
    of_case = ranges_table(case.ranges).groupby("path")[["instances", "busy_ms"]].sum()
    pd.testing.assert_frame_equal(paths.loc[of_case.index, [*of_case]], of_case, check_names=False)
