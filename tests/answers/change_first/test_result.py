"""(f) against small tables done by hand: see tests/synthetic_tables.py for their times."""

import pandas as pd
import pytest

from tests.answers.reading import printed, row_of
from tests.synthetic_tables import Sample, write_tables
from tests.workflow import ROOT
from workflow_src.answers import stage
from workflow_src.answers.answer import answer
from workflow_src.answers.change_first.first import OfPhase, first_of_case
from workflow_src.answers.change_first.headline import Verdict, headline
from workflow_src.answers.change_first.result import result
from workflow_src.answers.tables import Tables
from workflow_src.common.case import PHASES
from workflow_src.paper.show import Printer


@pytest.fixture
def read(tmp_path):
    def reading(*samples: Sample, **frames: pd.DataFrame) -> Tables:
        write_tables(tmp_path, *samples)
        for name, frame in frames.items():
            path = tmp_path / f"{name.replace('_', '/')}.csv"
            path.parent.mkdir(exist_ok=True)
            frame.to_csv(path, index=False)
        return stage.read(tmp_path, "f")

    return reading


def of(tables: Tables, phase: str, place: int = 0) -> OfPhase:
    return first_of_case(tables, tables.cases[place]).phases[phase]


def known(found: OfPhase) -> dict[str, tuple[float, float, float]]:
    """Times by remedies: the median, the least and the most."""
    return {
        "+".join(each.remedies): tuple(
            round(value.number, 3) for value in (each.time.middle, each.time.low, each.time.high)
        )
        for each in found.savings
    }


def train(ms: float, **about: object) -> Sample:
    """A case whose training step takes so long, for 20 ms of which the device works."""
    times = {"forward": 12.0, "forward_backward": 36.0, "train_step": ms}
    return Sample(median_ms=times, **about)  # type: ignore[arg-type]


def predictions(sample: Sample, *rows: tuple[str, float, float, float]) -> pd.DataFrame:
    """Rows of remedies.csv for a training step of 50 ms: remedies, predicted, low, high."""
    about = sample.front | {"phase": "train_step", "reason": "", "plain_ms": 50.0}
    columns = ["remedies", "predicted_ms", "low_ms", "high_ms"]
    found = [about | {"status": "ok"} | dict(zip(columns, row, strict=True)) for row in rows]
    unknown = {"remedies": "tf32+compile", "status": "not_known", "reason": "no operators"}
    return pd.DataFrame([*found, about | unknown])


def test_a_replay_and_other_cases_of_the_run_measure_remedies_alone_and_with_a_graph(read) -> None:
    """Of one process: 10 % of a step's samples lie below 0.95 and above 1.1 of the median."""
    replayed = {"train_step": 22.0}
    tables = read(
        Sample(replayed_ms={"train_step": 40.0}),
        train(30.0, precision="bf16", replayed_ms=replayed),
        train(25.0, precision="bf16", attention="sdpa"),
    )
    assert known(of(tables, "train_step")) == {
        "bf16": (30.0, 28.5, 33.0),
        "graph": (40.0, 40.0, 40.0),
        "bf16+graph": (22.0, 22.0, 22.0),
        "bf16+sdpa": (25.0, 23.75, 27.5),
    }
    assert all(each.alone for each in of(tables, "train_step").savings)
    assert known(of(tables, "train_step", place=2)) == {}, "nothing is better than the last"


def test_a_case_that_differs_in_more_than_remedies_measures_nothing(read) -> None:
    tables = read(Sample(), Sample(precision="bf16", context=256), Sample(size="mini"))
    assert known(of(tables, "train_step")) == {}


def test_plain_times_of_two_hosts_do_not_compare_but_replays_do(read) -> None:
    other = train(30.0, precision="bf16", replayed_ms={"train_step": 22.0})
    other.environment = {"host_id": "b"}
    tables = read(Sample(environment={"host_id": "a"}), other)
    assert list(known(of(tables, "train_step"))) == ["bf16+graph"]


def test_the_interval_of_another_case_reaches_to_the_speed_of_the_plain_ones_host(read) -> None:
    """30 ms, of which 10 are the host's: half as long, or twice, if its operations take so long."""
    for us, interval in (("5.0", (30.0, 25.0, 33.0)), ("20.0", (30.0, 28.5, 40.0))):
        slower = train(30.0, precision="bf16", environment={"host_operation_us_before": "10.0"})
        tables = read(Sample(environment={"host_operation_us_before": us}), slower)
        assert known(of(tables, "train_step")) == {"bf16": interval}


