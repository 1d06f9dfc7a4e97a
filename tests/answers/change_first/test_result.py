"""(f) against small tables done by hand: see tests/synthetic_tables.py for their times."""

import pandas as pd
import pytest

from tests.synthetic_tables import TRAIN, Sample, write_tables
from workflow_src.answers import stage
from workflow_src.answers.change_first.levers import measured
from workflow_src.answers.change_first.result import ChangeFirst, result
from workflow_src.answers.change_first.savings import OfPhase, Remedy, first_of_case
from workflow_src.answers.tables import Tables
from workflow_src.render.show import Printer

FAST = [("train_step/backward", "gemm_backward", "gemm", 48, 10_000_000)]
"""10 ms, where TRAIN takes 20."""


@pytest.fixture
def read(tmp_path):
    def reading(*samples: Sample) -> Tables:
        return stage.read(write_tables(tmp_path, *samples), "f")

    return reading


def of(tables: Tables, phase: str, place: int = 0) -> OfPhase:
    return first_of_case(tables, tables.cases[place]).phases[phase]


def saved(found: OfPhase, remedy: Remedy) -> tuple[float, bool]:
    saving = found.by(remedy)
    assert saving
    return saving.ms.number, saving.measured


def step(plain: float, busy: float, **about: object) -> Sample:
    """A case whose training step has these times."""
    times = {"forward": 12.0, "forward_backward": 36.0, "train_step": plain}
    captured = {phase: (ms + 1, busy, ms) for phase, ms in times.items()}
    return Sample(median_ms=times, times_ms=captured, **about)  # type: ignore[arg-type]


def test_launches_are_measured_by_a_replay_of_the_same_phase_or_else_bounded(read):
    """Backward takes 36 ms and 27 replayed; the step 50 ms, of which the device works for 20."""
    tables = read(Sample(replayed_ms={"forward_backward": 27.0}))
    assert saved(of(tables, "forward_backward"), Remedy.LAUNCHES) == (9.0, True)
    assert saved(of(tables, "train_step"), Remedy.LAUNCHES) == (30.0, False)
    share = of(tables, "train_step").first.share
    assert share.number == pytest.approx(0.6)


def test_medians_are_of_the_cases_in_which_a_remedy_was_measured(read):
    """One saves 10 of 50 ms by a replay, of the other 50 - 20 are a bound; then all are bounds."""
    replayed = {"train_step": 40.0}
    cells = []
    for found in ([Sample(replayed_ms=replayed), Sample(context=256)], [Sample()]):
        table = result(read(*found)).summary
        of_launches = table["that is saved by"] == "fewer launches"
        row = table[of_launches & (table["median share of"] == "training step")]
        cells.append(str(Printer()(row.iloc[0, 2])).split(";")[0])
    assert cells == ["20 %", "≤ 60 %"]


def test_what_the_device_does_bounds_the_optimizer_and_attention(read):
    """Optimizer 9 ms of TRAIN, of which 60 of 88 bytes can be saved; mask 0.5, softmax 3 ms."""
    tables = read(Sample())
    assert saved(of(tables, "train_step"), Remedy.OPTIMIZER) == (
        pytest.approx(9.0 * 60 / 88),
        False,
    )
    assert saved(of(tables, "forward"), Remedy.ATTENTION) == (pytest.approx(3.5), False)
    assert of(tables, "forward").by(Remedy.CASTS) is None
    assert of(tables, "forward").by(Remedy.OPTIMIZER) is None


def test_attention_in_a_training_step_is_what_its_operators_took_forward_and_backward(read):
    """Besides products 4 ms in softmax, 2 in the mask, 0.5 in attention with its range lost."""
    tables = read(Sample())
    assert of(tables, "train_step").by(Remedy.ATTENTION) is None, "ranges tell forward's alone"
    rows = [
        ("train_step/forward/block/attention/softmax", "elementwise", 1.0),
        ("train_step/forward/block/attention/softmax", "reduction", 3.0),
        ("train_step/forward/block/attention/scores", "elementwise", 2.0),
        ("train_step/forward/block/attention/scores", "gemm", 5.0),
        ("train_step/forward/block/attention/qkv", "copy", 7.0),
        ("train_step/forward/block/attention", "elementwise", 0.5),
    ]
    operators = pd.DataFrame(rows, columns=["path", "family", "busy_ms_per_step"])
    operators = operators.assign(case=tables.cases[0].case, phase="train_step")
    told = Tables({**tables.frames, "operators": operators})
    assert saved(of(told, "train_step"), Remedy.ATTENTION) == (6.5, False)


