"""What a training step works on, how fast, and in how much memory."""

import pytest

from tests.studies.tables import printed
from tests.synthetic_tables import Sample, tables
from workflow_src.answers.gemm_share.step_rates import step_cell
from workflow_src.answers.matrix import matrices
from workflow_src.answers.tables import Tables
from workflow_src.paper.markdown import earned

H100 = {"gpu": "NVIDIA H100 80GB HBM3"}


def cells(sample: Sample) -> list[list[str]]:
    """The matrix of a run of one case."""
    run = Tables(tables(sample))
    return printed(matrices(run.cases, lambda case: step_cell(run, case))[0])


def test_a_step_has_its_flops_their_rate_its_share_of_the_peak_and_its_memory() -> None:
    """Three passes of 0.5 and 0.17 TFLOP in 50 ms are 40 TFLOP/s, 60 % of the H100's 67."""
    work = {"linear": (500_000_000_000, 1), "scores": (170_000_000_000, 1), "softmax": (9, 1)}
    found = cells(Sample(work=work, environment=H100))
    assert found == [["small", "2.01 / 40¹ / 60 % / 0.977"]]


def test_a_rate_has_the_digits_that_its_processes_earn_and_the_mark_of_a_limited_clock() -> None:
    """50 ms, of processes 40 to 60: 33 to 50 TFLOP/s, so that 40 stands for 40.2."""
    work = {"linear": (670_000_000_000, 1)}
    run = Tables(tables(Sample(work=work)))
    ends = {"fastest_ms": 40.0, "slowest_ms": 60.0, "processes": 2}
    run.frames["timings"] = run["timings"].assign(**ends, power_capped_share=0.5)
    assert printed(matrices(run.cases, lambda case: step_cell(run, case))[0]) == [
        ["small", "2.01 / 40§ / \N{EN DASH} / 0.977"]
    ]


@pytest.mark.parametrize(
    ("value", "least", "most", "text"),
    [
        (3.64, 3.0, 4.3, "3.6"),
        (3.64, 3.5, 3.8, "3.6"),
        (24.7, 22.0, 27.2, "25"),
        (178.4, 140.0, 220.0, "180"),
        (57.5, 10.0, 90.0, "58"),
        (1234.0, 1233.0, 1235.0, "1,230"),
        (39.42, 39.42, 39.42, "39.4"),
        (39.42, None, None, "39"),
        (159.0, None, None, "160"),
        (0.0, 0.0, 1.0, "0"),
    ],
)
def test_digits_end_where_half_the_interval_begins(
    value: float, least: float | None, most: float | None, text: str
) -> None:
    assert earned(value, least, most) == text


def test_of_an_unknown_device_there_is_no_share_of_its_peak() -> None:
    assert cells(Sample(work={"linear": (10**12, 1)})) == [
        ["small", "3.00 / 60¹ / \N{EN DASH} / 0.977"]
    ]


def test_a_step_that_ran_out_of_memory_says_so() -> None:
    run = Tables(tables(Sample(status={"train_step": ("oom", "")})))
    assert step_cell(run, run.cases[0]) == "OOM"
