"""Compare the tables of two runs, A and B: as Markdown, HTML, JSON and CSV.

Nothing is measured. The exit status only says whether the comparison was made;
`python -m workflow_src.compare.gate` exits with its verdict.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path

import pandas as pd

from workflow_src.common.arguments import Parser, existing_folder, new_folder, share
from workflow_src.common.atomic_write import write_csv, write_json, write_text
from workflow_src.common.case import CASE_COLUMNS
from workflow_src.compare.change import PLAIN_BEYOND, PhaseChange
from workflow_src.compare.gate import usage_status
from workflow_src.compare.headline import STATUSES, Verdict, headline
from workflow_src.compare.result import SHOWN, Comparison, compare
from workflow_src.compare.runs import read_run
from workflow_src.render.html import make_html
from workflow_src.render.show import Printer
from workflow_src.render.templates import render

TEMPLATE = "compare.md.j2"


def text_of(found: Comparison, templates: Path, whole: bool = False) -> str:
    """The comparison as Markdown; `whole` with all rows of its tables."""
    rows = None if whole else SHOWN
    return render(
        templates,
        TEMPLATE,
        Printer(),
        found=found,
        headline=headline(found),
        phases=found.phases_table[:rows],
        kernels=found.kernels_table[:rows],
        steps=found.steps_table[:rows],
    )


def as_dict(found: Comparison) -> dict[str, object]:
    """The comparison as plain values for strict JSON; NaN becomes null."""
    said = headline(found)
    return {
        "a": found.a,
        "b": found.b,
        "threshold": found.threshold,
        "status": STATUSES[Verdict[said.verdict.name]],
        "verdict": str(said.text(Printer())),
        "processes_needed": found.processes_needed,
        "same_host": found.same_host,
        "environments": [_flat(each) for each in found.environments],
        "other_work": found.other_work,
        "phases": _phase_rows(found.phases),
        "absent": [_flat(each) for each in found.absent],
    }


def csvs(found: Comparison) -> Mapping[str, pd.DataFrame]:
    """The complete tables, by file name."""
    rows = {"times": _phase_rows(found.phases)}
    rows |= {"kernels": [_flat(each) for each in found.kernels]}
    rows |= {"ledger": [_flat(each) for each in found.steps]}
    empty = pd.DataFrame(columns=list(CASE_COLUMNS))
    return {name: pd.DataFrame(found) if found else empty for name, found in rows.items()}


def _phase_rows(phases: Iterable[PhaseChange]) -> list[dict[str, object]]:
    """A row per phase and kind of time."""
    return [
        _flat(each.case)
        | {"phase": each.phase, "working_share": _finite(each.working)}
        | _flat(change)
        | {"ratio": change.ratio}
        for each in phases
        for change in each.changes
    ]


def _flat(thing: object) -> dict[str, object]:
    """A dataclass as plain values; what it holds of dataclasses and mappings is spread out."""
    found: dict[str, object] = {}
    for field in fields(thing):  # type: ignore[arg-type]
        inner = getattr(thing, field.name)
        if is_dataclass(inner):
            found |= _flat(inner)
        elif isinstance(inner, Mapping):
            found |= inner
        elif isinstance(inner, tuple):
            found |= {f"a_{field.name}": inner[0], f"b_{field.name}": inner[1]}
        else:
            found[field.name] = _finite(inner)
    return found


def _finite(value: object) -> object:
    return None if isinstance(value, float) and math.isnan(value) else value


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
        default=PLAIN_BEYOND,
        help="smaller changes of a phase's time don't matter (0.01: 1 %%)",
    )
    parser.add_argument("--output", type=new_folder, required=True, help="folder for compare.md")
    given = parser.parse_args(arguments)
    with usage_status():
        found = compare(read_run(given.a), read_run(given.b), given.threshold)
        write(found, given.output, given.templates)
        print(headline(found).text(Printer()))


if __name__ == "__main__":
    main()
