"""Joining the tables of cases, their columns, conservation of time, and files that are whole."""

import csv
import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.captures.building import event, launched, tables_in, trace_file
from tools.describe import DOCS, page
from workflow_src.captures.capture import COLUMNS, Capture, Recording, frame
from workflow_src.common.atomic_write import partial_folder, write_csv, write_json, write_whole
from workflow_src.common.case import CASE_COLUMNS, PHASES, TABLES
from workflow_src.common.errors import StageError, TraceError
from workflow_src.common.read_table import read_table
from workflow_src.common.table_schema import FILE, columns, key, tables
from workflow_src.placing.attributed import attributed
from workflow_src.placing.case_capture import CaseCapture
from workflow_src.plan.settings import Config, Size, Suite
from workflow_src.tables.case_tables import capture_table, kernels_table
from workflow_src.tables.join import join


def case(name: str) -> dict[str, Any]:
    return dict.fromkeys(CASE_COLUMNS, "x") | {"case": name}


def write_case(folder: Path, name: str, **environment: str) -> None:
    (folder / name).mkdir()
    for table in TABLES:
        content = pd.DataFrame({"phase": ["forward"], "value": ["0.1000"]})
        if table == "environments":
            content = pd.DataFrame([environment])
        content.to_csv(folder / name / f"{table}.csv", index=False)


def test_joined_tables_start_with_the_case_and_keep_the_digits(tmp_path: Path) -> None:
    write_case(tmp_path, "a", gpu="H200", torch="2.13")
    write_case(tmp_path, "b", gpu="H200", torch="2.13")
    table = join(tmp_path, [case("b"), case("a")], "kernels")
    assert table["case"].tolist() == ["b", "a"], "the plan's order"
    assert tuple(table.columns) == (*CASE_COLUMNS, "phase", "value")
    assert table["value"].tolist() == ["0.1000", "0.1000"]


def test_a_planned_case_without_tables_is_not_measured(tmp_path: Path) -> None:
    write_case(tmp_path, "a", gpu="H200")
    timings = join(tmp_path, [case("a"), case("b")], "timings")
    absent = timings[timings["case"] == "b"]
    assert absent["status"].tolist() == ["not_measured"] * len(PHASES)


def captured(total_ns: int) -> CaseCapture:
    work = {name: [0] for name in COLUMNS["work"]} | {"duration_ns": [total_ns]}
    capture = Capture.of({"work": work}, by=Recording("nsys", "2025.3"))
    nothing = replace(attributed(Capture.of({}), None), capture=capture)
    return CaseCapture(nothing, capture.ranges, frame("work", {}))


def kernels(*rows: tuple[str, int]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["phase", "busy_ns"])
    return table.assign(kind="kernel", family="gemm")


def test_lost_time_is_an_error() -> None:
    """The parts don't add up to the total, or the total isn't what nsys stats reports."""
    with pytest.raises(TraceError, match="70 ns in ranges and 0 ns outside are not the 100 ns"):
        capture_table(captured(100), kernels(("forward", 70)), None)
    with pytest.raises(TraceError, match="nsys stats counts 99 ns"):
        capture_table(captured(100), kernels(("forward", 70), ("", 30)), 99)


def test_fractional_calls_per_step_stay_visible() -> None:
    ranges = pd.DataFrame({"path": ["forward"] * 2, "phase": ["forward"] * 2, "step": [0, 1]})
    path = ["forward", "forward", "forward", ""]
    about = {"path": path, "phase": path, "kind": "kernel", "name": "k"}
    activities = pd.DataFrame({**about, "duration_ns": [5, 5, 5, 7]})
    table = kernels_table(ranges, activities).set_index("phase")
    assert table.loc["forward", "calls_per_step"] == 1.5
    assert table.loc["", "busy_ns"] == 7 and pd.isna(table.loc["", "calls_per_step"])


