"""Blind captures (benchmarks/blind): plans, faults, and the three commands on a CPU."""

import gzip
import random
import sys
import threading
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import pandas as pd
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.blind.cli import main
from benchmarks.blind.faults import FAULTS, suits
from benchmarks.blind.models import KINDS
from benchmarks.blind.plan import NO_FAULT, Planned, planned
from benchmarks.blind.program import PHASES
from benchmarks.blind.record import KEY, PLAIN, made, running
from benchmarks.blind.score import scored, summary
from workflow_src.common.errors import StageError

COST_MS = 20.0


class Operators(TorchDispatchMode):
    """Counts operators by name and by the layouts of their tensors."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen: Counter[object] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Count one, and call it."""
        tensors = [each for each in args if isinstance(each, torch.Tensor)]
        layouts = tuple((each.dtype, tuple(each.shape), each.stride()) for each in tensors)
        self.seen[func, layouts] += 1
        return func(*args, **(kwargs or {}))


def done(kind: str, fault: str) -> tuple[Counter[object], set[str]]:
    """What three steps of a program do: operators, and which functions of blind's they call."""
    random.seed(0)
    torch.manual_seed(0)
    program = made(Planned("", kind, fault, (0,), "tiny", "torch", 0, 1.0), COST_MS)
    called: set[str] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and "benchmarks/blind" in frame.f_code.co_filename:
            called.add(frame.f_code.co_qualname)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        with running(program), Operators() as operators:
            for number in range(3):
                program.step(number)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return operators.seen, called


def test_a_seed_gives_one_plan() -> None:
    assert planned(7, 12) == planned(7, 12) != planned(8, 12)


def test_a_plan_has_clean_programs_and_no_fault_twice() -> None:
    plans = planned(7, 12)
    faults = [each.fault for each in plans if each.fault != NO_FAULT]
    assert (len(faults), len(set(faults))) == (10, 10)
    assert len({each.name for each in plans}) == 12
    assert {each.pace for each in plans} == {"host", "device"}


def test_there_are_as_many_parts_as_are_asked_for() -> None:
    assert len(KINDS) >= 8 and len(FAULTS) >= 20


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_each_fault_changes_what_the_program_does(fault: str) -> None:
    kind = next(kind for kind in ("decoder", "residual", "denoiser") if suits(fault, kind))
    assert done(kind, fault) != done(kind, NO_FAULT)


def test_captures_and_screens_do_not_show_the_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    captures, shown = tmp_path / "captures", tmp_path / "screens"
    main(["record", str(captures), "--tiny", "--count", "3", "--seed", "5"])
    printed = capsys.readouterr().out
    main(["screens", str(captures), str(shown)])
    key = pd.read_csv(captures / KEY, keep_default_na=False)
    assert sorted(path.stem for path in shown.iterdir()) == sorted(key["name"])
    assert list(pd.read_csv(captures / PLAIN)) == ["name", "plain_ms"]
    texts = [printed, *(path.read_text() for path in shown.iterdir())]
    texts += [gzip.decompress(path.read_bytes()).decode() for path in captures.glob("*.json.gz")]
    secret = [*(function.__name__ for function in FAULTS.values()), *key["kind"]]
    assert len(texts) == 1 + 2 * len(key)
    assert not [word for word in secret for text in texts if word in text]


def test_a_score_says_what_was_named_and_how_near_it_is() -> None:
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
    assert summary(table).startswith("2 of 3 named; of these 2 within 10 %")
    with pytest.raises(StageError, match="no row of 'c'"):
        scored(answers[:2], key)


def test_phases_have_the_parts_of_a_step() -> None:
    assert {len(names) for names in PHASES} == {5}