def test_one_process_spreads_as_those_of_the_run_do_beyond_device_time(read) -> None:
    """50 ms of which 20 are the device's: 30 ms of the host, and 15 below to 30 ms above.

    So a step of 40 ms lies between 30 and 60.
    """
    tables = read(Sample(), train(40.0, precision="bf16"))
    several = {"processes": 3, "fastest_ms": 35.0, "slowest_ms": 80.0}
    for column, number in several.items():
        tables.frames["timings"][column] = pd.NA
        tables.frames["timings"].loc[2 + PHASES.index("train_step"), column] = number
    found = of(tables, "train_step")
    assert known(found) == {"bf16": (40.0, 30.0, 60.0)}
    assert [found.savings[0].alone, found.savings[0].sure] == [True, False]
    share = found.savings[0].share
    assert (share.low.number, share.high.number) == (1 - 60 / 35, 1 - 30 / 80)


def lever(variant: str, remedies: str, ms: float, **about: object) -> dict[str, object]:
    """A variant of the study, whose plain step takes 100 ms and 90 to 110 in single processes."""
    row = {"case": Sample().case, "variant": variant, "remedies": remedies, "batches": 1}
    row |= {"phase": "train_step", "status": "ok", "median_ms": ms, "error_state": "ok"}
    row |= {"fastest_process_ms": 0.9 * ms, "slowest_process_ms": 1.1 * ms, "processes": 3}
    return row | {"gradients_error": 0.01} | about


def test_the_study_levers_gives_times_beside_its_own_plain_time_where_its_numbers_are_right(
    read,
) -> None:
    """The run's plain step takes 50 ms, the study's 100."""
    rows = [
        lever("plain", "", 100.0),
        lever("graph", "graph", 60.0),
        lever("sdpa", "sdpa", 40.0, gradients_error=None),
        lever("batch_x2", "batch_x2", 50.0, batches=2),
        lever("fused", "fused", 80.0, phase="forward"),
        lever("then_graph", "sdpa+graph", 30.0),
    ]
    tables = read(Sample(), studies_levers=pd.DataFrame(rows))
    found = of(tables, "train_step")
    assert known(found) == {"graph": (60.0, 54.0, 66.0), "sdpa+graph": (30.0, 27.0, 33.0)}
    share = found.savings[0].share
    assert share.low.number == pytest.approx(1 - 66 / 90)
    assert not found.savings[0].alone
    (together,) = (printed(each) for each in result(tables).matrices[1].iloc[0, 1:])
    assert together == "63 %\N{EN DASH}75 % of 100 ms", (
        "the plain time stands beside, which isn't the case's"
    )
    assert known(of(tables, "forward")) == {}, "no optimizer is part of a forward pass"


def test_a_graph_of_the_study_is_the_same_program_from_whatever_precision_it_is_reached(
    read,
) -> None:
    """Of fp32's own 50 ms; without a graph, or with one that leaves AdamW to the host, it isn't."""
    bf16 = train(40.0, precision="bf16")
    rows = [
        lever("plain", "", 100.0),
        lever("sdpa", "sdpa", 70.0),
        lever("graph", "graph", 30.0),
        lever("then_graph", "fused+graph", 20.0),
    ]
    study = pd.DataFrame(rows).assign(case=bf16.case)
    guessed = predictions(Sample(), ("bf16+fused+graph", 22.0, 15.0, 25.0))
    tables = read(Sample(), bf16, studies_levers=study, remedies=guessed)
    found = of(tables, "train_step")
    assert list(known(found)) == ["bf16", "bf16+fused+graph"]
    both = found.savings[1]
    assert (both.time.middle.number, both.time.low.number, both.time.high.number) == (20, 18, 22)
    assert both.share.middle.number == pytest.approx(0.6) and not both.known.studied
    together = result(tables).matrices[1].iloc[0, 1]
    assert printed(together) == "54 %\N{EN DASH}67 %¹", "22 of 47.5 ms to 18 of 55 ms"
    assert list(known(of(tables, "train_step", place=1))) == ["sdpa", "graph", "fused+graph"]


