"""The limit of launch-bound phases, from made-up phases whose right sides one sees."""

import pytest

from tests.answers.reading import reading
from tests.synthetic_tables import Sample
from tests.workflow import ROOT
from workflow_src.answers.answer import answer
from workflow_src.answers.forward_time.headline import Verdict, headline
from workflow_src.answers.forward_time.result import result
from workflow_src.answers.launch_bound import limit, split, us_per_launch
from workflow_src.answers.times import phase_times
from workflow_src.paper.show import Printer
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


def test_launch_bound_cases_are_marked_and_the_rule_stands_below(read) -> None:
    tables = read(of_kernels(29.9, 40.0), of_kernels(30.0, 20.0, context=256))
    assert limit(tables).us.number == 30
    text = answer("a", result, headline).texts(tables, ROOT / "report_templates").markdown
    assert "2.93 → 20††¹ → 40.0" in text and "2.94 → 20¹ → 20.0" in text
    assert "about 30 us of device time per launch: kernel, copy or fill ([the usual limit](" in text
    said = headline(result(tables))
    assert "1 of 1 cases of 30 us per launch or more (the usual limit)" in said.text(Printer())
    assert said.verdict is Verdict.WHERE_LONG
    assert [said.slots[name].number for name in ("long_agree", "long", "bound_agree", "bound")] == [
        1, 1, 0, 1,
    ]  # fmt: skip


def test_nothing_is_launch_bound_on_a_cpu(read) -> None:
    tables = read(of_kernels(1.0, 20.0, device="cpu"))
    assert us_per_launch(tables, phase_times(tables, tables.cases[0], "forward")) is None
    text = answer("a", result, headline).texts(tables, ROOT / "report_templates").markdown
    assert "†" not in text and "\n¹ Of one process" in text
