"""Events are the same wherever a trace is cut into the parts that are read, also a damaged one."""

import json
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.captures.building import event, launched
from tests.examples import costly
from workflow_src.captures.event_parts import Trace, parts_of
from workflow_src.captures.events import NOT_A_TIME, events_of, times
from workflow_src.common.errors import TraceError

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


DEVICE = ("ranges", "work", "calls", "overheads")
LISTS = {"path": [{"a": 1}, {"b": "}, {"}], "correlation": 3}
EVENTS = [
    event("user_annotation", 'a "}, {" in it', 0, 100),
    event("kernel", "k", 1, 2.25, args=LISTS),
    *launched(1, 5),
    {"ph": "M", "name": "process_name", "args": {"name": "python"}},
    *launched(2, 4745504747324.551, 7.5),
]
TRACE: dict[str, Any] = {"schemaVersion": 1, "traceEvents": EVENTS, "traceName": "]}"}
WHOLE = json.dumps(TRACE).encode()


def read(content: bytes, size: int) -> Trace | None:
    """What is found in blocks of a size; None if it is no trace."""
    try:
        return parts_of((content[at : at + size] for at in range(0, len(content), size)), DEVICE)
    except TraceError:
        return None


@costly
@given(st.just(WHOLE) | changed_json(TRACE) | damaged(WHOLE), st.integers(1, 700))
def test_a_trace_is_read_alike_wherever_it_is_cut_or_changed(content: bytes, size: int) -> None:
    found, expected = read(content, size), read(content, len(content) + 1)
    assert (found is None) == (expected is None)
    if found and expected:
        assert +found.lost == +expected.lost
        theirs = expected.parts()
        for name, part in found.parts().items():
            pd.testing.assert_frame_equal(part, theirs[name], check_categorical=False)


@pytest.mark.parametrize("value", [TRACE, EVENTS])
@pytest.mark.parametrize("indent", [None, 1])
def test_a_sound_trace_is_read_whole(value: Any, indent: int | None) -> None:
    lost = Counter[str]()
    (found,) = events_of([json.dumps(value, indent=indent).encode()], lost)
    assert [each.ph for each in found] == [each["ph"] for each in EVENTS] and not +lost


def test_parts_that_are_cut_between_events_are_many() -> None:
    plain = json.dumps({"traceEvents": [each | {"args": {}} for each in EVENTS[2:] * 9]}).encode()
    found = [*events_of((plain[at : at + 300] for at in range(0, len(plain), 300)), Counter())]
    assert len(found) > 9 and sum(map(len, found)) == 9 * len(EVENTS[2:])


numbers = st.integers(0, 10**15) | st.decimals(0, 10**14, allow_nan=False, places=3)
OTHERS = {
    '"1.5"': 1_500, "1.505e2": 150_500, "2E3": 2_000_000, "1.5e-1": 150, "0e0": 0, "-2.5": -2_500,
    "12.3456": 12_345, "0.30000000000000004": 300,
}  # fmt: skip
NO_TIMES = (
    "null", "true", "{}", '""', '"x"', "1e999999999", "9" * 30, str(2**63), "[1,\n2]", "1.x", "NaN",
    '"1.2.3"',
)  # fmt: skip
OTHERS |= dict.fromkeys(NO_TIMES, NOT_A_TIME)


@given(st.lists(numbers.map(str) | st.sampled_from([*OTHERS])))
def test_times_are_exact_however_many_are_read(texts: list[str]) -> None:
    found = times([msgspec.Raw(text.encode()) for text in texts])
    ns = [int(Decimal(text) * 1000) if text not in OTHERS else OTHERS[text] for text in texts]
    assert found.tolist() == ns and found.dtype == np.int64
