"""Events read in parts are those of the whole, wherever the parts are cut, or it is read whole."""

import json
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.captures.building import event, launched
from tests.test_fuzz import changed_json, damaged
from workflow_src.captures.event_columns import NOT_A_TIME, nanoseconds, times
from workflow_src.captures.event_parts import parts_of
from workflow_src.captures.events import NOT_IN_PARTS, in_parts, one_by_one

DEVICE = ("ranges", "work", "calls", "overheads")
LISTS = {"path": [{"a": 1}, {"b": "}, {"}], "correlation": 3}
EVENTS = [
    event("user_annotation", 'a "}, {" in it', 0, 100),
    event("kernel", "k", 1, 2.25, args=LISTS),
    *launched(1, 5),
    {"ph": "M", "name": "process_name", "args": {"name": "python"}},
    *launched(2, 4745504747324.551, 7.5, cat="Runtime"),
]
TRACE: dict[str, Any] = {"schemaVersion": 1, "traceEvents": EVENTS, "traceName": "]}"}


def blocks(content: bytes, size: int) -> list[bytes]:
    return [content[at : at + size] for at in range(0, len(content), size)]


def same(content: bytes, size: int) -> bool:
    """Whether a trace can be read in parts; if so, what is found is what reading it whole finds."""
    try:
        found = parts_of(in_parts(blocks(content, size)), DEVICE)
    except NOT_IN_PARTS:
        return False
    rows, cut_off = one_by_one(content.decode(errors="replace"))
    expected = parts_of([rows], DEVICE)
    assert found.lost == expected.lost and not cut_off
    theirs = expected.parts()
    for name, part in found.parts().items():
        pd.testing.assert_frame_equal(part, theirs[name], check_categorical=False)
    return True


@pytest.mark.parametrize("value", [TRACE, EVENTS])
@pytest.mark.parametrize("indent", [None, 1])
def test_a_sound_trace_is_read_in_parts(value: Any, indent: int | None) -> None:
    assert same(json.dumps(value, indent=indent).encode(), 10**6)


def test_parts_that_are_cut_between_events_are_many() -> None:
    plain = [each | {"args": {}} for each in EVENTS[2:] * 9]
    found = list(in_parts(blocks(json.dumps({"traceEvents": plain}).encode(), 300)))
    assert len(found) > 9 and sum(map(len, found)) == len(plain)


WHOLE = json.dumps(TRACE).encode()


@given(st.just(WHOLE) | changed_json(TRACE) | damaged(WHOLE), st.integers(1, 700))
def test_a_trace_is_read_alike_wherever_it_is_cut_or_changed(content: bytes, size: int) -> None:
    """A cut inside of an event leaves no JSON, which is then read whole."""
    same(content, size)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": {"traceEvents": []}, "b": 1}',
        '{"traceEvents": [], "traceEvents": [{"ph": "X"}]}',
        "3",
    ],
)
def test_a_list_in_another_place_is_not_taken(text: str) -> None:
    with pytest.raises(NOT_IN_PARTS):
        list(in_parts([text.encode()]))


numbers = (
    st.integers(-5, 10**17)
    | st.decimals(-5, 10**14, allow_nan=False, places=3)
    | st.decimals(-5, 10**6, allow_nan=False)
    | st.floats(allow_nan=False, allow_infinity=False)
)


@given(st.lists(numbers.map(str) | st.sampled_from(['"1.5"', "null", "[1,\n2]", "true", "{}"])))
def test_times_are_exact_however_many_are_read(texts: list[str]) -> None:
    found = times([msgspec.Raw(text.encode()) for text in texts])
    single = [nanoseconds(json.loads(text, parse_float=str)) for text in texts]
    assert found.tolist() == [NOT_A_TIME if ns is None else ns for ns in single]
    assert found.dtype == np.int64
