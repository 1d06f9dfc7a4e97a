"""(f): what remedies save, which comes first, and what is said of it, of small tables.

Unless a test says otherwise, a plain training step takes 50 ms, for 20 of which the device works.
"""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tests.answers.chapters import run_of
from tests.synthetic_tables import Sample, write_tables
from workflow_src.answers.change_first.savings import chosen, savings
from workflow_src.paper.run import Run

STEP, FORWARD = "train_step", "forward"
G, B, BOTH, PAIR = "graph", "bf16", "bf16+graph", "fused+graph"


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Run]:
    def reading(*samples: Sample, **frames: pd.DataFrame) -> Run:
        write_tables(tmp_path, *samples)
        for name, frame in frames.items():
            path = tmp_path / f"{name.replace('_', '/')}.csv"
            path.parent.mkdir(exist_ok=True)
            frame.to_csv(path, index=False)
        return run_of("f", tmp_path)

    return reading


def known(run: Run, phase: str = STEP, place: int = 0) -> dict[str, tuple[float, ...]]:
    """Times of a case by remedies: the median, the least and the most."""
    rows = savings(run)
    rows = rows[(rows["case"] == run.cases.index[place]) & (rows["phase"] == phase)]
    return {
        name: tuple(round(float(each), 3) for each in (ms, *ms.ends))
        for name, ms in zip(rows["remedies"], rows["time"], strict=True)
    }


def train(ms: float, **about: object) -> Sample:
    times = {FORWARD: 12.0, "forward_backward": 36.0, STEP: ms}
    return Sample(median_ms=times, **about)  # type: ignore[arg-type]


def predictions(
    sample: Sample, *rows: tuple[str, float, float, float], phase: str = STEP
) -> pd.DataFrame:
    about = sample.front | {"phase": phase, "reason": "", "plain_ms": 50.0}
    columns = ["remedies", "predicted_ms", "low_ms", "high_ms"]
    found = [about | {"status": "ok"} | dict(zip(columns, row, strict=True)) for row in rows]
    unknown = {"remedies": "tf32+compile", "status": "not_known", "reason": "no operators"}
    return pd.DataFrame([*found, about | unknown])


def test_a_replay_and_other_cases_measure_remedies_alone_and_with_a_graph(read) -> None:
    """Of one process: 10 % of a step's samples lie below 0.95 and above 1.1 of the median."""
    run = read(
        Sample(replayed_ms={STEP: 40.0}),
        train(30.0, precision="bf16", replayed_ms={STEP: 22.0}),
        train(25.0, precision="bf16", attention="sdpa"),
        Sample(precision="bf16", context=256),
        Sample(size="mini"),
    )
    assert known(run) == {
        "bf16": (30.0, 28.5, 33.0),
        "graph": (40.0, 40.0, 40.0),
        "bf16+sdpa": (25.0, 23.75, 27.5),
        "bf16+graph": (22.0, 22.0, 22.0),
    }
    for place in (2, 3, 4):
        assert known(run, place=place) == {}, "nothing is better, or it differs in more"


def test_what_was_measured_counts_and_keeps_its_prediction_beside_it(read) -> None:
    sample = Sample(replayed_ms={STEP: 40.0})
    rows = [(G, 35.0, 30.0, 39.0), ("fused", 45.0, 44.0, 46.0), (PAIR, 34.0, 33.0, 35.0)]
    run = read(sample, remedies=predictions(sample, *rows))
    assert known(run) == {"fused": (45, 44, 46), G: (40, 40, 40), PAIR: (34, 33, 35)}
    found = savings(run).set_index("remedies")
    assert found["measured"].to_dict() == {"fused": False, G: True, PAIR: False}
    assert float(found["guess"][G]) == 35 and found["guess"].notna().sum() == 1
    assert not found["trains"][G], "AdamW written out counts its steps on the host"
    assert found["change"][found["first"]].tolist() == ["fused AdamW and a CUDA graph"]


ALL = {G: 30, B: 60, "fused": 90, BOTH: 25, "foreach+graph": 29, PAIR: 28}


@pytest.mark.parametrize(
    ("times", "trains", "contenders", "best"),
    [
        ({G: (60, 59, 61), B: (80, 70, 90)}, True, [G], G),
        ({G: (60, 59, 61), B: (70, 61, 79)}, True, [G, B], G),
        ({G: (60, 59, 61), B: (50, 20, 120)}, True, [B, G], G),
        ({G: (60, 59, 61), B: (101, 50, 150)}, True, [G, B], G),
        ({G: (60, 59, 75), "sdpa": (78, 77, 79), B: (80, 70, 90)}, True, [G, B], G),
        ({G: (99, 97, 101), B: (120, 90, 140)}, True, [], ""),
        ({G: (60, 59, 61), BOTH: (20, 19, 21)}, True, [G], BOTH),
        ({B: (120, 110, 130), BOTH: (20, 19, 21)}, True, [], BOTH),
        (ALL, True, [G], BOTH),
        (ALL, False, [PAIR], PAIR),
        ({G: 30, B: 60, BOTH: 25}, False, [B], B),
        ({G: 30, "fused": 28.1, PAIR: 28}, False, [PAIR], PAIR),
    ],
)
def test_first_is_the_single_remedy_that_saves_most_and_trains(
    times: dict[str, tuple[float, float, float] | float],
    trains: bool,
    contenders: list[str],
    best: str,
) -> None:
    """The plain time is 100 ms. trains: of a graph without another optimizer."""
    rows = []
    for names, ms in times.items():
        rest, low, high = ms if isinstance(ms, tuple) else (ms, ms - 0.1, ms + 0.1)
        counts = trains or G not in names or names.startswith("f")
        rows.append((names, rest / 100, low / 100, high / 100, high < 100, counts))
    columns = ["remedies", "rest", "low", "high", "sure", "trains"]
    found = chosen(pd.DataFrame(rows, columns=columns).assign(case="a", phase=STEP))
    found = found.sort_values("rest").set_index("remedies")
    assert [*found.index[found["contends"]]] == contenders
    assert [*found.index[found["first"]]] == contenders[:1]
    assert "".join(found.index[found["best"]]) == best
