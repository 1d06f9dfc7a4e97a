"""Answer (f): what was measured to pay, and what each other remedy could save at most."""

from pathlib import Path

import pytest

from tests.questions import answer_question
from tests.synthetic_tables import FORWARD, Kernel, Sample, grid, write_tables
from workflow_src.answers.answer import Answer, Fact

TEMPLATES = Path(__file__).parent.parent / "report_templates"
ATTENTION = "train_step/forward/block/attention"

STEP: list[Kernel] = [
    (f"{ATTENTION}/scores", "gemm", "gemm", 2, 4_000_000),
    (f"{ATTENTION}/scores", "scale_and_mask", "elementwise", 2, 1_000_000),
    (f"{ATTENTION}/softmax", "exp_kernel", "elementwise", 2, 2_000_000),
    (f"{ATTENTION}/softmax", "copy<bfloat16_copy>", "copy", 2, 500_000),
    (f"{ATTENTION}/values", "gemm", "gemm", 2, 3_000_000),
    ("train_step/backward", "gemm_backward", "gemm", 4, 19_500_000),
    ("train_step/optimizer", "mul", "elementwise", 4, 10_000_000),
]
"""40 ms of device time per step."""


def sample(median: float = 50.0, **others) -> Sample:
    """A case whose training step takes `median` ms unprofiled, 40 of them on the device."""
    phases = {"forward": FORWARD, "train_step": STEP}
    times = {phase: (60.0, 40.0, 55.0) for phase in ("forward", "forward_backward", "train_step")}
    return Sample(kernels=phases, median_ms=dict.fromkeys(times, median), times_ms=times, **others)


@pytest.fixture
def ask(tmp_path):
    def asked(*samples: Sample) -> tuple[Answer, str]:
        return answer_question("f", write_tables(tmp_path, *samples), TEMPLATES)

    return asked


def fact(answer: Answer, name: str, case: str) -> Fact:
    return next(fact for fact in answer.facts if (fact.case, fact.name) == (case, name))


def short(text: str) -> str:
    return " ".join(text.split("\n\n")[1].split())


def test_bounds_are_shares_of_the_unprofiled_step(ask):
    answer, _ = ask(sample())
    values = {key: fact(answer, f"{key}/share", sample().case) for key in ("idle", "optimizer")}
    assert values["idle"].value == pytest.approx(0.2)
    assert values["optimizer"].value == pytest.approx(0.2)
    assert fact(answer, "optimizer/ms", sample().case).rows
    # 1 + 2 ms beside the products, and in fp32 the copy, which is no cast there.
    assert fact(answer, "attention/ms", sample().case).value == pytest.approx(3.5)


def test_casts_count_in_a_lower_precision_only_and_then_not_as_attention(ask):
    answer, _ = ask(sample(precision="bf16"))
    case = sample(precision="bf16").case
    assert fact(answer, "casts/ms", case).value == pytest.approx(0.5)
    assert fact(answer, "attention/ms", case).value == pytest.approx(3.0)
    answer, _ = ask(sample())
    assert not [fact for fact in answer.facts if fact.name.startswith("casts")]


def test_attention_that_is_fused_already_has_nothing_to_save(ask):
    answer, text = ask(sample(attention="sdpa"))
    assert not [fact for fact in answer.facts if fact.name.startswith("attention")]
    assert "fused_softmax" not in text.split("## Tables")[0]


def test_work_that_exceeds_the_unprofiled_time_leaves_nothing_idle(ask):
    answer, text = ask(sample(median=30.0))
    assert fact(answer, "idle/ms", sample().case).value == 0
    assert "nothing is left for idle time" in text


def test_one_case(ask):
    _, text = ask(sample())
    assert short(text) == (
        "No remedy was tried; of the training step each could save up to "
        "20.0 % (idle time) and 20.0 % (the optimizer)."
    )
    assert "| small" not in text.split("## Tables")[0], "no table by size and context"


def test_a_precision_that_was_measured_is_a_remedy_that_was_tried(ask):
    samples = [sample(), sample(context=256, median=100.0)]
    samples += [sample(precision="bf16", median=20.0), sample(80.0, context=256, precision="bf16")]
    _, text = ask(*samples)
    assert short(text).startswith(
        "Of what was measured, bf16 pays most in the median: "
        "a training step takes a median of 60.0 % of its time with fp32."
    )
    assert (
        "- **bf16 in place of fp32**: a median of 60.0 % over 2 cases, from 40.0 % "
        "(small, context 128) to 80.0 % (small, context 256)." in text
    )


def test_what_makes_a_step_slower_is_said_to(ask):
    _, text = ask(sample(), sample(precision="bf16", median=55.0))
    assert "Slower in small, context 128, bf16." in text
    assert "110.0 % (small, context 128, bf16: 50.0 and 55.0 ms)." in text


def test_cases_that_wait_for_launches_are_counted(ask):
    _, text = ask(sample(median=90.0), sample(context=256))
    assert (
        "**Launches first** where the GPU works for less than 80 % of the step: "
        "in 1 of 2 cases." in text
    )


def test_on_a_cpu_operators_take_the_place_of_kernels(ask):
    _, text = ask(sample(median=90.0, device="cpu"), sample(device="cpu", context=256))
    assert "where operators run for less than 80 %" in text and "GPU" not in text
    assert "Backward's operators belong to no component" in text


def test_a_step_that_ran_out_of_memory_is_listed(ask):
    oom = sample(context=256, status={"train_step": ("oom", "CUDA out of memory")})
    answer, text = ask(sample(), oom)
    assert answer.status == "complete"
    assert "- Out of memory: small-ctx256-fp32." in text


def test_without_a_training_step_nothing_is_said(ask):
    answer, text = ask(sample(status={"train_step": ("oom", "CUDA out of memory")}))
    assert (answer.status, short(text)) == (
        "missing", "No training step was measured, so nothing can be said."
    )  # fmt: skip


def test_a_grid_is_answered_for_each_precision(ask):
    answer, text = ask(*grid())
    assert answer.status == "complete"
    assert all(f" in {precision}" in short(text) for precision in ("fp32", "tf32", "bf16"))
