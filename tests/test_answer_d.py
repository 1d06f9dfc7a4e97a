"""Answer (d): matrix multiplication's share, and what backward and the optimizer change of it."""

import re
from pathlib import Path

import pandas as pd
import pytest

from tests.questions import answer_question
from tests.synthetic_tables import FORWARD, TRAIN, Kernel, Sample, grid, write_tables
from workflow_src.answers import gemm_share
from workflow_src.answers.answer import Answer, Fact
from workflow_src.answers.step_parts import part_of

ROOT = Path(__file__).parent.parent
TEMPLATES = ROOT / "report_templates"
SHORT = Sample()
OOM = {"train_step": ("oom", "CUDA out of memory")}
SKIPPED = {
    "forward_backward": ("oom", "CUDA out of memory"),
    "train_step": ("skipped", "needs more memory than forward_backward"),
}


@pytest.fixture
def ask(tmp_path):
    def asked(*samples: Sample) -> tuple[Answer, str]:
        return answer_question("d", write_tables(tmp_path, *samples), TEMPLATES)

    return asked


def fact(answer: Answer, name: str, case: str = SHORT.case) -> Fact:
    return next(fact for fact in answer.facts if (fact.case, fact.name) == (case, name))


def short(text: str) -> str:
    """The answer's first paragraph, which the report quotes."""
    return " ".join(text.split("\n\n")[1].split())


def step(forward: float, backward: float, optimizer_ms: float, **others) -> Sample:
    """A case with 10 ms forward and 20 ms backward, of which these shares are gemm."""
    parts: list[Kernel] = []
    for place, ms, share in (("forward/block", 10, forward), ("backward", 20, backward)):
        gemm = int(1e6 * ms * share)
        parts.append((f"train_step/{place}", "gemm", "gemm", 8, gemm))
        parts.append((f"train_step/{place}", "add", "elementwise", 8, 1_000_000 * ms - gemm))
    optimizer = ("train_step/optimizer", "mul", "elementwise", 4, int(1e6 * optimizer_ms))
    inference = [(path.removeprefix("train_step/"), *rest) for path, *rest in parts[:2]]
    phases = {"forward": inference, "forward_backward": parts, "train_step": [*parts, optimizer]}
    return Sample(kernels=phases, **others)


def test_gemm_share_is_of_all_device_time_of_the_phase(ask):
    answer, text = ask(SHORT)
    assert fact(answer, "forward/gemm").value == pytest.approx(0.6)
    assert fact(answer, "forward_backward/gemm").value == pytest.approx(0.9)
    assert fact(answer, "train_step/gemm").value == pytest.approx(0.5)
    assert fact(answer, "gemm_from_forward_to_train_step").value == "falls"
    assert "share of device time falls: 60.0 % before, 50.0 % after" in text
    assert "takes 9.00 ms a step. That is 45.0 % of the step." in text


@pytest.mark.parametrize(
    ("change", "word"), [(-0.02, "falls"), (0.02, "rises"), (0.005, "unchanged")]
)
def test_directions_of_a_share(change, word):
    assert gemm_share.direction(change) == word


def test_an_oom_training_step_is_said_and_not_compared(ask):
    answer, text = ask(Sample(status=OOM))
    assert answer.status == "complete"
    assert "can't be compared" in text
    assert "Out of memory: small-ctx128-fp32 (training step)" in text
    assert "optimizer" not in text


def test_skipped_phases_say_why(ask):
    _, text = ask(Sample(status=SKIPPED))
    assert "Skipped: small-ctx128-fp32 (training step) (needs more memory than" in text
    assert re.search(r"\| training step +\| +skipped", text)


def test_a_part_of_a_step_captured_before_running_out_of_memory_is_no_number(tmp_path):
    write_tables(tmp_path, SHORT)
    pd.DataFrame(Sample(status=OOM).timings()).to_csv(tmp_path / "timings.csv", index=False)
    answer, _ = answer_question("d", tmp_path, TEMPLATES)
    assert not any(f.name.startswith("train_step/") for f in answer.facts)


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("train_step/forward/block/norm", "forward"),
        ("train_step/backward", "backward"),
        ("train_step/loss", "loss"),
        ("train_step/optimizer", "optimizer"),
        ("train_step/zero_grad", "rest"),
        ("train_step/backwards", "rest"),
        ("train_step", "rest"),
    ],
)
def test_a_path_lies_in_one_part_of_the_step(path, part):
    assert part_of(path) == part


