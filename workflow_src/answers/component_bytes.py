"""What each component's kernels besides products moved in a forward pass, against the bandwidth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from markupsafe import Markup

from workflow_src.answers import evidence, other_summary
from workflow_src.answers.answer import Fact
from workflow_src.answers.component_shares import besides
from workflow_src.answers.evidence import Row
from workflow_src.answers.moved import Ceiling, known_of, moved
from workflow_src.common.case import CASE_COLUMNS
from workflow_src.common.ceilings import TOLERANCE, over_ceiling
from workflow_src.render import markdown
from workflow_src.render.markdown import Column

PHASE = "forward"

BEYOND = 1 + TOLERANCE
UNSHOWN = ("evidence", "read", "dtypes", "over")

REMARK = f"above {markdown.limit(BEYOND)}: a cache supplied part, or too much is counted"


@dataclass(frozen=True)
class Moves:
    """A case's components whose bytes are known, each with its "kernels"; most time first.

    Without a `rate` nothing is held against a ceiling: none was measured, or the case ran on a CPU,
    whose caches hold what one operator leaves to the next.
    """

    components: Sequence[Row]
    rate: Ceiling | None


def measure(
    row: Row, kernels: pd.DataFrame, operators: pd.DataFrame, best: Ceiling | None
) -> Moves | None:
    """What a case, as measured by other_kernels, moved besides products; None if it isn't known.

    Only components above MATTERS_ABOVE of the pass are in it, and kernels whose bytes are known.
    """
    mine, ran = (evidence.of(table, row["case"], PHASE) for table in (kernels, operators))
    rate = best if row["device"] != "cpu" else None
    found: dict[str, list[Row]] = {}
    for each in moved(besides(mine), known_of(ran)):
        if row["components"][each["component"]]["besides"] > other_summary.MATTERS_ABOVE:
            found.setdefault(each["component"], []).append(_held(each, rate))
    summed = [_summed(name, each, rate) for name, each in found.items()]
    return Moves(sorted(summed, key=lambda each: -each["ms"]), rate) if summed else None


def _held(row: Row, rate: Ceiling | None) -> Row:
    row = row | {"gb": row["bytes"] / 1e9}
    if rate is None or not row["ms"] > 0:
        return row
    share = rate.share(row["bytes"], row["ms"])
    return row | {"of_ceiling": share, "over": over_ceiling(share, 1.0)}


def _summed(component: str, rows: list[Row], rate: Ceiling | None) -> Row:
    sums = {key: sum(row[key] for row in rows) for key in ("ms", "bytes")}
    every = {key: tuple(n for row in rows for n in row[key]) for key in ("evidence", "read")}
    return _held({"component": component} | sums | every, rate) | {"kernels": rows}


def facts_of(case: str, moves: Moves | None) -> list[Fact]:
    """Time, bytes and share of the ceiling of components, and of their kernels, as facts."""
    if moves is None:
        return []
    found = [moves.rate.fact(case, "bandwidth_gb_per_s", "GB/s")] if moves.rate else []
    for each in moves.components:
        name = f"moves/{each['component']}"
        found += _facts(case, name, each)
        for kernel in each["kernels"]:
            found += _facts(case, f"{name}/{kernel['kernel']}", kernel)
    return found


def _facts(case: str, name: str, row: Row) -> list[Fact]:
    ms, moves = f"{name}/ms", f"{name}/bytes"
    found = [
        Fact(case, ms, row["ms"], "ms", "kernels", row["evidence"]),
        Fact(case, moves, row["bytes"], "B", "operators", row["read"]),
    ]
    if "of_ceiling" in row:
        sources = (moves, ms, "bandwidth_gb_per_s")
        share = row["of_ceiling"]
        found.append(Fact(case, f"{name}/of_ceiling", share, "1", derived_from=sources))
    return found


def summarize(
    beside: Sequence[Row], measured: Sequence[Row], moves: Mapping[str, Moves | None]
) -> Row:
    """What the text says: of the case worked by hand and its last precision, if bytes are known.

    Otherwise of those that it would be if there were only cases whose bytes are known.
    """
    known = [row for row in measured if moves.get(row["case"])]
    ends = [row for row in beside if row in known] or other_summary.chosen_beside(known)
    shown = [(row, found) for row in [*ends[:1], *ends[1:][-1:]] if (found := moves[row["case"]])]
    rate = next((found.rate for _, found in shown if found.rate), None)
    lines = [
        {key: row[key] for key in ("case", "named", "brief")}
        | {"moves": [_brief(each) for each in found.components]}
        for row, found in shown
    ]
    reached = {"bandwidth": rate.best, "fastest": rate.name} if rate else {"bandwidth": None}
    return {"moved": lines, "beyond": BEYOND} | reached


def _brief(each: Row) -> Row:
    """A component, the kernel in it that takes longest, and the operators beyond the ceiling."""

    def kept(row: Row) -> Row:
        return {key: row[key] for key in ("operator", "gb", "of_ceiling") if key in row}

    over = [
        f"{kernel['operator']} in {each['component']}"
        for kernel in each["kernels"]
        if kernel.get("over")
    ]
    top = kept(each["kernels"][0])
    about = {"component": each["component"], "kernels": len(each["kernels"])}
    return about | kept(each) | {"top": top, "over": over}


def lines(rows: Sequence[Row], moves: Mapping[str, Moves | None], above: float) -> list[Row]:
    """Lines of the appendix: the kernels above a share of the pass."""
    return [
        {column: row[column] for column in CASE_COLUMNS}
        | {key: value for key, value in kernel.items() if key not in UNSHOWN}
        | {"remark": REMARK if kernel.get("over") else ""}
        for row in rows
        if (found := moves.get(row["case"]))
        for each in found.components
        for kernel in each["kernels"]
        if kernel["ms"] > above * row["ms"]
    ]


def table(rows: list[Row]) -> Markup:
    """The lines as Markdown; nothing if there are none."""
    if not rows:
        return Markup("")
    columns = [
        *markdown.case_columns(evidence.axes(rows)),
        Column("component", "component"),
        Column("operator", "operator"),
        Column("ms per pass", "ms", markdown.number),
        Column("GB per pass", "gb", markdown.number),
    ]
    if any("of_ceiling" in row for row in rows):
        columns.append(Column("of the bandwidth ceiling", "of_ceiling", markdown.percent))
        columns.append(Column("remark", "remark"))
    return markdown.markdown_table([row | {"state": "none"} for row in rows], columns)
