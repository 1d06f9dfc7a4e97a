"""A test per verdict of (b)."""

from dataclasses import replace

import pytest

from tests.answers.subsets import empty
from workflow_src.answers.among import Among
from workflow_src.answers.top_kernel.headline import Verdict, headline
from workflow_src.answers.top_kernel.result import Leader, TopKernels, result
from workflow_src.paper.show import Printer
from workflow_src.paper.value import Value


def among(holds: int, of: int) -> Among:
    return Among(Value(holds, "count", ()), Value(of, "count", ()))


def found(leaders: dict[str, tuple[str, int, int]], both: int) -> TopKernels:
    """A result with what leads at each precision in how many cases, and the cases with backward."""
    each = {name: Leader(what, among(n, of)) for name, (what, n, of) in leaders.items()}
    mine = [leader for leader in each.values() if leader.what == next(iter(each.values())).what]
    holds = sum(int(leader.cases.holds.number) for leader in mine)
    of = sum(int(leader.cases.of.number) for leader in each.values())
    every = Leader(mine[0].what, among(holds, of)) if mine else None
    return replace(result(empty()), leader=every, leaders=each, same=among(0, both))


@pytest.mark.parametrize(
    ("leaders", "both", "verdict"),
    [
        ({"fp32": ("matrix product", 1, 1)}, 1, Verdict.ONE_KIND),
        ({"fp32": ("sum", 2, 2), "bf16": ("sum", 4, 4)}, 6, Verdict.ONE_KIND),
        (
            {
                "fp32": ("matrix product", 20, 20),
                "tf32": ("matrix product", 20, 20),
                "bf16": ("cast to bf16", 13, 20),
            },
            60,
            Verdict.BY_PRECISION,
        ),
        ({"fp32": ("sum", 3, 4), "bf16": ("sum", 2, 4)}, 8, Verdict.MIXED),
        ({"fp32": ("sum", 3, 4), "bf16": ("mean", 2, 4)}, 0, Verdict.FORWARD_ALONE),
        ({}, 0, Verdict.CANT_TELL),
    ],
)
def test_the_verdict_says_how_alike_top_kernels_are(leaders, both, verdict):
    said = headline(found(leaders, both))
    assert said.verdict is verdict
    assert len(str(said.text(Printer())).split()) <= 45
