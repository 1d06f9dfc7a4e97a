"""Whom threads work for is told by their names or, without these, by calls that take turns."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from tests.golden import DATA
from workflow_src.captures.capture import Capture
from workflow_src.captures.domains import choose
from workflow_src.captures.reading import read
from workflow_src.placing.placing import Placed, place

THREADS = sorted((DATA / "captures" / "threads").iterdir())


def placed_by(capture: Capture) -> Placed:
    return place(capture, choose(capture.ranges, None)[0])


@pytest.mark.parametrize("path", THREADS, ids=lambda path: path.name)
def test_turns_alone_place_the_same_as_names(path: Path) -> None:
    capture = read(path)
    by_name = placed_by(capture)
    by_turns = placed_by(replace(capture, thread_names=capture.thread_names[:0]))
    pd.testing.assert_series_equal(by_turns.work["range"], by_name.work["range"])
    pd.testing.assert_series_equal(by_turns.ranges["parent"], by_name.ranges["parent"])
