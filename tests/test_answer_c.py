"""Answer (c): what besides matrix products takes time, by component and by family."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from tests.questions import answer_question
from tests.synthetic_tables import FORWARD, Kernel, Sample, grid, write_tables
from workflow_src.answers.answer import Answer, Fact
from workflow_src.answers.other_leaders import leaders, leading
from workflow_src.answers.provenance import unsupported

ROOT = Path(__file__).parent.parent
TEMPLATES = ROOT / "report_templates"
SHORT = Sample()
TO_BF16 = "void at::native::vectorized_elementwise_kernel<8, at::native::bfloat16_copy_kernel_cuda"


@pytest.fixture
def ask(tmp_path):
    def asked(*samples: Sample) -> tuple[Answer, str]:
        return answer_question("c", write_tables(tmp_path, *samples), TEMPLATES)

    return asked


def forward(products: float, softmax: float, rest: float, **others) -> Sample:
    """A case with these ms of products, softmax and norms."""
    kernels: list[Kernel] = [
        ("forward/block/feed_forward", "gemm", "gemm", 36, int(1e6 * products)),
        ("forward/block/attention/softmax", "exp", "elementwise", 12, int(1e6 * softmax)),
        ("forward/block/norm", "mean", "reduction", 25, int(1e6 * rest)),
    ]
    return Sample(kernels={"forward": kernels}, **others)


def fact(answer: Answer, name: str, case: str = SHORT.case) -> Fact:
    return next(fact for fact in answer.facts if (fact.case, fact.name) == (case, name))


def short(text: str) -> str:
    """The answer's first paragraph, which the report quotes."""
    return " ".join(text.split("\n\n")[1].split())


def body(text: str) -> str:
    """The answer without its appendix."""
    return text.split("## Tables of")[0]


def cells(text: str) -> list[list[str]]:
    """The rows of all tables."""
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]


def test_what_is_besides_matmul_and_its_kernels(ask):
    answer, text = ask(SHORT)
    shares = {f.name: f.value for f in answer.facts if f.name.startswith("family/")}
    assert shares == pytest.approx(
        {
            "family/gemm": 0.6,
            "family/softmax": 0.2,
            "family/elementwise": 0.15,
            "family/copy": 0.045,
            "family/normalization": 0.005,
        }
    )
    assert fact(answer, "besides_matmul").value == pytest.approx(0.4)
    kernels = [f.name for f in answer.facts if f.name.startswith("kernel/")]
    assert kernels == [
        "kernel/softmax_one",
        "kernel/exp_kernel",
        "kernel/scale_and_mask",
        "kernel/copy_loose",
    ]
    assert "normalization" not in text
    assert short(text) == (
        "In fp32 (small, context 128) 40.0 % of the forward pass's device time is not spent "
        "on matrix multiplication: 4.00 of 10.0 ms. Its largest parts are softmax (30.0 % of the "
        "pass), scores and mask (5.0 % of the pass), elsewhere (4.5 % of the pass)."
    )


def test_components_have_products_and_the_rest(ask):
    answer, text = ask(SHORT)
    assert fact(answer, "component/scores and mask/ms").value == pytest.approx(4.5)
    assert fact(answer, "component/scores and mask/ms").rows == (2, 3)
    assert fact(answer, "component/scores and mask/besides").value == pytest.approx(0.05)
    assert fact(answer, "component/scores and mask/besides").rows == (3,)
    rows = cells(text)
    assert ["scores and mask", "45.0 %", "5.0 %"] in rows
    assert ["values", "20.0 %", "0.0 %"] in rows
    assert ["forward pass", "100.0 %", "40.0 %"] in rows
    assert (
        "3.000 (softmax) + 0.5000 (scores and mask) + 0.4500 (elsewhere) + 0.05000 (all others) = "
        "4.000 ms besides products, and 4.000 of 10.00 ms are 40.0 %."
    ) in text


def test_operations_above_the_limit_have_calls_and_ms(ask):
    answer, text = ask(SHORT)
    softmax = ["fp32", "softmax", "30.0 %", "3.00", "24", "12 softmax, 12 elementwise operation"]
    assert softmax in cells(text)
    assert fact(answer, "component/softmax/softmax/calls").value == 12
    assert fact(answer, "component/softmax/softmax/ms").value == pytest.approx(2.0)
    assert not any(row[1:2] == ["norms"] for row in cells(body(text)))


