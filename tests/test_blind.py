"""First screens without a key, and the score of what a reader says of them."""

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.blind import NO_FAULT, main, scored, summary
from workflow_src.common.errors import StageError

RECORDED = Path(__file__).parent / "data/captures/planted/waits_in_hooks-device.sqlite.gz"


def test_a_screen_has_what_is_found_under_the_captures_name_alone(tmp_path: Path) -> None:
    captures, shown = tmp_path / "captures", tmp_path / "screens"
    captures.mkdir()
    shutil.copy(RECORDED, captures / "c0.sqlite.gz")
    (captures / "plain.csv").write_text("name,plain_ms\nc0,10.306\n")
    main(["screens", str(captures), str(shown)])
    text = (shown / "c0.md").read_text()
    assert text.startswith("## c0\n\n**") and re.search(r"1\.38\d* ms|1\.4 ms", text)
    assert "waits_in_hooks" not in text


def test_a_score_says_what_was_named_and_how_near_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = pd.DataFrame(
        {
            "name": ["a", "b", "c"], "fault": ["item", "stall", NO_FAULT], "pace": "host",
            "profiler": "torch", "plain_ms": 100.0, "cost_ms": [20.0, 30.0, 0.4],
        }
    )  # fmt: skip
    answers = pd.DataFrame(
        {"name": ["a", "b", "c"], "cause": ["item", "item", "none"], "ms": [28.0, 30.0, None]}
    )
    table = scored(answers, key)
    assert table["named"].tolist() == [True, False, True]
    assert table["off"].tolist() == pytest.approx([0.08, 0.0, 0.0])
    said = summary(table)
    assert said.startswith("2 of 3 named; of these 2 within 10 %")
    with pytest.raises(StageError, match="no row of 'c'"):
        scored(answers[:2], key)
    for name, rows in (("answers.csv", answers), ("key.csv.gz", key)):
        rows.to_csv(tmp_path / name, index=False)
    main(["score", str(tmp_path / "answers.csv"), str(tmp_path / "key.csv.gz")])
    assert capsys.readouterr().out.endswith(f"{said}\n")
