"""Answer (b): the top kernel of each part, where it runs, and how it compares with forward's."""

from pathlib import Path

import pandas as pd
import pytest

from tests.questions import answer_question
from tests.synthetic_tables import BACKWARD, FORWARD, Kernel, Sample, grid, write_tables
from workflow_src.answers import top_summary
from workflow_src.answers.answer import Answer, Fact
from workflow_src.answers.components import component_of
from workflow_src.answers.kernel_words import layout, what
from workflow_src.answers.top_summary import factored

ROOT = Path(__file__).parent.parent
TEMPLATES = ROOT / "report_templates"
SHORT = Sample()
SKIPPED = {
    "forward_backward": ("oom", "CUDA out of memory"),
    "train_step": ("skipped", "needs more memory than forward_backward"),
}
XMMA = "sm80_xmma_gemm_f32f32_f32f32_f32_{}_n_tilesize64x64x8_stage3_execute_kernel__5x_cublas"
TO_BF16 = (
    "void at::native::vectorized_elementwise_kernel<8, at::native::bfloat16_copy_kernel_cuda(at::"
    "TensorIteratorBase &)::[lambda(float) (instance 1)], std::array<char *, 2>>(int, T2, T3)"
)
TO_FP32 = (
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::"
    "TensorIteratorBase &)::[lambda(float) (instance 1)], std::array<char *, 2>, 4>(int, T1)"
)
FORWARD_B: list[Kernel] = [
    ("forward/block/feed_forward", XMMA.format("tn"), "gemm", 24, 5_000_000),
    ("forward/block/attention/output", XMMA.format("tn"), "gemm", 12, 2_000_000),
    ("forward/head", XMMA.format("tn"), "gemm", 1, 1_000_000),
    ("forward/block/norm", "tiny", "normalization", 25, 2_000_000),
]
BOTH_B: list[Kernel] = [
    *((f"forward_backward/{path}", *rest) for path, *rest in FORWARD_B),
    ("forward_backward/backward", XMMA.format("nn"), "gemm", 37, 9_000_000),
    ("forward_backward/backward", XMMA.format("nt"), "gemm", 37, 7_000_000),
    ("forward_backward/backward", "tiny_backward", "normalization", 25, 4_000_000),
]
CAST_FORWARD: list[Kernel] = [
    ("forward/block/feed_forward", TO_BF16, "copy", 36, 4_000_000),
    ("forward/head", TO_BF16, "copy", 2, 1_000_000),
    ("forward/block/feed_forward", "nvjet_tst_64x64_1x2_h_bz_TNT", "gemm", 36, 3_000_000),
]
CAST_BOTH: list[Kernel] = [
    *((f"forward_backward/{path}", *rest) for path, *rest in CAST_FORWARD),
    ("forward_backward/backward", TO_FP32, "copy", 38, 6_000_000),
    ("forward_backward/backward", "nvjet_tst_64x64_1x2_h_bz_NTT", "gemm", 36, 4_000_000),
]


@pytest.fixture
def ask(tmp_path):
    def asked(*samples: Sample, layers: int = 0) -> tuple[Answer, str]:
        folder = write_tables(tmp_path, *samples)
        if layers:
            add_layers(folder, layers)
        return answer_question("b", folder, TEMPLATES)

    return asked


def add_layers(folder: Path, layers: int) -> None:
    """Add the forward pass's blocks to ranges.csv."""
    ranges = pd.read_csv(folder / "ranges.csv")
    blocks = ranges[ranges["path"] == "forward"].assign(path="forward/block", instances=layers)
    pd.concat([ranges, blocks]).to_csv(folder / "ranges.csv", index=False)


def example(**others) -> Sample:
    """A case whose kernels have cuBLAS's names."""
    return Sample(kernels={"forward": FORWARD_B, "forward_backward": BOTH_B}, **others)


def casting(**others) -> Sample:
    """A bf16 case that casts more than it multiplies."""
    phases = {"forward": CAST_FORWARD, "forward_backward": CAST_BOTH}
    return Sample(kernels=phases, precision="bf16", **others)


