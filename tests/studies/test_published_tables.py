"""The published tables are what the published points still give."""

import pytest

from tests.workflow import ROOT
from workflow_src.common.study_table import read_study
from workflow_src.placing.families import load_rules
from workflow_src.studies.accounting import analyze as accounting
from workflow_src.studies.checkpointing import analyze as checkpointing
from workflow_src.studies.flash import analyze as flash
from workflow_src.studies.join_points import Complete, Derive, join
from workflow_src.studies.levers import analyze as levers
from workflow_src.studies.matmul import analyze as matmul
from workflow_src.studies.memory import analyze as memory
from workflow_src.studies.mlp import analyze as mlp
from workflow_src.studies.ranks import analyze as ranks

H200 = ROOT / "examples" / "h200"


@pytest.mark.parametrize(
    ("study", "derive", "complete"),
    [
        ("matmul", matmul.derive, None),
        ("mlp", mlp.derive, None),
        ("accounting", accounting.derive, None),
        ("memory", memory.derive, None),
        ("checkpointing", checkpointing.derive, None),
        ("flash", flash.derive, None),
        ("ranks", ranks.derive, ranks.complete),
        ("levers", levers.derive, levers.complete),
    ],
)
def test_points_give_the_published_table(
    study: str, derive: Derive, complete: Complete | None
) -> None:
    published = H200 / "tables" / "studies" / f"{study}.csv"
    points = read_study(published)["point"].unique()
    table = join(
        [H200 / "studies" / study / f"{each}.json" for each in points], derive, load_rules()
    )
    predictions = [H200 / "predictions" / study / f"{case}.csv" for case in table.get("case", [])]
    if complete:
        table = complete(table, list(dict.fromkeys(predictions)))
    assert table.to_csv(index=False) == published.read_text(encoding="utf-8")
