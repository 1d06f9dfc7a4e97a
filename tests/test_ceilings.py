"""Ceilings: rates of known samples, the command, and what exceeds a ceiling."""

import json
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
import torch

from tests.workflow import ROOT, load, served_stage
from workflow_src.common.ceilings import FEWEST, rate_of
from workflow_src.common.table_schema import own_columns
from workflow_src.dag.paths import made, measures
from workflow_src.dag.start import make_dag
from workflow_src.measure import ceilings as measuring
from workflow_src.measure import timing
from workflow_src.measure.timing import in_rotation
from workflow_src.tables.ceilings import table

TINY = {
    "buffer_mib": 1, "shapes": [[16, 8, 4]], "exponentials": 1024, "wake_s": 0.0,
    "budget_ms": 0.1, "sample_ms": 0.01, "pause_ms": 0.0,
}  # fmt: skip
POINT = {"device": "cpu", "precisions": ["fp32"], "cpu_threads": 1, "sizes": TINY}
HERE = {"gpu": "", "cpu": "a CPU", "cpu_threads": 2, "driver": "", "cuda": "", "torch": "2.0"}
ABOUT = {"dtype": "float32", "precision": "fp32", "shape": "8", "layout": "", "reason": ""}
TIMED = {"status": "ok", "calls_per_sample": 1, "samples_per_group": 5}


def row(kind: str, name: str, samples_ns: list[int], **other: Any) -> dict[str, Any]:
    return {"kind": kind, "name": name, "samples_ns": samples_ns} | ABOUT | TIMED | other


READ = row("bandwidth", "read", [1_000, 4_000, 2_000], bytes=8_000)
COPY = row("bandwidth", "copy", [2_000, 2_000, 2_000], bytes=18_000)
NN = row("compute", "matmul", [1_000], flops=2_000_000, layout="nn")
TF32 = row("compute", "matmul", [1_000], flops=1_000_000, layout="nt", precision="tf32")
EXP = row("exponential", "exp in a cache", [500], operations=1_000)
GONE = ABOUT | {"kind": "exponential", "name": "exp2 in registers", "status": "skipped"}
GONE["reason"] = "no Triton"


def tabulated(*rows: dict[str, Any]) -> pd.DataFrame:
    return table({"rows": list(rows), "environment": HERE})


def test_rates_are_work_over_the_median_and_the_fastest_sample() -> None:
    found = tabulated(READ, COPY, NN, EXP)
    assert tuple(found.columns) == own_columns("ceilings")
    assert found["median_gb_per_s"].tolist()[:2] == [4.0, 9.0]
    assert found["best_gb_per_s"].tolist()[:2] == [8.0, 9.0]
    assert (found["best_tflop_per_s"][2], found["best_giga_exp_per_s"][3]) == (2.0, 2.0)
    assert rate_of(NN, 4_000) == 0.5


def test_the_ceiling_is_the_best_of_its_kind_and_precision_that_ran() -> None:
    slower = NN | {"layout": "tn", "samples_ns": [3_000]}
    found = tabulated(READ, COPY, NN, slower, TF32, GONE, EXP)
    assert found["is_ceiling"].tolist() == [False, True, True, False, True, False, True]
    assert found["reason"][5] == "no Triton"


def test_a_rotation_takes_buffers_in_turn_and_keeps_what_they_gave() -> None:
    given: list[int] = []
    run = in_rotation([lambda place=place: given.append(place) or place for place in range(3)])
    assert [run() for _ in range(4)] == [0, 1, 2, 0]
    assert given == [0, 1, 2, 0, 1, 2, 0], "each ran once at first"


def test_no_sample_of_a_group_starts_on_an_idle_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else each group's first one contains the latency of a launch, which looks like a level."""
    done: list[str] = []
    event = SimpleNamespace(record=lambda: done.append("event"), elapsed_time=lambda end: 1e-6)
    monkeypatch.setattr(torch.cuda, "Event", lambda enable_timing: event)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(timing, "asked", lambda device, name: {"sm_clock_mhz": 1980})
    properties = SimpleNamespace(uuid="x")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda number: properties)
    found = timing._group(lambda: done.append("call"), "cuda", 2)
    assert found == ([1, 1], 1980)
    assert done == ["call", *["event", "call", "event"] * 2]


