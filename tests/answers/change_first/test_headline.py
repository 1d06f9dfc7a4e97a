"""A test per verdict of (f), in each phase."""

import pandas as pd
import pytest

from tests.synthetic_tables import Sample, write_tables
from tests.workflow import ROOT
from workflow_src.answers import answer, stage
from workflow_src.answers.change_first.headline import Verdict, headline
from workflow_src.answers.change_first.result import ChangeFirst, Tally, result
from workflow_src.common.case import PHASES
from workflow_src.common.words import PHASES_IN_PROSE
from workflow_src.render.show import Printer
from workflow_src.render.value import Value

NAMES = ("the forward pass", "the forward and backward pass", "the training step")


def found(launches: int, precision: int, device: int, phase: str) -> ChangeFirst:
    """A result with so many cases in which each comes first in a phase."""

    def tally(cases: int) -> Tally:
        return Tally(Value(cases, "count", ()), Value(0.25, "share", ()) if cases else None)

    none = pd.DataFrame()
    return ChangeFirst(
        phase=PHASES_IN_PROSE[phase],
        known=tally(launches + precision + device),
        launches=tally(launches),
        precision=tally(precision),
        device=tally(device),
        summary=none,
        matrices=(),
        example=none,
        levers=none,
        opening=(),
    )


@pytest.mark.parametrize(
    ("counts", "verdict", "text"),
    [
        (
            (1, 0, 0),
            Verdict.LAUNCHES_FIRST,
            "Fewer launches, as by a CUDA graph: in THE PHASE they come first in 1 of 1, and could "
            "save a median of 25 % there.",
        ),
        (
            (0, 8, 2),
            Verdict.PRECISION_FIRST,
            "A lower precision: in THE PHASE it comes first in 8 of 10, and takes device time "
            "worth a median of 25 % of the step away there.",
        ),
        (
            (0, 0, 3),
            Verdict.DEVICE_WORK_FIRST,
            "Less work for the device besides matrix products: in THE PHASE it comes first in 3 "
            "of 3, and could save a median of 25 % there.",
        ),
        (
            (7, 2, 1),
            Verdict.DEPENDS,
            "It depends on the case: in THE PHASE, fewer launches come first in 7 of 10, a lower "
            "precision in 2, and less work for the device besides matrix products in 1.",
        ),
        (
            (0, 0, 0),
            Verdict.CANT_TELL,
            "What any change could save isn't known, so what comes first can't be told.",
        ),
    ],
)
def test_the_verdict_names_what_comes_first_in_four_of_five_cases(counts, verdict, text):
    for phase, name in zip(PHASES, NAMES, strict=True):
        said = headline(found(*counts, phase))
        assert said.verdict is verdict
        assert said.text(Printer()) == text.replace("THE PHASE", name)


@pytest.mark.parametrize("longest", range(len(PHASES)))
def test_sentences_name_the_longest_phase_that_ran(tmp_path, longest):
    """The device works for all 12 ms of the forward pass, softmax and mask for 3.5 of them."""
    oom = {phase: ("oom", "CUDA out of memory") for phase in PHASES[longest + 1 :]}
    mine = result(stage.read(write_tables(tmp_path, Sample(status=oom)), "f"))
    first = (
        "Less work for the device besides matrix products: in the forward pass it comes first in "
        "1 of 1, and could save a median of 29 % there.",
        "Fewer launches, as by a CUDA graph: in the forward and backward pass they come first in "
        "1 of 1, and could save a median of 44 % there.",
        "Fewer launches, as by a CUDA graph: in the training step they come first in 1 of 1, and "
        "could save a median of 60 % there.",
    )[longest]
    written = answer.texts("f", mine, headline(mine), ROOT / "report_templates").markdown
    assert f"**{first}**\n" in written
    lead = f"What comes first in {NAMES[longest]}, and the share of its plain time:"
    assert f"\n{lead}\n" in written
