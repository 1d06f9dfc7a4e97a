"""What the study levers measured to save of training steps, as answer (f) tells it."""

from collections.abc import Sequence

import pandas as pd

from workflow_src.answers.answer import Fact
from workflow_src.answers.evidence import Row
from workflow_src.common.remedies import in_words
from workflow_src.render.markdown import joined, number, records

PHASE = "train_step"
PLAIN = "plain"

IN_SHORT = 2
"""The most cases that the short answer names."""


def measured(table: pd.DataFrame) -> list[Row]:
    """A row per case whose plain training step and a remedy were timed, in the table's order.

    first: the remedy that saves most alone; near: those alone whose processes overlap with its;
    alone: how many were tried alone; best: the fastest step with several. first and best may be
    None, if none of their kind saves anything. broken: what would save time, but has gradients that
    are not finite. More batches in a step are left out: they save no time of the same step.
    """
    done = table[(table["phase"] == PHASE) & (table["status"] == "ok")]
    done = done[done["median_ms"].notna() & ~(done["batches"] > 1)]
    broken = (done["error_state"] == "ok") & done["gradients_error"].isna()
    done = done.assign(row=done.index, broken=broken)
    found = [_case(records(mine)) for _, mine in done.groupby("case", sort=False)]
    return [case for case in found if case.get("tried")]


def _case(rows: Sequence[Row]) -> Row:
    plain = next((row for row in rows if row["variant"] == PLAIN), None)
    about = {"case": rows[0]["case"], "named": "{size}, context {context}, {precision}"}
    about["named"] = about["named"].format(**rows[0])
    if plain is None:
        return about
    saving = [row for row in rows if row["saving_share"] > 0 and row is not plain]
    tried = [_tried(row) for row in saving if not row["broken"]]
    alone = [each for each in tried if each["count"] == 1]
    several = [each for each in tried if each["count"] > 1]
    first = max(alone, key=lambda each: each["share"], default=None)
    return about | {
        "tried": len(rows) - 1,
        "alone": sum("+" not in row["remedies"] for row in rows if row is not plain),
        "plain_ms": plain["median_ms"],
        "row": plain["row"],
        "first": first,
        "near": [each["words"] for each in alone if first and overlap(each, first)],
        "best": max(several, key=lambda each: each["share"], default=None),
        "broken": [_tried(row)["words"] for row in saving if row["broken"]],
    }


def _tried(row: Row) -> Row:
    names = [in_words(name) for name in row["remedies"].split("+")]
    found = {"variant": row["variant"], "words": joined(names), "count": len(names)}
    ends = [row.get(f"{end}_process_ms") for end in ("fastest", "slowest")]
    found["ends"] = ends if all(end is not None and end == end for end in ends) else []
    return found | {"median_ms": row["median_ms"], "share": row["saving_share"], "row": row["row"]}


def overlap(one: Row, other: Row) -> bool:
    """Whether two variants' processes took no different times: from fastest to slowest, in ms."""
    if one is other or not one["ends"] or not other["ends"]:
        return False
    return bool(one["ends"][0] <= other["ends"][1] and other["ends"][0] <= one["ends"][1])


def in_short(cases: Sequence[Row]) -> list[Row]:
    """The cases that the short answer names: where most and where least is saved, if many."""
    if len(cases) <= IN_SHORT:
        return list(cases)
    ordered = sorted(cases, key=_largest_share)
    return [ordered[-1], ordered[0]]


def _largest_share(case: Row) -> float:
    return max((float(each["share"]) for each in (case["first"], case["best"]) if each), default=0)


def measured_again(cases: Sequence[Row], suite: Sequence[Row]) -> list[Row]:
    """The cases that the suite timed, too, with "suite_ms", where that differs in print."""
    times = {row["case"]: row["median_ms"] for row in suite if "median_ms" in row}
    both = [case | {"suite_ms": times[case["case"]]} for case in cases if case["case"] in times]
    return [case for case in both if number(case["plain_ms"]) != number(case["suite_ms"])]


def facts_of(case: Row) -> list[Fact]:
    """The facts of one of the study's cases."""

    def time(variant: str, row: Row, value: str) -> Fact:
        name = f"levers/{variant}/median_ms"
        return Fact(case["case"], name, row[value], "ms", "studies/levers", (row["row"],))

    facts = [time(PLAIN, case, "plain_ms")]
    for each in filter(None, (case["first"], case["best"])):
        timed = time(each["variant"], each, "median_ms")
        share = f"levers/{each['variant']}/share"
        parts = (facts[0].name, timed.name)
        facts += [timed, Fact(case["case"], share, each["share"], "1", derived_from=parts)]
    return facts
