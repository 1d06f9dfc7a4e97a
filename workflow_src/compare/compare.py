"""Compare the tables of two runs, A and B: as Markdown, HTML, JSON and CSV.

Nothing is measured. The exit status only says whether the comparison was made;
`python -m workflow_src.compare.gate` exits with its verdict.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from workflow_src.common.arguments import Parser, existing_folder, new_folder, share
from workflow_src.common.atomic_write import write_csv, write_json, write_text
from workflow_src.common.case import CASE_COLUMNS
from workflow_src.common.errors import StageError
from workflow_src.compare import shown, wording
from workflow_src.compare.advice import advice, commands
from workflow_src.compare.device import device_times, kernel_changes, ledger_changes
from workflow_src.compare.environments import differences, other_work, warned
from workflow_src.compare.gate import usage_status
from workflow_src.compare.resampling import LEVEL
from workflow_src.compare.rows import Row, words
from workflow_src.compare.runs import Run, read_run
from workflow_src.compare.times import (
    ALPHA,
    THRESHOLD,
    WIDEST,
    both,
    compared,
    fewest_processes,
    not_in_both,
    on_cpu,
    summaries,
)
from workflow_src.compare.verdict import sentences, status_of
from workflow_src.render.html import make_html
from workflow_src.render.markdown import template_in

TEMPLATE = "compare.md.j2"


@dataclass(frozen=True)
class Comparison:
    """All that was found about two runs."""

    a: Run
    b: Run
    threshold: float
    cases: list[Row]
    environments: list[Row]
    other_work: dict[str, str]
    times: list[Row]
    absent: list[Row]
    device: list[Row]
    kernels: list[Row]
    ledger: list[Row]

    @property
    def status(self) -> int:
        """The exit status of a gate."""
        return status_of(self.times, self.absent)

    @property
    def said(self) -> str:
        """The verdict, in one to three sentences."""
        return sentences(self.times, self.absent, self.threshold)

    @property
    def advice(self) -> str:
        """What a verdict on all phases takes; "" if there is one."""
        return advice(self.times)

    @property
    def commands(self) -> list[str]:
        """The commands of that advice, if they are known."""
        return commands(self.times, {"a": self.a.name, "b": self.b.name})


def compare(a: Run, b: Run, threshold: float = THRESHOLD) -> Comparison:
    """Compare two runs. Raises StageError if they have no case in common."""
    named = both(a, b)
    if not named:
        raise StageError(f"{a.name} and {b.name} have no case in common; compare runs of one suite")
    others = other_work(a, b, named)
    cases = [case for case in named if case["case"] not in others]
    # Operators and kernels have nothing in common, nor do their times.
    alike = [c for c in cases if on_cpu(a, c["case"]) == on_cpu(b, c["case"])]
    return Comparison(
        a,
        b,
        threshold,
        cases,
        differences(a, b, named),
        others,
        compared(a, b, cases, threshold),
        not_in_both(a, b, cases),
        device_times(a, b, alike, threshold),
        kernel_changes(a, b, alike),
        ledger_changes(a, b, alike),
    )


def text_of(found: Comparison, templates: Path, whole: bool = False) -> str:
    """The comparison as Markdown, with its longest tables if it is to be `whole`."""
    summary, called = summaries(found.times), words(found.cases)
    longer, less = shown.beyond(found.times, found.threshold)
    moved = shown.moved(found.ledger, found.threshold)
    text = template_in(templates, TEMPLATE).render(
        found=found,
        whole=whole or max(len(found.times), len(found.device)) <= shown.SHOWN,
        words=called,
        # Escaping would show in a block of code; a line break would end it.
        commands=[Markup("    " + " ".join(command.split())) for command in found.commands],
        alone=[sum(c not in theirs for c in mine) for mine, theirs in _case_names(found)],
        warned=sorted({c for run in (found.a, found.b) for c in warned(run, _names(found.cases))}),
        summary=summary,
        beyond=len(longer + less),
        largest=shown.LARGEST,
        changes=pd.Series([row["change"] for row in found.kernels], dtype=str).value_counts(),
        kernels=len(shown.by_short_name(found.kernels)),
        device=pd.Series([row["verdict"] for row in found.device], dtype=str).value_counts(),
        moved=moved,
        tables=tables(found, summary, moved, called),
        alpha=ALPHA,
        level=LEVEL,
        widest=max(WIDEST, found.threshold),
        shown=shown.SHOWN,
        fewest=fewest_processes(max(1, len(found.times))),
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _names(cases: Sequence[Row]) -> list[str]:
    return [str(case["case"]) for case in cases]


def _case_names(found: Comparison) -> list[tuple[set[str], set[str]]]:
    a, b = (set(run.tables["timings"]["case"]) for run in (found.a, found.b))
    return [(a, b), (b, a)]


def tables(
    found: Comparison, summary: Sequence[Row], moved: Sequence[Row], called: Mapping[str, str]
) -> dict[str, Markup]:
    """All tables of the text; `called` are the words for its cases' device."""
    largest = shown.largest(found.times, found.device, found.threshold)
    changed = shown.changed(found.device)[: shown.SHOWN]
    kernels = shown.by_short_name(found.kernels)[: shown.SHOWN]
    return {
        "environments": wording.environments_table(found.environments),
        "summary": wording.summary_table(summary),
        "largest": wording.largest_table(largest, called["device_time"]) if largest else Markup(),
        "times": wording.times_table(found.times) if found.times else Markup(),
        "absent": wording.absent_table(found.absent),
        "changed": wording.changed_table(changed) if changed else Markup(),
        "device": wording.device_table(found.device) if found.device else Markup(),
        "kernels": wording.kernel_table(kernels, called["kernel"]),
        "ledger": wording.ledger_table(moved[: shown.SHOWN]),
    }


