"""What is found of device work in steps made by hand, and what a step saves without it."""

from pathlib import Path

import pytest

from tests.diagnosis.device_steps import DeviceSteps, Kernel, found, savings, savings_of, subject
from workflow_src.diagnosis.cost import with_cost
from workflow_src.diagnosis.finding import MECHANISMS

GEMM = "nvjet_sm90_tst_192x192_64x4_2x1_v_bz_coopB_TNN"
SIMT = "cutlass_80_simt_sgemm_256x128_8x4_nn_align1"
TF32 = "cutlass_80_tensorop_s1688gemm_128x64_32x6_nt_align4"
UNALIGNED = "cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_tn_align1"
DOUBLE_GEMM = "cutlass_80_tensorop_d884gemm_128x64_16x3_nn_align1"
SPLIT = "splitKreduce_kernel"
MUL = "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float>>"
TANH = "void at::native::vectorized_elementwise_kernel<4, at::native::tanh_kernel_cuda>"
DOUBLE = "void at::native::vectorized_elementwise_kernel<2, MulFunctor<double>>"
CAST = "void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy_kernel_cuda>"
TO_DOUBLE = "void at::native::unrolled_elementwise_kernel<direct_copy_kernel_cuda lambda(double)>"
FROM_DOUBLE = TO_DOUBLE.replace("double", "c10::Half")
COPY = "void at::native::elementwise_kernel<128, 4, direct_copy_kernel_cuda>"
SUM = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, sum>>"
SOFTMAX = "void at::native::softmax_warp_forward<float, float, float, 10, false, false>"
ADAM = "void multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4>, double, double>"
NORM = "void at::native::batch_norm_collect_statistics_kernel<float>"
NORM_BACKWARD = "void at::native::batch_norm_backward_kernel<float>"
FPROP = "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nhwckrsc_nhwc_tilesize128x64x8"
MOMENTS = "void at::native::RowwiseMomentsCUDAKernel<float>"
GROUPS = "void at::native::elementwise_kernel<128, 2, GroupNormKernelImplInternal<float> lambda>"
GROUPS_BACKWARD = GROUPS.replace("NormKernel", "NormBackwardKernel")
TO_NHWC = "void cudnn::engines_precompiled::nchwToNhwcKernel<__half, __half, float>"


def each(path: str, *kernels: tuple[str, float]) -> list[Kernel]:
    return [(path, name, length) for name, length in kernels]


CHAIN = [(MUL, 30), (MUL, 40), (TANH, 50), (MUL, 30), (MUL, 60), (TANH, 20)]

IN_CHANNELS_LAST = [
    (FPROP, 50), (COPY, 30), (MOMENTS, 9), (GROUPS, 20), (TANH, 9), (CAST, 9), (COPY, 20)
]  # fmt: skip

CONV = FPROP.replace("f32f32_f32f32", "f32f32_tf32f32")
CONV_16 = FPROP.replace("f32f32_f32f32", "bf16bf16_bf16f32")
WGRAD, WGRAD_16 = (name.replace("fprop", "wgrad_indexed") for name in (CONV, CONV_16))

LAYERS = [
    row
    for n, (name, length) in enumerate([(CONV, 60), (CONV_16, 20)] * 2)
    for row in each(f"layer.{n}", (name, length))
]

GUARDED = [
    (SIMT, 300), (SOFTMAX, 30), ("vectorized_elementwise_kernel<4, isneginf_kernel_impl>", 10),
    ("reduce_kernel<512, ReduceOp<bool, and_kernel_cuda>>", 10), (MUL, 10), (SIMT, 300),
]  # fmt: skip
"""Attention by torch's math backend."""