def test_parts_of_a_step_add_up_and_have_their_rows(ask):
    answer, _ = ask(SHORT)
    parts = ("forward", "backward", "optimizer", "rest")
    times = [fact(answer, f"train_step/{part}/ms").value for part in parts]
    assert times == pytest.approx([6.0, 4.0, 9.0, 1.0])
    assert sum(times) == pytest.approx(fact(answer, "train_step/step/ms").value)
    assert fact(answer, "train_step/optimizer/share").value == 0
    assert len(fact(answer, "train_step/step/ms").rows) == len(TRAIN)


def test_the_change_is_split_into_backward_s_and_the_optimizer_s(ask):
    answer, text = ask(step(forward=0.8, backward=0.8, optimizer_ms=10))
    assert fact(answer, "by_backward").value == pytest.approx(0.0)
    assert fact(answer, "by_optimizer").value == pytest.approx(0.6 - 0.8)
    assert "Backward changes it by +0.0 points, the optimizer by -20.0 points." in text
    assert "Without the optimizer it would be 80.0 %." in text


def test_a_fall_is_blamed_on_backward_where_backward_takes_off_more(ask):
    poor = step(forward=0.8, backward=0.4, optimizer_ms=1, context=256)
    _, text = ask(step(0.8, 0.8, 10), poor)
    assert (
        "The share falls by more than 1 point in both cases; the optimizer lowers it more than "
        "backward does in 1 of them." in " ".join(text.split())
    )
    assert (
        "Backward lowers it more than the optimizer does in 1 of 2 (small, context 256, all at"
        in text
    )
    assert (
        "Backward's own share is more than 1 point below that of the same step's forward in 1 of "
        "2 cases, and more than 1 point above it in none of 2 cases (the largest difference: "
        "-40.0 points in small, context 256)"
    ) in text


def test_products_slower_than_their_flops_say_that_the_cause_is_not_shown(ask):
    parts: list[Kernel] = [
        ("train_step/forward/block", "gemm", "gemm", 8, 5_000_000),
        ("train_step/forward/block", "add", "elementwise", 8, 5_000_000),
        *(
            ("train_step/backward", f"sm80_xmma_gemm_f32_{layout}_n_64x64x8", "gemm", 8, ns)
            for layout, ns in (("nn", 5_000_000), ("nt", 9_000_000))
        ),
        ("train_step/backward", "add", "elementwise", 8, 10_000_000),
        ("train_step/optimizer", "mul", "elementwise", 4, 1_000_000),
    ]
    _, text = ask(Sample(kernels={**SHORT.kernels, "train_step": parts}))
    assert (
        "because backward's products take 2.80 times as long as forward's rather than twice (those "
        "in nt alone 1.80 times), and all else 2.00 times; why its products take more than twice "
        "as long isn't shown."
    ) in text
    assert "((b) has the products' ratio in the phase forward + backward)" in text
    _, text = ask(step(0.8, 0.8, 10))
    assert "isn't shown" not in text and "(b) has" not in text


def test_precisions_are_told_apart(ask):
    samples = [step(0.8, 0.8, 10), step(0.8, 0.8, 10, context=256)]
    samples += [
        step(0.3, 0.36, 10, precision="bf16"),
        step(0.3, 0.36, 10, precision="bf16", context=256),
    ]
    _, text = ask(*samples)
    assert short(text) == (
        "In fp32 matrix multiplication's share of device time is a median of 80.0 % in the "
        "forward pass and 60.0 % in a training step; in bf16 30.0 % and 25.5 %. The share "
        "falls by more than 1 point in all 4 cases; the optimizer lowers it more than backward "
        "does in all of them."
    )
    assert (
        "above it in both cases (the largest difference: +6.0 points in small, context 128)" in text
    )
    assert "| small           | 30 % \N{RIGHTWARDS ARROW} 26 % |" in text


def test_where_backward_s_share_is_larger_in_some_and_smaller_in_others_both_are_counted(ask):
    samples = [step(0.3, share, 10, context=c) for c, share in ((128, 0.4), (256, 0.4), (512, 0.2))]
    _, text = ask(*samples)
    assert (
        "In fp32 matrix multiplication has a larger share of backward than of forward in 2 of 3 "
        "cases (in all at context 128 and 256), and a smaller one in 1 (in all at context 512): "
        "in the median, backward's products take"
    ) in text
    assert "than of forward in both cases, because" in ask(*samples[:2])[1]
    assert "has the same share of backward as of forward: backward's" in ask(step(0.8, 0.8, 10))[1]


