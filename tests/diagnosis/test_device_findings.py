"""What is found of device work in steps made by hand, and what a step saves without it."""

from pathlib import Path

import pytest

from tests.diagnosis.device_steps import (
    DeviceSteps,
    Kernel,
    Savings,
    found,
    savings,
    savings_of,
    subject,
)
from workflow_src.diagnosis.facts import repeated

AT, CUTLASS = "void at::native::", "cutlass_80_"
FPROP = "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nhwckrsc_nhwc_tilesize128x64x8"
CONV = FPROP.replace("f32f32_f32f32", "f32f32_tf32f32")
CONV_16 = FPROP.replace("f32f32_f32f32", "bf16bf16_bf16f32")
UNALIGNED = "cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_tn_align1"
TO_DOUBLE = f"{AT}unrolled_elementwise_kernel<direct_copy_kernel_cuda lambda(double)>"

NAMES = {
    "GEMM": "nvjet_sm90_tst_192x192_64x4_2x1_v_bz_coopB_TNN",
    "SIMT": f"{CUTLASS}simt_sgemm_256x128_8x4_nn_align1",
    "VOLTA": "volta_sgemm_128x64_nn",
    "TF32": f"{CUTLASS}tensorop_s1688gemm_128x64_32x6_nt_align4",
    "UNALIGNED": UNALIGNED,
    "UNALIGNED_CONV": f"{UNALIGNED}_fprop",
    "DOUBLE_GEMM": f"{CUTLASS}tensorop_d884gemm_128x64_16x3_nn_align1",
    "SPLIT": "splitKreduce_kernel",
    "MUL": f"{AT}vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float>>",
    "TANH": f"{AT}vectorized_elementwise_kernel<4, at::native::tanh_kernel_cuda>",
    "DOUBLE": f"{AT}vectorized_elementwise_kernel<2, MulFunctor<double>>",
    "CAST": f"{AT}vectorized_elementwise_kernel<4, at::native::bfloat16_copy_kernel_cuda>",
    "TO_DOUBLE": TO_DOUBLE,
    "FROM_DOUBLE": TO_DOUBLE.replace("double", "c10::Half"),
    "SUM": f"{AT}reduce_kernel<512, 1, at::native::ReduceOp<float, sum>>",
    "SOFTMAX": f"{AT}softmax_warp_forward<float, float, float, 10, false, false>",
    "ISNEGINF": "vectorized_elementwise_kernel<4, isneginf_kernel_impl>",
    "ALL": "reduce_kernel<512, ReduceOp<bool, and_kernel_cuda>>",
    "ADAM": "void multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4>, double, double>",
    "FPROP": FPROP,
    "CONV": CONV,
    "CONV_16": CONV_16,
    "GROUPS": f"{AT}elementwise_kernel<128, 2, GroupNormKernelImplInternal<float> lambda>",
    "READ": "void at::native::vectorized_gather_kernel<16, long>(char *, char *, long *, int)",
    "SORTED": "void <unnamed>::indexing_backward_kernel<float, 4>(const long *, const long *)",
    "TO_NHWC": "void cudnn::engines_precompiled::nchwToNhwcKernel<__half, __half, float>",
}


def kernels(text: str) -> list[Kernel]:
    """The kernels of "path: NAME us xcount, NAME us; path: ..."."""
    rows: list[Kernel] = []
    for part in text.split("; "):
        path, names = part.split(": ")
        for name, length, *count in (each.split() for each in names.split(", ")):
            rows += [(path, NAMES[name], float(length))] * int("".join(count).lstrip("x") or 1)
    return rows


CHAIN = "MUL 30, MUL 40, TANH 50, MUL 30, MUL 60, TANH 20"
GUARDED = "SIMT 300, SOFTMAX 30, ISNEGINF 10, ALL 10, MUL 10, SIMT 300"
"""Attention by torch's math backend."""

