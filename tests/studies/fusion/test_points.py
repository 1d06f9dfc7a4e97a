import math

from tests.workflow import ROOT
from workflow_src.plan.config import load
from workflow_src.studies.fusion.points import points

SETTINGS = load(ROOT / "config.yaml")


def test_points_of_a_gpu_reach_the_sizes_asked_for() -> None:
    gelu, softmax = points("cuda", "full", SETTINGS)
    assert {shape[1] for shape in gelu["shapes"]} >= {2**20, 2**28}
    assert {math.prod(shape) for shape in softmax["shapes"]} == {2**26, 2**27}
    assert {shape[1] for shape in softmax["shapes"]} >= {128, 65536}
    assert gelu["dtypes"] == ["float32", "bfloat16"]
    assert "cuda_source" not in gelu, "the code's fingerprint covers the CUDA source"
