"""What the study levers tries."""

import pytest

from tests.workflow import ROOT
from workflow_src.common.errors import ConfigError
from workflow_src.plan.config import check, load
from workflow_src.studies.levers.variants import PLAIN, REMEDIES, stack, variants


def test_each_remedy_is_tried_alone_and_on_top_of_the_ones_before_it() -> None:
    names = [variant.name for variant in variants("fp32", "cuda")]
    assert names[: len(REMEDIES) + 1] == [PLAIN, *REMEDIES]
    assert names[len(REMEDIES) + 1 :] == [
        "then_sdpa", "then_fused", "then_graph", "then_compile",
    ]  # fmt: skip
    assert len(set(names)) == len(names)
    last = stack("fp32", "cuda")[-1]
    assert last.remedies == ("bf16", "sdpa", "fused", "graph", "compile")
    assert (last.attention, last.optimizer, last.graph, last.compiled) == ("sdpa", "fused", 1, 1)


@pytest.mark.parametrize(
    ("cases", "said"),
    [
        (["medium"], "levers_cases: 'medium' must be made of a size, a context and fp32 or bf16"),
        (["huge-ctx64-fp32"], "levers_cases: size of 'huge-ctx64-fp32': 'huge' is not one of tiny"),
    ],
)
def test_a_case_that_can_not_be_is_refused(cases: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        check(load(ROOT / "config.yaml") | {"levers_cases": cases})