def copies_as_kernels(folder: Path) -> Path:
    """Casts are kernels, unlike the copies of synthetic tables."""
    kernels = pd.read_csv(folder / "kernels.csv")
    kernels["kind"] = "kernel"
    kernels.to_csv(folder / "kernels.csv", index=False)
    return folder


def fact(answer: Answer, name: str, case: str = SHORT.case) -> Fact:
    return next(fact for fact in answer.facts if (fact.case, fact.name) == (case, name))


def short(text: str) -> str:
    """The answer's first paragraph, which the report quotes."""
    return " ".join(text.split("\n\n")[1].split())


def test_top_kernel_adds_up_the_paths_of_one_name(ask):
    answer, _ = ask(SHORT)
    assert fact(answer, "forward/name").value == "void gemm_long_name<float>"
    assert fact(answer, "forward/short_name").value == "void gemm_long_name"
    assert fact(answer, "forward/calls_per_step").value == 24
    assert fact(answer, "forward/share").value == pytest.approx(0.6)
    assert fact(answer, "forward/share").rows == (2, 6)
    assert fact(answer, "forward/in scores and mask/calls").value == 12
    assert fact(answer, "forward/in scores and mask/ms").value == pytest.approx(4.0)
    assert fact(answer, "forward/in values/ms").rows == (6,)


def test_top_kernel_of_the_backward_is_what_was_launched_in_it(ask):
    answer, text = ask(SHORT)
    assert fact(answer, "backward/name").value == "gemm_backward"
    assert fact(answer, "backward/share").value == pytest.approx(12 / 14)
    assert fact(answer, "forward_backward/share").value == pytest.approx(12 / 20)
    assert fact(answer, "forward_backward/same_as_forward").value is False
    assert fact(answer, "forward_backward/likeness_to_forward").value == "product"
    assert short(text) == (
        "In fp32 (small, context 128) a matrix product takes the most device time of the forward "
        "pass: 60.0 % of it, in 24 calls (QK^T, AV). In backward a matrix product leads (85.7 %, "
        "48 calls): another matrix product."
    )
    assert (
        "the forward pass's top kernel is void gemm_long_name, and backward's gemm_backward."
        in text
    )
    assert "In backward it is another: 48 calls, 12.00 of 14.00 ms, 85.7 %." in text


def test_the_same_kernel_is_said_only_where_it_is_the_same(ask):
    same = [(path, "void gemm_long_name<float>", *rest) for path, _, *rest in BACKWARD]
    sample = Sample(kernels={"forward": FORWARD, "forward_backward": same})
    answer, text = ask(sample)
    assert fact(answer, "backward/same_as_forward").value is True
    assert "leads (100.0 %, 60 calls): the same kernel." in text
    assert text.count("it is the forward pass's again: ") == 2
    assert "the same" not in ask(SHORT)[1]


def test_copies_are_no_kernels(ask):
    copy = ("forward", "big_copy", "copy", 1, 90_000_000)
    answer, _ = ask(Sample(kernels={"forward": [*FORWARD, copy]}))
    assert fact(answer, "forward/family").value == "gemm"


def test_calls_that_are_not_whole_are_marked(tmp_path):
    write_tables(tmp_path, SHORT)
    kernels = pd.read_csv(tmp_path / "kernels.csv")
    kernels.loc[0, "calls"] += 1
    kernels.to_csv(tmp_path / "kernels.csv", index=False)
    _, text = answer_question("b", tmp_path, TEMPLATES)
    assert "24.50 (not an integer)" in text
    assert "Calls per pass are not an integer" in text


def test_top_kernel_without_a_backward_compares_nothing(ask):
    answer, text = ask(Sample(status=SKIPPED))
    assert "No backward was measured to compare." in text
    assert "the same" not in text
    assert "Is backward's the same?" not in text
    assert answer.status == "complete"
    assert "OOM" in text
    assert "Out of memory" in text


