"""A number that stands in two tables of a report has the same digits in both."""

from tests.answers.reading import printed
from tests.published import H100
from workflow_src.answers.case_card import FIRST, PARTS, case_card
from workflow_src.answers.change_first.first import first_of_case
from workflow_src.answers.gemm_share.chapter import changes
from workflow_src.answers.questions import CARDS
from workflow_src.answers.tables import Tables
from workflow_src.paper.run import Run


def test_the_optimizer_and_the_best_share_are_alike_wherever_they_stand() -> None:
    """The optimizer's device time in (d) and the card; what the best combination saves.

    Of the published cases of size small: at 512 and 1024 in fp32 the median over three captured
    steps has another third digit than their mean.
    """
    ours = changes(Run.of(H100 / "tables"))["optimizer_ms"].map(str)
    tables = Tables.read(H100 / "tables", CARDS.tables, CARDS.optional)
    for case in (case for case in tables.cases if case.size == "small"):
        first = first_of_case(tables, case)
        step = first.phases["train_step"]
        card = case_card(tables, case, first).table.set_index(case.case).iloc[:, -1].map(printed)
        optimizer = ours[case.case]
        assert card[PARTS].endswith(f"optimizer {optimizer}")
        best = step.choice.best
        assert best
        saved = card[FIRST].split(f"{best.name} ")[1].removeprefix("≈ ")
        assert card[f"with {best.name}"].endswith(f"; {saved}")
