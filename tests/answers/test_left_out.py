"""Whatever an answer leaves out is counted and named in it, and no sentence denies its table."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.answers.chapters import OTHERS
from tests.answers.reading import row_of
from tests.answers.test_any_subset import check
from tests.synthetic_tables import Sample, write_tables
from workflow_src.answers.answer import answer
from workflow_src.answers.questions import QUESTIONS
from workflow_src.answers.tables import Tables
from workflow_src.common.case import PHASES
from workflow_src.paper.value import Joined, Value

TEMPLATES = Path(__file__).parent.parent.parent / "report_templates"

CASES = [
    Sample(context=context, precision=precision, device="cpu")
    for precision in ("fp32", "bf16")
    for context in (128, 256)[: 2 if precision == "fp32" else 1]
]

SHORTER = dict.fromkeys(PHASES, 5.0)
"""Plain times in which the operators of no phase can have run."""

OUT_OF_MEMORY = {"forward": ("oom", "out of memory"), **dict.fromkeys(PHASES[1:], ("skipped", ""))}
NO_STEP = {"train_step": ("skipped", "no parameter of the model needs a gradient")}
BUSY = {"load_average_before": 8, "cpu_cores": 2}

STATES: Mapping[str, tuple[dict[str, Any], dict[str, str]]] = {
    "disturbed": (
        {"median_ms": SHORTER},
        dict.fromkeys("cdef", "capture disturbed"),
    ),
    "busy": ({"environment": BUSY}, {"a": "other work kept the machine busy", "f": "comparable"}),
    "warned of": ({"environment": {"host_change_most": 3, "throttled": "thermal"}}, {}),
    "out of memory": ({"status": OUT_OF_MEMORY}, dict.fromkeys("abcde", "OOM") | {"f": "skipped"}),
    "one phase skipped": ({"status": NO_STEP}, {"d": "training step: skipped", "f": "skipped"}),
    "not captured": ({"captured": False}, dict.fromkeys("abcde", "not measured")),
    "not benchmarked": ({"benchmarked": False}, {"a": "not measured", "f": "not measured"}),
}
"""What a case is like, and by question the reason for which it is left out."""

COUNTED: Mapping[str, Callable[[Any], float]] = {
    "f": lambda result: result.counts.cases.number,
}
"""How many cases an answer's headline is about."""


def answered(question: str, tables: Tables) -> tuple[Any, str, str]:
    """A question's result, its verdict's name and its text."""
    room = f"workflow_src.answers.{QUESTIONS[question].room}"
    made = importlib.import_module(f"{room}.result").result(tables)
    headline = importlib.import_module(f"{room}.headline").headline
    text = answer(question, lambda _: made, headline).texts(tables, TEMPLATES).markdown
    check(text)
    return made, headline(made).verdict.name, text


def has_figures(cell: object) -> bool:
    inner = cell.cells if isinstance(cell, Joined) else ()
    return isinstance(cell, Value) or any(map(has_figures, inner))


def reasons(result: Any) -> dict[str, list[str]]:
    """The cases that a result's table says are left out, by reason; their number is right."""
    rows = {why: (cell.cells[0], which.split(", ")) for why, cell, which in result.left_out.values}
    assert all(count.number == len(which) for count, which in rows.values())
    return {why: which for why, (_, which) in rows.items()}


def read(folder: Path, *samples: Sample) -> Tables:
    """All tables of some samples, with a prediction for (f) of each phase."""
    write_tables(folder, *samples)
    predicted = {"remedies": "compile", "status": "ok", "reason": "", "plain_ms": 10}
    predicted |= {"predicted_ms": 6, "low_ms": 5, "high_ms": 7}
    rows = [each.front | {"phase": phase} | predicted for each in samples for phase in PHASES]
    pd.DataFrame(rows).to_csv(folder / "remedies.csv", index=False)
    return Tables.read(folder, [], [path.stem for path in folder.glob("*.csv")])


@pytest.mark.parametrize("state", STATES)
def test_a_case_that_is_left_out_is_counted_and_named(tmp_path: Path, state: str) -> None:
    changes, why = STATES[state]
    place = [*STATES].index(state) % len(CASES)
    sample = CASES[place]
    samples = [*CASES[:place], replace(sample, **changes), *CASES[place + 1 :]]
    tables = read(tmp_path, *samples)
    for question in OTHERS:
        result, _, text = answered(question, tables)
        named = reasons(result)
        every = [case for cases in named.values() for case in cases]
        assert len(every) == len(set(every)) == len(CASES) - COUNTED[question](result), text
        assert every == ([sample.case] if question in why else []), text
        assert all(why[question] in reason and reason in text for reason in named), text
        assert ("Left out" in text) == bool(every)


@pytest.mark.parametrize("state", STATES)
def test_no_sentence_denies_what_the_table_beside_it_has(tmp_path: Path, state: str) -> None:
    changes, why = STATES[state]
    cases = CASES[:1]
    tables = read(tmp_path, *(replace(sample, **changes) for sample in cases))
    for question in OTHERS:
        result, verdict, text = answered(question, tables)
        assert sum(map(len, reasons(result).values())) == len(cases) - COUNTED[question](result)
        if any(has_figures(cell) for table in result.matrices for cell in table.values.flat):
            assert verdict != "CANT_TELL" or "undisturbed" in text or "No case has both" in text
        # Of shorter phases, (f) knows what could be saved of them.
        told = question not in why or (question, state) == ("f", "one phase skipped")
        assert told == (verdict not in ("CANT_TELL", "DISTURBED", "IN_DOUBT")), (question, text)


@pytest.mark.parametrize(
    ("question", "both", "step_alone"),
    [
        ("f", "OOM", "OOM"),
    ],
)
def test_a_phase_that_did_not_run_says_why_in_its_cell(
    tmp_path: Path, question: str, both: str, step_alone: str
) -> None:
    gone = [dict.fromkeys(phases, ("oom", "CUDA out of memory")) for phases in (PHASES, PHASES[2:])]
    lost = [Sample(context=256 + n, status=status) for n, status in enumerate(gone)]
    result, *_ = answered(question, read(tmp_path, Sample(replayed_ms={"train_step": 40.0}), *lost))
    cells = result.matrices[0].iloc[0, 2:]
    assert row_of(cells) == [both, step_alone]
