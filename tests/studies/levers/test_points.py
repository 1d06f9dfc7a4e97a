"""What the study levers tries."""

import pytest

from tests.workflow import ROOT
from workflow_src.common.errors import ConfigError
from workflow_src.plan.config import check, load
from workflow_src.studies.levers.variants import PLAIN, REMEDIES, stack, variants
from workflow_src.studies.points import points


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
    assert stack("bf16", "cuda")[1].remedies == ("sdpa",), "it has bf16 already"


def test_the_cases_to_start_with_come_first_and_fewer_can_be_chosen() -> None:
    sizes = {name: {"layers": 2} for name in ("small", "medium", "2.7B")}
    settings = {"sizes": sizes, "vocabulary": 50, "levers_cases": []}
    cases = list(dict.fromkeys(row["case"] for row in points("levers", "cuda", "full", settings)))
    assert cases[:3] == ["2.7B-ctx256-bf16", "medium-ctx256-bf16", "small-ctx256-fp32"]
    assert len(cases) == 12
    chosen = settings | {"levers_cases": ["medium-ctx512-bf16"]}
    assert {row["context"] for row in points("levers", "cuda", "full", chosen)} == {512}


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
