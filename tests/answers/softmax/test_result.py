"""(e) against small tables done by hand: see tests/synthetic_tables.py for their times."""

import pandas as pd
import pytest

from tests.answers.reading import printed, reading, row_of
from tests.synthetic_tables import FORWARD, Kernel, Sample, write_tables
from workflow_src.answers import stage
from workflow_src.answers.softmax.by_operators import alike, attention, ms_of
from workflow_src.answers.softmax.figure import draw
from workflow_src.answers.softmax.result import Softmax, result, softmax_of_case
from workflow_src.common.words import DASH

SOFTMAX = "forward/block/attention/softmax"


read = reading("e")


def sample(kernels: list[Kernel], **about: object) -> Sample:
    """A case whose forward pass has the products and mask of FORWARD, and these kernels."""
    others = [kernel for kernel in FORWARD if kernel[0] != SOFTMAX]
    return Sample(kernels={"forward": [*others, *kernels]}, **about)  # type: ignore[arg-type]


def row(found: Softmax, name: str) -> list[str]:
    """A row of the table of medians, as printed."""
    rows = found.summary[found.summary["medians"] == name]
    return row_of(rows.iloc[0, 1:])


def test_softmax_is_held_against_the_products_kernels_alone(read):
    """3 ms against 4 + 2; scaling and mask, 0.5 ms in the range of QK^T, are in neither."""
    tables = read(Sample())
    case = softmax_of_case(tables, tables.cases[0])
    assert case.time_ratio.number == pytest.approx(0.5)
    assert case.beside_ms.number == pytest.approx(0.5)
    assert case.flop_ratio.number == pytest.approx(8 / 80)
    found = result(tables)
    assert (found.longer.number, found.more.number) == (0, 1)
    assert [printed(line.cells["fp32"]) for line in found.opening] == ["0.50 x", "0.10 x"]


def test_the_steps_of_softmax_are_named_in_their_order(read):
    cast = "void unrolled_elementwise_kernel<direct_copy_kernel [lambda(float)]>"
    steps = [
        (SOFTMAX, "elementwise(div)", "elementwise", 12, 3_000_000),
        (SOFTMAX, cast, "copy", 12, 1_000_000),
        (SOFTMAX, "reduce(maxnan)", "reduction", 12, 1_000_000),
        (SOFTMAX, "elementwise(sub)", "elementwise", 12, 2_000_000),
        (SOFTMAX, "unheard_of", "elementwise", 12, 1_000_000),
    ]
    tables = read(sample(steps))
    case = softmax_of_case(tables, tables.cases[0])
    assert [(step.name, step.share.number) for step in case.steps] == [
        ("maximum", 1 / 8),
        ("subtraction", 2 / 8),
        ("cast to float32", 1 / 8),
        ("division", 3 / 8),
        ("other", 1 / 8),
    ]


def test_times_are_compared_between_cases_that_differ_in_precision_alone(read):
    """Softmax takes 3 ms in fp32 and 6 in bf16 at context 128; 256 has no fp32 to compare with."""
    twice = [(SOFTMAX, "softmax_one", "softmax", 12, 6_000_000)]
    found = result(
        read(Sample(), sample(twice, precision="bf16"), Sample(precision="bf16", context=256))
    )
    assert row(found, "softmax's time / that in fp32") == [DASH, "2.0 x"]
    assert row(found, "QK^T + AV's time / that in fp32") == [DASH, "1.0 x"]
    assert row(found, "softmax / (QK^T + AV): time") == ["0.50 x", "0.75 x"]


def test_medians_are_of_attention_written_out_where_it_was_measured(read):
    fast = [(SOFTMAX, "softmax_one", "softmax", 12, 1_000_000)]
    other = sample(fast, attention="fused_softmax")
    assert result(read(Sample(), other)).compared.number == 1
    assert result(read(other)).compared.number == 1


def test_fused_attention_cannot_be_told_apart(read):
    tables = read(Sample(attention="sdpa"), Sample(context=256, status={"forward": ("oom", "")}))
    found = result(tables)
    assert [case.state for case in found.cases] == ["fused", "oom"]
    assert [printed(matrix.iloc[0, 1]) for matrix in found.matrices] == ["fused", "OOM"]
    assert found.summary.empty
    assert not found.ratios


def test_a_case_without_counted_flops_has_its_times(read):
    found = result(read(Sample(work={})))
    assert found.flops is None
    assert found.compared.number == 1
    assert [line.cells.get("fp32") is None for line in found.opening] == [False, True]


