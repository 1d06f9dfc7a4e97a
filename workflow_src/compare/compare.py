"""Compare the tables of two runs, A and B: as Markdown, HTML, JSON and CSV.

Nothing is measured. The exit status only says whether the comparison was made;
`python -m workflow_src.compare.gate` exits with its verdict.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from workflow_src.common.arguments import share
from workflow_src.common.errors import StageError
from workflow_src.common.thresholds import in_percent
from workflow_src.common.words import PHASES, PHASES_IN_PROSE, STATES
from workflow_src.compare import machines
from workflow_src.compare.change import (
    DEVICE_BEYOND,
    PLAIN_BEYOND,
    RATIO_DIGITS,
    Kind,
    Verdict,
    as_floats,
    largest_first,
)
from workflow_src.compare.gate import usage_status
from workflow_src.compare.page import Compared, comparison_parser, write
from workflow_src.compare.plain import TOO_FEW, fewest_processes
from workflow_src.compare.runs import PLACE, Measured, read_run
from workflow_src.compare.times import changes, decisive, in_one_run
from workflow_src.compare.work import by_short_name, kernels, over_phases, step_changes
from workflow_src.paper.number import Number, Numbers, count, each, holds, over
from workflow_src.paper.run import first, ordered
from workflow_src.paper.written import Facts

SHOWN, MOST = 10, 100
"""Rows of a table in the comparison, and of the longest ones in its appendix; CSVs have all."""


def compare(a: Measured, b: Measured, threshold: float) -> Compared:
    """Compare two runs. Raises StageError if they have no case in common."""
    named = a.cases.index[a.cases.index.isin(b.cases.index)]
    if not len(named):
        raise StageError(f"{a.name} and {b.name} have no case in common; compare runs of one suite")
    others = machines.other_work(a, b, named)
    cases = named[~named.isin(others["case"])]
    # Operators and kernels have nothing in common, nor do their times.
    alike = cases[cases.isin(a.on_gpu) == cases.isin(b.on_gpu)]
    times = changes(a, b, cases, threshold)
    tables = {"times": times.reset_index(), "kernels": kernels(a, b, alike)}
    tables |= {"ledger": step_changes(a, b, alike).reset_index()}
    found = {
        "a": a.name,
        "b": b.name,
        "same_host": machines.same_host(a, b, named),
        "environments": machines.differences(a, b, named),
        "other_work": others,
        "absent": in_one_run(a, b, cases).reset_index(),
    }
    told = facts(found, tables, a.tables.cases["label"], threshold)
    told |= {"cases": str(len(cases))}
    told |= {f"only_{x}": str(len(r.cases) - len(named)) for x, r in (("a", a), ("b", b))}
    tables["ledger"] = tables["ledger"].drop(columns="most")
    cells = {n: as_floats(a.cases.merge(t, on="case", how="right")) for n, t in tables.items()}
    needed = int(told["needed"]) if told["needed"] else None
    said = found | {"threshold": threshold, "processes_needed": needed}
    return Compared(told, cells, said | {"phases": cells["times"]})


def facts(found: Facts, tables: dict[str, pd.DataFrame], labels: pd.Series, share: float) -> Facts:
    """What the template says of two runs."""
    times, work, steps = tables["times"], tables["kernels"], tables["ledger"]
    phases = decisive(times.set_index(PLACE)).reset_index()
    lost, plain = found["absent"]["lost"], times[times["kind"] == Kind.PLAIN]
    verdict = _verdict(phases, plain, int(lost.sum()))
    ranked = _ranked(phases)
    most = first(ranked[ranked["verdict"] == verdict])
    more = work[(work["case"] == most["case"]) & (work["phase"] == most["phase"])]
    more = more[more["change_ms"].astype(float) > 0]
    few, why = plain["why"].isin(TOO_FEW).any(), [each for each in plain["why"].unique() if each]
    changed = by_short_name(work)
    counted = {name.name.lower(): _count(phases, "verdict", name) for name in Verdict}
    moved = steps[steps["most"] > share].drop(columns="most")
    return found | counted | {
        "verdict": verdict,
        "phases": str(len(phases)),
        "lost": str(lost.sum()),
        "open": _count(plain, "verdict", Verdict.UNKNOWN),
        "most": most,
        "label": labels.get(most["case"], ""),
        "in_phase": PHASES_IN_PROSE.get(most["phase"], ""),
        "kernel": first(more)["short_name"],
        "needed": str(fewest_processes(len(phases))) if few else "",
        "device_beyond": in_percent(max(DEVICE_BEYOND, share)),
        "plain_beyond": in_percent(share),
        "summary": _summary(times),
        "doubts": pd.DataFrame({"why": why, "phases": [_count(plain, "why", n) for n in why]}),
        "absent": _worded(found["absent"]).replace({"a_status": STATES, "b_status": STATES}),
        "ranked": _worded(ranked[:SHOWN]),
        "kernels": _worded(changed),
        "kernels_over_phases": over_phases(changed)[:SHOWN],
        "steps": _worded(moved),
        "times": _worded(times),
        "longest": MOST,
    }  # fmt: skip


def _verdict(phases: pd.DataFrame, plain: pd.DataFrame, lost: int) -> str:
    there = set(phases["verdict"])
    if not there or Verdict.SLOWER in there:
        return "slower" if there else "nothing"
    if Verdict.UNKNOWN in there or lost:
        return "can't tell" if Verdict.UNKNOWN in there else "lost"
    if Verdict.FASTER in there:
        return "faster"
    return "same work" if (plain["verdict"] == Verdict.UNKNOWN).any() else "same"


def _count(rows: pd.DataFrame, column: str, value: str) -> Any:
    return count(rows["ratio"], rows[column] == value, f"{column} is {value}")


def _ranked(phases: pd.DataFrame) -> pd.DataFrame:
    """Phases with a verdict first, then those of the largest ratios."""
    order = [Verdict.SLOWER, Verdict.FASTER, Verdict.UNKNOWN, Verdict.SAME]
    ranked = largest_first(phases, phases["ratio"].astype(float).map(math.log))
    return ordered(ranked, "verdict", order)


def _summary(times: pd.DataFrame) -> pd.DataFrame:
    """Per kind of time how many phases have each verdict, and the geometric mean of B / A."""
    made: dict[str, Numbers] = {}
    for verdict in Verdict:
        cells = holds(times["ratio"], times["verdict"] == verdict, f"verdict is {verdict}")
        made[verdict.value] = over(times.assign(cell=cells), "kind", "cell", "sum")
    logs = each(times["ratio"], lambda ratio: replace(ratio, value=math.log(ratio.value)))
    means = over(times.assign(log=logs), "kind", "log", "mean")
    said, digits = "geometric mean(B / A)", RATIO_DIGITS
    made["mean of B / A"] = each(
        means, lambda mean: Number(math.exp(mean.value), mean.unit, mean.rows, said, None, digits)
    )
    return pd.DataFrame(made, means.index, dtype=object).rename_axis("").reset_index()


def _worded(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(phase=rows["phase"].map(PHASES))


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the comparison of two runs."""
    what = ("folder of the run before, or the reference", "folder of the run after")
    parser = comparison_parser("workflow_src.compare.compare", __doc__, *what)
    parser.add_argument(
        "--threshold",
        type=share,
        default=PLAIN_BEYOND,
        help="smaller changes of a phase's time don't matter (0.01: 1 %%)",
    )
    given = parser.parse_args(arguments)
    with usage_status():
        found = compare(read_run(given.a), read_run(given.b), given.threshold)
        write(found, "compare", given.templates, given.output)


if __name__ == "__main__":
    main()
