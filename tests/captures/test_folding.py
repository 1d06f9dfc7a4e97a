"""Ranges that differ by numbers alone are one path where they are many, and nothing is lost."""

from pathlib import Path

import pytest

from tests.captures.building import Export, busy, notes
from workflow_src.placing.attributed import attributed
from workflow_src.placing.paths import MANY, shape
from workflow_src.tables.capture_tables import placed_tables


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("step 3", "step *"),
        ("layer12", "layer*"),
        ("Conv2d", "Conv2d"),
        ("aten::mm, seq = 12, sizes = [[8, 16], []]", "aten::mm, seq = *, sizes = *"),
        ("aten::add, op_id = 3, input_op_ids = [(1,0), (,)]", "aten::add, op_id = *, "
         "input_op_ids = *"),
        ("cache 0x7f3a at 1.5", "cache * at *"),
        ("request 3f2a9c1e-12ab-4cde-8f01-23456789abcd", "request *"),
        ("commit 83f6e32a", "commit *"),
        ("facade", "facade"),
    ],
)  # fmt: skip
def test_a_shape_has_no_numbers(name: str, expected: str) -> None:
    assert shape(name) == expected


def with_layers(folder: Path, count: int) -> Export:
    export = Export(folder)
    export.range("forward", 0, 10 * count)
    for number in range(count):
        export.range(f"layer_{number}", 10 * number, 10 * number + 10)
        export.range("mm", 10 * number, 10 * number + 9)
        export.work(10 * number + 1, 2)
    return export


def test_many_numbered_ranges_of_one_path_are_one_and_a_note_says_so(tmp_path: Path) -> None:
    few = with_layers(tmp_path, MANY).tables()
    assert len(few["paths"]) == 1 + 2 * MANY and not notes(few)
    tables = with_layers(tmp_path, MANY + 1).tables()
    assert busy(tables, "busy_ms") == dict.fromkeys(
        ("forward", "forward/layer_*", "forward/layer_*/mm"), 2 * (MANY + 1)
    )
    note = tables["notes"].iloc[0]
    assert (note["note"], note["count"]) == ("folded names", MANY + 1)
    assert note["about"] == "layer_0 as layer_*"


def test_no_fold_at_all_keeps_names_and_a_pattern_comes_first(tmp_path: Path) -> None:
    capture = with_layers(tmp_path, MANY + 1).read()
    found = {
        fold: placed_tables(attributed(capture, None, fold=fold))["paths"]["path"].tolist()
        for fold in ("", r"_\d+")
    }
    assert len(found[""]) == 1 + 2 * (MANY + 1)
    assert found[r"_\d+"] == ["forward", "forward/layer", "forward/layer/mm"]
