"""Answer (e): softmax against the matrix products of attention, with one denominator."""

import re
from pathlib import Path

import pandas as pd
import pytest

from tests.questions import answer_question
from tests.synthetic_tables import Kernel, Sample, grid, write_tables
from workflow_src.answers import softmax_steps
from workflow_src.answers.answer import Answer, Fact
from workflow_src.answers.provenance import unsupported

ROOT = Path(__file__).parent.parent
TEMPLATES = ROOT / "report_templates"
SHORT = Sample()
OOM = {"forward": ("oom", "CUDA out of memory")}

WORK = {
    "scores": (128_000_000_000, 20_500_000_000),
    "softmax": (5_000_000_000, 32_000_000_000),
    "values": (128_000_000_000, 4_500_000_000),
}
"""A billion elements of the T x T matrices, d_head = 64, in fp32; scores with scaling and mask."""

HALF_WORK = {name: (flops, moved // 2) for name, (flops, moved) in WORK.items()}
"""As older tables have it: every element takes two bytes."""

SOFTMAX = {
    "reduce(maxnan)": ("reduction", 2.0),
    "elementwise(add)": ("elementwise", 4.0),
    "vectorized_elementwise(exp)": ("elementwise", 2.0),
    "reduce(sum)": ("reduction", 1.0),
    "elementwise(div)": ("elementwise", 5.0),
}
"""Family and ms of each kernel: 14 ms in all."""

HALF = SOFTMAX | {"reduce(maxnan)": ("reduction", 1.0)}
CASTS = {"unrolled_elementwise(direct_copy)": ("copy", 3.0)}


def written_out(softmax=SOFTMAX, products=(6.0, 4.0), back=0.0, copy=2.0, **others) -> Sample:
    """A case with these times in ms: softmax's kernels, QK^T and AV, and what is around them."""
    ms: list[tuple[str, str, str, float]] = [
        ("scores", "gemm_qk", "gemm", products[0]),
        ("scores", "elementwise(masked_fill)", "elementwise", 3.0),
        ("values", "gemm_av", "gemm", products[1]),
        *(("softmax", name, *rest) for name, rest in softmax.items()),
    ]
    ms += [("scores", "[CUDA memcpy Device-to-Device]", "copy", copy)] if copy else []
    ms += [("values", "vectorized_elementwise(bfloat16_copy)", "copy", back)] if back else []
    forward: list[Kernel] = [
        (f"forward/block/attention/{path}", name, family, 12, int(1e6 * each))
        for path, name, family, each in ms
    ]
    return Sample(kernels={"forward": forward}, **({"work": WORK} | others))


def half(**others) -> Sample:
    """The same case in bf16: the products are five times as fast, softmax gets a cast."""
    return written_out(
        HALF | CASTS,
        products=(1.2, 0.8),
        back=1.5,
        copy=1.0,
        **({"precision": "bf16", "precision_ran": "bf16", "work": HALF_WORK} | others),
    )


@pytest.fixture
def ask(tmp_path):
    def asked(*samples: Sample) -> tuple[Answer, str]:
        return answer_question("e", write_tables(tmp_path, *samples), TEMPLATES)

    return asked


def fact(answer: Answer, name: str, case: str = SHORT.case) -> Fact:
    return next(fact for fact in answer.facts if (fact.case, fact.name) == (case, name))


def prose(text: str) -> str:
    """The answer's sentences, joined; no tables."""
    lines = text.split("## Tables of")[0].splitlines()
    joined = " ".join(line for line in lines if line and line[0] not in "|#")
    return " ".join(joined.split())


def short(text: str) -> str:
    """The answer's first paragraph, which the report quotes."""
    return " ".join(text.split("\n\n")[1].split())


def test_time_flops_and_bytes_have_one_denominator(ask):
    answer, text = ask(written_out())
    found = {name: fact(answer, name).value for name in ("softmax_ms", "qk_ms", "av_ms")}
    assert found == pytest.approx({"softmax_ms": 14.0, "qk_ms": 6.0, "av_ms": 4.0})
    assert fact(answer, "time_ratio").value == pytest.approx(14 / 10)
    assert fact(answer, "time_ratio_qk").value == pytest.approx(14 / 6)
    assert fact(answer, "time_ratio_av").value == pytest.approx(14 / 4)
    assert fact(answer, "flop_ratio").value == pytest.approx(5 / 256)
    assert fact(answer, "byte_ratio").value == pytest.approx(32 / 9)
    assert fact(answer, "per_byte").value == pytest.approx(1.4 / (32 / 9))
    assert fact(answer, "beside_ms").value == pytest.approx(5.0)
    assert short(text) == (
        "In the forward pass (fp32, small, context 128) softmax takes 14.0 ms and the matrix "
        "multiplications QK^T and AV together 10.0 ms. Softmax takes 1.40 times as long, for 5 "
        "FLOPs per element of the T x T matrix against their 256, and 3.56 times their bytes."
    )


def test_one_case_needs_no_medians_and_no_trend(ask):
    _, text = ask(written_out())
    assert "median" not in text.split("## Tables of")[0].lower()
    assert "Over context" not in text
    assert "The division takes longest." in text


def test_each_kernel_s_rate_follows_from_the_elements(ask):
    answer, text = ask(written_out())
    assert fact(answer, "elements").value == 1e9
    rates = {
        step: fact(answer, f"softmax/{step}/gb_per_s").value
        for step in ("maximum", "subtraction", "exponential", "sum", "division")
    }
    assert rates == pytest.approx(
        {"maximum": 2000, "subtraction": 2000, "exponential": 4000, "sum": 4000, "division": 1600}
    )
    assert fact(answer, "softmax/copy of the scores/gb_per_s").value == pytest.approx(4000)
    assert (
        "The exponential moves 8 bytes per element, 8.00 GB in 2.00 ms: 4,000 GB/s. The copy of "
        "the scores that masking makes, which only moves bytes, runs at 4,000 GB/s, so the "
        "exponential and the sum take about as long as moving the bytes alone would (90 % of that "
        "rate or more). The others reach less of that copy's rate: division 40.0 %, maximum 50.0 % "
        "and subtraction 50.0 %. Going by the kernels' names, the exponential is vectorized and "
        "subtraction and division aren't; whether that makes the difference wasn't tested."
    ) in prose(text)
    assert "14.0 ms / (6.00 ms + 4.00 ms) = 1.40 in fp32." in text


def test_without_the_copy_the_fastest_kernel_is_the_measure(ask):
    _, text = ask(written_out(copy=0.0))
    assert "which only moves bytes" not in text
    assert "The others reach less of its rate: division 40.0 %" in prose(text)


def test_under_autocast_bytes_are_those_of_the_kernels_that_ran(ask):
    answer, text = ask(written_out(), half())
    case = "small-ctx128-bf16"
    assert fact(answer, "softmax_bytes", case).value == pytest.approx(32e9)
    assert fact(answer, "byte_ratio", case).value == pytest.approx(32 / 4.5)
    assert fact(answer, "softmax/cast to fp32/gb_per_s", case).value == pytest.approx(2000)
    assert fact(answer, "softmax/maximum/gb_per_s", case).value == pytest.approx(2000)
    assert fact(answer, "softmax/cast back/ms", case).value == pytest.approx(1.5)
    assert (
        "bf16 doesn't make softmax faster. Autocast runs exponential, sum and division in float32, "
        "and they take 100.0 % of their time in fp32; whether a softmax all in bf16 would be "
        "faster wasn't tested here. The cast to float32 before them "
        "is 18.8 % of softmax's time; maximum and subtraction, which come before it, take 83.3 "
        "% of their time in fp32. Softmax moves 32 bytes per element, as in fp32: the cast adds"
        " as many as the narrower values save. A cast of its result back for AV, counted "
        "neither as softmax nor as product, adds 9.4 % of softmax's time."
    ) in prose(text)


@pytest.mark.parametrize(("types", "said"), [("fp32; fp32", True), ("bf16; fp32", False)])
def test_types_that_ran_are_named_only_where_they_were_recorded_as_float32(tmp_path, types, said):
    """In the softmax under autocast, of which the division's inputs are given."""
    folder = with_bytes(tmp_path, half(), 5000.0, 1000.0)
    operators = pd.read_csv(folder / "operators.csv")
    operators.loc[operators["short_name"] == "elementwise(div)", "dtypes"] = types
    write_tables(folder, written_out(), half())
    operators.to_csv(folder / "operators.csv", index=False)
    answer, text = answer_question("e", folder, TEMPLATES)
    recorded = "exponential, sum and division in float32 (so the recorded types say), and they take"
    assert (recorded in prose(text)) == said
    assert ("division in float32, and they take" in prose(text)) != said
    assert unsupported(text, answer.as_dict()) == []


def test_flops_per_element_are_given_from_the_least_to_the_most(ask):
    more = WORK | {"scores": (160_000_000_000, 1), "values": (160_000_000_000, 4_500_000_000)}
    _, text = ask(written_out(), written_out(size="2.7B", work=more))
    assert "for 5 FLOPs per element of the T x T matrix against their 256 to 320." in text


def test_bytes_don_t_depend_on_how_old_tables_count_softmax(ask):
    counted = HALF_WORK | {"softmax": WORK["softmax"]}
    ratios = [
        fact(ask(half(work=work))[0], "byte_ratio", "small-ctx128-bf16").value
        for work in (HALF_WORK, counted)
    ]
    assert ratios[0] == ratios[1]


def test_precisions_are_told_apart(ask):
    samples = [written_out(), half(), written_out(context=256), half(context=256)]
    _, text = ask(*samples)
    assert short(text) == (
        "In fp32 softmax takes a median of 1.40 times as long in the forward pass as the matrix "
        "multiplications QK^T and AV together, for 5 FLOPs per element of the T x T matrix "
        "against their 256. In bf16 it takes 8.00 times as long: from fp32 to bf16 the "
        "products' time falls to a median of 20.0 %, softmax's rises to 114.3 %."
    )
    assert "| bf16, context   |" in text
    assert "5.00 times as long" not in text
    assert "0.500 times as long as the products in fp32 and 2.75 in bf16" in prose(text)


def test_a_precision_without_autocast_has_no_casts(ask):
    tf32 = written_out(products=(2.0, 2.0), precision="tf32")
    _, text = ask(written_out(), tf32)
    assert "to tf32 the products' time falls to 40.0 %, softmax's stays at 100.0 %." in text
    assert "autocast" not in text
    assert "Softmax moves" not in text


def test_a_trend_is_split_in_the_rates_of_products_and_softmax(ask):
    double = {name: (4 * flops, 4 * moved) for name, (flops, moved) in WORK.items()}
    slow = {name: (family, 4 * ms) for name, (family, ms) in SOFTMAX.items()}
    longer = written_out(slow, products=(12.0, 8.0), context=256, work=double)
    _, text = ask(written_out(), longer)
    assert (
        "- **fp32**: from context 128 to 256 the ratio rises (1.40 to 2.80): the products get "
        "through 2.00 times as many elements per second, softmax through 1.00 times as many."
    ) in text
    medium = [written_out(size="medium"), written_out(size="medium", context=256)]
    _, text = ask(written_out(), longer, *medium)
    assert "rises in 1, holds steady within 10 % in 1 of 2 sizes (median 1.40 to 2.10)" in text


def test_a_case_out_of_memory_is_said(ask):
    answer, text = ask(written_out(), Sample(size="xl", status=OOM, kernels={}))
    assert answer.status == "complete"
    assert "Out of memory: xl-ctx128-fp32" in text
    assert re.search(r"\| xl +\| +OOM \|", text)


def test_fused_attention_cannot_be_separated(ask):
    answer, text = ask(Sample(attention="sdpa"))
    assert short(text) == (
        "Softmax and both matrix multiplications are fused in one kernel and can't be separated "
        "(small, context 128)."
    )
    assert not [each for each in answer.facts if each.name != "core_ms"]


def test_other_attentions_are_compared_where_they_were_measured(ask):
    assert "attentions: [naive, fused_softmax, sdpa]" in ask(written_out())[1]
    sdpa: list[Kernel] = [("forward/block/attention/sdpa", "flash", "attention", 12, 3_000_000)]
    fused = written_out({"softmax_forward": ("softmax", 2.0)}, attention="fused_softmax")
    _, text = ask(
        written_out(), fused, Sample(attention="sdpa", kernels={"forward": sdpa}, work={})
    )
    assert "softmax takes 2.00 ms, not 14.0 ms: 0.200 times the products' time, not 1.40." in text
    assert "scores, softmax and values take 3.00 ms together, not 29.0 ms." in text
    assert "Not measured" not in text
    assert "(fp32, small, context 128, naive attention) softmax takes 14.0 ms" in text


def test_a_fused_softmax_alone_is_answered_too(ask):
    fused = written_out({"softmax_forward": ("softmax", 2.0)}, attention="fused_softmax")
    answer, text = ask(fused)
    assert (
        fact(answer, "byte_ratio", fused.case).rows
        or fact(answer, "softmax_bytes", fused.case).rows
    )
    assert "five kernels" not in text
    assert "Softmax takes longest" in text


def test_without_work_nothing_is_said_of_flops_and_bytes(ask):
    answer, text = ask(written_out(work={}), written_out(work={}, context=256))
    assert answer.status == "partial"
    assert "FLOPs per element of the T x T matrix against" not in text
    assert "constants of the formula" not in text
    assert "bytes per element" not in prose(text)
    assert "GB/s" not in prose(text)
    assert fact(answer, "time_ratio").value == pytest.approx(1.4)


def test_a_kernel_without_time_has_no_rate(ask):
    answer, _ = ask(written_out(SOFTMAX | {"reduce(sum)": ("reduction", 0.0)}))
    names = {each.name for each in answer.facts}
    assert "softmax/sum/ms" in names and "softmax/sum/gb_per_s" not in names


def test_no_flops_count_as_not_counted(ask):
    answer, _ = ask(written_out(work=WORK | {"softmax": (0, 0)}))
    assert answer.status == "partial"


def test_unknown_kernels_leave_bytes_to_the_table(ask):
    answer, text = ask(Sample())
    assert fact(answer, "softmax_bytes").rows
    assert fact(answer, "byte_ratio").value == pytest.approx(160 / 400)
    assert "five kernels" not in text


def test_on_a_cpu_there_are_operators_and_no_rates(ask):
    names = ("aten::amax", "aten::sub", "aten::exp", "aten::sum", "aten::div")
    softmax = dict(zip(names, SOFTMAX.values(), strict=True))
    answer, text = ask(
        written_out(softmax, device="cpu", copy=0.0),
        written_out(softmax, device="cpu", copy=0.0, context=256),
    )
    assert "five operators" in text
    assert "ernel" not in prose(text)
    assert "GB/s" not in prose(text)
    assert not any("gb_per_s" in each.name for each in answer.facts)
    assert fact(answer, "byte_ratio").value == pytest.approx(32 / 9)


@pytest.mark.parametrize(
    ("name", "family", "precision", "step"),
    [
        ("reduce(maxnan)", "reduction", "fp32", "maximum"),
        ("aten::amax", "reduction", "fp32", "maximum"),
        ("elementwise(add)", "elementwise", "fp32", "subtraction"),
        ("aten::sub", "elementwise", "fp32", "subtraction"),
        ("vectorized_elementwise(exp)", "elementwise", "bf16", "exponential"),
        ("unrolled_elementwise(direct_copy)", "copy", "bf16", "cast to fp32"),
        ("unrolled_elementwise(direct_copy)", "copy", "fp32", "rest"),
        ("cunn_SoftMaxForward", "softmax", "fp32", "softmax in one"),
        ("aten::fill_", "fill", "fp32", "rest"),
    ],
)
def test_a_kernel_belongs_to_one_step(name, family, precision, step):
    assert softmax_steps.step_of(name, family, precision) == step


def test_an_answer_for_sixty_cases_is_short(ask):
    _, text = ask(*grid())
    assert len([line for line in text.split("## Tables of")[0].splitlines() if line]) <= 70


def test_figures_of_the_published_tables_hold_when_computed_apart():
    folder = ROOT / "examples" / "h200" / "tables"
    kernels, operators = (pd.read_csv(folder / f"{name}.csv") for name in ("kernels", "operators"))
    mine = kernels[(kernels["phase"] == "forward") & (kernels["precision"] == "bf16")]
    place = mine["path"].str.rsplit("/", n=1).str[-1]
    attention = mine["path"].str.contains("/attention/")
    gemm = mine["family"] == "gemm"
    softmax = total(mine[attention & (place == "softmax")])
    products = total(mine[attention & place.isin(["scores", "values"]) & gemm])
    exp = total(mine[attention & (place == "softmax") & mine["short_name"].str.contains("exp")])
    case, example = "xl-ctx1024-bf16", "medium-ctx1024-bf16"
    elements, worked = 48 * 4 * 25 * 1024**2, 24 * 4 * 16 * 1024**2
    ran = operators[(operators["case"] == case) & (operators["phase"] == "forward")]
    by_range = ran.groupby([ran["path"].str.rsplit("/", n=1).str[-1], ran["family"] == "gemm"])
    moved = by_range["bytes_per_step"].sum()
    product_bytes = moved["scores", True] + moved["values", True]
    answer, text = answer_question("e", folder, TEMPLATES)
    assert f"in bf16 {(softmax / products).median():.2f} times as long" in text
    assert fact(answer, "elements", case).value == elements
    byte_ratio = fact(answer, "byte_ratio", case).value
    assert byte_ratio == pytest.approx(moved["softmax", False] / product_bytes)
    # Besides 32 bytes per element, those of each row's maximum and sum.
    assert byte_ratio == pytest.approx(32 * elements / product_bytes, rel=1e-3)
    assert f"{8 * worked / exp[example] / 1e6:,.0f} GB/s." in text
    assert f"= {softmax[example] / products[example]:.2f} in bf16" in text


def total(kernels: pd.DataFrame) -> pd.Series:
    """ms per pass, by case."""
    return kernels.groupby("case")["busy_ms_per_step"].sum()


def with_bytes(folder: Path, sample: Sample, gb_per_s: float, exponentials: float) -> Path:
    """Tables of `sample`, the bytes of each of its kernels, and two ceilings."""
    write_tables(folder, sample)
    front = sample.front | {"phase": "forward", "forward_operator": "", "shapes": "4 x 8"}
    front |= {"dtypes": "fp32", "operator": "aten::some", "calls_per_step": 6}
    # Half of the calls have their range; each kernel of softmax moves 5 GB, each product 4 GB.
    rows = [
        front | {"path": path, "family": family, "short_name": name, "bytes_per_step": moved}
        for path, name, family, _, _ in sample.kernels["forward"]
        if (moved := {"gemm": 2e9}.get(family, 2.5e9))
    ]
    pd.DataFrame(rows).to_csv(folder / "operators.csv", index=False)
    rates = [
        {"kind": "bandwidth", "name": "read", "status": "ok", "best_gb_per_s": gb_per_s},
        {
            "kind": "exponential",
            "name": "exp2",
            "status": "ok",
            "best_giga_exp_per_s": exponentials,
        },
    ]
    pd.DataFrame([rate | {"precision": "fp32"} for rate in rates]).to_csv(
        folder / "ceilings.csv", index=False
    )
    return folder


def test_bytes_of_the_shapes_that_ran_replace_the_formula_s(tmp_path):
    folder = with_bytes(tmp_path, written_out(), 5000.0, 1000.0)
    answer, text = answer_question("e", folder, TEMPLATES)
    found = {name: fact(answer, name) for name in ("softmax_bytes", "qk_bytes", "av_bytes")}
    assert {name: f.value for name, f in found.items()} == pytest.approx(
        {"softmax_bytes": 25e9, "qk_bytes": 4e9, "av_bytes": 4e9}
    )
    assert {f.table for f in found.values()} == {"operators"}
    assert fact(answer, "matmul_bytes").derived_from == ("qk_bytes", "av_bytes")
    assert fact(answer, "byte_ratio").value == pytest.approx(25 / 8)
    # The division: 5 GB in 5 ms.
    assert fact(answer, "softmax/division/bytes").value == pytest.approx(5e9)
    assert fact(answer, "softmax/division/gb_per_s").value == pytest.approx(1000.0)
    assert "bytes come from the shapes and types that ran, as if" in prose(text)
    assert unsupported(text, answer.as_dict()) == []


def test_softmax_s_bytes_at_the_ceiling_are_held_against_its_time(tmp_path):
    folder = with_bytes(tmp_path, written_out(), 5000.0, 1000.0)
    answer, text = answer_question("e", folder, TEMPLATES)
    # 25 GB at 5,000 GB/s take 5 of 14 ms, a billion exponentials at 10^12 a second 1 ms.
    assert fact(answer, "bytes_explain").value == pytest.approx(5 / 14)
    assert fact(answer, "exponentials_explain").value == pytest.approx(1 / 14)
    assert "softmax's bytes take 35.7 % of its time in fp32: they explain part of it" in prose(text)
    assert "exponentials' ceiling" not in text


def test_the_nearer_ceiling_of_exponentials_is_named(tmp_path):
    folder = with_bytes(tmp_path, written_out(), 5000.0, 100.0)
    answer, text = answer_question("e", folder, TEMPLATES)
    said = "The exponentials' ceiling, 100 x 10^9 a second, is nearer than bandwidth's: small"
    assert said in prose(text) and unsupported(text, answer.as_dict()) == []


def test_bytes_above_the_ceiling_are_explained(tmp_path):
    folder = with_bytes(tmp_path, written_out(), 1000.0, 1000.0)
    _, text = answer_question("e", folder, TEMPLATES)
    assert "they explain its time. Above 102 % in 1 of 1 cases, whose matrices a cache" in prose(
        text
    )


def test_a_case_without_all_bytes_is_counted_by_formula(tmp_path):
    folder = with_bytes(tmp_path, written_out(), 5000.0, 1000.0)
    table = pd.read_csv(folder / "operators.csv")
    table[table["family"] != "gemm"].to_csv(folder / "operators.csv", index=False)
    answer, text = answer_question("e", folder, TEMPLATES)
    assert fact(answer, "byte_ratio").value == pytest.approx(32 / 9)
    assert "FLOPs and bytes are counted by formula" in text


def test_a_product_s_bytes_may_count_with_the_kernel_that_clears_its_workspace(tmp_path):
    folder = with_bytes(tmp_path, written_out(), 5000.0, 1000.0)
    table = pd.read_csv(folder / "operators.csv")
    qk = table["short_name"] == "gemm_qk"
    rest = {"family": "fill", "operator": "the rest", "short_name": "", "shapes": "", "dtypes": ""}
    table.loc[qk, "bytes_per_step"] = 0.0
    cleared = table[qk].assign(**rest, bytes_per_step=2e9)
    pd.concat([table, cleared]).to_csv(folder / "operators.csv", index=False)
    answer, _ = answer_question("e", folder, TEMPLATES)
    assert fact(answer, "qk_bytes").value == pytest.approx(4e9)


def test_kernels_without_rows_of_their_own_share_their_bytes(tmp_path):
    folder = with_bytes(tmp_path, written_out(), 5000.0, 1000.0)
    table = pd.read_csv(folder / "operators.csv")
    answer, _ = answer_question("e", folder, TEMPLATES)
    softmax = fact(answer, "softmax_bytes").value
    small = table.index[table["path"].str.contains("softmax")][-1]
    table.loc[small, ["operator", "short_name", "shapes", "dtypes"]] = ["the rest", "", "", ""]
    table.to_csv(folder / "operators.csv", index=False)
    answer, _ = answer_question("e", folder, TEMPLATES)
    assert fact(answer, "softmax_bytes").value == pytest.approx(softmax)


@pytest.mark.parametrize("lost", [{"bytes_per_step": None}, {"operator": ""}])
def test_unknown_bytes_are_not_those_of_the_rest(tmp_path, lost):
    folder = with_bytes(tmp_path, written_out(), 5000.0, 1000.0)
    table = pd.read_csv(folder / "operators.csv")
    first, *_, last = table.index[table["path"].str.contains("softmax")]
    table.loc[last, ["operator", "short_name", "shapes", "dtypes"]] = ["the rest", "", "", ""]
    table.loc[last, "family"] = table.loc[first, "family"]
    table = table.assign(**{name: table[name].astype(object) for name in lost})
    for name, value in lost.items():
        table.loc[first, name] = value
    table.to_csv(folder / "operators.csv", index=False)
    _, text = answer_question("e", folder, TEMPLATES)
    assert "FLOPs and bytes are counted by formula" in text


def test_kernels_that_move_nothing_themselves_are_known(tmp_path):
    """A call's second kernel, or on a CPU an operator that calls another one."""
    folder = with_bytes(tmp_path, written_out(), 5000.0, 1000.0)
    table = pd.read_csv(folder / "operators.csv")
    first = table.index[table["path"].str.contains("softmax")][0]
    table.loc[first, "bytes_per_step"] = 0.0
    table.to_csv(folder / "operators.csv", index=False)
    answer, _ = answer_question("e", folder, TEMPLATES)
    assert fact(answer, "softmax_bytes").value == pytest.approx(20e9)


def test_without_the_new_tables_the_answer_is_as_before(tmp_path):
    _, before = answer_question("e", write_tables(tmp_path / "old", written_out()), TEMPLATES)
    folder = with_bytes(tmp_path, written_out(), 5000.0, 1000.0)
    for name in ("operators", "ceilings"):
        (folder / f"{name}.csv").unlink()
    assert answer_question("e", folder, TEMPLATES)[1] == before
