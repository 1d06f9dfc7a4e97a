"""Compare the tables of two runs, A and B: as Markdown, HTML, JSON and CSV.

Nothing is measured. The exit status only says whether the comparison was made;
`python -m workflow_src.compare.gate` exits with its verdict.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass

import pandas as pd

from workflow_src.common.arguments import share
from workflow_src.common.case import CASE_COLUMNS
from workflow_src.compare.change import PLAIN_BEYOND, PhaseChange
from workflow_src.compare.gate import status_of
from workflow_src.compare.headline import headline
from workflow_src.compare.page import comparison_parser, shown, write
from workflow_src.compare.result import Comparison, compare
from workflow_src.compare.runs import Run, read_run
from workflow_src.paper.chapter import Chapter
from workflow_src.paper.show import Printer

Runs = tuple[Run, Run]


def comparison(threshold: float) -> Chapter[Runs, Comparison]:
    """The chapter that compares two runs; smaller changes of plain time than `threshold` are none.

    Its page has all rows of its tables.
    """
    return Chapter(
        heading="# B compared with A",
        template="compare",
        result=lambda runs: compare(*runs, threshold),
        headline=headline,
        named={},
        words=shown,
    )


def as_dict(result: Comparison) -> dict[str, object]:
    """The comparison as plain values for strict JSON; NaN becomes null."""
    said = headline(result)
    return {
        "a": result.a,
        "b": result.b,
        "threshold": result.threshold,
        "status": status_of(said.verdict),
        "verdict": str(said.text(Printer())),
        "processes_needed": result.processes_needed,
        "same_host": result.common.same_host,
        "environments": [_flat(each) for each in result.common.environments],
        "other_work": result.common.other_work,
        "phases": _phase_rows(result.phases),
        "absent": [_flat(each) for each in result.absent],
    }


def csvs(result: Comparison) -> Mapping[str, pd.DataFrame]:
    """The complete tables, by file name."""
    rows = {"times": _phase_rows(result.phases)}
    rows |= {"kernels": [_flat(each) for each in result.kernels]}
    rows |= {"ledger": [_flat(each) for each in result.steps]}
    empty = pd.DataFrame(columns=list(CASE_COLUMNS))
    return {name: pd.DataFrame(lines) if lines else empty for name, lines in rows.items()}


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


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the comparison of two runs into a folder."""
    what = ("folder of the run before, or the reference", "folder of the run after")
    parser = comparison_parser("workflow_src.compare.compare", __doc__, *what)
    parser.add_argument(
        "--threshold",
        type=share,
        default=PLAIN_BEYOND,
        help="smaller changes of a phase's time don't matter (0.01: 1 %%)",
    )
    given = parser.parse_args(arguments)
    write(given, comparison(given.threshold), read_run, csvs, as_dict)


if __name__ == "__main__":
    main()
