"""Backward by the component whose gradient it computes."""

import pandas as pd

from tests.studies.tables import printed
from workflow_src.answers.gemm_share.backward import PHASE, by_component, gradients
from workflow_src.answers.tables import CaseKey, Tables

CASE = CaseKey("a", "small", 128, 4, "fp32", "naive", "adamw", "cuda")
ROWS = [
    ("forward_backward/forward/block/attention/softmax", "elementwise", "aten::exp", 1.0),
    ("forward_backward/forward/block/feed_forward", "gemm", "aten::mm", 6.0),
    ("forward_backward/forward/block/feed_forward", "elementwise", "aten::silu", 1.0),
    ("forward_backward/forward/block/feed_forward", "gemm", "", 50.0),
    ("forward_backward/backward", "elementwise", "", 9.0),
]


def tables(rows: list[tuple[str, str, str, float]]) -> Tables:
    """A run of one case with these operators: path, family, forward operator, ms."""
    columns = ["path", "family", "forward_operator", "busy_ms_per_step"]
    about = {"case": "a", "phase": PHASE, "size": "small", "context": 128, "batch": 4}
    about |= {"precision": "fp32", "attention": "naive", "optimizer": "adamw", "device": "cuda"}
    about |= {"execution": "eager"}
    operators = pd.DataFrame(rows, columns=columns).assign(**about)
    return Tables({"operators": operators, "timings": operators, "captures": operators.iloc[:0]})


def test_shares_are_of_gradients_by_component_whole_and_besides_products() -> None:
    assert printed(by_component(tables(ROWS))) == [
        ["softmax", "12 % / 12 %"],
        ["feed-forward", "88 % / 12 %"],
    ]


def test_without_operators_nothing_is_said() -> None:
    assert by_component(Tables({})).empty
    assert gradients(Tables({}), CASE).empty
