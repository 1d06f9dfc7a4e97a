"""What the study levers finds in small tables by hand."""

import pandas as pd
import pytest

from tests.studies.levers.points import measured, result
from tests.studies.levers.rows import FUSED, STEP, ends, expected, tried
from tests.studies.tables import NO_CEILINGS, cells, result_of, table_of, verdict_of
from workflow_src.common.words import DASH
from workflow_src.placing.families import load_rules
from workflow_src.studies.join_points import join
from workflow_src.studies.levers import analyze
from workflow_src.studies.levers import chapter as levers
from workflow_src.studies.levers.points import PLAIN
from workflow_src.studies.levers.predict import predictions

ROWS = [
    STEP,
    tried("sdpa", 80.0) | expected(85.0, 70.0, 90.0),
    tried("compile", 60.0, gradients_error=None) | expected(60.0, 50.0, 70.0),
    tried("then_fused", 50.0, **FUSED) | expected(30.0, 25.0, 45.0, inside=False),
]


def test_a_case_says_what_pays_and_how_well_it_was_predicted() -> None:
    found = result_of("levers", ROWS)
    (row,) = found.by_case.to_dict("records")
    table = {name: cells(found.by_case, name)[0] for name in row}
    assert table == {
        "case": "a",
        "plain step, ms": "100",
        "device works": "40 %",
        "pays most alone": "fused attention",
        "remedies tried alone": "fused attention",
        "saves": "20 %",
        "saved one after the other, ms": "fused attention 20, fused AdamW 30",
        "shortest, ms": "50.0",
        "saves in all": "50 %",
        "as predicted, of all (appendix)": "2 of 3",
        "intervals' width, at most": "20 %",
        "device time off by at most": "5.0 %",
    }
    assert (found.scored.inside.number, found.scored.judged.number) == (2, 3)
    assert found.scored.inside.sources[0].numbers == (3, 4)


def test_errors_of_a_case_are_the_largest_of_any_of_its_steps() -> None:
    """Work of 21 ms, predicted for 20, 20 and 15 ms; intervals of 20, 40 and 10 ms of 100."""
    steps = [expected(85.0, 70.0, 90.0), expected(60.0, 40.0, 80.0), expected(50.0, 45.0, 55.0)]
    names, works = ("sdpa", "fused", "graph"), (20.0, 20.0, 15.0)
    rows = [
        tried(name, 60.0, device_ms=ms) | step
        for name, ms, step in zip(names, works, steps, strict=True)
    ]
    found = result_of("levers", [STEP, *rows]).by_case
    assert cells(found, "intervals' width") == ["40 %"]
    assert cells(found, "device time off by") == ["40 %"]


def test_what_is_saved_on_top_has_the_digits_and_the_mark_that_processes_earn() -> None:
    """104 - 89 ms, of 99 to 108 and 77 to 95 ms: 4 to 31; then 11.2 ms, of which 0 may be true."""
    rows = [
        STEP | {"median_ms": 104.0} | ends(99.0, 108.0),
        tried("sdpa", 89.0) | ends(77.0, 95.0),
        tried("then_fused", 77.8, **FUSED) | ends(66.0, 79.0),
    ]
    (said,) = cells(result_of("levers", rows).by_case, "saved one after")
    assert said == "fused attention 15, fused AdamW 11 °"


def test_a_saving_that_is_not_shown_is_marked_beside_its_prediction() -> None:
    """A difference that isn't shown and a miss of the prediction stand in one row."""
    rows = [STEP | ends(90.0, 110.0), tried("foreach", 119.0) | ends(105.0, 123.0)]
    rows[1] |= expected(99.0, 89.0, 109.0, inside=False)
    steps = result_of("levers", [*rows, *ROWS[2:3]]).steps
    assert cells(steps, "saves")[1:3] == ["-19 % °", "not finite"]
    assert cells(steps, "as predicted")[:2] == [DASH, "no"]
    assert cells(steps, "measured")[1] == "119 (105 to 123)"


