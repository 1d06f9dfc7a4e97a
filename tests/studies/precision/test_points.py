from tests.workflow import ROOT
from workflow_src.plan.config import load
from workflow_src.studies.precision.points import points

SETTINGS = load(ROOT / "config.yaml")


def test_points_split_the_sizes():
    first, second = points("cuda", "full", SETTINGS)
    groups = [["small", "medium", "large"], ["xl", "2.7B"]]
    assert [list(first["sizes"]), list(second["sizes"])] == groups
    assert [first["point"], second["point"]] == ["small-medium-large", "xl-2.7B"]
    assert (first["numerics"], second["numerics"]) == (True, False)
    assert first["precisions"] == ["fp32", "tf32", "bf16"]
    assert first["profiled"] == ["fp32", "bf16"]


def test_points_take_the_sizes_from_the_configuration():
    xl = {"d_model": 32, "d_ff": 64, "layers": 1, "heads": 2}
    first, second = points("cuda", "full", {"sizes": {"xl": xl}, "vocabulary": 9})
    assert (first["point"], first["sizes"], first["numerics"]) == ("numerics", {}, True)
    assert (second["point"], second["sizes"], second["vocabulary"]) == ("xl", {"xl": xl}, 9)
    (alone,) = points("cpu", "small", {"sizes": {}, "vocabulary": 9})
    assert alone["numerics"]
