from tests.workflow import ROOT
from workflow_src.common.schema import sentence, violation
from workflow_src.plan.config import load
from workflow_src.studies.models import case_of
from workflow_src.studies.warmup.points import POINT, points

SETTINGS = load(ROOT / "config.yaml")


def test_sizes_and_vocabulary_are_those_of_the_configuration():
    large = SETTINGS["sizes"]["large"]
    settings = SETTINGS | {"vocabulary": 77, "sizes": {"large": large | {"d_ff": 99}}}
    found = points("cuda", "full", settings)
    assert {point["size"] for point in found} == {"large"}
    case = case_of(found[0] | {"device": "cuda"}, "large", "fp32")
    assert (case.vocabulary, case.d_ff, case.layers, case.d_head) == (77, 99, 36, 64)
    assert (case.case, case.context, case.batch) == ("large-ctx256-fp32", 256, 4)


def test_a_point_is_one_run_of_one_size():
    ids = [point["point"] for point in points("cpu", "full", SETTINGS)]
    sizes = ("small", "medium", "large", "xl", "2.7B")
    assert ids == [f"{size}-ctx256-warmup{steps}" for size in sizes for steps in (0, 1, 2, 5)]
    assert len(points("cpu", "small", SETTINGS)) == 4


def test_the_cause_is_a_point_of_the_smallest_and_the_largest_size_on_a_gpu():
    def causes(device, scale, settings=SETTINGS):
        found = points(device, scale, settings)
        return [point["point"] for point in found if point.get("cause")]

    assert causes("cuda", "full") == ["small-ctx256-cause", "2.7B-ctx256-cause"]
    assert causes("cuda", "small") == ["tiny-ctx64-cause"]
    assert causes("cpu", "full") == causes("cpu", "small") == []
    few = SETTINGS | {"sizes": {size: SETTINGS["sizes"][size] for size in ("medium", "xl")}}
    assert causes("cuda", "full", few) == ["medium-ctx256-cause", "xl-ctx256-cause"]
    assert causes("cuda", "full", SETTINGS | {"sizes": {}}) == []


def test_a_point_says_what_it_needs_of_its_kind():
    run, *_, cause = points("cuda", "small", SETTINGS)
    assert violation(run, POINT) is violation(cause, POINT) is None
    for point, key in ((run, "warmup_steps"), (cause, "repeats"), (cause, "steps")):
        less = {name: value for name, value in point.items() if name != key}
        assert sentence(violation(less, POINT)) == f"the key {key!r} is missing"
    assert "must be true or false" in sentence(violation(run | {"cause": 1}, POINT))