def test_each_sample_of_a_burst_follows_a_pause_and_there_are_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert len(timing.sampled(lambda: None, "cpu", FEWEST, 0.1, 0.01, 0)["samples_ns"]) >= FEWEST
    pauses: list[float] = []
    monkeypatch.setattr(timing.time, "sleep", pauses.append)
    found = timing.sampled(lambda: None, "cpu", FEWEST, 0.1, 0.01, 20.0)
    assert pauses == [0.02] * FEWEST and len(found["samples_ns"]) == FEWEST
    assert found["samples_per_group"] == 1


def test_neither_shape_nor_layout_decides_when_a_product_is_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order: list[tuple[str, str]] = []

    def measured(about: dict[str, Any], *others: object) -> dict[str, Any]:
        order.append((about["shape"], about["layout"]))
        return about | TIMED

    monkeypatch.setattr(measuring, "measured", measured)
    shapes = [[n, n, n] for n in (8, 16, 32)]
    rows = measuring.products("cpu", "fp32", TINY | {"shapes": shapes})
    in_table = [(row["shape"], row["layout"]) for row in rows]
    assert order != in_table and sorted(order) == sorted(in_table)


@pytest.mark.parametrize(
    ("room_mib", "shape", "status"),
    [(64, "8 MiB", "ok"), (20, "3 MiB", "ok"), (10, "3 MiB", "oom")],
    ids=["fits", "least", "none"],
)
def test_buffers_that_do_not_fit_are_smaller_but_beyond_the_cache(
    monkeypatch: pytest.MonkeyPatch, room_mib: int, shape: str, status: str
) -> None:
    """Six buffers; of a cache of half a MiB, each is beyond four times that."""

    def allocate(sets: list[Any], elements: int, device: str) -> dict[str, Any]:
        if 6 * 4 * elements > room_mib * 2**20:
            raise torch.OutOfMemoryError("CUDA out of memory")
        sets += [[torch.ones(elements) for _ in range(3)] for _ in range(2)]
        return {}

    monkeypatch.setattr(measuring, "_allocate", allocate)
    monkeypatch.setattr(measuring, "l2_bytes", lambda device: 2**19)
    rows = measuring.bandwidths("cpu", TINY | {"buffer_mib": 8})
    assert {(found["shape"], found["status"]) for found in rows} == {(shape, status)}


def command(module: str, *arguments: object) -> tuple[int, str]:
    return served_stage(ROOT, f"workflow_src.{module}", *map(str, arguments))


def test_the_commands_from_end_to_end(tmp_path: Path) -> None:
    raw, made = tmp_path / "ceilings.json", tmp_path / "ceilings.csv"
    tables = partial(command, "tables.ceilings", "--measured", raw, "--output", made)
    status, said = command("measure.ceilings", "--point", json.dumps(POINT), "--output", raw)
    assert status == 0, said
    rows = json.loads(raw.read_text())["rows"]
    assert [found["name"] for found in rows] == [
        "read", "write", "copy", "scale", "triad", *["matmul"] * 3, "exp in a cache",
    ]  # fmt: skip
    assert rows[4]["bytes"] == 3 * 2**20 and rows[5]["flops"] == 2 * 16 * 8 * 4
    assert rows[8]["operations"] == 1024
    assert all("sm_clock_mhz" not in found for found in rows)
    status, said = tables()
    assert status == 0, said
    assert pd.read_csv(made)["is_ceiling"].sum() == 3
    raw.write_text("{}")
    status, said = tables()
    assert status == 1 and "is not a measurement of ceilings" in said


def test_the_table_is_an_input_where_it_is_or_may_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = dict(load(ROOT / "config.yaml")) | {"device": "cpu", "profiler": "torch"}
    dag = make_dag(config)
    monkeypatch.chdir(tmp_path)
    path = Path("results/quickstart/tables/ceilings.csv")
    assert made(dag.plan, "ceilings") == [str(path)] and measures("ceilings")
    assert Path("results/quickstart/ceilings.json") in dag.measured.files()
    monkeypatch.setattr(sys, "argv", ["snakemake", "--allowed-rules", "answer", "report"])
    assert made(dag.plan, "ceilings") == []
    path.parent.mkdir(parents=True)
    path.touch()
    assert made(dag.plan, "ceilings") == [str(path)]
