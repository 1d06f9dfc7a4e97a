"""A trend over several runs or captures: a step's times and energy, what is wrong with it first,
and what changed from one to the next, as one page and JSON, from their summary.json alone."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_src.common.arguments import Parser, existing_folder, new_folder
from workflow_src.common.atomic_write import write_json
from workflow_src.common.errors import one_sentence
from workflow_src.compare.change import DEVICE_BEYOND, RATIO_DIGITS, largest_first
from workflow_src.compare.page import SCHEMA, write_texts
from workflow_src.compare.summaries import WHERE, Summary, read_all
from workflow_src.paper.number import NAN, Number, each
from workflow_src.paper.plain import told
from workflow_src.paper.run import first, ordered
from workflow_src.paper.written import Facts

TEMPLATES = Path(__file__).parents[2] / "report_templates"

MOST_RUNS = 8
"""Runs in tables, the last ones; the JSON has all."""

ORDER = HIGHER, LOWER, SAME, UNKNOWN = "higher", "lower", "no difference shown", "can't tell"
SIGNS = {HIGHER: " \N{BLACK UP-POINTING TRIANGLE}", LOWER: " \N{BLACK DOWN-POINTING TRIANGLE}"}
"""Behind what differs from the run before."""

Cells = Sequence[Any]
"""A row's Number in each run, NaN where one has none."""


def judged(a: Any, b: Any) -> str:
    """How B differs from A: where their intervals lie apart, and by more than DEVICE_BEYOND."""
    if not all(isinstance(cell, Number) and cell.ends and cell.value for cell in (a, b)):
        return UNKNOWN
    beyond = 1 + DEVICE_BEYOND
    if b.ends[0] > a.ends[1] and b.value > beyond * a.value:
        return HIGHER
    return LOWER if b.ends[1] < a.ends[0] and b.value * beyond < a.value else SAME


def trend(runs: Sequence[Summary]) -> pd.DataFrame:
    """By WHERE a time of a step in each run; then of the last run against the first `ratio`,
    `changed`, and `since`, the first run that differs as much as all after it."""
    columns = [run.times.rename(run.name) for run in runs]
    table = pd.concat(columns, axis=1).rename_axis(WHERE).astype(object)
    ratio = each(table[runs[-1].name] / table[runs[0].name], partial(replace, digits=RATIO_DIGITS))
    rows = table.to_numpy(object).tolist()
    changed = [judged(row[0], row[-1]) for row in rows]
    since = [_since(row, verdict, [*table]) for row, verdict in zip(rows, changed, strict=True)]
    return table.assign(ratio=ratio, changed=changed, since=since)


def _since(row: Cells, changed: str, names: Sequence[str]) -> str:
    if changed not in SIGNS:
        return ""
    alike = [judged(row[0], cell) == changed for cell in row[1:]]
    return names[len(alike) - alike[::-1].index(False) + 1 if False in alike else 1]


def facts(runs: Sequence[Summary]) -> Facts:
    """What the template says."""
    table = trend(runs)
    known = table[table["ratio"].notna()]
    known = largest_first(known, known["ratio"].astype(float).map(math.log))
    ranked = ordered(known, "changed", ORDER)
    verdict = ranked["changed"].iloc[0] if len(ranked) else "nothing"
    mine = ranked[ranked["changed"] == verdict].reset_index()
    mine = mine.assign(a=mine[runs[0].name], b=mine[runs[-1].name])
    last = runs[-MOST_RUNS:]
    return {
        "verdict": verdict,
        "kind": runs[0].kind,
        "first": runs[0].name,
        "last": runs[-1].name,
        "runs": str(len(runs)),
        "numbers": str(len(known)),
        "such": str(len(mine)),
        "most": first(mine),
        "times": shown(ranked, [run.name for run in last]),
        "findings": findings(last),
        "changes": changes(runs),
        "table": table,
    }


def shown(table: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Rows as printed: each number with its interval, and a sign where it differs from the one
    before."""
    rows = table[[*names]].to_numpy(object)
    cells = [
        [_cell(row[0], ""), *(_cell(b, judged(a, b)) for a, b in pairwise(row))] for row in rows
    ]
    made = pd.DataFrame(cells, table.index, [*names], dtype=object)
    made = made.assign(**{"last / first": table["ratio"], "since": table["since"]})
    return made.reset_index().rename(columns={"place": "step", "time": "what"})


def _cell(number: Any, changed: str) -> Any:
    if not isinstance(number, Number):
        return NAN
    ends = (" (", number.ends[0], " to ", number.ends[1], ")") if number.ends else ()
    return (number, " ", number.unit, *ends, SIGNS.get(changed, ""))


def findings(runs: Sequence[Summary]) -> pd.DataFrame:
    """What is wrong first with each step, by run; those that changed come first."""
    table = pd.concat([run.findings.rename(run.name) for run in runs], axis=1).astype(object)
    said = table.map(lambda cell: cell[0] if isinstance(cell, tuple) else "")
    changed = said.nunique(axis=1) > 1
    order = (~changed).sort_values(kind="stable").index
    return table.loc[order].rename_axis("step").reset_index()


def changes(runs: Sequence[Summary]) -> pd.DataFrame:
    """What was recorded otherwise of a run than of the one before."""
    rows = [
        (b.name, what, a.about.get(what, ""), b.about.get(what, ""))
        for a, b in pairwise(runs)
        for what in dict.fromkeys([*a.about, *b.about])
        if a.about.get(what) != b.about.get(what)
    ]
    return pd.DataFrame(rows, columns=["run", "what", "before", "after"], dtype=object)


def write_trend(paths: Sequence[Path], templates: Path, output: Path) -> str:
    """Write trend.md, trend.html and trend.json; gives the headline. Raises StageError as read_all
    does."""
    runs = read_all(paths)
    found = facts(runs)
    made = write_texts("trend", found, "trend.j2", templates, output)
    said = {"schema": SCHEMA, "kind": "trend", "runs": [run.name for run in runs]}
    said |= {"verdict": made.verdict, "headline": made.markdown["headline"]}
    named = {run.name: run.findings.map(lambda cell: cell[0]).to_dict() for run in runs}
    tables = {"times": found["table"].reset_index(), "changes": found["changes"]}
    write_json(output / "trend.json", said | told(tables) | {"findings": named})
    return made.markdown["headline"]


@one_sentence()
def main(arguments: Sequence[str] | None = None) -> None:
    """Write the trend of runs, or of captures, and print its first sentence."""
    parser = Parser(prog="steptime trend", description=__doc__)
    about = "folder of a run, or of a capture that steptime read, or its summary.json; oldest first"
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="+", help=about)
    about = "where to write; without it trend/"
    parser.add_argument(
        "--output", metavar="FOLDER", type=new_folder, default=Path("trend"), help=about
    )
    parser.add_argument("--templates", type=existing_folder, default=TEMPLATES, help="of reports")
    given = parser.parse_args(arguments)
    print(write_trend(given.runs, given.templates, given.output))
    print(f"More: {given.output / 'trend.html'}")


if __name__ == "__main__":
    main()
