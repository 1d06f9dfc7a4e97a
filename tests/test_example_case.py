"""The one case that all answers work through: how it is chosen, and what each answer says of it."""

from pathlib import Path

import pytest

from tests.questions import answer_question
from tests.synthetic_tables import Product, Sample, grid, write_tables
from workflow_src.answers import backward_share, example_case, forward_example, layer_calls
from workflow_src.answers.provenance import unsupported
from workflow_src.answers.questions import QUESTIONS

TEMPLATES = Path(__file__).parent.parent / "report_templates"
WARNED = {"warning": "throttled (power cap)"}
OOM = {"train_step": ("oom", "CUDA out of memory")}
PRODUCTS: list[Product] = [("qkv", "forward", (4, 4, 4, 1), "gemm", 1, 1)]


@pytest.fixture
def chosen(tmp_path):
    def choose(*samples: Sample) -> dict | None:
        return example_case.read(write_tables(tmp_path, *samples))

    return choose


def test_of_equals_it_is_the_nearest_to_the_middle(chosen):
    found = chosen(*grid())
    assert (found["case"], found["brief"]) == ("large-ctx256-fp32", "large, context 256")
    assert found["cases"] == [f"large-ctx256-{p}" for p in ("fp32", "tf32", "bf16")]
    assert found["calm"] and not found["evidence"]


def test_the_most_precisions_come_before_the_most_evidence_and_the_middle(chosen):
    samples = [Sample(context=c, replayed_ms={"forward": 9.0}) for c in (128, 256, 512)]
    found = chosen(*samples, Sample(context=128, precision="bf16"))
    assert found["cases"] == ["small-ctx128-fp32", "small-ctx128-bf16"]
    assert found["evidence"] == [], "only one of its two has a replay"
    found = chosen(Sample(), Sample(context=512, products={"forward": PRODUCTS}))
    assert found["case"] == "small-ctx512-fp32"
    assert found["evidence"] == ["the sizes of its products"]


def test_its_precision_is_the_first_with_the_most_evidence(chosen):
    found = chosen(Sample(), Sample(precision="bf16", replayed_ms={"forward": 9.0}))
    assert (found["precision"], found["case"]) == ("bf16", "small-ctx128-bf16")
    assert found["cases"] == ["small-ctx128-fp32", "small-ctx128-bf16"]


def test_cases_with_a_warning_stand_back_unless_all_have_one(chosen):
    found = chosen(Sample(environment=WARNED), Sample(context=512))
    assert (found["case"], found["calm"]) == ("small-ctx512-fp32", True)
    found = chosen(Sample(environment=WARNED))
    assert (found["case"], found["calm"]) == ("small-ctx128-fp32", False)


def test_cases_with_a_doubt_about_a_phase_stand_back_too(chosen):
    """On a CPU, operators that take longer in the capture than the whole step without it."""
    over = Sample().times_ms | {"forward_backward": (70.0, 60.0, 70.0)}
    found = chosen(Sample(device="cpu", times_ms=over), Sample(device="cpu", context=512))
    assert (found["case"], found["compared"]) == ("small-ctx512-fp32", True)
    warned = Sample(device="cpu", environment=WARNED)
    found = chosen(Sample(device="cpu", times_ms=over, context=512), warned)
    assert (found["case"], found["calm"], found["compared"]) == ("small-ctx512-fp32", True, False)


def test_a_host_whose_speed_was_not_measured_afterwards_is_told(chosen):
    speeds = {"host_operation_us_before": 7.0, "host_operation_us_after": 7.1}
    assert not chosen(Sample(environment=speeds))["unchecked"]
    assert chosen(Sample(environment=speeds | {"host_operation_us_after": ""}))["unchecked"]
    assert not chosen(Sample())["unchecked"], "nor was it before"


def test_a_case_that_lacks_a_phase_or_a_capture_is_none(chosen):
    assert chosen(Sample(status=OOM)) is None
    assert chosen(Sample(captured=False)) is None
    assert chosen(Sample(kernels={})) is None
    found = chosen(Sample(status=OOM), Sample(context=256, attention="sdpa"))
    assert found["case"] == "small-ctx256-fp32-sdpa"


