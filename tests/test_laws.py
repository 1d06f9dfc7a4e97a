"""The laws of conservation: they hold in what is made from recorded captures, and each can fail."""

import json
import sys
from ast import literal_eval
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.joined import check, joined
from tests.published import H100, H200
from workflow_src.cli import verify
from workflow_src.common.case import Case
from workflow_src.common.environment import PRIVATE
from workflow_src.common.table_schema import columns
from workflow_src.measure.benchmark import benchmark
from workflow_src.tables.case_tables import case_tables
from workflow_src.tables.laws import LAWS, READ, derived, read_tables

EXPORTS = Path(__file__).parent / "data" / "nsys"
TINY = ("tiny", 128, 512, 2, 4, 10_000, 4, 64)
RECORDED = [
    Case("tiny-ctx64-fp32", *TINY, "fp32", "naive", "adamw", "cpu"),
    Case("tiny-ctx64-bf16-sdpa-fused", *TINY, "bf16", "sdpa", "fused", "cpu"),
]
QUICK = Case("quick", "quick", 8, 16, 1, 1, 10, 1, 4, "fp32", "naive", "adamw", "cpu")
PUBLISHED = "small-ctx256-fp32"
"""A case of the published run for which every law compares something."""


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case.case)
def test_tables_of_recorded_captures_obey_the_laws_and_have_described_columns(
    case: Case, tmp_path: Path
) -> None:
    """Nothing was recorded of their operators; those of CPUs are in test_operators.py."""
    result = benchmark(QUICK, 0, 1, launched=False) | {"case": case.as_dict()}
    for row in result["phases"].values():
        row["launched"] = {"status": "failed", "reason": "RuntimeError: no CUPTI"}
    (tmp_path / "b.json").write_text(json.dumps(result))
    made = case_tables(EXPORTS / case.case, tmp_path / "b.json")
    tables = joined(made, case, tmp_path)
    assert tables["operators"].empty
    assert check(tables).to_dict("records") == []
    for name, table in made.items():
        private = PRIVATE if name == "environments" else ()
        assert {*table} <= {*columns(name), *private}


@cache
def published(run: Path = H200) -> dict[str, pd.DataFrame]:
    return read_tables(run / "tables")


def of_case() -> dict[str, pd.DataFrame]:
    """The published tables of one case."""
    return {name: rows[rows["case"] == PUBLISHED].copy() for name, rows in published().items()}


@pytest.mark.parametrize("run", [H100, H200], ids=["H100", "H200"])
def test_tables_of_published_runs_on_gpus_obey_all_laws(run: Path) -> None:
    rows = derived(published(run))
    compared = {law: law.compared(rows) for law in LAWS}
    assert [law.name for law, rows in compared.items() if rows.empty] == []
    assert [law.name for law, rows in compared.items() if len(law.broken(rows))] == []


TAMPERED = {
    "captures: attributed + outside = total": "captures attributed_ns + 1",
    "kernels = captures": "kernels busy_ns + 1",
    "kernels outside all steps = captures, outside": "captures outside_ns + 1",
    "kernels = captures, activities": "kernels calls + 1",
    "kernels = nsys stats": "captures stats_total_ns + 1",
    "kernels per step x steps = kernels": "kernels busy_ms_per_step + 1e-6",
    "kernels' calls per step x steps = calls": "kernels calls_per_step + 1",
    "kernels = ledger": "ledger busy_ns + 1",
    "kernels = ranges": "ranges busy_ms + 1e-6",
    "ledger = ranges, busy": "ledger busy_ns + 1",
    "ledger = ranges, wall time": "ranges host_ms + 1e-6 where path == phase",
    "ledger: active + idle = wall time": "ledger idle_ns + 1",
    "ledger: idle = its causes": "ledger idle_tail_ns + 1",
    "ledger: active <= wall time": "ledger device_active_ns + 1e12",
    "ranges: inner <= outer, host time": "ranges host_ms + 1e3 where path != phase",
    "kernels = ledger, steps": "kernels steps = 4",
    "operators = kernels, by path and family":
        "operators captured_path = 'train_step' where captured_path == 'train_step/backward'",
    "operators = kernels, calls": "operators calls_per_step + 1",
    "operators outside backward: path = captured path":
        "operators path = 'forward' where phase == 'forward'",
    "operators: paths are ranges": "operators path = 'forward/scores'",
    "kernels = alignment, steps": "alignment steps + 1",
    "operators = alignment, FLOPs": "operators flops_per_step + 2 where flops_per_step > 0",
    "alignment: FLOPs = those of the formulas": "alignment flops + -2",
    "alignment: FLOPs <= those of the formulas": "alignment flops + 2",
}  # fmt: skip
"""How to violate each law: what is added to a column of the first row, or all its rows are."""


def tamper(tables: dict[str, pd.DataFrame], how: str) -> None:
    table, column, change, rest = how.split(" ", 3)
    value, _, condition = rest.partition(" where ")
    rows: Any = tables[table]
    at = (rows.query(condition) if condition else rows).index
    if change == "+":
        rows.loc[at[0], column] += literal_eval(value)
    else:
        rows.loc[at, column] = literal_eval(value)


def test_each_law_has_a_way_to_violate_it() -> None:
    assert list(TAMPERED) == [law.name for law in LAWS]


@pytest.mark.parametrize("name", TAMPERED)
def test_a_law_fails_on_a_table_that_was_tampered_with(name: str) -> None:
    tables = of_case()
    tamper(tables, TAMPERED[name])
    found = check(tables, [each for each in LAWS if each.name == name])
    assert set(found["case"]) == {PUBLISHED}


def test_what_is_missing_in_one_table_is_a_violation() -> None:
    tables = of_case()
    tables["operators"]["flops_per_step"] = float("nan")
    tables["ledger"] = tables["ledger"].iloc[:0]
    found = check(tables).set_index("law")
    assert "operators = alignment, FLOPs" in found.index
    assert (found.loc[["kernels = ledger"], "right"] == 0).all()
    row = found.loc[["kernels = ledger, steps"]].set_index("phase").loc["forward"]
    assert (row["left"], row["right"], row["difference"]) == (3, 0, 3)


def verified(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "argv", ["verify", "--tables", str(folder)])
    with pytest.raises(SystemExit) as ended:
        verify.main()
    return ended.value.code


def test_the_command_prints_a_line_per_law_and_fails_on_violations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = of_case()
    for added, status, broken in ((0, 0, 0), (7, 1, 2)):
        tables["ledger"].iloc[0, tables["ledger"].columns.get_loc("busy_ns")] += added
        for name in READ:
            tables[name].to_csv(tmp_path / f"{name}.csv", index=False)
        assert verified(tmp_path, monkeypatch) == status
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == "captures: attributed + outside = total: 1 cases, 1 sums, 0 violations"
        assert lines[-1] == f"{len(LAWS) - broken} of {len(LAWS)} laws hold"
    at = lines.index("kernels = ledger: 1 cases, 3 sums, 1 violations")
    left, right = (int(word) for word in lines[at + 1].split() if word.isdigit())
    assert right - left == 7 and lines[at + 1].startswith(f"  {PUBLISHED}, forward: ")
