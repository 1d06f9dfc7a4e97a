"""What a training step works on, how fast, and in how much memory."""

from tests.studies.tables import printed
from tests.synthetic_tables import Sample, tables
from workflow_src.answers.gemm_share.step_rates import step_cell
from workflow_src.answers.matrix import matrices
from workflow_src.answers.tables import Tables

H100 = {"gpu": "NVIDIA H100 80GB HBM3"}


def cells(sample: Sample) -> list[list[str]]:
    """The matrix of a run of one case."""
    run = Tables(tables(sample))
    return printed(matrices(run.cases, lambda case: step_cell(run, case))[0])


def test_a_step_has_its_flops_their_rate_its_share_of_the_peak_and_its_memory() -> None:
    """Three passes of 0.5 and 0.17 TFLOP in 50 ms are 40 TFLOP/s, 60 % of the H100's 67."""
    work = {"linear": (500_000_000_000, 1), "scores": (170_000_000_000, 1), "softmax": (9, 1)}
    found = cells(Sample(work=work, environment=H100))
    assert found == [["small", "2.01 / 40.2 / 60 % / 0.977"]]


def test_of_an_unknown_device_there_is_no_share_of_its_peak() -> None:
    assert cells(Sample(work={"linear": (10**12, 1)})) == [
        ["small", "3.00 / 60.0 / \N{EN DASH} / 0.977"]
    ]


def test_a_step_that_ran_out_of_memory_says_so() -> None:
    run = Tables(tables(Sample(status={"train_step": ("oom", "")})))
    assert step_cell(run, run.cases[0]) == "OOM"