def test_fused_attention_stands_on_its_own_line(ask):
    fused = ("forward/block/attention/sdpa", "flash", "attention", 12, 5_000_000)
    sample = Sample(attention="sdpa", kernels={"forward": [*FORWARD, fused]})
    answer, text = ask(sample)
    assert fact(answer, "besides_matmul", sample.case).value == pytest.approx(4 / 15)
    assert "fused attention counted with products" in text
    assert "what its softmax takes isn't known: small-ctx128-fp32-sdpa." in text
    assert ["fused attention", "33.3 %", "0.0 %"] in cells(text)
    assert "| flash" not in text


def test_another_attention_is_compared_only_where_it_was_measured(ask):
    fused = ("forward/block/attention/sdpa", "flash", "attention", 12, 3_000_000)
    rest: list[Kernel] = [("forward/block/norm", "tiny", "normalization", 25, 1_000_000), fused]
    sdpa = Sample(attention="sdpa", kernels={"forward": rest})
    _, text = ask(SHORT, sdpa)
    assert (
        "With small, context 128, sdpa attention in place of small, context 128, naive attention, "
        "what isn't matrix multiplication takes 1.00 ms, not 4.00 ms, and the pass 4.00 ms, not "
        "10.0 ms."
    ) in text
    assert "in place of" not in ask(SHORT)[1]


def test_the_component_that_leads_in_fewer_cases_is_named_with_their_contexts():
    shares = ((128, 0.2, 0.3), (256, 0.2, 0.3), (512, 0.4, 0.3), (512, 0.4, 0.1), (1024, 0.4, 0.3))
    rows = [
        {"context": context, "components": {
            "softmax": {"besides": softmax, "share": softmax},
            "rotary positions": {"besides": rotary, "share": 2 * rotary},
        }}
        for context, softmax, rotary in shares
    ]  # fmt: skip
    found = [tuple(row.values()) for row in leaders(rows)]
    assert found == [
        ("softmax", 3, "in 3 of 5 cases", [512, 1024], False),
        ("rotary positions", 2, "in 2 of 5 cases", [128, 256], True),
    ]
    alone = {"component": "rotary positions", "cases": 1, "in_cases": "in the one case"}
    assert leaders(rows[:1]) == [alone | {"contexts": [128], "multiplies": True}]
    found = leading(rows)
    assert (found["leaders"], found["total"], found["of"]) == (2, 5, 2)
    since = {"component": "softmax", "context": 512, "in_cases": "in all 3 cases"}
    assert found["since"] == since
    assert [each["in_cases"] for each in found["each"]] == ["in both cases"]
    assert leading(rows[:3])["since"] is None
    assert leading(rows[:3])["of"] == 3


def test_precisions_are_compared_over_the_same_cases(ask):
    samples = [forward(8, 1, 1), forward(8, 1, 1, context=256)]
    samples += [
        forward(2, 1, 1, precision="bf16"),
        forward(2, 1, 1, precision="bf16", context=256),
    ]
    _, text = ask(*samples)
    assert short(text) == (
        "In fp32 a median of 20.0 % of the forward pass's device time is not spent on "
        "matrix multiplication, in bf16 50.0 %. By medians, the largest part of it is "
        "norms: 10.0 % of the pass in fp32 and 25.0 % in bf16."
    )
    assert (
        "In bf16 matrix multiplication takes a median of 25.0 % of its time in fp32, and all "
        "else 100.0 %: the rest doesn't get faster, so it is more of the pass."
    ) in text
    assert "slower" not in text
    assert "It is 20.0 % in both cases" not in text
    assert (
        "- **fp32**: it is 20.0 % in both cases. By family of kernels, those of norms "
        "(reduction) included, where above 3 % in the" in text
    )


def test_the_rest_is_not_said_to_gain_less_where_it_gains_more(ask):
    _, text = ask(forward(8, 1, 1), forward(8, 0.5, 0.5, precision="bf16"))
    assert "takes 100.0 % of its time in fp32, and all else 50.0 %." in text
    assert "gains less" not in text


