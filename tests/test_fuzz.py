"""Randomly damaged input files: they are read, or refused in one sentence that names the file."""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.answers.chapters import chapter, run_of
from tests.examples import costly
from tests.synthetic_tables import Sample, write_tables
from workflow_src.answers.questions import QUESTIONS
from workflow_src.common.errors import StageError
from workflow_src.placing.kernel_names import read_rules

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6)
    | st.sampled_from(["", "nan", "1e999", "-1", "\ud800", "<b>", 2**63, -(2**70)])
)  # fmt: skip
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
DROP = object()


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path to every part of a JSON value."""
    yield path
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths(part, (*path, key))


def changed_json(value: Any) -> st.SearchStrategy[bytes]:
    """JSON text of `value` with one part replaced or removed."""

    def change(path: tuple[Any, ...], new: Any) -> bytes:
        whole = part = json.loads(json.dumps(value))
        for key in path[:-1]:
            part = part[key]
        if new is DROP:
            del part[path[-1]]
        else:
            part[path[-1]] = new
        return json.dumps(whole).encode()

    where = st.sampled_from([path for path in paths(value) if path])
    return st.builds(change, where, anything | st.just(DROP))


def damaged(content: bytes) -> st.SearchStrategy[bytes]:
    """`content` truncated, partly overwritten, or replaced by other bytes."""
    at = st.integers(0, len(content))
    overwritten = st.builds(
        lambda start, new: content[:start] + new + content[start + len(new) :], at, st.binary()
    )
    return at.map(lambda end: content[:end]) | overwritten | st.binary(max_size=64)


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


@costly
@given(name=st.sampled_from(NAMES), question=st.sampled_from([*QUESTIONS]), data=st.data())
def test_a_damaged_table(name: str, question: str, data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        here = write_tables(Path(folder), Sample(), Sample(context=256))
        path = here / f"{name}.csv"
        text = path.read_text()
        path.write_bytes(data.draw(damaged(text.encode()) | changed_csv(text)))
        try:
            assert chapter(question, run_of(question, here)).verdict != "failed", (
                "a defect was caught"
            )
        except StageError as error:
            assert f"{name}.csv" in str(error) and "\n" not in str(error)


def test_a_pattern_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rules.csv").write_text("family,pattern,why\ngemm,(,x\n")
    with pytest.raises(StageError, match=r"rules.csv is not a table of rules .*unterminated"):
        read_rules(tmp_path / "rules.csv", "family")