def test_the_figure_has_a_line_of_times_and_one_of_flops_per_size(read):
    axes = draw(read(Sample(), Sample(context=256))).axes
    assert [list(line.get_xdata()) for line in axes[0].lines[:2]] == [[128, 256]] * 2
    assert [list(line.get_ydata()) for line in axes[0].lines[:2]] == [[0.5] * 2, [0.1] * 2]
    assert not draw(read(Sample(attention="sdpa"))).axes


ATTENTION = "forward/layers/attn"


def test_a_brought_model_with_ranges_has_flops_by_what_ran_in_them(tmp_path):
    """5 over 2 x 4 + 2 x 4 for each of the 6 x 8 x 8 elements, whatever its softmax runs."""
    names = ["scores", "softmax", "values"]
    scores, softmax, values = (f"forward/block/attention/{name}" for name in names)
    operators = [
        operator("aten::bmm", "6 x 8 x 4; 6 x 4 x 8", 4.0, path=scores),
        operator("aten::masked_fill", "2 x 3 x 8 x 8; 8 x 8", 1.0, path=scores),
        operator("aten::exp", "2 x 3 x 8 x 8", 2.5, path=softmax),
        operator("aten::bmm", "6 x 8 x 8; 6 x 8 x 4", 1.0, path=values),
    ]

    def flops(rows: list[dict[str, object]]) -> object:
        sample = Sample(work={"aten.bmm": (999, 0)})
        folder = write_tables(tmp_path, sample)
        pd.DataFrame([sample.front | row for row in rows]).to_csv(
            folder / "operators.csv", index=False
        )
        tables = stage.read(folder, "e")
        return softmax_of_case(tables, tables.cases[0]).flop_ratio

    assert flops(operators).number == pytest.approx(5 / 16)
    assert flops(operators[:3]) is None


def operator(name: str, shapes: str, ms: float, calls: float = 2, path: str = ATTENTION):
    return {
        **{"phase": "forward", "path": path, "captured_path": path, "family": "x"},
        **{"operator": name, "forward_operator": "", "shapes": shapes, "dtypes": "fp32"},
        **{
            "short_name": name,
            "calls_per_step": calls,
            "busy_ms_per_step": ms,
            "bytes_per_step": 0,
        },
    }


OPERATORS = [
    operator("aten::bmm", "6 x 8 x 4; 6 x 4 x 8", 4.0),
    operator("aten::softmax", "2 x 3 x 8 x 8", 0.5),
    operator("aten::_softmax", "2 x 3 x 8 x 8", 2.5),
    operator("aten::bmm", "6 x 8 x 8; 6 x 8 x 4", 1.0),
    operator("reduce", "6 x 8 x 8; 6 x 8 x 4", 1.0) | {"operator": "aten::bmm"},
    operator("aten::add", "2 x 3 x 8 x 8; 8 x 8", 0.25),
    operator("aten::_softmax", "2 x 9", 9.0, path="forward/router"),
    operator("aten::mm", "16 x 12; 12 x 12", 9.0, path="forward/layers/attn/q_proj"),
]


def test_without_ranges_operators_and_shapes_tell_softmax_from_the_products():
    """A call of AV has two kernels, whose FLOPs count once: 5 over 2 x 4 + 2 x 4 per element."""
    found = attention(pd.DataFrame(OPERATORS))
    times = [ms_of(part) for part in (found.softmax, found.scores, found.values, found.beside)]
    assert [each.number for each in times] == [3.0, 4.0, 2.0, 0.25]
    assert found.flop_ratio.number == pytest.approx(5 / 16)


def test_products_that_sizes_do_not_tell_apart_are_not_guessed():
    square = [operator("aten::bmm", "6 x 8 x 8; 6 x 8 x 8", 4.0), *OPERATORS]
    assert attention(pd.DataFrame(square)) is None and alike(pd.DataFrame(square))
    assert not alike(pd.DataFrame(OPERATORS))
    assert attention(pd.DataFrame(OPERATORS[1:])) is None
    assert attention(pd.DataFrame(OPERATORS).iloc[:0]) is None


def test_flops_that_no_precision_changes_are_said_once(read):
    _, flops = result(read(Sample(), Sample(precision="bf16"))).opening
    assert {name: printed(cell) for name, cell in flops.cells.items()} == {
        "fp32": "0.10 x",
        "bf16": "same",
    }
