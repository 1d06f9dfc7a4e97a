"""Numbers that know their rows, alone and in whole columns."""

import pandas as pd
import pytest

from tests.published import H200
from workflow_src.paper.number import NAN, Number, added, end, holds, lift, named, of, over, to
from workflow_src.paper.number import within as ends_of
from workflow_src.paper.run import Run


def column(name: str, *values: float, table: str = "timings") -> pd.Series:
    """A column as it is read."""
    index = pd.MultiIndex.from_tuples([(table, line + 2) for line in range(len(values))])
    return pd.Series(values, index, name=name, dtype=float)


def test_arithmetic_unites_rows_and_writes_the_formula() -> None:
    busy, plain = lift(column("busy_ns", 3e6, table="ledger")), lift(column("median_ms", 4.0))
    busy = to(busy, "ms").set_axis(plain.index)
    saved = (1 - busy / plain).iloc[0]
    assert (float(saved), saved.formula, saved.unit) == (0.25, "1 - (busy_ns / median_ms)", "×")
    assert saved.rows == {("timings", 2), ("ledger", 2)} and str(saved.to("share")) == "25 %"
    assert str(abs(saved - 1).to("share")) == "75 %" and str((saved * 8) ** 2) == "4.0 ×"
    missing = [float("nan") - plain.iloc[0], plain.iloc[0] + float("nan")]
    assert all(each != each for each in missing), "what is missing has no unit to be wrong"
    with pytest.raises(ValueError, match=r"busy_ns \+ median_ns would be ms \+ ns"):
        busy + Number(1.0, "ns", frozenset(), "median_ns")
    with pytest.raises(ValueError, match="in ms, which can't be said in bytes"):
        to(busy, "bytes")


@pytest.mark.parametrize(
    ("sign", "one", "other", "unit"),
    [
        *[("/", "ms", "ms", "×"), ("/", "bytes", "ms", "bytes/ms"), ("/", "ns", "count", "ns")],
        *[("/", "count", "count", "×"), ("/", "share", "share", "×"), ("*", "share", "ms", "ms")],
        *[("*", "×", "×", "×"), ("-", "share", "share", "share"), ("+", "ms", "ms", "ms")],
    ],
)
def test_units_of_results(sign: str, one: str, other: str, unit: str) -> None:
    found = Number(2.0, one)._with(Number(2.0, other), sign)
    assert found.unit == unit


def test_what_is_missing_stays_so_and_compares_as_false() -> None:
    times = lift(column("median_ms", 2.0, NAN))
    ratios = times / times.iloc[0]
    assert ratios.notna().tolist() == [True, False]
    for held in (ratios > 0, ratios >= 1, ratios == 1, ratios < 2):
        assert held.tolist() == [True, False]
    zero = Number(1.0) / 0
    missing = Number(1.0, "ms") + NAN
    assert missing != missing
    assert zero != zero and not Number(1.0) < NAN and Number(1.0) != NAN
    assert of(times[1:]) != of(times[1:]) and over(times[:0].to_frame(), "x", "median_ms").empty
    others = lift(column("median_ms", NAN, 3.0))
    assert (times - others).isna().all() and (NAN + times).isna().all()
    sums = added(pd.DataFrame({"a": times, "b": [NAN, NAN]}))
    assert sums.notna().tolist() == [True, False]


def test_groups_know_their_lines_and_ends() -> None:
    kernels = Run([H200 / "tables/kernels.csv"])["kernels"]
    sums = over(kernels, ["case", "phase", "family"], "busy_ns")
    assert sum(map(float, sums)) == kernels["busy_ns"].sum() and sums.iloc[0].unit == "ns"
    assert sum(len(each.rows) for each in sums) == len(kernels)
    middle = of(sums)
    assert middle.rows == frozenset(kernels.index) and middle.ends[0] == min(sums)
    long = holds(sums, sums > 1e6, "busy_ns > 1 ms")
    assert str(of(long, "count")) == f"{(sums > 1e6).sum()} of {len(sums)}"


def test_a_number_has_the_digits_that_its_ends_earn() -> None:
    times, low, high = (lift(column("mean_ms", value, value)) for value in (10.0, 9.0, 11.0))
    found = ends_of(times, low, high)
    assert str(found.iloc[0]) == "10" and end(found, 0).iloc[0] == 9.0
    assert str(ends_of(times, low * NAN, high).iloc[0]) == "10" and end(times, 1).isna().all()
    close = ends_of(times, to(low * (10 / 9), "ms"), to(high * (10.1 / 11), "ms"))
    assert str(close.iloc[0]) == "10.0"
    assert named(pd.DataFrame({"a": times}))["a"].iloc[0].formula == "a"