def test_the_optimizer_s_time_is_the_same_only_where_it_is(ask):
    same = [step(0.8, 0.8, 10), step(0.3, 0.3, 10.1, precision="bf16")]
    _, text = ask(*same)
    assert "takes 10.0 ms a step, the same at every precision (within 1.0 %)." in text
    assert "So the less the rest takes, the larger its share" in text
    _, text = ask(step(0.8, 0.8, 10), step(0.3, 0.3, 20, precision="bf16"))
    assert "takes 10.0 ms a step (small, context 128, fp32) to 20.0 ms (small, " in text
    assert "the same at every" not in text


def test_an_optimizer_that_multiplies_is_not_said_not_to(ask):
    muon = ("train_step/optimizer", "gemm", "gemm", 1, 1_000_000)
    kernels = {**SHORT.kernels, "train_step": [*TRAIN, muon]}
    assert "multiplies no matrices" in ask(SHORT)[1]
    _, text = ask(Sample(kernels=kernels))
    assert "multiplies matrices too" in text
    assert "multiplies no matrices" not in text


def test_another_optimizer_is_compared_only_where_it_was_measured(tmp_path):
    written_out, fused = step(0.8, 0.8, 10), step(0.8, 0.8, 2, context=999)
    write_tables(tmp_path, written_out, fused)
    assert "in place of the one written out" not in answer_question("d", tmp_path, TEMPLATES)[1]
    for name in ("timings", "kernels", "captures"):
        table = pd.read_csv(tmp_path / f"{name}.csv")
        mine = table["context"] == 999
        table.loc[mine, ["case", "context", "optimizer"]] = ["small-ctx128-fused", 128, "fused"]
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    _, text = answer_question("d", tmp_path, TEMPLATES)
    assert (
        "With torch's fused AdamW in place of the one written out (small, context 128, adamw), "
        "the optimizer takes 2.00 ms, not 10.0 ms, and the share of the step is 75.0 %, not 60.0 %."
    ) in text


def test_fused_attention_is_said_not_to_be_counted(ask):
    flash = ("forward/block/attention/sdpa", "flash", "attention", 12, 5_000_000)
    said = "Fused attention multiplies matrices too"
    _, text = ask(Sample(attention="sdpa", kernels={**SHORT.kernels, "forward": [*FORWARD, flash]}))
    assert said in text
    assert said not in ask(SHORT)[1]


def test_a_step_without_ranges_of_its_parts_has_no_reasons(ask):
    bare = [("train_step", *rest) for _, *rest in TRAIN]
    _, text = ask(Sample(kernels={**SHORT.kernels, "train_step": bare}))
    assert "60.0 % before, 50.0 % after" in text
    assert "optimizer" not in text.split("## Tables of")[0]


def test_on_a_cpu_it_is_operator_time(ask):
    _, text = ask(Sample(device="cpu"), Sample(device="cpu", context=256))
    assert "share of operator time is a median of 60.0 %" in text
    assert "device" not in text.split("## Tables of")[0]


def test_an_answer_for_sixty_cases_is_short(ask):
    _, text = ask(*grid())
    assert len([line for line in text.split("## Tables of")[0].splitlines() if line]) <= 45


def test_figures_of_the_published_tables_hold_when_computed_apart():
    folder = ROOT / "examples" / "h200" / "tables"
    kernels = pd.read_csv(folder / "kernels.csv")
    kernels = kernels[kernels["precision"] == "bf16"]
    step = kernels[kernels["phase"] == "train_step"]
    before = share(kernels[kernels["phase"] == "forward"])
    without = share(step[step["path"] != "train_step/optimizer"])
    backward = share(step[step["path"] == "train_step/backward"])
    forward = share(step[step["path"].str.startswith("train_step/forward")])
    _, text = answer_question("d", folder, TEMPLATES)
    (line,) = [line for line in text.splitlines() if line.startswith("- **bf16")]
    diluted = 100 * (share(step) - without).median()
    assert f"The optimizer changes it by a median of {diluted:+.1f} points" in line
    assert f"backward by {100 * (without - before).median():+.1f} points" in line
    below = sum(backward - forward < -0.01)
    assert f"below that of the same step's forward in {below} of 20 cases" in line
    assert f"1 point above it in {sum(backward - forward > 0.01)} of 20 cases" in line


def share(kernels: pd.DataFrame) -> pd.Series:
    """gemm's share of busy time, by case."""
    of_gemm = kernels[kernels["family"] == "gemm"].groupby("case")["busy_ns"].sum()
    return of_gemm / kernels.groupby("case")["busy_ns"].sum()
