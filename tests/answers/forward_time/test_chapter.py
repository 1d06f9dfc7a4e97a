"""(a) against small tables done by hand: see tests/synthetic_tables.py for their times."""

from dataclasses import replace
from pathlib import Path

from tests.answers.chapters import facts
from tests.synthetic_tables import STEPS, Sample

OTHERS = {"forward_backward": 36.0, "train_step": 50.0}


def of_times(plain: float, profiled: float, context: int = 128, **about: object) -> Sample:
    """A forward pass of 10 ms of device time that takes so long without the profiler and with."""
    times = Sample().times_ms | {"forward": (profiled, 10.0, profiled)}
    median = {"forward": plain, **OTHERS}
    made = Sample(context=context, times_ms=times, median_ms=median)
    return replace(made, **about)


def test_times_of_launch_bound_passes_have_a_mark_and_others_their_digits(tmp_path: Path) -> None:
    lost = of_times(1, 1, 512, status={"forward": ("oom", "CUDA out of memory")})
    found = facts("a", tmp_path, of_times(20, 30), of_times(10.5, 11, 256), lost)
    (plain,) = found["unprofiled"].values()
    first, *others = plain.iloc[0, 1:]
    assert "".join(map(str, first)) == "20†" and list(map(str, others)) == ["10.5", "OOM"]
    (of_cpu,) = facts("a", tmp_path, of_times(20, 30, device="cpu"))["unprofiled"].values()
    assert not isinstance(of_cpu.iloc[0, 1], tuple)  # A CPU launches nothing.
    assert list(map(str, found["by_case"]["profiled"])) == ["30.0", "11.0"]
    assert found["bound"] and STEPS == 2


def test_each_phase_has_its_mean_and_what_compiling_changes(tmp_path: Path) -> None:
    compiled = of_times(12, 13, execution="compiled")
    found = facts("a", tmp_path, of_times(24, 30), compiled)
    assert list(found["phases"]["phase"][:3]) == ["forward", "forward + backward", "training step"]
    assert [str(each) for each in found["phases"]["shown"][:3]] == ["24.0", "36.0", "50.0"]
    rows = found["compiled"]
    assert list(map(str, rows["times"])) == ["2.0 ×", "1.0 ×", "1.0 ×"]
    assert rows["eager_unprofiled"].iloc[0].value == 24