def test_memory_and_errors_stand_against_the_plain_step() -> None:
    rows = [
        STEP,
        tried("sdpa", 80.0, peak_memory_mib=1024.0),
        tried("compile", 60.0, gradients_error=None, rounded_state="ok"),
        tried("graph", 40.0, error_state="not_capturable", gradients_error=None),
    ]
    rows[2]["rounded_gradients_error"] = 0.031
    found = result_of("levers", rows).effects
    assert cells(found, "peak memory") == ["2.00", "1.00", "2.00", "2.00"]
    assert cells(found, "against") == [DASH, "-50 %", "0 %", "0 %"]
    assert cells(found, "of gradients, rounded") == [DASH, DASH, "3.1 %", DASH]
    (errors,) = (name for name in found if name == "of gradients")
    assert [str(each) for each in found[errors]][2:] == ["not finite", "None"]


def test_predictions_rest_on_kinds_of_work_or_on_what_older_ones_said() -> None:
    new = tried("sdpa", 80.0, predicted_core_ms=1.5, predicted_optimizer_ms=9.0)
    found = result_of("levers", [STEP, new]).expected
    assert list(found) == ["case", "with", "attention's core, ms", "AdamW, ms"]
    older = result_of("levers", [STEP, tried("sdpa", 80.0, why="a reason")]).expected
    assert cells(older, "because") == ["a reason"]


def test_where_the_plain_step_did_not_run_the_others_are_told() -> None:
    none = {"plain_ms": None, "saving_share": None}
    rows = [tried(PLAIN, None, status="oom", reason="full"), tried("sdpa", 95.0)]
    found = result_of("levers", [each | none for each in rows])
    assert cells(found.by_case, "plain step") == ["OOM"]
    assert cells(found.steps, "measured") == ["OOM", "95.0"]
    assert cells(found.missing, "why") == ["full"]


def test_a_real_run_is_read(tmp_path: pytest.TempPathFactory) -> None:
    names = (PLAIN, "sdpa", "fused", "bf16", "graph", "triton_softmax", "then_fused")
    paths = [tmp_path / f"{name}.json" for name in names]
    for path, name in zip(paths, names, strict=True):
        path.write_text(measured(name))
    written = tmp_path / "p.csv"
    predictions(result(PLAIN), load_rules()).to_csv(written, index=False)
    table = analyze.complete(join(paths, analyze.derive, load_rules()), [written])
    found = levers.result(table_of(table.to_dict("records")), NO_CEILINGS)
    assert cells(found.by_case, "case") == ["tiny-ctx8-fp32"]
    # On a CPU nothing is predicted, and each variant says why.
    assert found.scored.judged.number == 0 and found.expected.empty
    assert set(cells(found.unpredicted, "not predicted")) == {"a CPU has no launches to replay"}
    assert set(cells(found.missing, "state")) == {"not supported"}
    assert isinstance(found.phases, pd.DataFrame) and len(found.phases) == 10


HIT = tried("sdpa", 80.0) | expected(85.0, 70.0, 90.0)
MISS = tried("graph", 50.0) | expected(30.0, 25.0, 45.0, inside=False)


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ([STEP, HIT], "FORETOLD"),
        ([STEP, HIT, MISS], "MISSED"),
        ([STEP, tried("sdpa", 80.0)], "UNPREDICTED"),
        ([STEP, tried("sdpa", 98.0)], "NOTHING"),
        ([STEP], "CANT_TELL"),
        ([tried(PLAIN, None, status="oom"), tried("sdpa", 80.0, saving_share=None)], "CANT_TELL"),
    ],
)
def test_verdicts(rows: list[dict[str, object]], verdict: str) -> None:
    assert verdict_of("levers", rows)[0] == verdict


def test_the_numbers_of_a_verdict() -> None:
    other = [each | {"case": "b"} for each in (STEP, MISS)]
    _, said = verdict_of("levers", [STEP, HIT, *other])
    assert "by fused attention in a (of 1 tried) and a CUDA graph in b (of 1 tried)" in said
    assert "the shortest step saves 20 % to 50 %" in said
    assert "1 of 2 times" in said
