"""What the study mlp finds in small tables by hand."""

import pytest

from tests.studies.chapters import chapter, facts, run_of
from tests.studies.mlp.rows import scaled, width
from tests.studies.tables import table

WIDTHS = [width(1024, 0.99, 7.0), width(256, 0.4), width(512, 0.9)]
WIDE = width(512, 0.9, 2.0)


def test_growth_is_over_all_widths_and_over_those_from_which_on_the_device_works() -> None:
    """512 works, too, but the wider 768 doesn't."""
    found = facts("mlp", [*WIDTHS, width(768, 0.7, 3.0), width(2048, 0.9, 21.0)])
    every, there = found["all"], found["there"]
    assert (every["low"], every["high"], every["flops"], every["step"]) == (256, 2048, 64, 10.5)
    assert (there["low"], there["high"], there["flops"], there["step"]) == (1024, 2048, 4, 3)
    assert float(there["grown"]) == pytest.approx(18.9 / 6.93)
    assert there["step"].rows == {("studies/mlp", 2), ("studies/mlp", 6)}


@pytest.mark.parametrize(
    ("rows", "verdict", "said"),
    [
        ([WIDE, width(1024, 0.99, 7.0)], "grows", "4.0 × the FLOPs take 3.5 ×"),
        ([width(256, 0.1), WIDE, width(1024, 0.99, 7.0)], "from", "Only from width 512 on"),
        ([width(256, 0.1), width(512, 0.89)], "waits", "4.0 × the FLOPs take 1.0 ×"),
        ([width(256, 0.1), WIDE], "waits", "waits for launches"),
        ([each | {"device": "cpu"} for each in WIDTHS[1:]], "on a CPU", "On a CPU, 4.0 ×"),
        ([WIDE], "can't tell", "can't be told"),
        ([scaled("base", 1, 2.0), scaled("dim", 2, 2.0)], "can't tell", "can't be told"),
    ],
)
def test_verdicts(rows: list[dict[str, object]], verdict: str, said: str) -> None:
    found = chapter("mlp", run_of("mlp", table(*rows)))
    assert found.verdict == verdict and said in found.markdown["headline"]
