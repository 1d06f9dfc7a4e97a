"""The components of one size and context at each precision, in answer (c)."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from workflow_src.answers import other_summary
from workflow_src.answers.evidence import Row
from workflow_src.render import markdown
from workflow_src.render.markdown import Column


def table(beside: list[Row], summary: Mapping[str, Any]) -> Markup:
    """One size and context by component: at each precision its share, and without products.

    Beside the latter stands the median over all cases of the precision, if they are several.
    """
    names, medians = other_summary.visible(beside), summary["medians"]
    columns = [Column("component", "component")]
    for row in beside:
        precision = row["precision"]
        columns.append(Column(precision, f"{precision}/share", markdown.percent))
        columns.append(Column("besides products", f"{precision}/besides", markdown.percent))
        if precision in medians:
            columns.append(Column("all cases", f"{precision}/median", markdown.percent))
    lines = [_component_line(name, beside, medians) for name in names]
    last = _total_line(beside, summary["precisions"])
    return markdown.markdown_table([*lines, last] if lines else [], columns)


def _component_line(name: str, beside: list[Row], medians: Row) -> Row:
    line: Row = {"component": name}
    for row in beside:
        precision = row["precision"]
        found = row["components"].get(name, {"share": 0.0, "besides": 0.0})
        line |= {f"{precision}/{key}": found[key] for key in ("share", "besides")}
        line[f"{precision}/median"] = medians.get(precision, {}).get(name, 0.0)
    return line


def _total_line(beside: list[Row], precisions: list[Row]) -> Row:
    """The whole pass: all of it, what of it is besides products, and the median of that."""
    line: Row = {"component": "forward pass"}
    for row in beside:
        line |= {f"{row['precision']}/share": 1.0, f"{row['precision']}/besides": row["besides"]}
    return line | {f"{row['precision']}/median": row["besides"] for row in precisions}
