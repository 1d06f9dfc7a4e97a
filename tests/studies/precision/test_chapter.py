"""What bf16 autocast gains and costs, from small tables done by hand."""

from typing import Any

import pytest

from tests.studies.chapters import facts
from tests.studies.tables import table


def timed(precision: str, ms: float | None, **other: object) -> dict[str, object]:
    """A forward pass of "s" during which the device works for 95 % of the time."""
    about = {"part": "speed", "size": "s", "measurement": "forward", "precision": precision}
    times = {"median_ms": ms, "p20_ms": ms, "p80_ms": ms, "busy_share": 0.95}
    return about | {"device": "cuda"} | times | other


def found(*rows: dict[str, object]) -> dict[str, Any]:
    return facts("precision", table(*rows))


def printed(said: dict[str, Any]) -> list[list[str]]:
    """The speed-ups by size, with their marks."""
    rows = said["speedups"].to_numpy(object)
    return [
        ["".join(map(str, cell)) if isinstance(cell, tuple) else str(cell) for cell in row]
        for row in rows
    ]


def counts(said: dict[str, Any], name: str) -> list[float]:
    """In how many measurements over each full precision."""
    return [float(cell) for cell in said["counts"][name]]


@pytest.mark.parametrize(
    ("ms", "gained", "lost"),
    [(103.0, 1, 0), (102.0, 0, 0), (100.0, 0, 0), (98.5, 0, 0), (97.0, 0, 1)],
)
def test_a_difference_of_two_percent_is_none(ms: float, gained: int, lost: int) -> None:
    said = found(timed("fp32", ms), timed("bf16", 100.0))
    assert counts(said, "gains") + counts(said, "losses") == [gained, lost]


def test_a_difference_within_the_spread_of_samples_is_none() -> None:
    """As in small's forward + backward on the H200s: 56.5 against 51.5 to 57.5 ms."""
    ends = {"p20_ms": 51.5, "p80_ms": 57.5}
    said = found(timed("fp32", 56.5), timed("tf32", 60.0), timed("bf16", 55.0, **ends))
    assert counts(said, "gains") == [0, 1] and counts(said, "losses") == [0, 0]
    assert printed(said)[0][1:3] == ["1.03 × ≈", "1.09 ×"]


@pytest.mark.parametrize(
    ("ms", "about", "verdict"),
    [
        ({"fp32": 9.0, "tf32": 5.0, "bf16": 4.0}, {}, "gains"),
        ({"fp32": 9.0, "tf32": 3.0, "bf16": 4.0}, {"device": "cpu"}, "gains"),
        ({"fp32": 9.0, "bf16": 4.0}, {"busy_share": 0.89}, "waits"),
        ({"fp32": 9.0, "bf16": 4.0}, {"busy_share": None}, "waits"),
        ({"fp32": 4.0, "bf16": 4.0}, {}, "no gain"),
        ({"bf16": 4.0}, {}, "can't tell"),
    ],
)
def test_verdicts(ms: dict[str, float], about: dict[str, object], verdict: str) -> None:
    said = found(*(timed(precision, time, **about) for precision, time in ms.items()))
    assert said["verdict"] == verdict