def test_a_measured_time_stands_before_what_was_predicted_of_it(read) -> None:
    sample = Sample(replayed_ms={"train_step": 40.0})
    guessed = predictions(sample, ("graph", 35.0, 30.0, 39.0), ("fused", 45.0, 44.0, 46.0))
    tables = read(sample, remedies=guessed)
    found = of(tables, "train_step")
    assert known(found) == {"fused": (45.0, 44.0, 46.0), "graph": (40.0, 40.0, 40.0)}
    assert [each.measured for each in found.savings] == [False, True]
    made = result(tables)
    compared = [row_of(row) for row in made.tables["predicted"].to_numpy()]
    assert compared == [["training step", "graph (no training)", "0.875 x", "0 of 1"]]
    (row,) = made.matrices[0].to_numpy()
    assert row_of(row) == ["small", "fused ≈ 10 %¹ (optimizer 18 %)"]


def test_overlapping_remedies_are_undecided_and_combinations_stand_in_their_own_table(read) -> None:
    guessed = predictions(
        Sample(),
        ("compile", 40.0, 38.0, 42.0),
        ("sdpa", 43.0, 41.0, 45.0),
        ("sdpa+compile", 30.0, 28.0, 33.0),
    )
    made = result(read(Sample(), remedies=guessed))
    alone, together = made.matrices
    assert printed(alone.iloc[0, 1]) == "compile ≈ 20 %¹ (rest 80 %) or sdpa ≈ 14 %¹"
    assert together.columns[0] == "fp32, with sdpa+compile"
    assert printed(together.iloc[0, 1]) == "≈ 34 %\N{EN DASH}44 %"
    said = headline(made)
    assert said.slots["sure"].number == 0
    (row,) = made.opening
    assert printed(row.cells["fp32"]) == "compile, 1 of 1; ≈ 40 %"
    assert row.label == "(f) saves most; best combined saves (≈: predicted)"


def test_each_remedy_alone_and_the_best_of_all_show_how_far_predictions_were_off(read) -> None:
    """Graphs of 40 and 50 ms were predicted at 36 and 55; the best was never measured."""
    cases = [Sample(replayed_ms={"train_step": 40.0}, optimizer="fused")]
    cases += [Sample(context=256, replayed_ms={"train_step": 50.0}, optimizer="fused")]
    rows = [
        ("graph", 36.0, 30.0, 39.0),
        ("sdpa", 45.0, 44.0, 46.0),
        ("sdpa+graph", 20.0, 19.0, 21.0),
    ]
    both = [predictions(cases[0], *rows), predictions(cases[1], ("graph", 55.0, 50.0, 70.0))]
    alone = result(read(*cases, remedies=pd.concat(both))).tables["alone"]
    assert list(alone.columns) == ["training step", "fp32", "predicted / measured"]
    assert [row_of(row) for row in alone.to_numpy()] == [
        ["sdpa", "≈ 10 % (n = 1)", "not measured"],
        ["graph", "10 %", "1.0 (0.90 to 1.1), n = 2"],
        ["best, combinations included", "≈ 60 % (n = 1)", "not measured"],
    ]


def test_a_mark_is_explained_only_where_a_cell_has_it(read) -> None:
    """Only graphs are known, of one process."""
    made = result(read(Sample(replayed_ms={"train_step": 40.0}, optimizer="fused")))
    assert [sentence.split("*")[1] for sentence in made.legend] == ["graph", "¹"]
    sure = result(read(Sample(replayed_ms={"train_step": 40.0})))
    assert [sentence.split("*")[1] for sentence in sure.legend] == ["graph", "no training"]


def test_the_headline_counts_only_what_there_is(read) -> None:
    rows = [("compile", 40.0, 38.0, 42.0), ("sdpa", 43.0, 41.0, 45.0)]
    unsure, first = Sample(), Sample(context=256)
    made = (
        predictions(unsure, *rows),
        predictions(first, *rows[:1]),
        predictions(Sample(context=512)),
    )
    said = headline(result(read(unsure, first, remedies=pd.concat(made))))
    text = str(said.text(Printer()))
    assert said.verdict is Verdict.FIRST
    assert "by medians torch.compile saves most in 2 of 2 cases, 20 % (predicted: 2; of " in text
    assert "; sure in any case: 1. " in text


def test_of_many_undecided_remedies_three_are_named(read) -> None:
    names = ("bf16", "tf32", "sdpa", "compile", "foreach")
    rows = [(each, 40.0 + place, 30.0, 49.0) for place, each in enumerate(names)]
    made = result(read(Sample(), remedies=predictions(Sample(), *rows)))
    said = printed(made.matrices[0].iloc[0, 1])
    assert said == "bf16 ≈ 20 %¹ (products 20 %) or tf32 ≈ 18 %¹ or sdpa ≈ 16 %¹ or 2 more"


