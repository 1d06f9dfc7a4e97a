"""What is derived of ranks' points."""

from typing import Any

import pytest

from tests.studies.tables import filled, table_of
from workflow_src.studies.ranks.analyze import complete, derive
from workflow_src.studies.ranks.points import points

SIZE = {"d_model": 8, "d_ff": 32, "layers": 2, "heads": 2}


def rows_of() -> list[dict[str, Any]]:
    """The table's rows: all-reduces of 1 ms, and two ways of 100 and 120 ms."""
    reduce, train, _ = points("cuda", "full", {"sizes": {"2.7B": SIZE}, "vocabulary": 50})
    ok = {"status": "ok", "reason": ""}
    sizes = [
        {"measurement": "all_reduce", "bytes": size, "median_ms": 1.0} | ok for size in (1, 10**9)
    ]
    about = {"measurement": "training", "size": "2.7B", "context": 512, "batch": 2}
    ways = [
        about | ok | {"precision": "fp32", "way": way, "median_ms": ms, "optimizer_ms": 10.0}
        for way, ms in (("alone", 100.0), ("flat", 120.0))
    ]
    kinds = [{"collective": "allreduce", "calls": 1.0}]
    ways[1]["collectives"] = kinds
    made = [(reduce, sizes), (train, ways)]
    return [
        {"point": point["point"]} | row
        for point, rows in made
        for row in derive(point | {"device": "cuda"}, rows)
    ]


def test_rates_predictions_and_collectives_of_a_table() -> None:
    rows = filled(complete(table_of(rows_of())))
    (_, large), (alone, flat, kind) = rows[:2], rows[2:]
    assert large["algorithm_gb_per_s"] == large["bus_gb_per_s"] == 1000
    # One all-reduce of 1 ms, and copies of 16 bytes per parameter where 28 take 10 ms.
    assert flat["predicted_step_ms"] == pytest.approx(100 + 1 + 160 / 28)
    assert alone["predicted_step_ms"] is None
    assert (kind["measurement"], kind["way"], kind["calls"]) == ("collective", "flat", 1)


@pytest.mark.parametrize("lost", ["all_reduce", "alone"])
def test_without_a_baseline_nothing_is_predicted(lost: str) -> None:
    rows = [row for row in rows_of() if lost not in (row["measurement"], row.get("way"))]
    assert "predicted_step_ms" not in complete(table_of(rows)).columns