def test_the_rest_is_said_to_get_slower_where_it_does(ask):
    half = forward(2, 1.5, 1.5, precision="bf16")
    cast: Kernel = ("forward/block/feed_forward", TO_BF16, "copy", 60, 1_500_000)
    half = replace(half, kernels={"forward": [*half.kernels["forward"], cast]})
    answer, text = ask(forward(8, 1, 1), half)
    assert (
        "and all else 225.0 % (without casts 150.0 %): the rest with its casts gets 125.0 % "
        "slower, so it is more of the pass."
    ) in text
    assert unsupported(text, answer.as_dict()) == []
    _, text = ask(forward(8, 1, 1), forward(2, 1, 1, precision="tf32"), half)
    said = "in bf16, casts included, gets 125.0 % slower, so it is"
    assert f"the rest doesn't get faster and {said}" in text
    _, text = ask(forward(8, 1, 1), forward(2, 0.8, 1, precision="tf32"), half)
    assert f"the rest gains less and {said}" in text


def test_the_context_from_which_on_one_component_leads_is_named(ask):
    samples = [forward(8, 1, 2), forward(8, 3, 2, context=256), forward(8, 4, 2, context=512)]
    _, text = ask(*samples, forward(8, 2, 1, size="medium"))
    assert short(text).endswith(
        "It is softmax in both cases from context 256 on; below, it is norms in 1 and softmax in 1 "
        "of 2."
    )
    _, text = ask(*samples, forward(8, 2, 1, size="medium"), forward(8, 1, 2, context=1024))
    assert short(text).endswith(
        "Case by case it is softmax in 3 and norms in 2 (context 128 to 1024) of 5."
    )


def test_a_component_with_products_is_said_to_lead_without_them(ask):
    swiglu: Kernel = ("forward/block/feed_forward", "silu", "elementwise", 12, 5_000_000)
    first = forward(8, 1, 0.5)
    first = replace(first, kernels={"forward": [*first.kernels["forward"], swiglu]})
    _, text = ask(first, forward(8, 3, 2, context=256), forward(8, 3, 2, context=512))
    assert short(text).endswith(
        "It is softmax in both cases from context 256 on; below, it is feed-forward (products left "
        "out) in the one case."
    )


def test_a_component_s_families_stand_beside_those_of_the_pass(ask):
    _, text = ask(forward(8, 2, 1), forward(8, 2, 1, context=256))
    assert "of kernels, those of softmax (elementwise) included, where above 3 % in the" in text


def test_different_largest_parts_are_told_apart(ask):
    _, text = ask(forward(8, 1, 0.5), forward(2, 0.5, 1, precision="bf16"))
    assert short(text).endswith(
        "The largest part of it is softmax (10.5 % of the pass in fp32) and norms (28.6 % in bf16)."
    )


def test_casts_under_autocast_are_named_with_what_removes_them(ask):
    cast: Kernel = ("forward/block/feed_forward", TO_BF16, "copy", 60, 2_000_000)
    up: Kernel = ("forward/block/attention/softmax", TO_BF16, "copy", 12, 1_000_000)
    _, plain = ask(Sample(precision="bf16"))
    assert "**Casts.**" not in plain
    sample = Sample(precision="bf16", kernels={"forward": [*FORWARD, cast, up]})
    answer, text = ask(sample)
    assert fact(answer, "casts/calls", sample.case).value == 72
    assert fact(answer, "casts/share", sample.case).value == pytest.approx(3 / 13)
    assert (
        "small, context 128 has 72 casts a pass, 23.1 % of its device time (3.00 ms): feed-forward "
        "60 (2.00 ms), softmax 12 (1.00 ms)."
    ) in text
    assert "Weights kept in bf16 would spare the weights' casts; what that makes" in text
    assert "scores are cast up in softmax" in text


def test_in_fp32_casts_are_not_blamed_on_autocast(ask):
    cast: Kernel = ("forward/block/feed_forward", TO_BF16, "copy", 60, 2_000_000)
    _, text = ask(Sample(kernels={"forward": [*FORWARD, cast]}))
    assert "autocast" not in text


def test_growth_over_contexts_names_its_cause_only_where_it_is_one(ask):
    _, text = ask(forward(8, 1, 1), forward(16, 4, 2, context=256))
    assert "From the shortest context to the longest the share rises (20.0 % to 27.3 %)." in text
    assert "their time grows fastest. Time at the longest" in text
    assert ["fp32", "128 to 256", "1 of 1", "4.00", "2.00", "2.00"] in cells(text)
    _, text = ask(forward(8, 1, 1), forward(8, 1.5, 4, context=256))
    assert "the share rises (20.0 % to 40.7 %)" in text
    assert "grows fastest" not in text