def test_a_killed_writer_leaves_no_truncated_file(tmp_path: Path) -> None:
    target = tmp_path / "result.json"
    write_json(target, {"a": 1})
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from workflow_src.common.atomic_write import write_whole\n"
        "def write(path): path.write_text('half'); os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_whole(Path(sys.argv[1]), write)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(target)], cwd=os.getcwd())
    assert ended.returncode == -signal.SIGKILL
    assert target.read_text() == '{\n "a": 1\n}\n'


def test_partial_files_of_a_killed_job_are_removed_first(tmp_path: Path) -> None:
    litter = tmp_path / ".c.nsys-rep.partial" / "old"
    litter.parent.mkdir()
    litter.write_text("half")
    with partial_folder(tmp_path / "c.nsys-rep") as folder:
        assert list(folder.iterdir()) == []
    assert list(tmp_path.iterdir()) == []


def test_a_writer_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def write(path: Path) -> None:
        path.write_text("half")
        raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space left"):
        write_whole(tmp_path / "x.csv", write)
    assert list(tmp_path.iterdir()) == []


ROOT = Path(__file__).parent.parent


def test_every_column_of_a_captures_tables_is_described(tmp_path):
    work = [each for at in (10, 110, 210) for each in launched(at, at + 5, 60)]
    steps = [event("user_annotation", "step", at, 90) for at in (0, 100, 200)]
    made = tables_in(trace_file(tmp_path, [*steps, *work]), diagnosed=True)
    assert len(made) >= 12
    for name, table in made.items():
        assert {each.removesuffix("_per_step") for each in table} <= {*columns(f"capture/{name}")}


def test_columns_keys_and_settings_are_described_once_and_the_pages_are_made_of_that():
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert max(Counter((row["table"], row["column"]) for row in rows).values()) == 1
    assert all(row["meaning"] for row in rows)
    assert {row["type"] for row in rows} == {"", "text", "number", "whole", "id", "flag"}
    assert tuple(columns("case")) == CASE_COLUMNS
    assert {table: key(table) for table in tables() if set(key(table)) - set(columns(table))} == {}
    for kind in (Config, Suite, Size):
        assert all(each.description for each in kind.model_fields.values()), kind
    for name in ("tables.md", "settings.md"):
        assert (DOCS / name).read_text(encoding="utf-8") == page(DOCS / name)


@pytest.mark.parametrize("name", ["timings", "kernels", "studies/mlp"])
def test_a_row_that_is_there_twice_is_refused_with_its_line(name, tmp_path):
    """Once with another amount, where a key tells that it is the same row."""
    path = ROOT / "examples" / "h200" / "tables" / f"{name}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        heads, *rows = csv.reader(file)
    amounts = [c for c in heads if c in columns(name) and columns(name)[c].is_number]
    changed = [c for c in amounts if c not in key(name)][-1:] if key(name) else []
    again = [
        cell if head not in changed else "7" for head, cell in zip(heads, rows[0], strict=True)
    ]
    with (tmp_path / path.name).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([heads, *rows, again])
    by = ", ".join(key(name)) or "cells"
    with pytest.raises(StageError) as caught:
        read_table(tmp_path / path.name, name)
    assert f"(line {len(rows) + 2} has the same {by} as line 2); " in str(caught.value)


def test_only_texts_that_a_spreadsheet_would_compute_are_changed(tmp_path: Path) -> None:
    names = ['=HYPERLINK("x")', "+1-1", "-", "@a", "-1", "+.5e-3", "a=b", None, "", "\uff1dA1"]
    table = pd.DataFrame({"name": pd.Series(names, dtype=object), "ns": range(-1, 9)})
    table["kind"] = pd.Categorical(["=1+1", *["kernel"] * 9])
    write_csv(tmp_path / "a.csv", table)
    assert (tmp_path / "a.csv").read_text().splitlines() == [
        "name,ns,kind",
        '"\'=HYPERLINK(""x"")",-1,\'=1+1',
        "'+1-1,0,kernel",
        "-,1,kernel",
        "'@a,2,kernel",
        "-1,3,kernel",
        "+.5e-3,4,kernel",
        "a=b,5,kernel",
        ",6,kernel",
        ",7,kernel",
        "'\uff1dA1,8,kernel",
    ]
