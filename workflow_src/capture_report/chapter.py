"""The chapter of one capture: what is wrong with a step, and what the step does."""

from dataclasses import replace

import pandas as pd

from workflow_src.capture_report import contents
from workflow_src.capture_report.capture import Capture, share
from workflow_src.capture_report.pictures import trace_button
from workflow_src.capture_report.screen import first_screen, whole_ms
from workflow_src.captures.capture import NO_KERNELS, UNREADABLE
from workflow_src.paper.number import is_number, lift, of, to
from workflow_src.paper.run import lifted
from workflow_src.paper.written import Facts

DEVICE = "device time"
OPERATORS = "time of operators on a CPU, as no device work was read,"
"""What a capture's work takes."""

FIRST, SHOWN = 10, 30
"""Rows in Markdown of what is wrong, and of where time goes; the page has PAGE."""

CARDS, SMALLER = 7, 6
"""At most so many findings have a card, and so many of those that save little a row."""

SHORT = {
    **dict.fromkeys(("diagnoses", "found", "idle_causes", "waits", "gaps", "copies"), FIRST),
    "step_differences": FIRST,
    **dict.fromkeys(("steps", "ranks", "kernels"), SHOWN),
}
"""Rows in Markdown of tables, of which the first are shown."""


def facts(capture: Capture, trace: str = "") -> Facts:
    """What the template says of a capture; trace: the path of its step's."""
    tables = contents.tables(capture) | {
        "cards": cards(capture)[:CARDS],
        "found": found(capture, capture.special),
        "smaller": smaller(capture),
        "candidates": candidates(capture),
    }
    return said_first(capture) | {
        "plain": capture.plain,
        "where": where(capture),
        "trace": trace_button(trace) if trace else "",
        # What is empty is a dash.
        **{name: table.where(table != "") for name, table in tables.items()},
    }


def said_first(capture: Capture) -> Facts:
    """What the sentences at the beginning are made of."""
    return first_screen(capture) | {
        "name": capture.name,
        "takes": OPERATORS if capture.on_cpu else DEVICE,
        "total": capture.total,
        "problem": capture.noted.get(UNREADABLE, ""),
        "named": capture.noted.get("no step", ""),
        "outside": capture.outside,
        "every": capture.every,
    }


def shortened(found: Facts) -> Facts:
    """What Markdown has: of long tables the rows of the most time, and no button.

    Paths that processes share stand there once.
    """
    short = found | {name: found[name][:rows] for name, rows in SHORT.items() if name in found}
    rows = found.get("paths", pd.DataFrame({"busy_ms": []}))
    place = rows["busy_ms"].astype(float).fillna(0).rank(method="first", ascending=False)
    short["paths"] = rows[place <= SHOWN]
    if len(found.get("ranks", ())):
        short["paths"] = short["paths"][:0]
    return short | {"trace": ""}


def where(capture: Capture) -> Facts:
    """How much of the time lies in ranges, and the path with the most of its own."""
    paths, every = capture["paths"], capture.every
    known = UNREADABLE not in capture.noted and NO_KERNELS not in capture.noted
    if not known or not every["ranges"] > 0 or not capture.total > 0:
        return {"verdict": ""}
    said = {"total": capture.total, "share": share(every["placed_ns"], every["total_ns"])}
    if not every["placed_ns"] > 0 or paths.empty:
        return said | {"verdict": "unplaced"}
    path = paths.groupby("path", sort=False)["own_ms"].sum().idxmax()
    own = of(lift(paths["own_ms"][paths["path"] == path]), "sum")
    verdict = "partly" if every["unplaced_ns"] > 0 else "placed"
    return said | {"verdict": verdict, "path": path, "most": share(own, capture.total)}


def cards(capture: Capture) -> pd.DataFrame:
    """Findings for cards: what, what it saves, where, an example, and what to do."""
    rows = found(capture, capture.special)
    share = to(rows["saves_ms"] / rows["step_ms"], "share")
    told = ["name", "saves_ms", "share", "process", "where", "example", "remedy"]
    return rows.assign(saves_ms=rows["saves_ms"].map(whole_ms), share=share)[told]


def found(capture: Capture, findings: pd.DataFrame) -> pd.DataFrame:
    """Findings with where and when they occur, what they take and save, and a step without all so
    far.

    What is true of a whole program saves what is left of the host, which the account has.
    """
    rows = _placed(capture, findings)
    return rows.assign(
        left=rows["step_ms"] - rows["saves_with_above_ms"],
        assumes=rows["assumes"].where(rows["saves_ms"].notna(), ""),
    )


def smaller(capture: Capture) -> pd.DataFrame:
    """Findings that save little, the largest first."""
    rows = capture["smaller"].sort_values("saves_ms", ascending=False, kind="stable")
    return _placed(capture, lifted(rows.drop_duplicates(["mechanism", "path"])[:SMALLER]))


def _placed(capture: Capture, rows: pd.DataFrame) -> pd.DataFrame:
    """Findings with their paths, and in how many steps they occur."""
    path, also = rows["path"], rows["also_in"]
    steps = zip(rows["first_only"], rows["in_steps"], rows["of_steps"], strict=True)
    when = [
        ("the first of ", every) if first else replace(some, unit=f"of {every}")
        for first, some, every in steps
        if is_number(some)
    ]
    told = pd.Series(when, rows.index[rows["in_steps"].notna()], dtype=object)
    where = path + (" and " + also).where((path != "") & (also != ""), also)
    return capture.of_process(rows.assign(where=where, when=told.reindex(rows.index)))


def candidates(capture: Capture) -> pd.DataFrame:
    """The ranges that repeat, outer ones first, where no steps were found."""
    paths = capture["paths"]
    often = paths[(paths["instances"] > 1) & (not capture.stepped)]
    depth = often["path"].str.replace(r"\\.", "", regex=True).str.count("/")
    return lifted(often.loc[depth.sort_values(kind="stable").index][:FIRST])