def test_a_rise_with_a_dip_is_said_to_have_one(ask):
    samples = [forward(8, 1, 1), forward(18, 1, 1, context=256), forward(4, 2, 2, context=512)]
    _, text = ask(*samples)
    assert "On the way it dips by more than 1 point in 1 of them." in text


def test_on_a_cpu_they_are_operators(ask):
    _, text = ask(Sample(device="cpu"), Sample(device="cpu", context=256))
    assert "of the forward pass's operator time is not spent" in text
    assert "time between operators is in none of them" in text


def test_an_answer_for_sixty_cases_is_short(ask):
    _, text = ask(*grid())
    assert len([line for line in body(text).splitlines() if line]) <= 65


def test_figures_of_the_published_tables_hold_when_computed_apart():
    folder = ROOT / "examples" / "h200" / "tables"
    kernels = pd.read_csv(folder / "kernels.csv")
    mine = kernels[(kernels["phase"] == "forward") & (kernels["precision"] == "bf16")]
    total = mine.groupby("case")["busy_ns"].sum()
    others = mine[mine["family"] != "gemm"].groupby("case")["busy_ns"].sum() / total
    softmax = mine[mine["path"].str.endswith("/softmax")].groupby("case")["busy_ns"].sum() / total
    answer, text = answer_question("c", folder, TEMPLATES)
    assert f"and in bf16 {100 * others.median():.1f} %." in short(text)
    assert f"and {100 * softmax.median():.1f} % in bf16." in short(text)
    case = "large-ctx1024-bf16"
    assert fact(answer, "component/softmax/besides", case).value == pytest.approx(softmax[case])


COPIED = {"kind": "bandwidth", "name": "copy", "precision": "fp32", "status": "ok"}


def with_bytes(folder: Path, *rows: dict[str, object], gb_per_s: float = 4000.0) -> Path:
    """Tables of FORWARD's kernels, with these rows of operators.csv and a bandwidth ceiling."""
    write_tables(folder, SHORT)
    front = SHORT.front | {"phase": "forward", "forward_operator": "", "busy_ms_per_step": 0.0}
    pd.DataFrame([front | row for row in rows]).to_csv(folder / "operators.csv", index=False)
    ceilings = [
        COPIED | {"best_gb_per_s": gb_per_s / 2, "best_giga_exp_per_s": None},
        COPIED | {"name": "write", "best_gb_per_s": gb_per_s, "best_giga_exp_per_s": None},
    ]
    pd.DataFrame(ceilings).to_csv(folder / "ceilings.csv", index=False)
    return folder


def operator(path: str, family: str, name: str, kernel: str, calls: int, moved: float | None, **of):
    """A row of operators.csv; bytes per pass."""
    inputs = {"shapes": "4 x 8", "dtypes": "fp32", "short_name": kernel}
    amounts = {"calls_per_step": calls, "bytes_per_step": moved}
    return {"path": path, "family": family, "operator": name} | inputs | amounts | of


SOFTMAX = "forward/block/attention/softmax"
SCORES = "forward/block/attention/scores"
EXPONENTIAL = operator(SOFTMAX, "elementwise", "aten::exp", "exp_kernel", 12, 2e9)
ONE = operator(SOFTMAX, "softmax", "aten::_softmax", "softmax_one", 12, 4e9)
MASK = operator(SCORES, "elementwise", "aten::mul", "scale_and_mask", 24, 1e9)


def test_bytes_that_ran_are_held_against_the_best_bandwidth(tmp_path):
    answer, text = answer_question("c", with_bytes(tmp_path, EXPONENTIAL, ONE, MASK), TEMPLATES)
    # 4 GB in 2 ms and 2 GB in 1 ms are 2,000 of 4,000 GB/s; 1 GB in 0.5 ms as well.
    found = {f.name: f.value for f in answer.facts if f.name.startswith("moves/softmax")}
    assert found == pytest.approx({
        "moves/softmax/ms": 3.0, "moves/softmax/bytes": 6e9, "moves/softmax/of_ceiling": 0.5,
        "moves/softmax/softmax_one/ms": 2.0, "moves/softmax/softmax_one/bytes": 4e9,
        "moves/softmax/softmax_one/of_ceiling": 0.5,
        "moves/softmax/exp_kernel/ms": 1.0, "moves/softmax/exp_kernel/bytes": 2e9,
        "moves/softmax/exp_kernel/of_ceiling": 0.5,
    })  # fmt: skip
    assert fact(answer, "moves/softmax/bytes").table == "operators"
    assert fact(answer, "moves/softmax/bytes").rows == (3, 2)
    assert fact(answer, "bandwidth_gb_per_s") == Fact(
        SHORT.case, "bandwidth_gb_per_s", 4000.0, "GB/s", "ceilings", (3,)
    )
    assert "softmax 6.00 GB, 50.0 % (longest: aten::\\_softmax, 4.00 GB, 50.0 %); " in body(text)
    assert "scores and mask 1.00 GB, 50.0 % (aten::mul)." in body(text)
    assert "Above 102 %" not in text and unsupported(text, answer.as_dict()) == []


