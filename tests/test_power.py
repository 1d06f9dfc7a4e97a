"""Sustained products: samples with readings of the power, their table, and what is said of them."""

from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
import torch

from tests.test_ceilings import NN, tabulated
from workflow_src.common.ceilings import SUSTAINED, SUSTAINED_ZEROS
from workflow_src.measure import machine, products, sampling
from workflow_src.report.power import power_remark, power_table

READING = {"sm_clock_mhz": 1980, "power_w": 400.0, "power_limit_w": 700.0, "power_capped": False}
CAPPED = {"sm_clock_mhz": 1500, "power_w": 699.0, "power_limit_w": 700.0, "power_capped": True}


def sustained(kind: str, settled: dict[str, Any], ns: int = 1_000) -> dict[str, Any]:
    """A raw row whose first two of four samples were taken at another clock."""
    readings = {name: [READING[name]] * 2 + [settled[name]] * 2 for name in machine.LOAD}
    about = {"kind": kind, "name": "matmul, sustained", "precision": "bf16"}
    return NN | about | {"samples_ns": [9 * ns] * 2 + [ns] * 2, "samples_per_group": 1} | readings


def test_a_reading_is_taken_while_the_device_works_on_each_sample(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []
    clock = iter([0.0, 0.1, 0.9, 1.1])
    end = SimpleNamespace(synchronize=lambda: done.append("wait"))
    monkeypatch.setattr(sampling, "event_pairs", lambda count: [(None, end)] * count)
    monkeypatch.setattr(sampling, "between_events", lambda pair, call: call())
    monkeypatch.setattr(sampling, "elapsed_ns", lambda pairs: [20_000_000] * len(pairs))
    monkeypatch.setattr(sampling, "time_call", lambda *arguments: [10_000_000])
    monkeypatch.setattr(sampling, "load", lambda device: done.append(f"read {device}") or READING)
    monkeypatch.setattr(sampling.time, "monotonic", lambda: next(clock))
    properties = SimpleNamespace(uuid="x")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda number: properties)
    found = sampling.sustained(lambda: done.append("call"))
    assert done == ["call", "call", "read GPU-x", "call", "call", "read GPU-x", "wait"]
    assert found["samples_ns"] == [10_000_000] * 2 and found["calls_per_sample"] == 2
    assert found["power_w"] == [400.0, 400.0] and found["power_capped"] == [False, False]


def test_the_fastest_product_is_sustained_with_normal_numbers_and_with_zeros(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[torch.Tensor] = []
    real = products._product

    def on_cpu(*arguments: Any) -> Any:
        made.append(real(*arguments[:3], "cpu", arguments[4])())
        return lambda: None

    monkeypatch.setattr(products, "_product", on_cpu)
    monkeypatch.setattr(products, "sustained", lambda call: {"samples_ns": [5]})
    monkeypatch.setattr(products, "attempted", lambda about, take, device: take())
    slow = NN | {"shape": "4 x 3 x 2", "samples_ns": [9_000]}
    fast = NN | {"shape": "2 x 3 x 4", "layout": "nt"}
    zeros = fast | {"kind": "compute of zeros", "samples_ns": [1], "layout": "tn"}
    found = products.sustained_products("cuda", "fp32", [slow, fast, zeros])
    assert [(row["kind"], row["shape"], row["layout"]) for row in found] == [
        (SUSTAINED, "2 x 3 x 4", "nt"),
        (SUSTAINED_ZEROS, "2 x 3 x 4", "nt"),
    ]
    assert made[0].count_nonzero() == 8 and made[1].count_nonzero() == 0
    assert products.sustained_products("cpu", "fp32", [fast]) == []
    assert products.sustained_products("cuda", "tf32", [fast | {"status": "skipped"}]) == []


def test_only_the_second_half_of_a_sustained_product_counts() -> None:
    table = tabulated(NN, sustained(SUSTAINED, CAPPED))
    assert table["is_ceiling"].tolist() == [True, False]
    row = table.iloc[1]
    assert (row["median_tflop_per_s"], row["samples"], row["sm_clock_mhz"]) == (2.0, 2, 1500.0)
    assert (row["power_w"], row["power_limit_w"], row["power_capped"]) == (699.0, 700.0, 1.0)


def test_a_device_that_reports_nothing_leaves_its_readings_empty() -> None:
    assert machine.load("GPU-that-is-not-here") == dict.fromkeys(machine.LOAD)
    nothing = dict.fromkeys(machine.LOAD)
    row = tabulated(sustained(SUSTAINED, nothing)).iloc[0]
    assert row[["power_w", "power_limit_w", "power_capped"]].isna().all()


def read(*raw: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of raw ones as the report reads them."""
    rows = tabulated(*raw).to_dict("records")
    known = [{key: None if pd.isna(cell) else cell for key, cell in row.items()} for row in rows]
    return [row | {"median": row["median_tflop_per_s"]} for row in known]


FREE = {"sm_clock_mhz": 1800, "power_capped": True}
KEPT = "Not in bf16, by the driver's reasons and the power drawn."
LIMITED = "In bf16 the driver lowers the clock for power under products of standard normal numbers."


@pytest.mark.parametrize(
    ("normal", "zeros", "ns", "said"),
    [
        (
            CAPPED,
            READING | FREE,
            800,
            f"{LIMITED} Those of zeros draw less, and are faster by 25.0 % in bf16, at a "
            "clock that is higher by 20.0 %. The driver gives power as its reason at less "
            "than 95 % of the limit, too: bf16, zeros (400 W).",
        ),
        (
            CAPPED,
            CAPPED,
            800,
            f"{LIMITED} Those of zeros are faster by 25.0 % in bf16, which their clock does not "
            "explain.",
        ),
        (CAPPED, CAPPED, 1_000, LIMITED),
        (READING, READING, 800, KEPT),
        (
            READING | FREE,
            READING,
            800,
            f"{KEPT} The driver gives power as its reason at less than 95 % of the limit, too: "
            "bf16, standard normal (400 W).",
        ),
    ],
    ids=["by the clock", "not by the clock", "as fast", "not limited", "reason alone"],
)
def test_the_verdict_is_what_the_driver_said(
    normal: dict[str, Any], zeros: dict[str, Any], ns: int, said: str
) -> None:
    rows = read(sustained(SUSTAINED, normal), sustained(SUSTAINED_ZEROS, zeros, ns))
    assert power_remark(rows) == said
    assert "standard normal" in power_table(rows) and "zeros" in power_table(rows)


def test_nothing_is_said_of_power_that_was_not_read() -> None:
    assert power_remark(read(NN)) == "" and power_table(read(NN)) == ""
    unread = dict.fromkeys(machine.LOAD)
    rows = read(sustained(SUSTAINED, unread), sustained(SUSTAINED_ZEROS, unread))
    assert power_remark(rows) == ""
