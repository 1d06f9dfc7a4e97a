"""Which component takes most time besides products, in answer (c), and of which families it is."""

from collections import Counter
from collections.abc import Sequence
from functools import partial

from workflow_src.answers import components, wording
from workflow_src.answers.evidence import Row
from workflow_src.render.markdown import joined

VISIBLE = 0.0005
"""Components below this share would show as 0.0 %."""

PART = 0.03
"""Families with more than this share of a component's time are named as its own."""


def component_names(rows: Sequence[Row]) -> list[str]:
    """The components of any of the rows, in the model's order."""
    return components.in_model_order(name for row in rows for name in row["components"])


def in_component(row: Row, name: str) -> float:
    """A component's share of a case's pass besides products."""
    return float(row["components"].get(name, {}).get("besides", 0.0))


def largest(precisions: Sequence[Row]) -> list[Row]:
    """The component with the largest share at each precision; those that share one together."""
    found: dict[str, list[Row]] = {}
    for row in precisions:
        name, share = row["components"][0]
        mine = {"precision": row["precision"], "share": share, "cases": row["cases"]}
        found.setdefault(name, []).append(mine)
    return [{"component": name, "shares": mine} for name, mine in found.items()]


def leaders(rows: Sequence[Row]) -> list[Row]:
    """Which component has the largest share besides products, in how many cases and contexts.

    The one that has it in most cases comes first. `multiplies`: products run in it, too.
    """
    found: dict[str, list[Row]] = {}
    for row in rows:
        if names := component_names([row]):
            most = max(names, key=partial(in_component, row))
            found.setdefault(most, []).append(row)
    ranked = sorted(found.items(), key=lambda item: -len(item[1]))
    return [_leader(name, mine, len(rows)) for name, mine in ranked]


def _leader(name: str, rows: Sequence[Row], of: int) -> Row:
    contexts = [int(row["context"]) for row in rows]
    mine = [row["components"][name] for row in rows]
    return {
        "component": name,
        "cases": len(rows),
        "in_cases": wording.in_cases(len(rows), of),
        "contexts": sorted({min(contexts), max(contexts)}),
        "multiplies": any(each["share"] - each["besides"] > VISIBLE for each in mine),
    }


def leading(rows: Sequence[Row]) -> Row:
    """The leaders, and the context from which on the first of them leads in every case.

    `each` are the leaders at shorter contexts, `of` how many cases those have. Without such a
    context `since` is None, and `each` are the leaders of all cases.
    """
    rows = [row for row in rows if row["components"]]
    found = leaders(rows)
    longest = max((each["contexts"][-1] for each in found[1:]), default=0)
    above = [row for row in rows if row["context"] > longest]
    below = [row for row in rows if row not in above] if above and found[1:] else rows
    since = _since(found[0], above) if below is not rows else None
    each = leaders(below)
    about = {"leaders": len(found), "total": len(rows)}
    return about | {"since": since, "each": each, "of": len(below)}


def _since(first: Row, above: Sequence[Row]) -> Row:
    return {
        "component": first["component"],
        "context": min(int(row["context"]) for row in above),
        "in_cases": wording.in_cases(len(above), len(above)),
    }


def families(rows: Sequence[Row], component: str) -> Row | None:
    """The families of a component's kernels besides products, most time first; None if they have
    its own name."""
    times: Counter[str] = Counter()
    for row in rows:
        times.update(row["components"].get(component, {}).get("families", {}))
    named = [name for name, ms in times.most_common() if ms > PART * times.total()]
    apart = set(named) - {component}
    return {"component": component, "families": joined(named)} if apart else None
