"""Randomly damaged input files: a stage reads them or ends with a one-sentence error."""

import importlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.examples import costly
from tests.synthetic_tables import Sample, write_tables
from workflow_src.answers.facts import main as chapter_main
from workflow_src.answers.questions import QUESTIONS
from workflow_src.common.errors import StageError
from workflow_src.placing.families import load_rules

ROOT = Path(__file__).parent.parent
IN_MEMORY = Path("/dev/shm")
"""Where writing a database doesn't wait for a disk."""

few = settings(costly, suppress_health_check=[HealthCheck.function_scoped_fixture])


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
    parts = f"workflow_src.answers.{QUESTIONS[question].room}"
    asked = ["--tables", here, "--templates", ROOT / "report_templates", "--output", here]
    facts = importlib.import_module(f"{parts}.chapter").facts
    return ends_well(lambda: chapter_main(question, facts), *asked)


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
