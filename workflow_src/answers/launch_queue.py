"""How the forward pass was launched in the capture: short kernels, waits, and an empty queue."""

from collections.abc import Sequence

import pandas as pd
from markupsafe import Markup

from workflow_src.answers import wording
from workflow_src.answers.answer import Fact
from workflow_src.answers.evidence import Row
from workflow_src.answers.wording import median_of
from workflow_src.render import markdown
from workflow_src.render.markdown import Column

UNITS = {
    "under_5us": "1",
    "under_10us": "1",
    "delay_median_us": "us",
    "depth_median": "",
    "empty_queue": "1",
}
"""What is known of a case's launches, with its unit."""

COLUMNS = (
    Column("precision", "precision"),
    Column("cases", "cases", str),
    Column("kernels under 5 us", "under_5us", markdown.percent),
    Column("under 10 us", "under_10us", markdown.percent),
    Column("launches that find the queue empty", "empty_queue", markdown.percent),
    Column("kernels in the queue at a launch", "depth_median", markdown.number),
    Column("from launch to start, us", "delay_median_us", markdown.number),
)


def measure(device: str, launches: pd.DataFrame) -> Row:
    """Shares of a case's kernels and launches, given its row of launches.csv for the phase."""
    if device == "cpu" or launches.empty:
        return {}
    row = markdown.records(launches)[0]
    if not row["kernels"]:
        return {}
    return {
        "under_5us": row["kernels_under_5us"] / row["kernels"],
        "under_10us": row["kernels_under_10us"] / row["kernels"],
        "delay_median_us": float(row["delay_median_us"]),
        "depth_median": float(row["depth_median"]),
        "empty_queue": float(row["empty_queue_share"]),
    }


def facts_of(row: Row, launches: tuple[int, ...]) -> list[Fact]:
    """The facts of one case, given the number of its row in launches.csv."""
    return [
        Fact(row["case"], name, row[name], unit, "launches", launches)
        for name, unit in UNITS.items()
        if name in row
    ]


def summarize(rows: Sequence[Row]) -> list[Row]:
    """A row per precision: in how many cases launches are known, and the median of each share."""
    known = [row for row in rows if "empty_queue" in row]
    return [
        {"precision": precision, "cases": len(mine)}
        | {name: median_of(mine, name) for name in UNITS}
        for precision, mine in wording.by_precision(known).items()
    ]


def table(precisions: Sequence[Row]) -> Markup:
    """A line per precision."""
    return markdown.markdown_table(precisions, COLUMNS)