def as_dict(found: Comparison) -> dict[str, Any]:
    """The comparison as plain values for strict JSON; NaN becomes null."""
    return {
        "a": found.a.name,
        "b": found.b.name,
        "threshold": found.threshold,
        "status": found.status,
        "verdict": found.said,
        "advice": found.advice,
        "commands": found.commands,
        "environments": found.environments,
        "other_work": found.other_work,
        "times": [_plain(row) for row in found.times],
        "summary": [_plain(row) for row in summaries(found.times)],
        "absent": [_plain(row) for row in found.absent],
    }


def _plain(row: Row) -> Row:
    kept = {key: value for key, value in row.items() if key != "drawn"}
    return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in kept.items()}


def csvs(found: Comparison) -> dict[str, pd.DataFrame]:
    """The complete tables, by file name."""
    ledger = [{k: v for k, v in row.items() if k != "terms"} | row["terms"] for row in found.ledger]
    rows = {"times": [_plain(row) for row in found.times], "device_times": found.device}
    rows |= {"kernels": found.kernels, "ledger": ledger}
    return {
        name: pd.DataFrame(found) if found else pd.DataFrame(columns=list(CASE_COLUMNS))
        for name, found in rows.items()
    }


def write(found: Comparison, folder: Path, templates: Path) -> None:
    """Write a comparison into a folder, the JSON with the verdict last."""
    page = make_html(text_of(found, templates, whole=True), folder, templates)
    write_text(folder / "compare.md", text_of(found, templates))
    write_text(folder / "compare.html", page)
    for name, table in csvs(found).items():
        write_csv(folder / f"{name}.csv", table)
    write_json(folder / "compare.json", as_dict(found))


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the comparison of two runs into a folder."""
    parser = Parser(prog="workflow_src.compare.compare", description=__doc__)
    for name, text in (("--a", "the run before, or the reference"), ("--b", "the run after")):
        parser.add_argument(name, type=existing_folder, required=True, help=f"folder of {text}")
    parser.add_argument("--templates", type=existing_folder, required=True, help="report_templates")
    parser.add_argument(
        "--threshold",
        type=share,
        default=THRESHOLD,
        help="smaller changes of a phase's time don't matter (0.01: 1 %%)",
    )
    parser.add_argument("--output", type=new_folder, required=True, help="folder for compare.md")
    given = parser.parse_args(arguments)
    with usage_status():
        found = compare(read_run(given.a), read_run(given.b), given.threshold)
        write(found, given.output, given.templates)
        print(found.said)


if __name__ == "__main__":
    main()
