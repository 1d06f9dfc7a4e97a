"""Families, short names and precisions of real kernel names, the order of the rules, and words."""

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflow_src.placing.families import RULES, UNKNOWN, coverage, families
from workflow_src.placing.kernel_names import (
    MAX_LENGTH,
    distinct_names,
    precision_ran,
    read_rules,
    short_names,
)
from workflow_src.placing.kernel_words import changes_type, what

CORPUS = pd.read_csv(Path(__file__).parent / "data" / "kernel_names.csv", keep_default_na=False)


def one(name: str) -> str:
    return str(families(pd.Series([name])).iloc[0])


def precision(name: str, family: str = "gemm") -> str:
    return str(precision_ran(pd.Series([name]), pd.Series([family])).iloc[0])


def test_every_known_name_has_the_expected_family_precision_and_short_name() -> None:
    names, family = CORPUS["name"], families(CORPUS["name"])
    found = pd.DataFrame({
        "family": family,
        "precision_ran": precision_ran(names, CORPUS["family"]),
        "short_name": short_names(names),
    })  # fmt: skip
    pd.testing.assert_frame_equal(found, CORPUS[[*found]], check_dtype=False)


@pytest.mark.parametrize(
    ("name", "family", "ran"),
    [
        # Neither a project's name nor a parameter's type says what a kernel does.
        ("void fbgemm_gpu::zorp<c10::Half>(fbgemm_gpu::Gemm<float>, double)", UNKNOWN, "fp16"),
        ("void zorp(flash::Params, __nv_bfloat16 const*, cutlass::Array<float, 4>)", UNKNOWN, ""),
        ("_ZN10fbgemm_gpu4zorpI6__halfEEvPT_N5flash6ParamsE.kd", UNKNOWN, "fp16"),
        ("std::enable_if<((8)>(0))&&gemm::on<float>, void>::type zorp<1>(int)", UNKNOWN, ""),
        # What a general kernel is made for does, and a namespace that a rule asks for.
        ("void ck_tile::kentry<2, ck_tile::GroupedGemmKernel<ck_tile::Tile>>(int)", "gemm", ""),
        ("_ZN7ck_tile6kentryILi2ENS_14FmhaFwdKernel_INS_4TileEEEEEvT_", "attention", ""),
        ("void deep_ep::intranode::combine<__nv_bfloat16, 8>(int)", "communication", "bf16"),
        ("triton_poi_fused_add_fmha_fwd_marlin_gemm_3", "elementwise", ""),
        ("## Call CompiledFxGraph fdetm5qjkg ##", "compiled", ""),
        ("AOTDispatcher Runtime Wrapper Prologue", "bookkeeping", ""),
    ],
)
def test_a_rule_reads_a_kernel_s_own_name(name: str, family: str, ran: str) -> None:
    assert (one(name), precision(name)) == (family, ran)


@pytest.mark.parametrize("flag", ["false", "(bool)0", "0"])
@pytest.mark.parametrize("size", ["11", "(int)11"])
def test_log_softmax_is_distinguished_from_softmax_in_every_spelling(size: str, flag: str) -> None:
    name = f"void softmax_warp_forward<float, float, float, {size}, {flag}, {flag}>(float*)"
    assert one(name) == "softmax"
    true = flag.replace("false", "true").replace("0", "1")
    assert one(name.replace(f"{size}, {flag}", f"{size}, {true}")) == "loss"
    assert one(name.replace(f"{flag}>", f"{true}>")) == "softmax"  # masked, not log


def test_the_family_of_each_gradient_of_torch_is_that_of_its_forward_operator() -> None:
    torch = pytest.importorskip("torch")
    every = {name.partition(".")[0] for name in torch._C._dispatch_get_all_op_names()}
    pairs = [(name, name.removesuffix("_backward")) for name in sorted(every)]
    pairs = [(name, forward) for name, forward in pairs if name != forward and forward in every]
    assert len(pairs) > 50
    differing = {name: (one(name), one(forward)) for name, forward in pairs}
    differing = {name: two for name, two in differing.items() if two[0] != two[1]}
    # It adds up what the forward operator only views.
    assert differing == {"aten::unfold_backward": ("elementwise", "bookkeeping")}


