"""The plan of a brought model: cases, columns, ids, staleness, and one sentence if it is bad."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.package import forget
from workflow_src.common.case import Brought
from workflow_src.common.errors import ConfigError
from workflow_src.dag.paths import CASE_PATTERN
from workflow_src.plan.brought import code_at
from workflow_src.plan.suites import Plan, make_plan
from workflow_src.plan.write_plan import as_csv

ROOT = Path(__file__).parent.parent
CONFIG = yaml.safe_load((ROOT / "config.yaml").read_text()) | {"device": "cpu", "profiler": "torch"}

MAKE = "def make(device, context, layers=2): ..."


def plan(folder: Path, source: str = MAKE, function: str = "make", **changes: Any) -> Plan:
    (folder / "my_model.py").write_text(source)
    workload = {"workload": f"{folder}/my_model.py:{function}"}
    return make_plan(CONFIG | workload | changes, folder)


def test_axes_make_cases_whose_columns_and_ids_tell_them_apart(tmp_path: Path) -> None:
    axes = {"context": [128, 256], "layers": [2, 4], "precision": ["fp32", "bf16"]}
    made = plan(tmp_path, axes=axes)
    assert made.tag == "my_model" and len(set(made.case_ids)) == 8
    assert made.case_ids[1] == "my_model-context=128-layers=2-bf16"
    assert all(re.fullmatch(CASE_PATTERN, name) for name in made.case_ids)
    case = made.cases[-1]
    assert isinstance(case, Brought)
    about = (case.size, case.context, case.batch, case.precision, case.attention, case.optimizer)
    assert about == ("my_model-layers=4", 256, 0, "bf16", "own", "own")
    assert case.arguments == {"context": 256, "layers": 4, "precision": "bf16"}
    assert "my_model-layers=4,256,0,bf16,own,own" in as_csv(made.rows())


@pytest.mark.parametrize(
    ("given", "value", "said"),
    [
        ("null", None, "None"),
        ("1e-5", 0.00001, "1e-05"),
        ("gpt2-medium", "gpt2-medium", "gpt2-medium"),
        ("true", True, "True"),
    ],
)
def test_an_axis_takes_any_number_null_and_text_with_hyphens(
    tmp_path: Path, given: object, value: object, said: str
) -> None:
    made = plan(tmp_path, "def make(device, x, y=1): ...", axes={"x": [given], "y": [2]})
    assert made.case_ids == [f"my_model-x={said}-y=2-fp32"]
    assert re.fullmatch(CASE_PATTERN, made.case_ids[0])
    found = made.cases[0].arguments["x"]  # type: ignore[union-attr]
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("source", "axes", "said"),
    [
        ("def make(device:\n", {}, "my_model.py: not readable as Python ("),
        ("def mako(device): ...", {}, "'make' is not one of mako; did you mean 'mako'?"),
        (MAKE, {"context": [1], "depth": [2]}, "takes no 'depth'; it takes device, context"),
        (MAKE, {"context": [1], "layers": ["a/b"]}, "axes.layers: 'a/b' must be made of letters"),
        (MAKE, {"context": [1], "precision": ["tf32"]}, "axes.precision: 'tf32' needs a CUDA"),
        (MAKE, {"context": [1], "layers": ["2", "+2"]}, "[2, 2] must not repeat a value"),
        (MAKE, {"context": [1], "layers": [None, "None"]}, "two cases would be called"),
        (MAKE, {"a-b": [1]}, "axes.a-b: 'a-b' must be made of letters, digits and underscores"),
    ],
)
def test_what_the_file_tells_is_checked_before_anything_runs(
    tmp_path: Path, source: str, axes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        plan(tmp_path, source, axes=axes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"workload": "my_model"}, "must be file.py:function, such as my_model.py:make"),
        ({"workload": "none.py:make"}, "there is no file none.py"),
        ({"axes": {"context": [1]}}, "axes: needs a workload"),
        ({"workload": "x.py:make", "studies": ["warmup"]}, "measures this project's own model"),
        ({"suites": {"quickstart": {"sizes": ["tiny"]}}}, ".contexts: this key is missing"),
    ],
)
def test_settings_that_contradict_get_one_sentence(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        make_plan(CONFIG | changes, tmp_path)


def test_a_case_is_stale_when_the_file_or_what_it_imports_from_beside_it_changes(
    tmp_path: Path,
) -> None:
    files = {
        "my_model.py": "import layers.core\nfrom layers import rope\nfrom torch import make\n",
        "layers/__init__.py": "from .norm import Norm\n",
        "layers/core.py": "from . import mlp\n",
        **dict.fromkeys(("layers/rope.py", "layers/norm.py", "layers/mlp.py"), "size = 1\n"),
        "unused.py": "size = 1\n",
    }
    (tmp_path / "layers").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)

    def hashed() -> str:
        forget()
        return code_at(f"{tmp_path}/my_model.py:make")

    before = hashed()
    for name, text in files.items():
        (tmp_path / name).write_text(f'"""A docstring."""\n# A comment.\n{text}')
    assert hashed() == before
    for name, text in files.items():
        (tmp_path / name).write_text(text + "more = 2\n")
        assert (hashed() != before) == (name != "unused.py"), name
        (tmp_path / name).write_text(text)