def test_an_optimizer_is_left_out_of_shorter_phases(read) -> None:
    rows = predictions(Sample(), ("fused", 45.0, 44.0, 46.0), ("sdpa+fused", 40.0, 39.0, 41.0))
    tables = read(Sample(), remedies=rows.assign(phase="forward"))
    assert known(of(tables, "forward")) == {"sdpa": (40.0, 39.0, 41.0)}


def test_a_run_without_predictions_says_so(read) -> None:
    sentence = "This run has no predictions, so that only what was measured counts."
    sample = Sample(replayed_ms={"train_step": 40.0})
    for frames in ({}, {"remedies": predictions(sample, ("fused", 45.0, 44.0, 46.0))}):
        tables = read(sample, **frames)
        text = answer("f", result, headline).texts(tables, ROOT / "report_templates").markdown
        assert (sentence in text) == (not frames)


def test_on_a_busy_cpu_nothing_is_compared(read) -> None:
    busy = {"load_average_before": 9.0, "cpu_cores": 2}
    found = of(read(Sample(device="cpu", environment=busy)), "forward")
    assert (found.state, found.savings) == ("not_comparable", ())


def test_a_compiled_case_beside_an_eager_one_measures_the_remedy_that_was_predicted(read) -> None:
    eager, compiled = train(50.0), train(40.0, execution="compiled")
    rows = (("compile+graph", 21.0, 20.0, 22.0), ("compile", 42.0, 38.0, 46.0))
    guess = predictions(eager, *rows)
    tables = read(eager, compiled, remedies=guess)
    found = {"+".join(each.remedies): each for each in of(tables, "train_step").savings}
    assert found["compile"].measured and found["compile"].time.middle.number == 40.0
    assert found["compile"].predicted and found["compile"].predicted.middle.number == 42.0
    assert not any(each.measured for each in of(tables, "train_step", 1).savings)


@pytest.mark.parametrize("longest", range(len(PHASES)))
def test_sentences_name_the_longest_phase_of_which_anything_is_known(read, longest: int) -> None:
    """A replay takes half as long, and counts the steps of its optimizer."""
    oom = {phase: ("oom", "CUDA out of memory") for phase in PHASES[longest + 1 :]}
    plain = {"forward": 24.0, "forward_backward": 72.0, "train_step": 100.0}
    replayed = {phase: plain[phase] / 2 for phase in PHASES[: longest + 1]}
    tables = read(Sample(status=oom, median_ms=plain, replayed_ms=replayed, optimizer="fused"))
    written = answer("f", result, headline).texts(tables, ROOT / "report_templates").markdown
    name = ("the forward pass", "the forward and backward pass", "the training step")[longest]
    assert f"**In {name}, by medians a CUDA graph saves most in 1 of 1 cases, 50 %" in written
    assert f"what saves most of {name}, as a share" in written


def test_a_remedy_is_marked_where_a_clock_was_limited_for_it_or_for_the_plain_step(read) -> None:
    """bf16's plain step was limited, fp32's wasn't, on which alone predictions and replays rest.

    Of 50 ms its products take 10.
    """
    fp32, bf16 = Sample(replayed_ms={"train_step": 45.0}), train(30.0, precision="bf16")
    tables = read(fp32, bf16, remedies=predictions(fp32, ("fused", 46.0, 45.0, 47.0)))
    tables.frames["timings"]["power_capped_share"] = [0.0] * 5 + [0.5]
    marked = {each.name: each.known.capped for each in of(tables, "train_step").savings}
    assert marked == {"bf16": True, "fused": False, "graph (no training)": False}
    assert printed(result(tables).matrices[0].iloc[0, 1]) == "bf16 40 %¹§ (products 20 %)"


def test_where_only_a_graph_is_known_that_does_not_train_nothing_comes_first(read) -> None:
    made = result(read(Sample(replayed_ms={"train_step": 40.0})))
    assert printed(made.matrices[0].iloc[0, 1]) == "none that trains"
    assert headline(made).verdict is Verdict.NOTHING and made.opening == ()
    assert row_of(made.tables["alone"].iloc[0]) == ["graph (no training)", "20 %"]