def test_an_unheard_of_name_is_unknown_and_lowers_the_coverage() -> None:
    table = pd.DataFrame({"name": ["aten::mm", "zorp_7"], "busy_ns": [300, 100]})
    table["family"] = families(table["name"])
    assert list(table["family"]) == ["gemm", UNKNOWN]
    assert coverage(table) == 0.75
    assert coverage(table.iloc[:0]) == 1.0


@given(st.lists(st.text()))
def test_any_text_has_a_known_family_and_a_fitting_short_name(texts: list[str]) -> None:
    names = pd.Series(texts, dtype=object)
    found = families(names)
    assert set(found) <= {*(told for *_, told in read_rules(RULES, "family")), UNKNOWN}
    assert set(precision_ran(names, found)) <= {"", "fp32", "tf32", "bf16", "fp16", "fp8", "fp64"}
    for name in short_names(names):
        assert len(name) <= MAX_LENGTH and "|" not in name and len(name.splitlines()) <= 1


ADD = "void at::native::vectorized_elementwise_kernel<{}, at::native::{}, std::array<char*, {}ul> >"
REDUCE = "void at::native::reduce_kernel<(int){}, (int)1, at::native::sum_functor<float>>(T3)"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([ADD.format(4, "CUDAFunctor_add<float>", 3)], ["vectorized_elementwise(add)"]),
        (
            [
                ADD.format(4, "CUDAFunctor_add<float>", 3),
                ADD.format(4, "CUDAFunctorOnSelf_add<float>", 2),
                ADD.format(2, "CUDAFunctorOnSelf_add<long>", 2),
            ],
            [
                "vectorized_elementwise(add): CUDAFunctor_add, float",
                "vectorized_elementwise(add): CUDAFunctorOnSelf_add, float",
                "vectorized_elementwise(add): CUDAFunctorOnSelf_add, long",
            ],
        ),
        (["f<float, half>", "f<float>"], ["f: half", "f"]),
        ([REDUCE.format(128), REDUCE.format(512)], ["reduce(sum): 128", "reduce(sum): 512"]),
        # The same words and numbers, in another order.
        (["f<float, half>", "f<half, float>", "f<float, half>"], ["f #1", "f #2", "f #1"]),
        # Only in the middle, which is left out.
        (
            [f"{'x' * 70}{end}{'y' * 70}" for end in "ab"],
            [f"{'x' * 45}…{'y' * 18} #{number}" for number in (1, 2)],
        ),
    ],
)
def test_names_of_one_short_name_are_told_apart(names: list[str], expected: list[str]) -> None:
    assert distinct_names(pd.Series(names)).tolist() == expected


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
        ("triton_poi_fused_add_gelu_3", "x", "elementwise", "fused add_gelu"),
        ("triton_per_fused__to_copy_amax_exp_sum_11", "x", "softmax", "fused to_copy_amax_exp_sum"),
        ("x", "reduce(maxnan)", "reduction", "maximum"),
        ("x", "unheard_of(thing)", "elementwise", "elementwise operation"),
    ],
)
def test_kernels_in_words(name, short_name, family, expected):
    assert what(name, short_name, family) == expected


@pytest.mark.parametrize(
    ("name", "casts"),
    [
        ("bfloat16_copy_kernel_cuda", True),
        ("void at::native::unrolled_elementwise_kernel<direct_copy_kernel_cuda>", True),
        ("void at::native::vectorized_elementwise_kernel<direct_copy_kernel_cuda>", False),
        ("aten::clone", False),
    ],
)
def test_copies_that_change_the_type(name: str, casts: bool) -> None:
    assert changes_type(name) == casts
