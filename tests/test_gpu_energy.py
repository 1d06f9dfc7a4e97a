"""The energy of steps on a CUDA device: run with `python -m pytest -m gpu`."""

from tests.on_gpu import ON_GPU
from workflow_src.common.case import PHASES, Case
from workflow_src.measure.benchmark import measure_all
from workflow_src.tables.measured import timings

pytestmark = ON_GPU

SMALL = Case("t", "t", 768, 3072, 12, 12, 10000, 4, 512, "bf16", "naive", "adamw", "cuda")


def test_each_phase_of_a_case_has_joules_that_rise_with_its_time() -> None:
    _, rows = measure_all(SMALL, 2, 5, [], 3)
    table = timings({"phases": rows}).set_index("phase").loc[[*PHASES]]
    print(table[["median_ms", "joules_per_step", "watts", "power_w"]])
    assert table["joules_per_step"].is_monotonic_increasing
    off = table["joules_most"] - table["joules_per_step"]
    assert (off < 0.04 * table["joules_per_step"]).all()
    assert (table["joules_least"] < table["joules_per_step"]).all()
