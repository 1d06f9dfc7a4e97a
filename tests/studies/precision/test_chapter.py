"""What bf16 autocast gains and costs, from small tables done by hand."""

import pandas as pd
import pytest

from tests.studies.tables import printed, table
from workflow_src.common.words import DASH
from workflow_src.paper.show import Printer
from workflow_src.studies.precision.chapter import Precision, Verdict, headline, result


def timed(precision: str, ms: float | None, **other: object) -> dict[str, object]:
    """A forward pass of "s" during which the device works for 95 % of the time."""
    about = {"part": "speed", "size": "s", "measurement": "forward", "precision": precision}
    times = {"median_ms": ms, "p20_ms": ms, "p80_ms": ms, "busy_share": 0.95}
    return about | {"device": "cuda"} | times | other


def found(*rows: dict[str, object]) -> Precision:
    return result(table(*rows), pd.DataFrame())


def test_speedups_are_over_each_full_precision() -> None:
    rows = found(timed("fp32", 9.0), timed("tf32", 3.0), timed("bf16", 4.0))
    assert printed(rows.speedups) == [["s", "2.25 x", "0.750 x", "95 %"]]
    assert [pair.against for pair in rows.compared.gained] == ["fp32"]
    assert [pair.against for pair in rows.compared.lost] == ["tf32"]
    assert Printer()(rows.compared.gains) == "than fp32 in 1 of 1, than tf32 in 0 of 1"


@pytest.mark.parametrize(
    ("ms", "gained", "lost"),
    [(103.0, 1, 0), (102.0, 0, 0), (100.0, 0, 0), (98.5, 0, 0), (97.0, 0, 1)],
)
def test_a_difference_of_two_percent_is_none(ms: float, gained: int, lost: int) -> None:
    rows = found(timed("fp32", ms), timed("bf16", 100.0))
    assert (len(rows.compared.gained), len(rows.compared.lost)) == (gained, lost)


def test_a_difference_within_the_spread_of_samples_is_none() -> None:
    """As in small's forward + backward on the H200s: 56.5 against 51.5 to 57.5 ms."""
    ends = {"p20_ms": 51.5, "p80_ms": 57.5}
    rows = found(timed("fp32", 56.5), timed("tf32", 60.0), timed("bf16", 55.0, **ends))
    assert [pair.against for pair in rows.compared.gained] == ["tf32"] and not rows.compared.lost
    assert printed(rows.speedups)[0][1:3] == ["1.03 x (=)", "1.09 x"]


def test_a_speedup_has_the_digits_that_its_samples_earn() -> None:
    """Of xl and large on the H200s 1.05 and 1.07 x, not 1.1; of 5 to 20 ms over 10, about 1."""
    near, wide = {"p20_ms": 65.0, "p80_ms": 66.5}, {"p20_ms": 50.0, "p80_ms": 200.0}
    for ends, said in ((near, "1.05 x"), (wide, "1.1 x")):
        rows = found(timed("tf32", 66.01, **ends), timed("bf16", 62.76))
        assert str(printed(rows.speedups)[0][1]).removesuffix(" (=)") == said


def test_scores_alone_are_no_model_and_what_failed_is_no_pair() -> None:
    scores = {"measurement": "scores"}
    rows = found(
        timed("fp32", 9.0, **scores),
        timed("bf16", 3.0, **scores),
        timed("fp32", None, status="oom", reason="full"),
        timed("bf16", 1.0),
    )
    assert rows.compared.best is None and rows.speedups.empty
    assert [row[-2:] for row in printed(rows.times)][:2] == [["3.00 x", "95 %"], [DASH, "95 %"]]
    assert printed(rows.unmeasured) == [["s, forward, fp32", "OOM", "full", "1"]]


def test_a_cpu_has_no_share_in_which_a_device_works() -> None:
    rows = found(timed("fp32", 9.0, device="cpu"), timed("bf16", 4.0, device="cpu"))
    assert printed(rows.speedups) == [["s", "2.25 x"]]


def test_sums_and_norms_are_shown_as_they_are() -> None:
    parts = {"value": 9.953125, "error": -0.046875, "representation_error": 0.00213623046875}
    added = {"part": "accumulation", "variant": "fp16 into fp16", "rounding_error": -0.04901123}
    norm = {"part": "layer_norm", "variant": "fp16", "statistics": "fp16", "deviation": 300.0}
    rows = found(added | parts, norm | {"largest_error": 4.97, "variance": "overflows"})
    assert printed(rows.sums) == [["fp16 into fp16", "9.9531", "-0.047", "0.0021", "-0.049"]]
    assert printed(rows.norms) == [["fp16", "300", "fp16", "5", "overflows"]]


@pytest.mark.parametrize(
    ("ms", "about", "verdict"),
    [
        ({"fp32": 9.0, "tf32": 5.0, "bf16": 4.0}, {}, Verdict.GAINS),
        ({"fp32": 9.0, "tf32": 3.0, "bf16": 4.0}, {"device": "cpu"}, Verdict.GAINS),
        ({"fp32": 9.0, "bf16": 4.0}, {"busy_share": 0.89}, Verdict.WAITS),
        ({"fp32": 9.0, "bf16": 4.0}, {"busy_share": None}, Verdict.WAITS),
        ({"fp32": 4.0, "bf16": 4.0}, {}, Verdict.NO_GAIN),
        ({"bf16": 4.0}, {}, Verdict.CANT_TELL),
    ],
)
def test_verdicts(ms: dict[str, float], about: dict[str, object], verdict: Verdict) -> None:
    said = headline(found(*(timed(precision, time, **about) for precision, time in ms.items())))
    assert said.verdict is verdict


def test_where_the_device_waits_samples_of_one_process_decide_nothing() -> None:
    """As medium's forward pass on the H200s: slower than tf32 with 54 % of it device time."""
    waits = {"busy_share": 0.54, "size": "m"}
    rows = found(
        timed("fp32", 9.0),
        timed("bf16", 4.0),
        timed("tf32", 3.0, **waits),
        timed("bf16", 5.0, **waits),
    )
    assert printed(rows.speedups)[1][2:3] == ["0.60 x °"]
    said = headline(rows).text(Printer())
    assert not rows.compared.lost and "slower in 0. Undecided, as the device isn't known" in said
    assert said.endswith("to work for 90 %: 1.")


@pytest.mark.parametrize(
    ("phase", "name"), [("forward", "forward"), ("forward_backward", "forward + backward")]
)
def test_the_best_has_its_name_in_the_tables(phase: str, name: str) -> None:
    rows = timed("fp32", 8.0, measurement=phase), timed("bf16", 4.0, measurement=phase)
    assert headline(found(*rows)).text(Printer()) == (
        "bf16 autocast is faster than fp32 in 1 of 1 (one process each), at best "
        f"2.0 x (s, {name}, over fp32), slower in 0. Undecided, as the device isn't known to work "
        "for 90 %: 0."
    )
