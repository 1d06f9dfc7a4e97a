"""What torch.compile changes of a case, as a course asks for it: beside the case as it is."""

from pathlib import Path

from tests.answers.reading import row_of
from tests.synthetic_tables import FORWARD, Sample, tables
from workflow_src.answers.forward_time.compiled import Compiled, compiled
from workflow_src.answers.softmax.result import softmax_of_case
from workflow_src.answers.tables import Tables
from workflow_src.common.words import DASH

NAMES = ("timings", "ranges", "captures", "kernels", "work")

FASTER = {"forward": 8.0, "forward_backward": 40.0, "train_step": 50.0}
ONE_RANGE = {"forward": [("forward/compiled", "triton_poi_fused_add_0", "elementwise", 30, 10**6)]}


def read(tmp_path: Path, *samples: Sample, **columns: object) -> Tables:
    """Tables of the samples, the compiled ones with further cells in timings.csv."""
    frames = tables(*samples)
    mine = frames["timings"]["execution"] == "compiled"
    for name, cell in columns.items():
        frames["timings"].loc[mine, name] = cell
    for name in NAMES:
        frames[name].to_csv(tmp_path / f"{name}.csv", index=False)
    return Tables.read(tmp_path, NAMES)


def cells(found: Compiled, row: int) -> list[str]:
    return row_of(found.phases.iloc[row])


def test_a_compiled_case_stands_beside_the_eager_one(tmp_path: Path) -> None:
    """12 to 8 ms saves 4 a step, by which 10 s of compiling pay after 2,500 steps.

    As graphs it saves 1 ms of these 4.
    """
    about = {"compile_ms": 10_000.0, "graphs": 2, "graph_breaks": 1}
    about |= {"graph_break_reasons": "print"}
    graphs = {"execution": "compiled", "replayed_ms": {"forward": 12.0}}
    case = Sample(median_ms=FASTER, kernels=ONE_RANGE, **graphs)
    eager = Sample(replayed_ms={"forward": 13.0})
    found = compiled(read(tmp_path, eager, case, **about))
    kernels = sum(calls for _, _, family, calls, _ in FORWARD if family != "copy")
    forward = ["small-ctx128-fp32-compiled", "forward", "12.0 → 8.00", "1.5 x", "13.0 → 12.0"]
    forward += ["25 %", "12.0 → 12.0"]
    forward += [f"{kernels} → 30", "0.977 → 0.977", "10.0", "2,500", "2", "1"]
    assert cells(found, 0) == forward
    # A phase that takes longer, 36 to 40 ms, never pays.
    assert cells(found, 1)[3] == "0.90 x" and cells(found, 1)[10] == DASH
    assert found.breaks.iloc[0].tolist() == [case.case, "forward", "print"]


def test_what_was_not_compiled_says_why(tmp_path: Path) -> None:
    status = dict.fromkeys(FASTER, ("failed", "torch.compile: no such luck"))
    found = compiled(read(tmp_path, Sample(execution="compiled", status=status)))
    assert cells(found, 0)[2:4] == [f"{DASH} → failed", DASH] and found.breaks.empty
    assert compiled(read(tmp_path, Sample())).phases.empty


def test_in_one_range_softmax_is_not_told_apart(tmp_path: Path) -> None:
    found = read(tmp_path, Sample(execution="compiled", kernels=ONE_RANGE))
    assert softmax_of_case(found, found.cases[0]).state == "not_told_apart"
