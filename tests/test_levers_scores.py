"""How the study levers scores its predictions, and the section that says so."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from workflow_src.studies.levers.section import SECTION
from workflow_src.studies.levers.summary import summarize

from tests.levers import TRIED, expected_of, measured, point, result, tried
from tests.workflow import ROOT
from workflow_src.common.remedies import REMEDY_WORDS
from workflow_src.studies.join_points import join
from workflow_src.studies.levers import analyze
from workflow_src.studies.levers.effects import EFFECTS
from workflow_src.studies.levers.figure import figure
from workflow_src.studies.levers.points import PLAIN, REMEDIES
from workflow_src.studies.levers.predict import predictions
from workflow_src.studies.section import read_table
from workflow_src.traces.families import load_rules


def test_a_miss_is_put_down_to_the_term_that_was_wrong() -> None:
    row = {"median_ms": 50.0, "device_ms": 20.0}
    expected = {"predicted_ms": 30.0, "predicted_low": 25.0, "predicted_high": 35.0,
                "predicted_device_ms": 21.0, "why": "w"}  # fmt: skip
    found = analyze.scored(row, 100.0, expected)
    assert found["verdict"] == "outside" and found["term"] == "host"
    assert (found["off_device_ms"], found["off_rest_ms"]) == (-1.0, 21.0)
    assert (found["saving_ms"], found["predicted_saving_ms"]) == (50.0, 70.0)
    slow = analyze.scored(row | {"device_ms": 40.0}, 100.0, expected)
    assert slow["term"] == "device"
    assert analyze.scored(row | {"median_ms": 33.0}, 100.0, expected)["verdict"] == "inside"


def test_the_time_of_compiling_is_that_of_the_process_that_compiled() -> None:
    """The next process finds in a cache on disk what the first one compiled."""
    about = {"measurement": "compile", "status": "ok", "median_ms": 4000.0}
    rows = [about | {"samples_ns": [s * 10**9, 4 * 10**9, 4 * 10**9]} for s in (24, 55)]
    phase = {"measurement": "phase", "phase": "forward", "status": "oom", "reason": "r"}
    (row,) = analyze.derive(point("compile"), [*rows, phase])
    assert row["compile_s"] == 79


def test_a_variant_that_did_not_run_has_a_prediction_and_no_verdict() -> None:
    expected = {"predicted_ms": 30.0, "predicted_low": 25.0, "predicted_high": 35.0, "why": "w"}
    found = analyze.scored({"status": "not_supported"}, 100.0, expected)
    assert "verdict" not in found and found["predicted_saving_ms"] == 70.0


def test_the_section_says_how_wide_intervals_are_and_scores_device_work_apart() -> None:
    text = SECTION.markdown(TRIED, ROOT / "report_templates")
    assert "right?**\n3 of 3 training steps took as long as predicted" in text
    assert "a median of 60.0 %; the aim for it, at most 20 %, was missed. 1 interval" in text
    assert "step's time: a (the device works for 40.0 % of a median of 100 ms, with" in text
    assert "a fifth of the samples below 95.0 and a fifth above 105)" in text
    assert (
        "predicted within a median of 5.0 % of what was measured; the worst is a with "
        "fused AdamW, 30.0 ms predicted and 40.0 ms measured (-25.0 %)." in text
    )


def test_where_the_device_works_for_most_of_the_step_the_host_is_no_excuse() -> None:
    busy = TRIED.assign(device_ms=90.0)
    assert "launch-bound" not in SECTION.markdown(busy, ROOT / "report_templates")


def test_errors_are_told_beside_the_plain_step_s_own() -> None:
    (case,) = summarize(TRIED)["cases"]
    assert case["errors"]["plain"] == 0.03
    text = SECTION.markdown(TRIED, ROOT / "report_templates")
    assert (
        "- a: 3.00 % in the plain step itself; remedies change that by 0 points (sdpa) to "
        "+0.500 points (fused AdamW). Not finite with torch.compile." in text
    )


def test_the_appendix_says_which_results_are_not_finite() -> None:
    lost = {"logits_error": None, "gradients_error": None}
    table = pd.concat(
        [
            TRIED.assign(logits_error=0.01),
            pd.DataFrame([tried("graph", 40.0, 40.0, error_state="not_capturable", **lost)]),
        ]
    )
    text = SECTION.appendix(table, ROOT / "report_templates").split("Memory and the largest")[1]
    cells = {row.split("|")[2].strip(): row.split("|")[4:6] for row in text.splitlines()[2:] if row}
    words = {name: [cell.strip() for cell in found] for name, found in cells.items()}
    assert words["torch.compile"] == ["1.00 %", "not finite"]
    assert words["a CUDA graph"] == ["not capturable", "\N{EN DASH}"]


def test_the_section_says_what_pays_what_does_not_and_what_memory_it_takes() -> None:
    then = {"remedies": "sdpa+fused", "variant": "then_fused"}
    table = pd.concat([TRIED, pd.DataFrame([tried("fused", 82.0, 20.0) | then])])
    text = SECTION.markdown(table, ROOT / "report_templates")
    assert "sdpa pays most: alone it saves 20.0 ms, 20.0 %." in text
    assert "fused AdamW saves nothing there (it takes 2.00 ms longer)." in text
    assert "Longer, each alone: fused AdamW (by 1.0 %)." in text
    assert "**With torch.compile its gradients are not finite**, so that what it saves" in text
    assert "; on top of the others a CUDA graph, torch.compile." in text
    (line,) = (line for line in text.splitlines() if line.startswith("| sdpa"))
    assert [cell.strip() for cell in line.split("|")[2:5]] == ["20.0 %", "50.0 %", "-10.0 %"]


@pytest.mark.parametrize(
    ("again", "error", "said", "unsaid"),
    [
        (None, None, "The study didn't examine why.", "round"),
        (
            "ok",
            0.031,
            "torch.compile gives finite gradients, at most 3.10 % off: it is by",
            "cause",
        ),
        ("ok", None, "They aren't finite with torch.compile even if values inside", "gives finite"),
        ("oom", None, "The study didn't examine why.", "round"),
    ],
)
def test_why_compiled_gradients_break_is_said_where_it_was_tried(
    again: str | None, error: float | None, said: str, unsaid: str
) -> None:
    table = TRIED.assign(rounded_state=again, rounded_gradients_error=error)
    text = SECTION.markdown(table, ROOT / "report_templates")
    (line,) = [line for line in text.splitlines() if "its gradients are not finite" in line]
    assert said in line and unsaid not in line.replace("gradients are not", "")


def test_the_widths_of_all_cases_are_judged_together() -> None:
    narrow = {"predicted_low": 95.0, "predicted_high": 105.0}
    other = TRIED.assign(case="b", **narrow)
    text = SECTION.markdown(pd.concat([TRIED, other]), ROOT / "report_templates")
    assert "plain step: a median of 15.0 % (60.0 % in a, 10.0 % in b); the aim for both " in text
    assert "together, at most 20 %, was reached." in text


def between(ends: dict[str, tuple[float, float]]) -> pd.DataFrame:
    """The variants tried, with the fastest and the slowest of their processes in ms."""
    table = TRIED[TRIED["variant"].isin(ends)].copy()
    table["fastest_process_ms"] = [ends[name][0] for name in table["variant"]]
    table["slowest_process_ms"] = [ends[name][1] for name in table["variant"]]
    return table


def test_a_difference_that_processes_show_among_themselves_is_none() -> None:
    """The plain step's six medians go from 90 to 110 ms, and only sdpa's are all below them."""
    ends = {PLAIN: (90.0, 110.0), "sdpa": (78.0, 89.0), "fused": (88.0, 112.0)}
    table = between(ends)
    text = SECTION.markdown(table, ROOT / "report_templates")
    assert "sdpa pays most: alone it saves 20.0 ms" in text and "Longer, each alone" not in text
    assert (
        "No difference is shown for fused AdamW (1.0 % longer), whose processes' medians overlap "
        "with the plain one's." in text
    )


def test_each_process_s_median_counts_per_batch() -> None:
    row = {"samples_ns": [10**7, 3 * 10**7, 2 * 10**7, 5 * 10**7], "process": [0, 0, 0, 1]}
    assert analyze._processes(row, 2) == {
        "processes": 2, "fastest_process_ms": 10.0, "slowest_process_ms": 25.0
    }  # fmt: skip
    assert analyze._processes({"samples_ns": [1, 2]}, 1) == {"processes": 1}


STACK = [
    tried(PLAIN, 100.0, 40.0),
    tried("sdpa", 90.0, 20.0, status="oom", median_ms=None, saving_share=None),
    tried("then_fused", 70.0, 20.0, remedies="sdpa+fused"),
    tried("then_graph", 50.0, 20.0, remedies="sdpa+fused+graph"),
]


def test_a_saving_is_of_all_remedies_since_the_last_step_that_was_measured() -> None:
    text = SECTION.markdown(pd.DataFrame(STACK), ROOT / "report_templates")
    assert "in this order: sdpa and fused AdamW together save 30.0 ms, a CUDA graph saves" in text


@pytest.mark.parametrize(
    ("steps", "names"),
    [
        (STACK, ["plain", "+ sdpa + fused AdamW", "+ a CUDA graph"]),
        (STACK[1:], ["sdpa + fused AdamW", "+ a CUDA graph"]),
    ],
)
def test_a_bar_is_named_after_what_it_adds_to_the_one_before(
    steps: list[dict[str, Any]], names: list[str]
) -> None:
    (axes,) = figure(pd.DataFrame(steps)).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == names


def test_a_single_remedy_may_be_the_fastest() -> None:
    steps = [*STACK, tried("compile", 40.0, 20.0), tried("graph", 60.0, 20.0)]
    text = SECTION.markdown(pd.DataFrame(steps), ROOT / "report_templates")
    assert "At best the step takes 40.0 ms (60.0 % less), with torch.compile." in text


def test_no_remedy_alone_measured_is_not_none_that_pays() -> None:
    text = SECTION.markdown(pd.DataFrame(STACK), ROOT / "report_templates")
    assert "ms plain): no remedy was measured alone. On top" in text
    slow = [*STACK, tried("fused", 99.0, 20.0)]
    text = SECTION.markdown(pd.DataFrame(slow), ROOT / "report_templates")
    assert "ms plain): no remedy alone saves 3 % of the step. On top" in text


def test_a_miss_below_an_interval_from_0_names_its_upper_end() -> None:
    outside = expected_of(40.0, 0.0, 70.0, 21.0) | {"verdict": "outside", "term": "host"}
    table = pd.DataFrame([tried(PLAIN, 100.0, 40.0), tried("sdpa", 80.0, 20.0) | outside])
    text = SECTION.markdown(table, ROOT / "report_templates")
    miss = (
        "Misses, the worst first: a with sdpa took 80.0 ms where at most 70.0 were expected, "
        "most of it in the time beyond the device's work.\n0 of 1 training steps took"
    )
    assert miss in text


def test_the_section_of_a_real_run(tmp_path: Path) -> None:
    names = (PLAIN, "sdpa", "fused", "bf16", "graph", "triton_softmax", "then_fused")
    paths = []
    for name in names:
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_text(measured(name))
    expected = tmp_path / "p.csv"
    predictions(result(PLAIN), load_rules()).to_csv(expected, index=False)
    table = analyze.complete(join(paths, analyze.derive, load_rules()), [expected])
    table.to_csv(tmp_path / "t.csv", index=False)
    read = read_table(tmp_path / "t.csv")
    templates = ROOT / "report_templates"
    text = SECTION.markdown(read, templates, "![]()")
    assert "**tiny-ctx8-fp32**" in text and "ms plain" in text
    assert "CUDA graphs need a CUDA device" in text
    assert "within the 95 % interval" in text
    assert (
        "Not measured: alone torch's softmax, foreach AdamW, bf16 weights, torch.compile, " in text
    )
    assert "+ fused AdamW" in SECTION.appendix(read, templates)
    assert "<svg" in SECTION.svg(read)


def test_the_section_without_anything_measured(tmp_path: Path) -> None:
    rows = {"case": "a", "variant": PLAIN, "remedies": "", "phase": "train_step", "status": "oom",
            "reason": "CUDA out of memory", "device": "cuda"}  # fmt: skip
    table = analyze.complete(pd.DataFrame([rows]), [])
    text = SECTION.markdown(table, ROOT / "report_templates")
    assert "the plain training step wasn't measured (CUDA out of memory)" in text
    assert "<svg" in SECTION.svg(table)


def section(*rows: dict[str, Any]) -> str:
    return SECTION.markdown(pd.DataFrame(rows), ROOT / "report_templates")


def test_twice_the_batch_is_no_faster_step() -> None:
    text = section(tried(PLAIN, 100.0, 40.0), tried("batch_x2", 50.0, 40.0, batches=2))
    assert "no remedy was measured alone" in text and "At best" not in text
    assert "| twice the batch" in text


def test_what_ran_is_told_where_the_plain_step_did_not() -> None:
    none = {"plain_ms": None, "saving_ms": None, "saving_share": None}
    plain = tried(PLAIN, 1.0, 1.0, status="oom", reason="out of memory", median_ms=None, **none)
    text = section(plain, tried("bf16_weights", 95.0, 40.0, **none))
    assert "wasn't measured (out of memory); these ran: bf16 weights (95.0 ms)." in text
    (line,) = (line for line in text.splitlines() if line.startswith("| bf16 weights"))
    assert "not measured" not in line


def test_a_remedy_that_does_not_apply_is_not_called_unmeasured() -> None:
    other = {"case": "b", "precision": "fp32"}
    rows = [tried(PLAIN, 100.0, 40.0), tried(PLAIN, 100.0, 40.0, **other)]
    text = section(*rows, tried("bf16", 50.0, 40.0, **other))
    (line,) = (line for line in text.splitlines() if line.startswith("| bf16 autocast"))
    assert "not measured" not in line and "50.0 %" in line


def test_gradients_that_are_not_finite_in_the_plain_step_are_no_remedys_fault() -> None:
    broken = {"gradients_error": None}
    text = section(tried(PLAIN, 100.0, 40.0, **broken), tried("sdpa", 80.0, 20.0, **broken))
    assert "The plain step's own gradients are not finite." in text
    assert "- a: not finite in the plain step itself." in text
    assert "With sdpa" not in text and "sdpa pays most" in text


def test_only_the_stack_is_called_on_top_of_each_other() -> None:
    text = section(tried(PLAIN, 100.0, 40.0), tried("triton_softmax", 90.0, 30.0))
    assert "On top of each other" not in text


def test_every_remedy_has_words_and_an_effect() -> None:
    assert set(REMEDIES) == set(REMEDY_WORDS) == set(EFFECTS)
    assert "zzz pays most" in section(tried(PLAIN, 100.0, 40.0), tried("zzz", 50.0, 20.0))


def test_no_step_with_broken_gradients_is_booked_as_a_saving() -> None:
    broken = {"gradients_error": None}
    rows = [tried(PLAIN, 100.0, 40.0), tried("sdpa", 80.0, 20.0, **broken)]
    text = section(*rows, tried("then_fused", 70.0, 20.0, remedies="sdpa+fused"))
    assert "in this order: sdpa and fused AdamW together save 30.0 ms." in text


def test_what_a_remedy_saves_of_the_device_s_work_stands_beside_the_step_s_time() -> None:
    """A launch-bound step can take longer although its device has less to do."""
    longer = tried("bf16_weights", 140.0, 30.0)
    templates = ROOT / "report_templates"
    said = SECTION.markdown(pd.concat([TRIED, pd.DataFrame([longer])]), templates)
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in said.splitlines()]
    assert ["sdpa", "20.0 %", "50.0 %", "-10.0 %"] in cells
    assert ["bf16 weights", "-40.0 %", "25.0 %", "+0.0 %"] in cells
    assert ["torch.compile", "not finite", "25.0 %", "+0.0 %"] in cells
    assert (
        "Longer, each alone: bf16 weights (by 40.0 %), fused AdamW (by 1.0 %). Yet the device's "
        "own work falls with bf16 weights, by 25.0 %: what got longer is the time beyond it, in "
        "which the device waits." in said
    )
    assert "Yet the device's" not in SECTION.markdown(TRIED, templates)


def test_of_remedies_whose_processes_overlap_none_is_said_to_pay_most() -> None:
    """Fused AdamW's processes, 80 to 89 ms, are apart from the plain step's, not from sdpa's."""
    ends = {PLAIN: (95.0, 110.0), "sdpa": (78.0, 85.0), "fused": (80.0, 89.0)}
    table = between(ends)
    fused = table["variant"] == "fused"
    table.loc[fused, ["median_ms", "saving_ms", "saving_share"]] = [85.0, 15.0, 0.15]
    text = SECTION.markdown(table, ROOT / "report_templates")
    assert (
        "sdpa saves most (20.0 ms, 20.0 %), but the processes' medians of fused AdamW (15.0 ms) "
        "overlap with its own, so that which of them pays most isn't shown." in text
    )
    assert "in parentheses" not in text


def test_a_saving_that_is_not_shown_stands_in_parentheses() -> None:
    ends = {PLAIN: (90.0, 110.0), "sdpa": (78.0, 89.0), "fused": (88.0, 112.0)}
    table = between(ends)
    text = SECTION.markdown(table, ROOT / "report_templates")
    lines = [line.split("|") for line in text.splitlines() if line.startswith("| ")]
    cells = {line[1].strip(): line[2].strip() for line in lines}
    assert (cells["sdpa"], cells["fused AdamW"]) == ("20.0 %", "(-1.0 %)")
    assert "in parentheses: no difference is shown" in text
