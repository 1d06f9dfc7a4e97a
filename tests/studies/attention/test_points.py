import json

import pytest

from tests.workflow import ROOT
from workflow_src.plan.config import load
from workflow_src.studies.attention import points
from workflow_src.studies.attention.passes import NAMES

SETTINGS = load(ROOT / "config.yaml")


@pytest.mark.parametrize("name", [*points.EAGER, *points.VERSIONS, "compiled"])
def test_every_implementation_has_a_name(name):
    assert name in NAMES


@pytest.mark.parametrize(("device", "scale"), points.CONTEXTS)
def test_points_have_ids_of_their_own(device, scale):
    found = points.points(device, scale, SETTINGS)
    assert [point["point"] for point in found] == ["cores", "compiled", "module", "plain", "loops"]
    assert json.loads(json.dumps(found)) == found