FOUND: list[tuple[str, str, Savings]] = [
    # Of 230 us the two longest kernels, 60 and 50, stay.
    ("elementwise_chain", f"mlp: GEMM 99, {CHAIN}, GEMM 99", {"step/mlp": 120}),
    # A reduction inside belongs to it; casts and sums at either end, and small tensors, don't.
    ("elementwise_chain", "mlp: SUM 20, CAST 9, MUL 30, MUL 40, TANH 50, SUM 40, MUL 30, MUL 60, "
     "TANH 20, MUL 3, CAST 9", {"step/mlp": 160}),
    ("elementwise_chain", "mlp: GEMM 99, MUL 30, MUL 40, TANH 50, MUL 30, GEMM 99", {}),
    # The same for one parameter after another is no chain, nor is a very long run.
    ("elementwise_chain", "optimizer: " + ", ".join([CHAIN] * 3), {}),
    ("elementwise_chain", "optimizer: " + ", ".join([CHAIN] * 6) + ", MUL 30 x5", {}),
    # Layers alike are one place.
    ("elementwise_chain", "; ".join(f"layer.{n}/mlp: {CHAIN}, GEMM 9" for n in range(3)),
     {"step/layer.*/mlp": 360}),
    # Products in float32, which take a fifteenth in bf16, as the others, are a finding besides.
    ("attention_written_out", f"mix: GEMM 99, {GUARDED}, GEMM 99", {"step/mix": 60}),
    ("float32_products", f"mix: GEMM 99, {GUARDED}, GEMM 99", {"step/mix": 560}),
    # 70 us between the products go.
    ("attention_written_out", "attention: GEMM 30, MUL 20, SOFTMAX 40, CAST 10, GEMM 30",
     {"step/attention": 70}),
    ("attention_written_out", "head: GEMM 30, SOFTMAX 40, SUM 10", {}),
    # 150 us at a fifteenth, the others' kind being bf16; at 2 / 15 where none is faster.
    ("float32_products", "head: GEMM 50, SIMT 150, SPLIT 9", {"step/head": 140}),
    ("float32_products", "head: SIMT 150", {"step/head": 130}),
    ("float32_products", "stem: FPROP 150", {"step/stem": 130}),
    ("float32_products", "head: TF32 150, GEMM 50", {}),
    ("float32_products", "body: CONV 60 x6, CONV_16 20 x2", {}),
    # 130 us take a 6.5th. SIMT kernels never load more, and convolutions of three channels can't.
    ("unaligned_products", "head: UNALIGNED 130, SIMT 50", {"step/head": 110}),
    ("unaligned_products", "head: TF32 130, UNALIGNED_CONV 50", {}),
    # A cast of 20 goes, 80 us of arithmetic take a quarter, 130 of products a thirteenth.
    ("float64", "mlp: GEMM 9, MUL 9, MUL 9, TO_DOUBLE 20, DOUBLE 80, GEMM 9", {"step/mlp": 80}),
    # So does the cast of 30 after it, which names its result's type alone; a later one doesn't.
    ("float64", "mlp: GEMM 9 x3, DOUBLE 80, FROM_DOUBLE 30, FROM_DOUBLE 30", {"step/mlp": 90}),
    ("float64", "mlp: GEMM 9 x3, DOUBLE_GEMM 130", {"step/mlp": 120}),
    ("float64", "optimizer: GEMM 9, GEMM 9, ADAM 90", {}),
    ("float64", "mlp: DOUBLE 20, DOUBLE 80, DOUBLE_GEMM 9", {}),
    # Reading takes 15 us on average, adding up twice as long; what takes less is left.
    ("index_gradients", "net: READ 10, READ 20, SORTED 80, SORTED 25", {"step/net": 50}),
    ("index_gradients", "net: SORTED 80", {}),
    # Without backward, as in decoding, nothing is updated.
    ("parameter_by_parameter", "body: GEMM 9; norms: MUL 9 x40", {}),
    ("convolution_layout", "net: TO_NHWC 30, GEMM 50, TO_NHWC 30", {"step/net": 60}),
    # In channels_last norms over groups would need copies instead.
    ("convolution_layout", "net: TO_NHWC 90, FPROP 50, GROUPS 10", {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("key", "work", "saved"), FOUND, ids=[f"{n}-{row[0]}" for n, row in enumerate(FOUND)]
)
def test_what_a_step_saves_without_each_mechanism(
    tmp_path: Path, key: str, work: str, saved: Savings
) -> None:
    assert savings(tmp_path, key, kernels(work)) == pytest.approx(saved)


@pytest.mark.parametrize(
    ("card", "left_us"),
    [
        (("Tesla V100-SXM2-32GB", 7, 0), 20),
        (("NVIDIA A100-SXM4-80GB", 8, 0), 20),
        (("NVIDIA H200", 9, 0), 160 * 2 / 15),
        # TF32 gains nothing there, but 16 bits do.
        (("NVIDIA GeForce RTX 4090", 8, 9), 80),
        (("NVIDIA GeForce GTX 1080", 6, 1), None),
        # No more is claimed than holds of all cards that have such units.
        (("AMD Instinct MI250X", 9, 0), 80),
        (None, 80),
    ],
)
def test_float32_products_are_as_fast_as_the_card_can(
    tmp_path: Path, card: tuple[str, int, int] | None, left_us: float | None
) -> None:
    of = subject(DeviceSteps(tmp_path, card).steps(kernels("body: VOLTA 160")))
    expected = {} if left_us is None else {"step/body": pytest.approx(160 - left_us, abs=0.01)}
    assert savings_of("float32_products", of) == expected


@pytest.mark.parametrize(
    ("work", "told"),
    [
        # The head's launch isn't of the loop. Of a sequence in a sequence the longer one is told.
        ("body: {four}, {four}, {four}; head: GEMM 9", (4, 3)),
        ("body: {four}, {four}, GEMM 9, {four}, {four}, GEMM 9, {four}, {four}, GEMM 9", (9, 3)),
        # Two are a step and another; less than most of a step is no loop.
        ("body: {four}, {four}", (0, 0)),
        ("body: {four}, {four}, {four}; head: ADAM 9, CONV 9, TF32 9, SIMT 9 x9, GEMM 9", (0, 0)),
    ],
)
def test_the_sequence_that_most_of_a_step_repeats(
    tmp_path: Path, work: str, told: tuple[int, int]
) -> None:
    steps = kernels(work.format(four="GEMM 9, MUL 9, CONV 9, MUL 9"))
    assert repeated(subject(DeviceSteps(tmp_path).steps(steps))) == told


def test_kernels_of_one_graph_are_fused_by_their_times_alone(tmp_path: Path) -> None:
    work = kernels(f"mlp: GEMM 99, {CHAIN}, GEMM 99")
    assert savings(tmp_path, "elementwise_chain", work, graph=True) == {"step/mlp": 120}


@pytest.mark.parametrize(
    ("work", "also"), [("", ""), ("; backward: TO_NHWC 60, TO_NHWC 60", "step/backward")]
)
def test_the_part_of_a_step_with_most_of_the_time_is_named_beside_the_place(
    tmp_path: Path, work: str, also: str
) -> None:
    # Of 210 us 120 are in backward, of which no range is inside; each layer has 30.
    layers = "; ".join(f"forward/layer.{n}: TO_NHWC 30" for n in range(3))
    of = subject(DeviceSteps(tmp_path).steps(kernels(layers + work)))
    (place,) = found("convolution_layout", of)
    assert (place.where, place.told["also_in"]) == ("step/forward/layer.*", also)