def test_of_both_parts_only_the_calls_in_backward_are_said_to_be_there(ask):
    mm = ("aten::mm", "gemm", 11, 3_000_000)
    both = [
        ("forward_backward/forward/block", *mm),
        ("forward_backward/backward", "aten::mm", "gemm", 22, 6_000_000),
    ]
    kernels = {"forward": [("forward/block", *mm)], "forward_backward": both}
    _, text = ask(Sample(kernels=kernels, device="cpu"))
    assert "100 % product: 22 in backward |" in text
    assert "100 % product: 33, 22 of them in backward |" in text


def test_the_same_operator_everywhere_needs_no_table(ask):
    mm = [("forward", "aten::mm", "gemm", 4, 3_000_000)]
    both = [("forward_backward/backward", "aten::mm", "gemm", 8, 6_000_000)]
    kernels = {"forward": mm, "forward_backward": [("forward_backward/forward", *mm[0][1:]), *both]}
    _, text = ask(Sample(kernels=kernels), Sample(kernels=kernels, context=256))
    assert "**Is backward's the same?** Yes, by whole name: in both cases, in backward and" in text
    _, text = ask(example(), example(context=256))
    assert "Yes, by whole name" not in text and "**Is backward's the same?** In how many" in text


def test_calls_are_explained_by_places_and_layers(ask):
    answer, text = ask(example(), layers=12)
    assert fact(answer, "layers") == Fact(SHORT.case, "layers", 12, "", "ranges", (8, 9))
    assert "24 + 12 + 1 = 37 calls, and 8.000 of 10.00 ms are 80.0 %." in text
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    assert ["feed-forward", "24", "2 x 12 layers", "5.000", "50.0 %"] in rows
    assert ["attention output projection", "12", "1 x 12 layers", "2.000", "20.0 %"] in rows
    assert ["output head", "1", "\N{EN DASH}", "1.000", "10.0 %"] in rows
    assert ["together", "37", "3 x 12 layers + 1", "8.000", "80.0 %"] in rows
    assert "37 calls (3 x 12 layers + 1), 9.000 of 20.00 ms, 45.0 %" in text


def test_without_blocks_in_ranges_no_layers_are_claimed(ask):
    _, text = ask(example())
    assert "layers" not in text.split("## Tables of")[0]
    assert "24 + 12 + 1 = 37 calls" in text


@pytest.mark.parametrize(
    ("calls", "layers", "text"),
    [
        (37, 12, "3 x 12 layers + 1"),
        (134, 12, "11 x 12 layers + 2"),
        (36, 12, "3 x 12 layers"),
        (40, 12, ""),
        (1, 12, ""),
        (36.5, 12, ""),
        (22, 2, ""),
        (37, None, ""),
        (37, float("nan"), ""),
    ],
)
def test_calls_as_a_multiple_of_layers(calls, layers, text):
    assert factored(calls, layers) == text


def test_the_place_of_most_leading_products_is_named_unless_two_are_tied():
    rows = [{"places": [{"place": place}]} for place in ("output head", "feed-forward")]
    assert top_summary.mostly(rows) == ""
    assert top_summary.mostly([*rows, rows[1]]) == "feed-forward"
    assert top_summary.mostly(rows[:1]) == "output head" and top_summary.mostly([]) == ""


def test_transposed_products_are_told_from_other_kernels(ask):
    samples = [example(), example(context=256)]
    answer, text = ask(*samples, layers=12)
    assert fact(answer, "backward/likeness_to_forward").value == "transposed"
    assert short(text) == (
        "In fp32 a matrix product, above all the feed-forward's, takes the most device time of "
        "the forward pass in both cases (a median of 80.0 % of it, in 3 calls a layer); in "
        "backward a matrix product leads in both cases, always with another kernel, made for "
        "factors transposed another way. In small, context 128, for example, it is "
        "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_execute_kernel\\_\\_5x_cublas"
        ", called 37 times a pass (3 x 12 layers + 1) for several of the model's products; in "
        "backward it is "
        "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8_stage3_execute_kernel\\_\\_5x_cublas"
        ", called 37 times."
    )
    assert "| fp32        | backward           |       2 |" in text


