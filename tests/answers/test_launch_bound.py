"""The limit of launch-bound phases, from made-up phases whose right sides one sees."""

import pytest

from tests.answers.reading import reading
from tests.synthetic_tables import Sample
from workflow_src.answers.launch_bound import split, us_per_launch
from workflow_src.answers.times import phase_times
from workflow_src.paper.value import Value

WAITS, FULL = 0.5, 0.99


def phases(*given: tuple[float, float]) -> list[tuple[Value, Value]]:
    return [(Value(us, "us", ()), Value(working, "share", ())) for us, working in given]


def spaced(first: float, working: float, count: int = 10) -> list[tuple[float, float]]:
    """Phases of `first` us and on, 1 us apart."""
    return [(first + place, working) for place in range(count)]


@pytest.mark.parametrize(
    ("given", "us"),
    [
        pytest.param([*spaced(1, WAITS), *spaced(22.5, FULL)], 15.0, id="between 10 and 22.5"),
        pytest.param([*spaced(1, WAITS), *spaced(41, FULL)], 30.0, id="30 as good"),
        pytest.param([*spaced(1, WAITS), (4.5, FULL), *spaced(22.5, FULL)], 15.0, id="one off"),
        pytest.param([*spaced(1, WAITS, 9), *spaced(22.5, FULL)], 30.0, id="too few that wait"),
        pytest.param([*spaced(1, WAITS), *spaced(22.5, FULL, 9)], 30.0, id="too few full ones"),
        pytest.param([*spaced(1, FULL), *spaced(22.5, WAITS)], 30.0, id="the wrong way round"),
        pytest.param([], 30.0, id="nothing"),
    ],
)
def test_the_limit_puts_fewest_phases_on_the_wrong_side(
    given: list[tuple[float, float]], us: float
) -> None:
    found = split(phases(*given))
    assert found.us.number == pytest.approx(us)
    assert found.origin == ("the usual limit" if us == 30 else "fitted to this run")


read = reading("a")


def of_kernels(us: float, profiled: float, **about: object) -> Sample:
    """A forward pass of 98 kernels of so many us each, in 20 ms of plain time."""
    others = {"forward_backward": (37.0, 20.0, 36.0), "train_step": (51.0, 20.0, 50.0)}
    times = others | {"forward": (profiled, 0.098 * us, 12.0)}
    plain = {"forward": 20.0, "forward_backward": 36.0, "train_step": 50.0}
    return Sample(times_ms=times, median_ms=plain, **about)  # type: ignore[arg-type]


def test_nothing_is_launch_bound_on_a_cpu(read) -> None:
    tables = read(of_kernels(1.0, 20.0, device="cpu"))
    assert us_per_launch(tables, phase_times(tables, tables.cases[0], "forward")) is None
