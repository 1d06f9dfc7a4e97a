"""Randomly damaged input files: a stage reads them or ends with a one-sentence error."""

import importlib
import json
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.captures.building import packed
from tests.examples import costly
from tests.synthetic_tables import Sample, write_tables
from workflow_src.answers.facts import main as chapter_main
from workflow_src.answers.questions import QUESTIONS
from workflow_src.captures import export_case
from workflow_src.common.case import END_OF_CAPTURE, PHASES
from workflow_src.common.errors import StageError
from workflow_src.placing.families import load_rules
from workflow_src.tables import case_tables

ROOT = Path(__file__).parent.parent
RECORDED = ROOT / "tests" / "data" / "nsys" / "autograd_thread_nsys2025.3.sqlite"
IN_MEMORY = Path("/dev/shm")
"""Where writing a database doesn't wait for a disk."""

few = settings(costly, suppress_health_check=[HealthCheck.function_scoped_fixture])

RESULT: dict[str, Any] = {
    "case": dict(
        case="tiny-ctx16-fp32", size="tiny", d_model=8, d_ff=16, layers=1, heads=2, vocabulary=10,
        batch=1, context=16, precision="fp32", attention="naive", optimizer="adamw", device="cpu",
    ),
    "warmup_steps": 1,
    "phases": {
        phase: {"status": "ok", "reason": "", "samples_ns": [5, 6], "device_samples_ns": [],
                "peak_memory_mib": 1.5}
        for phase in PHASES
    },
    "environment": {"cpu": "c", "cpu_cores": 2, "gpu": "", "torch": "2.13", "python": "3.11"},
    "before": {"load_average": 0.5},
    "after": {"load_average": 0.5},
    "started_at": "2026-01-01T00:00:00+00:00",
    "ended_at": "2026-01-01T00:00:01+00:00",
}  # fmt: skip


def event(category: str, name: str, start: float, duration: float, **args: Any) -> dict[str, Any]:
    about = {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "args": args}
    return about | {"ts": start, "dur": duration}


TRACE = {
    "traceEvents": [
        event("user_annotation", "forward", 1.0, 9.0),
        event("cpu_op", "aten::linear", 2.0, 5.0, **{"External id": 5}),
        event("cpu_op", "aten::mm", 3.0, 1.001),
        event("cuda_runtime", "cudaLaunchKernel", 3.5, 0.1, correlation=11),
        event("user_annotation", END_OF_CAPTURE, 11.0, 1.0),
    ]
}
KERNEL = event("kernel", "sgemm", 20.0, 4.0, correlation=11, **{"External id": 5})
ON_GPU = {"traceEvents": [*TRACE["traceEvents"], KERNEL]}

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6)
    | st.sampled_from(["", "nan", "1e999", "-1", "\ud800", "<b>", 2**63, -(2**70)])
)  # fmt: skip
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path to every part of a JSON value."""
    yield path
    if not isinstance(value, dict | list):
        return
    for key, part in value.items() if isinstance(value, dict) else enumerate(value):
        yield from paths(part, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """`value` with the part at `path` replaced, or removed if `new` is DROP."""
    if not path:
        return new
    copy = value.copy()
    if len(path) == 1 and new is DROP:
        del copy[path[0]]
    else:
        copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


DROP = object()


def changed_json(value: Any) -> st.SearchStrategy[bytes]:
    """JSON text of `value` with one part replaced or removed."""
    where = st.sampled_from([path for path in paths(value) if path])
    return st.builds(
        lambda path, new: json.dumps(replaced(value, path, new)).encode(),
        where,
        anything | st.just(DROP),
    )


def damaged(content: bytes) -> st.SearchStrategy[bytes]:
    """`content` truncated, partly overwritten, or replaced by other bytes."""
    at = st.integers(0, len(content))
    overwritten = st.builds(
        lambda start, new: content[:start] + new + content[start + len(new) :], at, st.binary()
    )
    return at.map(lambda end: content[:end]) | overwritten | st.binary(max_size=64)


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.is_dir() else None) as name:
        yield Path(name)


def ends_well(main: Callable[[], None], *arguments: object) -> str:
    """Run a stage and return its one-sentence error, or "". Fails if it ends otherwise.

    It fails, too, if a defect was caught: an answer or a figure that then says so has a traceback.
    """
    given = patch.object(sys, "argv", ["stage", *map(str, arguments)])
    with given, redirect_stdout(StringIO()), redirect_stderr(StringIO()) as beside:
        try:
            main()
        except SystemExit as end:
            said = str(end.code)
            assert said and "\n" not in said and "Traceback" not in said
            return said
    assert "Traceback" not in beside.getvalue(), beside.getvalue()
    return ""


def answered(question: str, here: Path) -> str:
    """Answer a question from the tables in `here`; return the one-sentence error, or ""."""
    parts = f"workflow_src.answers.{QUESTIONS[question].room}"
    asked = ["--tables", here, "--templates", ROOT / "report_templates", "--output", here]
    facts = importlib.import_module(f"{parts}.chapter").facts
    return ends_well(lambda: chapter_main(question, facts), *asked)


def tabulated(kineto: Any, benchmark: bytes) -> str:
    """Export and tabulate a case; return the first one-sentence error, or ""."""
    with folder() as here:
        said = exported(kineto, here)
        return said or tabulated_with(here / "e", benchmark, here)


def exported(kineto: Any, here: Path) -> str:
    """Export a capture to here/e; return the one-sentence error, or ""."""
    capture = here / "c.kineto.json.gz"
    capture.write_bytes(
        kineto if isinstance(kineto, bytes) else packed(json.dumps(kineto).encode())
    )
    said = ends_well(export_case.main, "--capture", capture, "--output", here / "e")
    assert not said or "c.kineto.json.gz" in said
    return said


def tabulated_with(export: Path, benchmark: bytes, here: Path) -> str:
    """Tabulate a case of this export; return the one-sentence error, or ""."""
    (here / "b.json").write_bytes(benchmark)
    files = ["--export", export, "--benchmark", here / "b.json", "--output", here / "t"]
    return ends_well(case_tables.main, *files)


WHOLE = json.dumps(RESULT).encode()
WHOLE_TRACE = json.dumps(TRACE).encode()


def test_the_undamaged_inputs_are_valid() -> None:
    assert tabulated(TRACE, WHOLE) == "" and tabulated(ON_GPU, WHOLE) == ""


@few
@given(damaged(packed(WHOLE_TRACE)) | (changed_json(TRACE) | changed_json(ON_GPU)).map(packed))
def test_a_damaged_kineto_trace(content: bytes) -> None:
    tabulated(content, WHOLE)


@pytest.fixture(scope="module")
def sound_export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded nsys export, completed with the closing range of a full capture."""
    database = tmp_path_factory.mktemp("export") / "trace.sqlite"
    shutil.copy(RECORDED, database)
    with closing(sqlite3.connect(database)) as connection:
        connection.execute(
            "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId) SELECT"
            f" max(end), max(end) + 9, 59, '{END_OF_CAPTURE}', globalTid, 0 FROM NVTX_EVENTS"
        )
        connection.commit()
    return database


