"""A test per verdict of (f), in each phase."""

import pandas as pd
import pytest

from tests.synthetic_tables import Sample, write_tables
from tests.workflow import ROOT
from workflow_src.answers import stage
from workflow_src.answers.among import Among
from workflow_src.answers.answer import answer
from workflow_src.answers.change_first.headline import Verdict, headline
from workflow_src.answers.change_first.result import ChangeFirst, Counts, result
from workflow_src.common.case import PHASES
from workflow_src.common.words import PHASES_IN_PROSE
from workflow_src.paper.show import Printer
from workflow_src.paper.value import Value

NAMES = ("the forward pass", "the forward and backward pass", "the training step")


def found(first: dict[str, int], undecided: int, none: int, phase: str) -> ChangeFirst:
    """A result with so many cases in which each comes first in a phase."""

    def count(number: int) -> Value:
        return Value(number, "count", ())

    cases = count(sum(first.values()) + undecided + none)
    ranked = sorted(first.items(), key=lambda item: -item[1])
    counts = Counts(
        cases=cases,
        first={name: Among(count(number), cases) for name, number in ranked},
        undecided=count(undecided),
        none=count(none),
        saved=Value(0.25, "share", ()),
        best=Value(0.5, "share", ()),
    )
    empty = pd.DataFrame()
    return ChangeFirst(PHASES_IN_PROSE[phase], counts, (), {"example": empty}, True, ())


@pytest.mark.parametrize(
    ("first", "undecided", "none", "verdict", "text"),
    [
        (
            {"graph": 3, "bf16": 1}, 0, 0,
            Verdict.FIRST,
            "In THE PHASE, a CUDA graph comes first in 3 of 4 cases and saves 25 % there; the best "
            "combination of each case saves 50 % (medians).",
        ),
        (
            {"bf16": 2, "graph": 7}, 1, 2,
            Verdict.DEPENDS,
            "It depends on the case: in THE PHASE, first comes graph in 7 of 12, bf16 in 2 of 12 "
            "(undecided: 1; no sure saving: 2). The best combination of each case saves 50 % "
            "(median).",
        ),
        (
            {}, 2, 1,
            Verdict.UNDECIDED,
            "In THE PHASE, what comes first is undecided in 2 of 3 cases (no sure saving: 1). The "
            "best combination of each case saves 50 % (median).",
        ),
        (
            {}, 0, 4,
            Verdict.NOTHING,
            "In THE PHASE, no remedy that is known surely saves anything, in 4 cases.",
        ),
        (
            {}, 0, 0,
            Verdict.CANT_TELL,
            "What any change saves isn't known, so what comes first can't be told.",
        ),
    ],
)  # fmt: skip
def test_the_verdict_names_what_comes_first_in_three_of_four_cases(
    first, undecided, none, verdict, text
):
    for phase, name in zip(PHASES, NAMES, strict=True):
        said = headline(found(first, undecided, none, phase))
        assert said.verdict is verdict
        assert said.text(Printer()) == text.replace("THE PHASE", name)


@pytest.mark.parametrize("longest", range(len(PHASES)))
def test_sentences_name_the_longest_phase_of_which_anything_is_known(tmp_path, longest):
    """A replay takes half as long."""
    oom = {phase: ("oom", "CUDA out of memory") for phase in PHASES[longest + 1 :]}
    plain = {"forward": 24.0, "forward_backward": 72.0, "train_step": 100.0}
    replayed = {phase: plain[phase] / 2 for phase in PHASES[: longest + 1]}
    sample = Sample(status=oom, median_ms=plain, replayed_ms=replayed)
    tables = stage.read(write_tables(tmp_path, sample), "f")
    written = answer("f", result, headline).texts(tables, ROOT / "report_templates").markdown
    assert (
        f"**In {NAMES[longest]}, a CUDA graph comes first in 1 of 1 cases and saves 50 %" in written
    )
    assert f"\nWhat comes first in {NAMES[longest]} and the share" in written
