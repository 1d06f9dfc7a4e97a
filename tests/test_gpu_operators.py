"""What launched each kernel, on a CUDA device: run with `python -m pytest -m gpu`."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.joined import check, joined
from tests.on_gpu import ON_GPU, captured
from workflow_src.common.atomic_write import write_json
from workflow_src.common.case import PHASES, Case
from workflow_src.measure.benchmark import benchmark
from workflow_src.tables.case_tables import case_tables

pytestmark = ON_GPU

CASE = Case("t", "t", 768, 3072, 6, 12, 10000, 4, 256, "fp32", "naive", "adamw", "cuda")
VARIANTS = [("fp32", "naive", "adamw"), ("bf16", "naive", "foreach"), ("bf16", "sdpa", "fused")]


@pytest.mark.parametrize(("precision", "attention", "optimizer"), VARIANTS)
def test_almost_all_device_time_is_explained(
    tmp_path: Path, precision: str, attention: str, optimizer: str
) -> None:
    case = replace(CASE, precision=precision, attention=attention, optimizer=optimizer)
    write_json(tmp_path / "b.json", benchmark(case, 3, 3))
    tables = case_tables(captured(tmp_path, case), tmp_path / "b.json")
    alignment = tables["alignment"]
    assert set(alignment["phase"]) == set(PHASES)
    assert (alignment["aligned_share"] >= 0.99).all()
    assert (alignment["gemm_share_with_shape"] >= 0.99).all()
    assert check(joined(tables, case, tmp_path)).to_dict("records") == []
    assert (alignment["flops"] == alignment["flops_expected"]).all()
    # The loss gathers with a kernel that elsewhere looks up embeddings: 0.6 % of two layers' time.
    assert (alignment["family_disagreement_share"] <= 0.005).all()
    operators = tables["operators"]
    inside = operators[operators["path"].str.startswith("train_step/")]
    gemms = inside[inside["family"] == "gemm"]
    backward = gemms[gemms["forward_operator"] != ""]
    assert (backward["forward_operator"] == backward["operator"]).all()
    assert backward["busy_ms_per_step"].sum() > 0.5 * gemms["busy_ms_per_step"].sum()
