"""What the names of matrix products' kernels tell."""

import pytest

from workflow_src.traces.kernel_words import built_for, changes_type, tile

NAMES = [
    ("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NNN", "128x256", None),
    ("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNN", "64x8", 90),
    ("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_nn>",
     "256x128", 80),
    ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1",
     "128x128", 90),
    ("cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_nn_align1", "256x128", 75),
    ("ampere_sgemm_128x64_nn", "128x64", 80),
    ("void gemv2T_kernel_val<int, int, float>", "", None),
    ("aten::mm", "", None),
]  # fmt: skip


@pytest.mark.parametrize(("name", "found", "capability"), NAMES)
def test_the_tile_and_the_capability_in_a_kernels_name(
    name: str, found: str, capability: int | None
) -> None:
    assert (tile(name), built_for(name)) == (found, capability)


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
