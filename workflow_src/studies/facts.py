"""What chapters of studies share: a study's table as Numbers, conditions, and what is missing."""

import importlib
from functools import partial

import pandas as pd

from workflow_src.common.arguments import Parser
from workflow_src.common.thresholds import HOST_CHANGED
from workflow_src.common.words import STATES
from workflow_src.paper import written
from workflow_src.paper.number import NAN, Numbers, of, over, within
from workflow_src.paper.run import Run
from workflow_src.paper.written import Facts
from workflow_src.studies.study import STUDIES


def load(run: Run, study: str) -> pd.DataFrame:
    """A study's table, its amounts as Numbers, with `ok`, `state` and `time`.

    state: in words, why a row has no measurement. time: the median of a row that is ok, with the
    digits that its 20th to 80th percentile earns: two of one sample or two, which tell no spread.
    """
    table = run.numbers(f"studies/{study}")
    ok = table["status"] == "ok"
    state = table["status"].map(lambda status: STATES.get(status, status)).astype(object)
    few = table["samples"].isin([1, 2])
    low, high = (table[end].where(~few, NAN) for end in ("p20_ms", "p80_ms"))
    time = within(table["median_ms"].where(ok, NAN), low, high)
    return table.assign(ok=ok, state=state, time=time)


def or_state(cells: Numbers, table: pd.DataFrame) -> pd.Series:
    """Cells, with the row's state where one is missing that wasn't measured."""
    return cells.where(cells.notna() | table["ok"], table["state"])


def sortable(cells: Numbers) -> pd.Series:
    """Cells to sort by: texts as they are, Numbers as floats."""
    has_texts = cells.map(lambda cell: isinstance(cell, str)).any()
    return cells if has_texts else cells.astype(float)


def span(cells: Numbers) -> object:
    """The least to the most, or one of them if both look alike; NaN without any."""
    low, high = of(cells, "min"), of(cells, "max")
    return low if low != low or str(low) == str(high) else (low, " to ", high)


def unmeasured(table: pd.DataFrame, *about: str) -> pd.DataFrame:
    """What wasn't measured, those alike once: `what` by some columns, `state` and `reason`."""
    lost = table[~table["ok"] & (table["status"] != "")]
    said = [lost[name].map(lambda cell: str(cell) if cell == cell else "") for name in about]
    what = [" ".join(filter(None, cells)) for cells in zip(*said, strict=True)]
    named = lost[["state", "reason"]].assign(what=pd.Series(what, lost.index, dtype=object))
    return named.drop_duplicates()[["what", "state", "reason"]]


def conditions(run: Run, study: str) -> Facts:
    """How a study was measured, and what disturbed it, for studies/_conditions.j2.

    fastest, slowest: an eager operation around the processes on a GPU's host; unsteady: whether
    these differ by HOST_CHANGED or more in a table that has times. processes: in how many fresh
    ones times were measured, if any was in several. hosts: each with its points, if there are
    several.
    """
    table = run.numbers(f"studies/{study}")
    table = table.assign(host=table["host_id"].replace("", "not recorded"))
    least, most = "host_operation_us_least", "host_operation_us_most"
    low, high = of(table[least], "min"), of(table[most], "max")
    counts = table["processes"] if "processes" in table else pd.Series(dtype=object)
    names = table.groupby("host", sort=False)["point"].agg(lambda each: ", ".join(each.unique()))
    ends = {"least": over(table, "host", least, "min"), "most": over(table, "host", most, "max")}
    hosts = pd.DataFrame({"points": names, **ends}, table["host"].value_counts().index)
    return {
        "fastest": low,
        "slowest": high,
        "unsteady": bool(table["median_ms"].notna().any()) and bool(high > HOST_CHANGED * low),
        "processes": span(counts) if (counts > 1).any() else NAN,
        "hosts": hosts.rename_axis("host").reset_index()[: len(hosts) if len(hosts) > 1 else 0],
    }


def facts_of(study: str, run: Run) -> Facts:
    """All that a study's templates name."""
    chapter = importlib.import_module(f"workflow_src.studies.{study}.chapter")
    return {"conditions": conditions(run, study), **chapter.facts(run)}


def templates_of(study: str) -> tuple[str, str]:
    """A chapter's own, and that of conditions."""
    return f"studies/{study}.j2", "studies/_conditions.j2"


def main() -> None:
    """Write a study's chapter."""
    parser = Parser(description=__doc__, add_help=False)
    parser.add_argument("--study", choices=STUDIES, required=True)
    given, rest = parser.parse_known_args()
    facts = partial(facts_of, given.study)
    tables = [f"studies/{given.study}"]
    written.main(given.study, facts, templates_of(given.study), "###", tables, rest)


if __name__ == "__main__":
    main()
