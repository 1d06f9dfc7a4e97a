"""How the reader of other programs' captures takes damage: recorded captures, changed at random,
end in tables that account for all device time and a report, or in one sentence."""

import gzip
import json
import random
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from workflow_src.capture_report.capture import Capture
from workflow_src.capture_report.report import chapter
from workflow_src.captures.reading import read
from workflow_src.captures.store import NEEDED
from workflow_src.common.atomic_write import write_csv
from workflow_src.common.errors import TraceError
from workflow_src.paper.run import Run
from workflow_src.placing.attributed import attributed
from workflow_src.placing.ledger import CAUSES
from workflow_src.tables.capture_tables import TABLES, tables_of
from workflow_src.timeline.picture import draw
from workflow_src.timeline.steps import timeline

ROOT = Path(__file__).parents[2]
RECORDED = sorted([*ROOT.glob("tests/data/captures/*.gz"), *ROOT.glob("tests/data/nsys/*.sqlite")])
ODD = (
    None, 0, -1, 1, 59, 60, 75, 2**24, 2**31, 2**40, 2**62, 2**63 - 1, -(2**63), 1.5, 1e300, "",
    "x", "é/\\\n", "1", b"\xff\0",
)  # fmt: skip


def flipped(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(chance.choice((1, 5, 50, 500))):
        data[chance.randrange(len(data))] = chance.randrange(256)
    path.write_bytes(bytes(data))


def cut(path: Path, chance: random.Random) -> None:
    """The end, or a piece in the middle, gone."""
    data = path.read_bytes()
    at, length = chance.randrange(len(data)), chance.choice((1, 100, 4096, len(data)))
    path.write_bytes(data[:at] + data[at + length :])


def cells(path: Path, chance: random.Random) -> None:
    """Values out of range, or of another type, in some rows of some columns; or no such column."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for _ in range(chance.randint(1, 6)):
            table = chance.choice((*NEEDED, "StringIds", "META_DATA_EXPORT"))
            about = connection.execute(f'PRAGMA table_info("{table}")').fetchall()
            column, every = chance.choice(about or [(0, "")])[1], chance.choice((1, 2, 7, 100))
            value: Any = chance.choice((*ODD, chance.randrange(2**40)))
            update = f'UPDATE OR IGNORE "{table}" SET "{column}" = ? WHERE rowid % ? = 0'
            with suppress(sqlite3.Error):
                if chance.random() < 0.2:
                    connection.execute(f'ALTER TABLE "{table}" DROP COLUMN "{column}"')
                connection.execute(update, (value, every))


def events(path: Path, chance: random.Random) -> None:
    """Values of other types in some events, or none."""
    trace = json.loads(path.read_bytes())
    for _ in range(chance.choice((1, 20, 1000))):
        event = chance.choice(trace["traceEvents"])
        of = chance.choice((event, event.get("args")))
        if of and isinstance(of, dict):
            key, value = chance.choice(sorted(of)), chance.choice(([], {}, True, *ODD[:-1], DROP))
            of.pop(key) if value is DROP else of.update({key: value})
    path.write_text(json.dumps(trace))


DROP = object()
OF_EXPORTS: tuple[Callable[[Path, random.Random], None], ...] = (flipped, cut, cells, cells)
OF_TRACES: tuple[Callable[[Path, random.Random], None], ...] = (flipped, cut, events, events)


def prepare(folder: Path, chance: random.Random) -> tuple[Path, str]:
    """A changed capture, and what it was and how it was changed."""
    source = chance.choice(RECORDED)
    path = folder / source.name.removesuffix(".gz")
    data = source.read_bytes()
    path.write_bytes(gzip.decompress(data) if source.suffix == ".gz" else data)
    change = chance.choice(OF_TRACES if path.suffix == ".json" else OF_EXPORTS)
    change(path, chance)
    return path, f"{source.name}, {change.__name__}"


def check(path: Path, folder: Path) -> None:
    """Write the tables, the pictures and the report of a capture; hold them against their laws."""
    placed = attributed(read(path), None, fold=r"\.\d+")
    tables = tables_of(placed)
    total = int(tables["summary"]["total_ns"].iloc[-1])
    kernels = int(tables["kernels"]["busy_ns"].sum())
    assert kernels == total, f"{kernels} are not {total} ns"
    steps = tables["steps"]
    assert (steps["device_active_ns"] + steps["idle_ns"] == steps["wall_ns"]).all()
    known = steps.dropna()
    causes = [f"idle_{cause}_ns" for cause in CAUSES]
    assert (known[causes].sum(axis=1) == known["idle_ns"]).all()
    for name in TABLES:
        write_csv(folder / f"{name}.csv", tables[name])
    capture = Capture(Run.of_capture(folder), "c")
    texts = chapter(capture, folder, folder, ROOT / "report_templates", "its log")
    assert texts.verdict != "failed"
    text = texts.markdown["tables"] + texts.markdown["appendix"]
    if len(steps):
        draw(timeline(placed))
    for word in ("nan", "None", "inf"):
        assert f"| {word} |" not in text, f"the report has a cell {word}"


def failure(seed: int) -> str:
    """How an example ended in neither tables nor one sentence, or ""."""
    with tempfile.TemporaryDirectory() as name:
        path, change = prepare(Path(name), random.Random(seed))
        try:
            check(path, Path(name))
        except TraceError as error:
            said = str(error)
            return "" if "\n" not in said and len(said) < 1500 else f"{change}: {said}"
    return ""