FOUND: list[tuple[str, list[Kernel], dict[str, float]]] = [
    # Of 230 us the two longest kernels, 60 and 50, stay.
    ("elementwise_chain", each("mlp", (GEMM, 99), *CHAIN, (GEMM, 99)), {"step/mlp": 120}),
    # Products in float32 take a fifteenth in bf16, as the others; they are no finding besides.
    ("attention_by_math", each("mix", (GEMM, 99), *GUARDED, (GEMM, 99)), {"step/mix": 660 - 40}),
    ("float32_products", each("mix", (GEMM, 99), *GUARDED, (GEMM, 99)), {}),
    ("attention_written_out", each("mix", (GEMM, 99), *GUARDED, (GEMM, 99)), {}),
    # A reduction inside belongs to it; casts and sums at either end, and small tensors, don't.
    (
        "elementwise_chain",
        each("mlp", (SUM, 20), (CAST, 9), *CHAIN[:3], (SUM, 40), *CHAIN[3:], (MUL, 3), (CAST, 9)),
        {"step/mlp": 160},
    ),
    ("elementwise_chain", each("mlp", (GEMM, 99), *CHAIN[:4], (GEMM, 99)), {}),
    # The same for one parameter after another, is no chain, nor is a very long run.
    ("elementwise_chain", each("optimizer", *CHAIN * 3), {}),
    ("elementwise_chain", each("optimizer", *CHAIN * 6, *CHAIN[:5]), {}),
    # 70 us between the products go.
    (
        "attention_written_out",
        each("attention", (GEMM, 30), (MUL, 20), (SOFTMAX, 40), (CAST, 10), (GEMM, 30)),
        {"step/attention": 70},
    ),
    # So do copies of heads next to the products, 5 and 6 before and 7 after, but no other kernel.
    (
        "attention_written_out",
        each("attention", (COPY, 5), (COPY, 6), (GEMM, 30), (SOFTMAX, 40), (GEMM, 30), (COPY, 7)),
        {"step/attention": 58},
    ),
    (
        "attention_written_out",
        each("attention", (COPY, 5), (CAST, 6), (GEMM, 30), (SOFTMAX, 40), (GEMM, 30), (CAST, 7)),
        {"step/attention": 40},
    ),
    ("attention_written_out", each("head", (GEMM, 30), (SOFTMAX, 40), (SUM, 10)), {}),
    # 150 us at a fifteenth, the others' kind being bf16; at 2 / 15 where none is faster.
    ("float32_products", each("head", (GEMM, 50), (SIMT, 150), (SPLIT, 9)), {"step/head": 140}),
    ("float32_products", each("head", (SIMT, 150)), {"step/head": 130}),
    ("float32_products", each("stem", (FPROP, 150)), {"step/stem": 130}),
    ("float32_products", each("head", (TF32, 150), (GEMM, 50)), {}),
    # Of four layers two are in TF32: their convolutions of 60 take 20 as the others do, which is 2
    # x 40; of backward, whose ranges name no layers, 2 x 70 of 90.
    ("float32_products", [*LAYERS, *each("backward", *[(WGRAD, 90), (WGRAD_16, 20)] * 2)],
     {"step/layer.*": 220}),
    # Where those in 16 bits, or those in TF32, are of several sizes, half of 60 and of 90 goes.
    ("float32_products",
     [*LAYERS, *each("backward", (WGRAD, 90), (WGRAD_16, 20), (WGRAD, 90), (WGRAD_16, 35))],
     {"step/layer.*": 170}),
    # Without layers that are alike, too; the wider of two kinds isn't the other's neighbor.
    ("float32_products", each("body", *[(CONV, 60)] * 4, *[(CONV_16, 20)] * 2, (TF32, 50)),
     {"step/body": 120}),
    # Others in 16 bits may be larger: those in TF32 take no longer as these.
    ("float32_products", [(path, name, 70 if name == CONV_16 else 60) for path, name, _ in LAYERS]
     + each("layer.0", *[(CONV, 60)] * 2), {"step/layer.*": 0}),
    # None beside others: all in TF32; none of their kind in 16 bits; a head's three.
    ("float32_products", each("body", *[(CONV, 60)] * 6), {}),
    ("float32_products", each("body", *[(CONV, 60)] * 6, (GEMM, 50), (WGRAD_16, 50)), {}),
    ("float32_products", each("head", *[(GEMM, 50)] * 6, *[(TF32, 60)] * 3), {}),
    # 130 us take a 6.5th. SIMT kernels never load more, and convolutions of three channels can't.
    ("unaligned_products", each("head", (UNALIGNED, 130), (SIMT, 50)), {"step/head": 110}),
    ("unaligned_products", each("head", (TF32, 130), (f"{UNALIGNED}_fprop", 50)), {}),
    # A cast of 20 goes, 80 us of arithmetic take a quarter, 130 of products a thirteenth.
    (
        "float64",
        each("mlp", (GEMM, 9), (MUL, 9), (MUL, 9), (TO_DOUBLE, 20), (DOUBLE, 80), (GEMM, 9)),
        {"step/mlp": 80},
    ),
    # So does the cast of 30 after it, which names its result's type alone; a later one doesn't.
    (
        "float64",
        each("mlp", *[(GEMM, 9)] * 3, (DOUBLE, 80), (FROM_DOUBLE, 30), (FROM_DOUBLE, 30)),
        {"step/mlp": 90},
    ),
    ("float64", each("mlp", *[(GEMM, 9)] * 3, (DOUBLE_GEMM, 130)), {"step/mlp": 120}),
    ("float64", each("optimizer", (GEMM, 9), (GEMM, 9), (ADAM, 90)), {}),
    ("float64", each("mlp", (DOUBLE, 20), (DOUBLE, 80), (DOUBLE_GEMM, 9)), {}),
    # One of four layers copies 50 us, the others 10.
    (
        "layer_copies",
        [row for n in range(4) for row in each(f"layer.{n}", (COPY, 50 if n == 2 else 10))],
        {"step/layer.2": 40},
    ),
    ("layer_copies", [("layer.0", COPY, 50), ("layer.1", COPY, 10)], {}),
    ("convolution_layout", each("net", (TO_NHWC, 30), (GEMM, 50), (TO_NHWC, 30)), {"step/net": 60}),
    # In channels_last two copies of 10 come for the norm, and two for its gradient, by its bytes.
    (
        "convolution_layout",
        each("net", (TO_NHWC, 90), (FPROP, 50), (MOMENTS, 9), (GROUPS, 10), (GROUPS_BACKWARD, 15)),
        {"step/net": 50},
    ),
    ("convolution_layout", each("net", (TO_NHWC, 30), (FPROP, 50), (GROUPS, 20)), {"step/net": 0}),
    # Copies of 30 before the norm and of 20 before the next convolution; 40 is of something else.
    ("norm_layout", each("net", *IN_CHANNELS_LAST, (FPROP, 50), (COPY, 40)), {"step/net": 50}),
    # Without a copy before the norm both are contiguous, and a copy after it is another's.
    ("norm_layout", each("net", *IN_CHANNELS_LAST[2:], (FPROP, 50)), {}),
    ("norm_layout", each("net", (FPROP, 50), (COPY, 30), (NORM, 40), (COPY, 20), (FPROP, 50)), {}),
    # An addition of 30 and the sum of 20 that is the bias's gradient.
    (
        "bias_before_batch_norm",
        each("net", (GEMM, 50), (MUL, 30), (NORM, 40), (NORM_BACKWARD, 40), (SUM, 20)),
        {"step/net": 50},
    ),
    # Between them lie a counter of 1 and, in backward, the convolution's own gradients.
    (
        "bias_before_batch_norm",
        [
            *each("net", (FPROP, 50), (MUL, 30), (MUL, 1), (NORM, 40)),
            *each("net", (NORM_BACKWARD, 40), (FPROP, 50), (SUM, 20)),
        ],
        {"step/net": 50},
    ),
    ("bias_before_batch_norm", each("net", (GEMM, 50), (MUL, 30), (NORM, 40)), {}),
    (
        "bias_before_batch_norm",
        each("net", (FPROP, 50), (MUL, 30), (NORM, 40), (MUL, 9), (SUM, 20)),
        {},
    ),
    # Weights are cast for 7 and 5 us in each of three passes; 20 is the input's cast.
    (
        "weights_cast_again",
        [
            row
            for n in range(3)
            for row in [
                *each("forward", (CAST, 7), (CAST, 20), (GEMM, 50), (MUL, 9), (CAST, 5), (GEMM, 9)),
                *each("backward", (CAST, 20), (GEMM, 50)),
            ]
        ],
        {"step/forward": 24},
    ),
    ("weights_cast_again", each("forward", (CAST, 7), (CAST, 20), (GEMM, 50)), {}),
]  # fmt: skip