def test_a_lower_precision_saves_device_time_measured_where_its_device_does_not_wait(read):
    """20 ms of device time against 10; of the steps of 12 and 25 ms, that is 83 and 40 %."""
    kernels = {"train_step": FAST}
    for plain, measured_so in ((12.0, True), (25.0, False)):
        faster = step(plain, 10.0, precision="tf32", kernels=kernels)
        tables = read(step(22.0, 20.0, kernels={"train_step": TRAIN}), faster)
        assert saved(of(tables, "train_step"), Remedy.PRECISION) == (10.0, measured_so)
        assert of(tables, "train_step", place=1).by(Remedy.PRECISION) is None


def test_launches_come_first_where_the_device_waits_whatever_else_saves_more(read):
    """It works for 70 of 100 ms, then for 85: 60 of these are saved by the lower precision."""
    lower = step(20.0, 10.0, precision="bf16")
    for busy, first in ((70.0, Remedy.LAUNCHES), (85.0, Remedy.PRECISION)):
        found = of(read(step(100.0, busy), lower), "train_step").first
        assert found and found.remedy is first


def test_nothing_is_said_of_a_case_that_differs_in_more_than_the_remedy(read):
    tables = read(Sample(), Sample(precision="bf16", context=256))
    assert of(tables, "train_step").by(Remedy.PRECISION) is None


@pytest.mark.parametrize("written_out", ["naive", "eager"])
def test_another_attention_of_the_run_is_measured_in_place_of_the_bound(read, written_out):
    """Forward takes 12 ms of device time against 10."""
    tables = read(Sample(attention=written_out), step(20.0, 10.0, attention="sdpa"))
    assert saved(of(tables, "forward"), Remedy.ATTENTION) == (2.0, True)


def test_on_a_busy_cpu_nothing_is_compared(read):
    busy = {"load_average_before": 9.0, "cpu_cores": 2}
    found = of(read(Sample(device="cpu", environment=busy)), "forward")
    assert (found.state, found.savings, found.first) == ("not_comparable", (), None)


def test_each_case_is_counted_once_and_a_phase_that_ran_out_of_memory_says_so(read):
    oom = Sample(context=256, status={"train_step": ("oom", "CUDA out of memory")})
    found: ChangeFirst = result(read(Sample(), oom))
    assert found.phase == "training step"
    counted = [each.cases.number for each in (found.known, found.launches, found.device)]
    assert counted == [1, 1, 0]
    assert list(found.matrices[0].loc[0, ["256"]]) == ["OOM"]


def lever(variant: str, remedies: str, ms: float, **about: object) -> dict[str, object]:
    row = {"case": "a", "variant": variant, "remedies": remedies, "batches": 1}
    row |= {"phase": "train_step", "status": "ok", "median_ms": ms, "error_state": "ok"}
    return row | {"saving_share": 1 - ms / 100, "gradients_error": 0.01} | about


def test_of_the_study_levers_the_best_alone_and_together_are_shown_if_they_are_right():
    rows = [
        lever("plain", "", 100.0),
        lever("graph", "graph", 60.0),
        lever("foreach", "foreach", 120.0),
        lever("sdpa", "sdpa", 40.0, gradients_error=None),
        lever("batch_x2", "batch_x2", 50.0, batches=2),
        lever("then_graph", "sdpa+graph", 30.0),
    ]
    (row,) = measured(pd.DataFrame(rows)).itertuples(index=False)
    shown = [str(Printer()(cell)) for cell in row]
    assert shown == ["a", "100", "a CUDA graph", "40 %", "fused attention, a CUDA graph", "70 %"]
    assert measured(pd.DataFrame(rows[:1])).empty and measured(pd.DataFrame()).empty
