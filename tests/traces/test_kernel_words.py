"""What kernels' names say, in words."""

import pytest

from workflow_src.placing.kernel_words import built_for, changes_type, what

TO_BF16 = (
    "void at::native::vectorized_elementwise_kernel<8, at::native::bfloat16_copy_kernel_cuda(at::"
    "TensorIteratorBase &)::[lambda(float) (instance 1)], std::array<char *, 2>>(int, T2, T3)"
)
TO_FP32 = (
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::"
    "TensorIteratorBase &)::[lambda(float) (instance 1)], std::array<char *, 2>, 4>(int, T1)"
)


@pytest.mark.parametrize(
    ("name", "short_name", "family", "expected"),
    [
        (TO_BF16, "vectorized_elementwise(bfloat16_copy)", "copy", "cast to bf16"),
        (TO_FP32, "unrolled_elementwise(direct_copy)", "copy", "cast to float32"),
        ("[CUDA memcpy Device-to-Device]", "[CUDA memcpy Device-to-Device]", "copy", "copy"),
        ("aten::bmm", "aten::bmm", "gemm", "matrix product"),
        ("aten::div", "aten::div", "elementwise", "division"),
        ("triton_poi_fused_add_gelu_3", "x", "elementwise", "fused add_gelu"),
        ("triton_per_fused__to_copy_amax_exp_sum_11", "x", "softmax", "fused to_copy_amax_exp_sum"),
        ("triton_tem_fused_mm_0", "x", "gemm", "matrix product"),
        ("x", "reduce(maxnan)", "reduction", "maximum"),
        ("x", "unheard_of(thing)", "elementwise", "elementwise operation"),
    ],
)
def test_kernels_in_words(name, short_name, family, expected):
    assert what(name, short_name, family) == expected


NAMES = [
    ("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NNN", None),
    ("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNN", 90),
    ("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_nn>", 80),
    ("cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_nn_align1", 75),
    ("ampere_sgemm_128x64_nn", 80),
    ("aten::mm", None),
]


@pytest.mark.parametrize(("name", "capability"), NAMES)
def test_the_capability_in_a_kernels_name(name: str, capability: int | None) -> None:
    assert built_for(name) == capability


@pytest.mark.parametrize(
    ("name", "casts"),
    [
        ("bfloat16_copy_kernel_cuda", True),
        ("void at::native::unrolled_elementwise_kernel<direct_copy_kernel_cuda>", True),
        ("aten::copy_", True),
        ("void at::native::vectorized_elementwise_kernel<direct_copy_kernel_cuda>", False),
        ("aten::clone", False),
    ],
)
def test_copies_that_change_the_type(name: str, casts: bool) -> None:
    assert changes_type(name) == casts
