"""The ceilings of the machine: the best rates measured, and remarks on them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from workflow_src.answers.command import read_optional
from workflow_src.answers.moved import bandwidth
from workflow_src.common.ceilings import (
    PRODUCTS,
    RATES,
    SUSTAINED,
    SUSTAINED_ZEROS,
    TOLERANCE,
    ZEROS,
    over_ceiling,
)
from workflow_src.common.environment import MEASURED_WITH
from workflow_src.common.errors import StageError, remake
from workflow_src.common.reading import reading
from workflow_src.render.markdown import Column, markdown_table, names, number, percent, whole
from workflow_src.report.beyond import beyond
from workflow_src.report.power import power_remark, power_table

Row = dict[str, Any]

UNITS = {"gb_per_s": "GB/s", "tflop_per_s": "TFLOP/s", "giga_exp_per_s": "10^9 exp/s"}
"""How each unit is written."""

WORDS = {
    "bandwidth": "memory",
    PRODUCTS: "matrix product",
    ZEROS: "matrix product of zeros",
    SUSTAINED: "matrix product, sustained",
    SUSTAINED_ZEROS: "matrix product of zeros, sustained",
    "exponential": "exponentials",
}

NO_CEILINGS = (ZEROS, SUSTAINED, SUSTAINED_ZEROS)
"""What is measured beside ceilings, to say more about them."""

NUMBERS = ("best", "median", "sm_clock_mhz", "power_w", "power_limit_w", "power_capped")
NEEDED = ("kind", "name", "precision", "shape", "layout", "status", "remark", "is_ceiling")


@dataclass(frozen=True)
class Ceilings:
    """The rows of the table of ceilings; none if the run has none."""

    rows: Sequence[Row]

    @property
    def best(self) -> list[Row]:
        """The rows that are the best of their kind and precision."""
        return [row for row in self.rows if row["is_ceiling"]]

    @property
    def tflop_per_s(self) -> dict[str, float]:
        """The ceiling of matrix products by precision."""
        return self._rates(PRODUCTS)

    @property
    def tflop_per_s_of_zeros(self) -> dict[str, float]:
        """The best rate of matrix products of zeros by precision, where they were measured."""
        return self._rates(ZEROS)

    def _rates(self, kind: str) -> dict[str, float]:
        return {row["precision"]: row["best"] for row in self.best if row["kind"] == kind}

    @property
    def gb_per_s(self) -> float | None:
        """The ceiling of memory, if it was measured."""
        return next((row["best"] for row in self.best if row["kind"] == "bandwidth"), None)

    def table(self) -> Markup:
        """A line per ceiling: what reached it, its best and median rate, and the clock.

        Without products of zeros, which bound only what other numbers reach.
        """
        columns = [
            Column("ceiling", "ceiling"),
            Column("reached by", "what"),
            Column("best", "best", number),
            Column("median", "median", number),
            Column("unit", "unit"),
        ]
        shown = [row | {"state": "none"} for row in self.best if row["kind"] != ZEROS]
        if any(row["sm_clock_mhz"] is not None for row in shown):
            columns.append(Column("SM clock, MHz", "sm_clock_mhz", whole))
        return markdown_table(shown, columns)

    def remarks(self, environments: pd.DataFrame) -> list[str]:
        """What a copy and products of zeros reach, samples on two levels, what wasn't measured,
        another machine.
        """
        found = [
            f"{row['ceiling']}, {row['what']}: {row['remark']}."
            for row in self.best
            if row["remark"]
        ]
        kinds = {(row["kind"], row["precision"]) for row in self.best}
        lost = {
            row["ceiling"]: row["remark"]
            for row in self.rows
            if row["kind"] not in NO_CEILINGS and (row["kind"], row["precision"]) not in kinds
        }
        found += [f"{ceiling}: not measured ({why})." for ceiling, why in lost.items()]
        return [*self._of_copies(), *self._of_zeros(), *found] + [
            f"They were measured with {name} {row[name]!r}, which none of the cases was."
            for row in self.rows[:1]
            for name in MEASURED_WITH
            if row.get(name) and name in environments
            if row[name] not in set(environments[name].astype(str))
        ]

    def _of_copies(self) -> list[str]:
        """What a copy reaches of a memory ceiling that isn't one: most kernels also read."""
        best = [row for row in self.best if row["kind"] == "bandwidth" and row["name"] != "copy"]
        copies = [row["best"] for row in self.rows if row["name"] == "copy" and row["best"]]
        if not best or not copies:
            return []
        return [
            f"Memory: {best[0]['name']} is the fastest; a copy, which reads as much as it writes, "
            f"reaches {number(max(copies))} GB/s."
        ]

    def _of_zeros(self) -> list[str]:
        """What products of zeros reach: nothing else about them differs from a ceiling's."""
        shares = {
            precision: rate / self.tflop_per_s[precision]
            for precision, rate in self.tflop_per_s_of_zeros.items()
            if precision in self.tflop_per_s
        }
        if not shares:
            return []
        reached = [f"{percent(share)} in {precision}" for precision, share in shares.items()]
        depends = any(over_ceiling(share, 1.0) for share in shares.values())
        return [
            "The ceilings of matrix products are those of standard normal numbers. Products of "
            f"zeros run at {names(reached)} of these rates"
            + (": a rate depends on the numbers that are multiplied." if depends else ".")
        ]


def read_ceilings(path: Path) -> Ceilings:
    """The table of ceilings, empty without a file. Raises StageError if it is damaged."""
    if not path.is_file():
        return Ceilings([])
    with reading(path, "a table of ceilings", remake(path), StageError):
        table = pd.read_csv(path, keep_default_na=False, dtype="str")
        absent = [name for name in NEEDED if name not in table.columns]
        if absent:
            raise ValueError(f"no column {', '.join(absent)}")
        return Ceilings([_row(row) for row in table.to_dict("records")])


def _row(cells: dict[Any, str]) -> Row:
    unit = RATES[cells["kind"]][1]
    named = {"best": f"best_{unit}", "median": f"median_{unit}"}
    values = {name: cells.get(named.get(name, name)) or None for name in NUMBERS}
    precision = f" in {cells['precision']}" if cells["kind"] in (PRODUCTS, *NO_CEILINGS) else ""
    what = " ".join(cells[name] for name in ("name", "shape", "layout") if cells[name])
    return (
        {str(name): cell for name, cell in cells.items()}
        | {name: None if value is None else float(value) for name, value in values.items()}
        | {"ceiling": WORDS[cells["kind"]] + precision, "what": what, "unit": UNITS[unit]}
        | {"is_ceiling": cells["is_ceiling"] == "True"}
    )


def variables(
    tables: Path, answers: Sequence[Path], environments: pd.DataFrame
) -> dict[str, Markup | float | str | list[str]]:
    """The template variables of the ceilings; empty in a run without them."""
    found = read_ceilings(tables / "ceilings.csv")
    memory = bandwidth(read_optional(tables, "ceilings"))
    products = read_optional(tables, "products")
    return {
        "ceilings": found.table() if found.best else Markup(""),
        "over_ceiling": TOLERANCE,
        "power": power_table(found.rows),
        "power_remark": power_remark(found.rows),
        "ceiling_remarks": found.remarks(environments),
        "beyond_ceilings": beyond(
            answers,
            products,
            memory.best if memory else None,
            found.tflop_per_s,
            found.tflop_per_s_of_zeros,
        ),
    }
