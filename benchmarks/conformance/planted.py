"""The part of docs/conformance.md on planted faults, from benchmarks/planted/other_tools.csv."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from benchmarks.planted.other_tools import BY, GENERAL, NOT_ASKED, TOOLS, named
from benchmarks.planted.score import COSTLY, COSTS, NAMED

RECORDED = Path(__file__).parents[1] / "planted" / "other_tools.csv"
HEADS = {
    "rank_nsys": "this project, nsys",
    "rank_torch": "this project, torch.profiler",
    "nsys_analyze": "`nsys analyze`",
    "nsys_ai": "nsys-ai",
    "torch_matcher": "torch's pattern matcher",
}


def planted_tables() -> tuple[list[list[str]], list[list[str]]]:
    """The rows of two tables: what each tool names in all, and of each fault that costs enough."""
    table = pd.read_csv(RECORDED, keep_default_na=False)
    faults = table[(table["mechanism"] != "") & (table["cost_share"] >= COSTLY)]
    clean = table[table["mechanism"] == ""]
    totals = [
        [head, _of(faults, tool, _names), _of(clean, tool, _claims)] for tool, head in HEADS.items()
    ]
    rows = [
        [str(row["capture"]), _cost(row), f"{100 * float(row['cost_share']):.0f} %", *_cells(row)]
        for _, row in faults.sort_values("cost_share", ascending=False).iterrows()
    ]
    return totals, rows


def _of(rows: pd.DataFrame, tool: str, says: Callable[["pd.Series[str]", str], bool]) -> str:
    """Of how many recordings that a tool was asked about something is so."""
    asked = rows[rows[tool] != NOT_ASKED]
    return f"{sum(says(row, tool) for _, row in asked.iterrows())} of {len(asked)}"


def _names(row: "pd.Series[str]", tool: str) -> bool:
    """Whether a tool names a fault: this project first or second, another one anywhere."""
    if tool in TOOLS:
        return named(row, tool)
    return row[tool] != "" and float(row[tool]) <= NAMED


def _claims(row: "pd.Series[str]", tool: str) -> bool:
    """Whether a tool claims a cause in a clean program."""
    if tool in TOOLS:
        return any(label not in GENERAL for label in str(row[tool]).split(BY) if label)
    return float(row[tool.replace("rank", "others") + "_ms"]) > 0


def _cost(row: "pd.Series[str]") -> str:
    """What a fault costs, ms, and the least and most of the pairs of blocks."""
    median, least, most = (f"{float(row[each]):.3g}" for each in COSTS)
    return f"{median} ({least} to {most})"


def _cells(row: "pd.Series[str]") -> list[str]:
    return [
        NOT_ASKED if row[tool] == NOT_ASKED else "named" if _names(row, tool) else "-"
        for tool in HEADS
    ]