def test_a_kernel_is_said_to_run_several_products_only_where_it_does(ask):
    _, text = ask(example(), example(context=256), layers=12)
    assert "One kernel may run several products." in text
    alone = {"forward": FORWARD_B[:1], "forward_backward": BOTH_B}
    _, text = ask(*(Sample(kernels=alone, context=context) for context in (128, 256)), layers=12)
    assert "called 24 times a pass (2 x 12 layers); in" in short(text)
    assert "several" not in text


def test_a_transposed_product_of_one_case_is_said_to_be_one(ask):
    _, text = ask(example())
    assert short(text).endswith(
        "In backward a matrix product leads (45.0 %, 37 calls): another kernel, made for factors "
        "transposed another way."
    )


def test_layouts_show_why_names_differ(ask):
    answer, text = ask(example())
    assert fact(answer, "forward/matrix products/tn").value == pytest.approx(8.0)
    assert fact(answer, "backward/matrix products/nt").value == pytest.approx(7.0)
    (line,) = [line for line in text.splitlines() if line.startswith("| fp32        |")]
    cells = [cell.strip() for cell in line.split("|")[1:-1]]
    assert cells == ["fp32", "100.0 %", "0.0 %", "56.2 %", "43.8 %", "0.0 %", "2.00"]
    assert "Why another name" not in ask(SHORT)[1]


def test_precisions_are_told_apart_and_casts_are_named(tmp_path):
    folder = write_tables(tmp_path, example(), example(context=256), casting())
    add_layers(copies_as_kernels(folder), 12)
    answer, text = answer_question("b", folder, TEMPLATES)
    assert "In the forward pass of bf16 it is a cast to bf16. In small" in short(text)
    assert (
        "In the forward pass, a cast to bf16: 38 calls a pass: 36 feed-forward (3 x 12 layers) + "
        "2 output head; 62.5 % of device time in small, context 128, bf16. Why autocast casts, and "
        "what would spare some of it, is in (c)."
    ) in text
    assert (
        "In backward, a cast to float32: 38 calls a pass (3 x 12 layers + 2), 60.0 % of device "
        "time in small, context 128, bf16. There are as many as the forward pass has casts to a "
        "narrower type"
    ) in text
    case = "small-ctx128-bf16"
    assert fact(answer, "backward/casts in forward", case).value == 38
    assert fact(answer, "backward/likeness_to_forward", case).value == "family"


def test_a_division_in_softmax_is_explained(ask):
    name = "void at::native::elementwise_kernel<128, 2, DivFunctor<float>>(int, T3)"
    division = ("forward/block/attention/softmax", name, "elementwise", 12, 9_000_000)
    _, text = ask(Sample(kernels={"forward": [*FORWARD, division]}))
    assert "Where no matrix product leads" in text
    assert "12 calls a pass in softmax, 47.4 % of device time." in text


@pytest.mark.parametrize(("calls", "explained"), [(36, True), (24, False)])
def test_three_divisions_a_layer_are_the_gradient_of_softmax_s(tmp_path, calls, explained):
    name = "aten::div"
    forward = [*FORWARD, ("forward/block/attention/softmax", name, "elementwise", 12, 1_000_000)]
    both = [(f"forward_backward/{path}", *rest) for path, *rest in forward]
    both += [("forward_backward/backward", name, "elementwise", calls, 90_000_000)]
    folder = write_tables(tmp_path, Sample(kernels={"forward": forward, "forward_backward": both}))
    add_layers(folder, 12)
    _, text = answer_question("b", folder, TEMPLATES)
    (said,) = [line for line in text.splitlines() if line.startswith("- In backward, a division")]
    assert f"{calls} calls a pass ({calls // 12} x 12 layers), " in said
    assert ("takes three: one for its numerator, two for its divisor." in said) == explained
    assert ("The same kernel runs in the forward pass's softmax." in said) != explained


