import re
import shutil
from pathlib import Path

import pytest

from workflow_src.plan.fingerprint import ROOT, closure, fingerprint
from workflow_src.studies.study import STUDIES, measuring_modules


@pytest.fixture
def package(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "workflow_src", tmp_path / "workflow_src")
    return tmp_path


def edit(root: Path, module: str, old: str, new: str) -> None:
    path = root / module
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


BENCHMARK = "workflow_src.measure.benchmark"
ATTENTION = "workflow_src/model/attention.py"


def before_and_after(root: Path, module: str, path: str, old: str, new: str) -> tuple[str, str]:
    before = fingerprint(module, root=root)
    edit(root, path, old, new)
    fingerprint.cache_clear()
    return before, fingerprint(module, root=root)


def test_comments_docstrings_and_layout_change_nothing(package: Path) -> None:
    old, new = "    def forward(self, q: Tensor", "    # why\n\n    def forward(self, q: Tensor"
    before, after = before_and_after(package, BENCHMARK, ATTENTION, old, new)
    assert before == after
    docstring = "one operation at a time"
    before, after = before_and_after(package, BENCHMARK, ATTENTION, docstring, "step by step")
    assert before == after


def test_the_models_arithmetic_changes_the_benchmark_and_not_the_plan(package: Path) -> None:
    plan = fingerprint("workflow_src.plan.suites", root=package)
    old, new = "/ math.sqrt(d_head)", "/ d_head"
    before, after = before_and_after(package, BENCHMARK, ATTENTION, old, new)
    assert before != after
    assert fingerprint("workflow_src.plan.suites", root=package) == plan


def test_a_stage_reaches_the_modules_that_it_imports_late() -> None:
    assert {"workflow_src.measure.workload", "workflow_src.model.attention"} <= closure(
        BENCHMARK
    ).keys()
    assert "workflow_src.model.attention" not in closure("workflow_src.tables.case_tables")


def test_relative_imports_are_not_used_as_the_closure_does_not_follow_them() -> None:
    sources = (ROOT / "workflow_src").rglob("*.py")
    assert not [path for path in sources if "\nfrom ." in path.read_text()]


def test_an_unknown_module_is_an_error() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"no module workflow_src\.absent"):
        fingerprint("workflow_src.absent")


@pytest.mark.parametrize("study", STUDIES)
def test_telling_of_a_study_measures_nothing_again(study: str) -> None:
    """What measures must not reach what answers, draws or reports."""
    reached = {name for module in measuring_modules(study) for name in closure(module)}
    telling = re.compile(
        r"workflow_src\.(answers|figure|report|studies\.(rows|\w+\.(figure|tables))$)"
    )
    assert not [name for name in sorted(reached) if telling.match(name)]
    assert f"workflow_src.studies.{study}.analyze" not in reached
