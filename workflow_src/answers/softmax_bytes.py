"""Softmax's bytes and exponentials against the machine's ceilings, in answer (e)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from workflow_src.answers import wording
from workflow_src.answers.answer import Fact
from workflow_src.answers.evidence import Row
from workflow_src.answers.moved import Ceiling, Known, bandwidth, exponentials, total
from workflow_src.answers.wording import median_of
from workflow_src.common.ceilings import TOLERANCE, over_ceiling

EXPLAINS = 0.90
"""Bytes explain a time of which they take at least this share at the bandwidth ceiling."""


def ran(parts: Mapping[str, pd.DataFrame], known: Known) -> Row | None:
    """Bytes per pass of softmax, QK^T and AV by the shapes that ran; None unless all are known.

    `parts`: rows of kernels.csv by role, see softmax_matmul.times.
    """
    found = {name: total(parts[name], known) for name in ("softmax", "qk", "av")}
    return found if all(found.values()) else None


def facts_of(row: Row) -> list[Fact]:
    """The bytes by the shapes that ran: softmax's, and those of the products, as facts."""
    case = row["case"]
    found = [
        Fact(case, f"{name}_bytes", each["bytes"], "B", "operators", each["read"])
        for name, each in row["ran"].items()
    ]
    both = ("qk_bytes", "av_bytes")
    return [*found, Fact(case, "matmul_bytes", row["matmul_bytes"], "B", derived_from=both)]


@dataclass(frozen=True)
class Ceilings:
    """The best bandwidth and rate of exponentials; None where they weren't measured."""

    bandwidth: Ceiling | None
    exponentials: Ceiling | None

    @classmethod
    def of(cls, ceilings: pd.DataFrame) -> "Ceilings":
        """Those of ceilings.csv."""
        return cls(bandwidth(ceilings), exponentials(ceilings))

    def held(self, row: Row) -> Row:
        """The shares of softmax's time that its bytes and its exponentials take at their ceilings.

        Nothing on a CPU, whose caches hold what one operator leaves to the next.
        """
        if row["device"] == "cpu" or "softmax_bytes" not in row or self.bandwidth is None:
            return {}
        ms = row["softmax_ms"]
        found = {"bytes_explain": self.bandwidth.share(row["softmax_bytes"], ms)}
        if self.exponentials:
            found["exponentials_explain"] = self.exponentials.share(row["elements"], ms)
        return found

    def facts_of(self, row: Row) -> list[Fact]:
        """The two ceilings and what they explain of one case, as facts."""
        case, found = row["case"], []
        for share, best, name, unit, amount in (
            ("bytes_explain", self.bandwidth, "bandwidth_gb_per_s", "GB/s", "softmax_bytes"),
            ("exponentials_explain", self.exponentials, "giga_exp_per_s", "10^9/s", "elements"),
        ):
            if share in row and best:
                sources = (amount, "softmax_ms", name)
                found += [best.fact(case, name, unit)]
                found += [Fact(case, share, row[share], "1", derived_from=sources)]
        return found

    def summarize(self, rows: Sequence[Row]) -> Row:
        """Values for the template: medians by precision, and where which bytes come from."""
        held = [row for row in rows if "bytes_explain" in row]
        rated = [row for row in held if "exponentials_explain" in row]
        nearer = [row for row in rated if row["exponentials_explain"] > row["bytes_explain"]]
        explained: list[Row] = [
            {
                "precision": precision,
                "cases": len(mine),
                "bytes": median_of(mine, "bytes_explain"),
                "over": sum(over_ceiling(row["bytes_explain"], 1.0) for row in mine),
            }
            for precision, mine in wording.by_precision(held).items()
        ]
        return {
            "gb_per_s": self.bandwidth.best if self.bandwidth else None,
            "fastest": self.bandwidth.name if self.bandwidth else None,
            "giga_exp_per_s": self.exponentials.best if self.exponentials else None,
            "exponentials": median_of(rated, "exponentials_explain") if rated else None,
            "explained": explained,
            "all_explained": all(each["bytes"] >= EXPLAINS for each in explained),
            "over": sum(each["over"] for each in explained),
            "beyond": 1 + TOLERANCE,
            "cases": len(held),
            "nearer": wording.listed(nearer),
            "ran": [row["case"] for row in rows if row.get("ran")],
            "counted": [row["case"] for row in rows if "softmax_bytes" in row],
        }