VOLTA = "volta_sgemm_128x64_nn"


@pytest.mark.parametrize(
    ("card", "key", "left_us"),
    [
        (("Tesla V100-SXM2-32GB", 7, 0), "float32_products_fp16", 20),
        (("NVIDIA A100-SXM4-80GB", 8, 0), "float32_products", 20),
        (("NVIDIA H200", 9, 0), "float32_products", 160 * 2 / 15),
        # TF32 gains nothing there.
        (("NVIDIA GeForce RTX 4090", 8, 9), "float32_products_16_bits", 80),
        (("AMD Instinct MI250X", 9, 0), "float32_products_16_bits", 40),
        (("NVIDIA GeForce GTX 1080", 6, 1), "", 160),
        # No more is claimed than holds of all cards that have such units.
        (None, "float32_products", 80),
    ],
)
def test_float32_products_are_as_fast_as_the_card_can(
    tmp_path: Path, card: tuple[str, int, int] | None, key: str, left_us: float
) -> None:
    of = subject(DeviceSteps(tmp_path, card).steps(each("body", (VOLTA, 160))))
    every = {name: savings_of(name, of) for name in MECHANISMS if name.startswith("float32")}
    expected = {"step/body": pytest.approx(160 - left_us, abs=0.01)}
    assert {name: saved for name, saved in every.items() if saved} == (
        {key: expected} if key else {}
    )


