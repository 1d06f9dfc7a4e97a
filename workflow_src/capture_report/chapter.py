"""The chapter of one capture: what is wrong with a step, and what the step does."""

import pandas as pd

from workflow_src.capture_report import contents
from workflow_src.capture_report.capture import Capture
from workflow_src.capture_report.ranked import ranked, smaller, unfound
from workflow_src.capture_report.screen import first_screen
from workflow_src.captures.capture import UNREADABLE
from workflow_src.paper.number import Number
from workflow_src.paper.run import lifted
from workflow_src.paper.written import Facts
from workflow_src.placing.turns import NEARLY_ALL

OPERATORS = "time of operators on a CPU, as no device work was read,"
"""What a capture's work takes."""

FIRST, SHOWN, CARDS = 10, 30, 7
"""Rows in Markdown of causes, of where time goes, and of what to change."""

SHORT = {
    **dict.fromkeys(("diagnoses", "idle_causes"), FIRST),
    **dict.fromkeys(("steps", "ranks", "kernels"), SHOWN),
    "ranked": CARDS,
}


def facts(capture: Capture) -> Facts:
    """What the template says."""
    tables = contents.tables(capture) | {
        "ranked": ranked(capture),
        "unfound": unfound(capture),
        "smaller": smaller(capture),
        "candidates": candidates(capture),
    }
    passed = capture["certificate"]["verdict"] == "ok"
    return said_first(capture) | {
        "plain": capture.plain,
        "backward": contents.backward(capture),
        "passed": Number(float(passed.sum()), f"of {len(passed)}", frozenset(passed.index), "ok"),
        # What is empty is a dash.
        **{name: table.where(table != "") for name, table in tables.items()},
    }


def said_first(capture: Capture) -> Facts:
    """What the sentences at the beginning are made of."""
    return first_screen(capture) | {
        "name": capture.name,
        "takes": OPERATORS if capture.on_cpu else "device time",
        "total": capture.total,
        "problem": capture.noted.get(UNREADABLE, ""),
        "named": capture.noted.get("no step", ""),
        "once": once(capture),
        "outside": capture.outside,
        "every": capture.every,
    }


def shortened(found: Facts) -> Facts:
    """What Markdown has: of long tables the rows of the most time. Paths that processes
    share stand in `ranks` alone."""
    short = found | {name: found[name][:rows] for name, rows in SHORT.items() if name in found}
    rows = found.get("paths", pd.DataFrame({"busy_ms": []}))
    place = rows["busy_ms"].astype(float).fillna(0).rank(method="first", ascending=False)
    short["paths"] = rows[place <= SHOWN]
    if len(found.get("ranks", ())):
        short["paths"] = short["paths"][:0]
    return short


def candidates(capture: Capture) -> pd.DataFrame:
    """The ranges that repeat, outer ones first, where no steps were found."""
    paths = capture["paths"]
    often = paths[(paths["instances"] > 1) & (not capture.stepped)]
    depth = often["path"].str.replace(r"\\.", "", regex=True).str.count("/")
    return lifted(often.loc[depth.sort_values(kind="stable").index][:FIRST])


def once(capture: Capture) -> str:
    """The name of the one range, there once, in which nearly all work lies, or ""."""
    paths = capture["paths"]
    rows = paths[(paths["instances"] == 1) & ~paths["path"].str.contains(r"[/\\]")]
    most = rows[(rows["busy_ms"] > 0) & (rows["busy_ms"] >= NEARLY_ALL * paths["own_ms"].sum())]
    return str(most["path"].iloc[0]) if len(most) else ""