def test_bytes_of_layers_whose_range_was_lost_are_counted_by_the_calls_that_ran(tmp_path):
    found = EXPONENTIAL | {"calls_per_step": 9, "bytes_per_step": 1.5e9}
    elsewhere = EXPONENTIAL | {"path": "forward/block", "calls_per_step": 3, "bytes_per_step": 5e8}
    answer, _ = answer_question("c", with_bytes(tmp_path, found, elsewhere), TEMPLATES)
    assert fact(answer, "moves/softmax/exp_kernel/bytes").value == pytest.approx(2e9)
    assert fact(answer, "moves/softmax/exp_kernel/bytes").rows == (2,)


def test_a_share_above_the_ceiling_is_explained(tmp_path):
    folder = with_bytes(tmp_path, EXPONENTIAL, ONE, gb_per_s=1900.0)
    _, text = answer_question("c", folder, TEMPLATES)
    assert "Above 102 %, so a cache such as the L2 supplied part of the bytes, or more" in text
    assert [row[-1] for row in cells(text) if "aten::exp" in row] == [
        "above 102 %: a cache supplied part, or too much is counted"
    ]


def test_a_copy_that_changes_the_type_is_a_cast(tmp_path):
    cast = EXPONENTIAL | {"operator": "aten::copy_", "dtypes": "bf16; fp32"}
    _, text = answer_question("c", with_bytes(tmp_path, cast), TEMPLATES)
    assert "softmax 2.00 GB, 50.0 % (cast fp32 to bf16)." in text


def test_a_product_s_workspace_holds_no_bytes_of_others(tmp_path):
    gemm = operator(SCORES, "gemm", "aten::bmm", "void gemm_long_name", 12, 0.0)
    clearing = operator(SCORES, "fill", "the rest", "", 12, 9e9, shapes="", dtypes="")
    answer, _ = answer_question("c", with_bytes(tmp_path, gemm, clearing, MASK), TEMPLATES)
    assert fact(answer, "moves/scores and mask/bytes").value == pytest.approx(1e9)


@pytest.mark.parametrize("moved", [None, 0.0])
def test_calls_without_an_operator_have_the_bytes_of_the_others(tmp_path, moved):
    """None: they are unknown; 0: as tables of older runs have it."""
    found = EXPONENTIAL | {"calls_per_step": 6, "bytes_per_step": 1e9}
    lost = operator(SOFTMAX, "elementwise", "", "exp_kernel", 6, moved, shapes="", dtypes="")
    answer, text = answer_question("c", with_bytes(tmp_path, found, lost), TEMPLATES)
    assert fact(answer, "moves/softmax/exp_kernel/bytes").value == pytest.approx(2e9)
    assert "softmax 2.00 GB, 50.0 % (aten::exp)." in text


@pytest.mark.parametrize("moved", [None, 0.0])
def test_unknown_bytes_are_left_out(tmp_path, moved):
    folder = with_bytes(tmp_path, EXPONENTIAL | {"bytes_per_step": moved})
    answer, text = answer_question("c", folder, TEMPLATES)
    assert "Bytes moved" not in text
    assert not [f for f in answer.facts if f.name.startswith("moves/")]


def test_without_ceilings_bytes_have_no_share(tmp_path):
    folder = with_bytes(tmp_path, EXPONENTIAL)
    (folder / "ceilings.csv").unlink()
    _, text = answer_question("c", folder, TEMPLATES)
    assert "softmax 2.00 GB (aten::exp)." in text and "best bandwidth" not in text


def test_without_operators_the_answer_is_as_before(tmp_path):
    folder = with_bytes(tmp_path, EXPONENTIAL)
    (folder / "operators.csv").unlink()
    _, text = answer_question("c", folder, TEMPLATES)
    _, before = answer_question("c", write_tables(tmp_path / "old", SHORT), TEMPLATES)
    assert text == before