def test_attention_written_out_comes_first(chosen):
    found = chosen(Sample(attention="sdpa", replayed_ms={"forward": 9.0}), Sample(context=256))
    assert found["case"] == "small-ctx256-fp32"


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_answer_works_the_example_and_says_so(tmp_path, question):
    folder = write_tables(tmp_path, *grid())
    answer, text = answer_question(question, folder, TEMPLATES)
    line = next(line for line in text.splitlines() if line.startswith("**By hand**"))
    assert "large, context 256" in line
    assert "the example" in line or question == "c"
    assert not unsupported(text, answer.as_dict())


def test_an_answer_without_the_example_says_why_it_works_another():
    rows = [{"case": "a", "precision": "fp32"}]
    example = {"case": "b", "cases": ["b"], "named": "small, context 128"}
    assert example_case.pick(rows, example) is None
    assert example_case.beside(rows, example) == []
    said = example_case.said(rows[0], example, "a typical case", 2)
    assert said == ", a typical case (the example, small, context 128, lacks what is needed here)"
    assert example_case.said(rows[0], None, "a typical case", 2) == ", a typical case"
    assert example_case.said(rows[0], example, "a typical case", 1) == ""


def slow(**others) -> dict:
    row = {"case": "a", "precision": "bf16", "verdict": "idle", "overhead": 1.5}
    times = {"median_ms": 20.0, "host_ms": 50.0, "busy_ms": 8.0, "idle_launch_ledger_ms": 40.0}
    return row | times | others


def test_what_the_profiler_adds_is_told_from_the_ledger():
    found = forward_example.slowed([slow(), slow(overhead=0.2, verdict="match")])
    assert (found["added"], found["idle_before"], found["idle_after"]) == (30.0, 12.0, 42.0)
    assert found["by_launches"]
    assert not forward_example.slowed([slow(idle_launch_ledger_ms=13.0)])["by_launches"]
    without = {key: value for key, value in slow().items() if "ledger" not in key}
    assert forward_example.slowed([without]) is None
    assert forward_example.slowed([slow(verdict="match")]) is None


def backward(precision: str, **others: float) -> dict:
    times = {"products_times": 2.0, "else_times": 2.0, "forward_part": 0.5, "backward_part": 0.5}
    return {"precision": precision, "context": 128} | times | others


def test_why_backward_changes_the_share_is_chosen_by_times():
    rows = [
        backward("fp32", else_times=2.4, backward_part=0.4),
        backward("tf32", products_times=2.7, backward_part=0.6, nn=1.0, nt=1.6),
        backward("bf16", products_times=2.1, backward_part=0.51),
        backward("fp16", products_times=2.7, backward_part=0.4),
    ]
    found = {row["precision"]: row for row in backward_share.summarize(rows)}
    assert (found["fp32"]["changed"], found["fp32"]["poorer"]) == ("else", 1)
    assert (found["tf32"]["changed"], found["tf32"]["richer"]) == ("products", 1)
    assert found["tf32"]["slow"] == [("nt", 1.6)]
    assert found["bf16"]["changed"] == ""
    assert found["fp16"]["changed"] == "", "a cause that contradicts the shares is none"


def test_backward_without_products_or_without_anything_else_is_not_compared():
    part = {"ms": 10.0, "matmul_ms": 10.0, "share": 1.0}
    assert backward_share.measure({"forward": part, "backward": part}, None) == {}
    assert backward_share.measure({}, None) == {}


@pytest.mark.parametrize(
    ("calls", "layers", "text"),
    [
        ([24, 12, 1], 12, "37 = 12 x (2 feed-forward + QK^T) + head"),
        ([24, 12, 1], None, "37 = 24 feed-forward + 12 QK^T + head"),
        ([24], 12, "24 = 12 x 2 feed-forward"),
        ([5, 1], 12, "6 = 5 feed-forward + QK^T"),
        ([24, 12, 12, 12, 24], 12, "84 = 12 x (2 feed-forward + 5 elsewhere)"),
    ],
)
def test_calls_by_layer(calls, layers, text):
    names = ("feed-forward", "QK^T", "output head", "AV", "q/k/v projections")
    places = [{"place": name, "calls": float(n)} for name, n in zip(names, calls, strict=False)]
    assert layer_calls.by_layer(float(sum(calls)), places, layers) == text