@pytest.mark.parametrize(
    ("key", "kernels", "saved"), FOUND, ids=[f"{n}-{row[0]}" for n, row in enumerate(FOUND)]
)
def test_what_a_step_saves_without_each_mechanism(
    tmp_path: Path, key: str, kernels: list[Kernel], saved: dict[str, float]
) -> None:
    assert savings(tmp_path, key, kernels) == pytest.approx(saved)


def test_kernels_of_one_graph_are_fused_by_their_times_alone(tmp_path: Path) -> None:
    kernels = each("mlp", (GEMM, 99), *CHAIN, (GEMM, 99))
    assert savings(tmp_path, "elementwise_chain", kernels, graph=True) == {"step/mlp": 120}


def test_layers_alike_are_one_place(tmp_path: Path) -> None:
    kernels = [row for n in range(3) for row in each(f"layer.{n}/mlp", *CHAIN, (GEMM, 9))]
    assert savings(tmp_path, "elementwise_chain", kernels) == {"step/layer.*/mlp": 360}


def test_the_part_of_a_step_with_most_of_the_time_is_named_beside_the_place(tmp_path: Path) -> None:
    # Of 210 us 120 are in backward, of which no range is inside; each layer has 30.
    layers = [(f"forward/layer.{n}", TO_NHWC, 30.0) for n in range(3)]
    backward = each("backward", (TO_NHWC, 60), (TO_NHWC, 60))
    for kernels, also in (([*layers, *backward], "step/backward"), (layers, "")):
        of = subject(DeviceSteps(tmp_path).steps(kernels))
        (place,) = found("convolution_layout", of)
        took = with_cost(of, place)
        assert (took.where, took.also) == ("step/forward/layer.*", also)
