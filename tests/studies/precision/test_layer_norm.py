import torch

from workflow_src.studies.precision.layer_norm import exactly, layer_norms, normalized
from workflow_src.studies.precision.points import LAYER_NORM

NORMS = {"device": "cpu", "layer_norm": LAYER_NORM}


def test_a_layer_norm_in_double_precision_is_exact():
    x = torch.randn(4, 16, dtype=torch.float64) * 7 + 3
    assert torch.allclose(normalized(x, torch.float64)[0].double(), exactly(x), atol=1e-6)


def test_narrow_statistics_round_and_fp16_overflows():
    rows = {(r["variant"], r["statistics"], r["deviation"]): r for r in layer_norms(NORMS)}
    assert len(rows) == 8
    assert all(row["largest_error"] < 1e-5 for key, row in rows.items() if key[1] == "fp32")
    overflowing = {key for key, row in rows.items() if row["variance"] == "overflows"}
    assert overflowing == {("fp16", "fp16", 300.0)}
    fine = [row for key, row in rows.items() if key[1] != "fp32" and key not in overflowing]
    assert all(0.2 < row["largest_error"] / row["stored_error"] < 5 for row in fine)