def tabulated_export(prepare: Callable[[Path], object]) -> str:
    with folder() as here:
        (here / "e").mkdir()
        (here / "b.json").write_bytes(WHOLE)
        prepare(here / "e" / "trace.sqlite")
        (here / "e" / "cuda_gpu_kern_sum.csv").touch()
        files = ["--export", here / "e", "--benchmark", here / "b.json", "--output", here / "t"]
        return ends_well(case_tables.main, *files)


@few
@given(data=st.data())
def test_a_damaged_sqlite_export(sound_export: Path, data: st.DataObject) -> None:
    content = sound_export.read_bytes()
    said = tabulated_export(lambda path: path.write_bytes(data.draw(damaged(content))))
    assert not said or said.startswith("e: ")


def changed_csv(text: str) -> st.SearchStrategy[bytes]:
    """CSV text with one cell replaced, possibly in the header."""
    rows = [line.split(",") for line in text.splitlines()]

    def change(row: int, column: int, new: str) -> bytes:
        cells = [list(line) for line in rows]
        cells[row % len(cells)][column % len(cells[0])] = new
        return "\n".join(map(",".join, cells)).encode("utf-8", "surrogatepass")

    odd = st.sampled_from(["", "x", "nan", "inf", "-1", "1e400", '"', "\r", "\0", "9" * 30])
    return st.builds(change, st.integers(0), st.integers(0), odd | st.text(max_size=5))


NAMES = ("timings", "ranges", "kernels", "captures", "work")


@few
@given(name=st.sampled_from(NAMES), question=st.sampled_from([*QUESTIONS]), data=st.data())
def test_a_damaged_table(name: str, question: str, data: st.DataObject) -> None:
    with folder() as here:
        write_tables(here, Sample(), Sample(context=256))
        path = here / f"{name}.csv"
        text = path.read_text()
        path.write_bytes(data.draw(damaged(text.encode()) | changed_csv(text)))
        said = answered(question, here)
        assert not said or f"{name}.csv" in said


def test_a_pattern_that_is_none_is_refused() -> None:
    with folder() as here:
        (here / "rules.csv").write_text("family,pattern,why\ngemm,(,x\n")
        with pytest.raises(StageError, match=r"rules.csv is not a table of rules .*unterminated"):
            load_rules(here / "rules.csv")
