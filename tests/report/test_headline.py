"""The report's headline: one test per verdict, and what its numbers are."""

import pytest

from tests.synthetic_tables import FORWARD, Sample, write_tables
from workflow_src.answers.tables import Tables
from workflow_src.answers.times import phase_times
from workflow_src.paper.show import Headline, Printer
from workflow_src.report.headline import Verdict, headline, precisions

OTHERS = {"forward_backward": (37.0, 20.0, 36.0), "train_step": (51.0, 20.0, 50.0)}
LONG = OTHERS | {"forward": (12.6, 9.8, 12.3)}
BOUND = OTHERS | {"forward": (12.6, 0.98, 12.3)}
"""98 kernels of 100 us each, and of 10 us."""
FASTER = [
    (path, name, family, calls, ns // 4 if family == "gemm" else ns)
    for path, name, family, calls, ns in FORWARD
]


@pytest.fixture
def read(tmp_path):
    def reading(*samples: Sample) -> Tables:
        names = ("timings", "ranges", "kernels", "captures", "environments")
        return Tables.read(write_tables(tmp_path, *samples), names)

    return reading


def concluded(tables: Tables) -> Headline:
    return headline(tables, [phase_times(tables, case, "forward") for case in tables.cases])


def bf16(**about: object) -> Sample:
    return Sample(precision="bf16", kernels={"forward": FASTER}, **about)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("samples", "verdict"),
    [
        ([Sample(times_ms=BOUND)], Verdict.BOUND),
        ([Sample(times_ms=BOUND), bf16(times_ms=LONG)], Verdict.BOUND_AND_PRODUCTS),
        ([Sample(times_ms=LONG), Sample(context=256, times_ms=LONG)], Verdict.LONG),
        ([Sample(times_ms=LONG), bf16(times_ms=LONG)], Verdict.LONG_AND_PRODUCTS),
        ([Sample(times_ms=LONG), bf16(context=256, times_ms=LONG)], Verdict.LONG),
        ([Sample(device="cpu")], Verdict.ON_CPU),
        ([Sample(captured=False)], Verdict.CANT_TELL),
        ([], Verdict.CANT_TELL),
    ],
)
def test_the_verdict(read, samples, verdict):
    assert concluded(read(*samples)).verdict == verdict


def test_the_headline_counts_forward_passes_and_says_what_became_of_products(read):
    """6 of 10 ms are products, and take a quarter in bf16; nothing else changes."""
    text = concluded(read(Sample(times_ms=BOUND), bf16(times_ms=LONG))).text(Printer())
    assert text.startswith(
        "Kernels are short (under 30 us, the usual limit) in 1 of 2 forward passes; in 1 the "
        "device also idles over 10 % of plain time."
    )
    assert "In bf16, matrix products take 25 % of their fp32 device time" in text
    assert "other kernels 100 %" in text


def test_what_became_of_products_has_its_least_and_most_beside_the_median(read):
    """A quarter of the time of one pair, and as long as before in the other: 62 %."""
    slower = {"forward": FORWARD}
    both = bf16(), Sample(precision="bf16", context=256, kernels=slower)
    found = precisions(read(Sample(), Sample(context=256), *both))
    assert Printer()(found.products) == "62 % (25 % to 100 %)"


def test_only_cases_that_differ_in_precision_alone_are_compared(read):
    found = precisions(read(Sample(), bf16(context=256)))
    assert (found.products, found.others, found.products_alone) == (None, None, False)


def test_a_disturbed_case_says_nothing_of_precisions(read):
    def products(forward_ms: float) -> object:
        """fp32's forward pass takes 10 ms on the device."""
        plain = {"forward": forward_ms, "forward_backward": 36.0, "train_step": 50.0}
        return precisions(read(Sample(device="cpu", median_ms=plain), bf16(device="cpu"))).products

    assert products(9.2) is not None
    assert products(9.0) is None