def test_ties_go_to_the_first_by_name(ask):
    tied = [("forward/block", name, "gemm", 1, 1_000_000) for name in ("b", "a")]
    answer, _ = ask(Sample(kernels={"forward": tied}))
    assert fact(answer, "forward/name").value == "a"


def test_on_a_cpu_operators_have_no_layouts(ask):
    mm: list[Kernel] = [("forward/head", "aten::mm", "gemm", 1, 1_000_000)]
    both: list[Kernel] = [
        ("forward_backward/forward/head", "aten::mm", "gemm", 1, 1_000_000),
        ("forward_backward/backward", "aten::mm", "gemm", 2, 2_000_000),
    ]
    _, text = ask(Sample(device="cpu", kernels={"forward": mm, "forward_backward": both}))
    assert "leads (100.0 %, 2 calls): the same operator." in text
    assert "An operator's name covers all its uses" in text
    assert "cuBLAS" not in text
    assert "kernel" not in text


def test_an_answer_for_sixty_cases_is_short(ask):
    _, text = ask(*grid())
    assert len([line for line in text.split("## Tables of")[0].splitlines() if line]) <= 55


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (XMMA.format("tn"), "tn"),
        ("cutlass_80_simt_sgemm_256x128_8x4_nt_align1", "nt"),
        ("cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4", "nn"),
        ("nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_NTT", "nt"),
        ("ampere_sgemm_128x64_tn", "tn"),
        ("splitKreduce_kernel", ""),
        ("aten::mm", ""),
    ],
)
def test_layouts_of_libraries_names(name, expected):
    assert layout(name) == expected


@pytest.mark.parametrize(
    ("name", "short_name", "family", "expected"),
    [
        (TO_BF16, "vectorized_elementwise(bfloat16_copy)", "copy", "cast to bf16"),
        (TO_FP32, "unrolled_elementwise(direct_copy)", "copy", "cast to float32"),
        ("[CUDA memcpy Device-to-Device]", "[CUDA memcpy Device-to-Device]", "copy", "copy"),
        ("aten::bmm", "aten::bmm", "gemm", "matrix product"),
        ("aten::div", "aten::div", "elementwise", "division"),
        ("x", "reduce(maxnan)", "reduction", "maximum"),
        ("x", "unheard_of(thing)", "elementwise", "elementwise operation"),
    ],
)
def test_kernels_in_words(name, short_name, family, expected):
    assert what(name, short_name, family) == expected


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("forward/block/attention/qkv", "q/k/v projections"),
        ("forward_backward/forward/block/attention/softmax", "softmax"),
        ("forward/block", "residual additions"),
        ("forward_backward/backward", "backward"),
        ("forward", "elsewhere"),
        ("forward/block/unheard_of", "unheard of"),
        ("train_step", "elsewhere"),
        ("", "elsewhere"),
    ],
)
def test_components_of_paths(path, name):
    assert component_of(path).name == name


def test_figures_of_the_published_tables_hold_when_computed_apart():
    folder = ROOT / "examples" / "h200" / "tables"
    kernels = pd.read_csv(folder / "kernels.csv")
    mine = kernels[(kernels["phase"] == "forward") & (kernels["precision"] == "fp32")]
    names = mine.groupby(["case", "name"])["busy_ns"].sum()
    tops = names.groupby("case").max() / mine.groupby("case")["busy_ns"].sum()
    answer, text = answer_question("b", folder, TEMPLATES)
    assert f"a median of {100 * tops.median():.1f} % of it" in short(text)
    case = "small-ctx128-fp32"
    assert fact(answer, "layers", case).value == 12
    assert fact(answer, "forward/calls_per_step", case).value == 37
    assert [
        fact(answer, f"forward/in {place}/calls", case).value
        for place in ("feed-forward", "attention output projection", "output head")
    ] == [24, 12, 1]
