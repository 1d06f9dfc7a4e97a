"""After one edit, just the stages that depend on it are stale; what measures, by little alone.

Rules pass the hashes of their stages as params, so comparing hashes is the check that snakemake
makes (`test_every_rule_passes_the_hash_of_what_it_runs`).
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.package import MEASURING, STAGES, by_time, changed, copy_package, edit, hashes
from tests.workflow import ROOT, served_stage
from workflow_src.plan import code
from workflow_src.studies.study import STUDIES

TABLES_OF_STUDIES = {"tables of studies"}
DRAWN = {f"answer {question}" for question in "acde"}
RUN_A_MODEL = {"benchmark", "capture"} | {
    f"{study} point"
    for study in (
        "warmup",
        "precision",
        "accounting",
        "memory",
        "checkpointing",
        "ranks",
        "levers",
    )
}
RUN_THE_SOFTMAX = {*RUN_A_MODEL, "attention point"}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, str]]]:
    """A copy of the package and its hashes. Tests must undo their edits."""
    root = copy_package(tmp_path_factory.mktemp("package"))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_named", "_code"):
            patch.setattr(code, name, by_time(getattr(code, name).__wrapped__))
        yield root, hashes(root)


def stale(package: tuple[Path, dict[str, str]], file: str, old: str, new: str) -> set[str]:
    """The stages that an edit makes stale; the edit is undone afterwards."""
    root, before = package
    path = root / "workflow_src" / file
    text = path.read_text()
    try:
        edit(root, file, old, new)
        return changed(root, before)
    finally:
        path.write_text(text)


BEHAVIOR = [
    pytest.param(
        "captures/store.py", "ORDER BY rowid LIMIT", "ORDER BY 1 LIMIT",
        {"case_tables", "findings", "timeline"},
        id="SQL that reads an export",
    ),
    pytest.param(
        "placing/families.csv", "gemm,(?i)nvjet", "copy,(?i)nvjet",
        {"case_tables", "findings", "timeline"},
        id="a rule in families.csv",
    ),
    pytest.param(
        "model/attention.py", "/ math.sqrt(d_head)", "/ d_head",
        RUN_THE_SOFTMAX, id="the model's arithmetic",
    ),
    pytest.param(
        "ops/softmax.py", "1.4426950408889634", "1.442695", RUN_THE_SOFTMAX, id="a Triton softmax"
    ),
    pytest.param(
        "common/device_locks.py", "POLL_S = 0.2", "POLL_S = 0.3", set(),
        id="how a device is locked",
    ),
    pytest.param(
        "measure/timing.py", "time.perf_counter_ns() - start", "time.time_ns() - start",
        MEASURING, id="how wall-clock time is taken",
    ),
    pytest.param(
        "common/environment.py", '"gpu", "cpu",', '"gpu",',
        {"environment", "opening", "ceilings table"} | TABLES_OF_STUDIES,
        id="what must be the same in all cases",
    ),
    pytest.param(
        "plan/suites.py", "MOST_BLOCKS_IN_CAPTURE = 128", "MOST_BLOCKS_IN_CAPTURE = 64", {"plan"},
        id="how the plan is made: params decide what is measured",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "expected"), BEHAVIOR)
def test_an_edit_makes_stale_what_depends_on_it(
    package: tuple[Path, dict[str, str]], file: str, old: str, new: str, expected: set[str]
) -> None:
    found = stale(package, file, old, new)
    assert expected <= found and found & MEASURING == expected & MEASURING


def test_a_studys_measuring_is_a_part_of_its_points_alone() -> None:
    measuring = {f"workflow_src.studies.{study}.measure": f"{study} point" for study in STUDIES}
    for name, module in STAGES.items():
        found = {
            measuring[each] for each in code.reached(f"workflow_src.{module}") if each in measuring
        }
        assert found == {name} & {*measuring.values()}, name


NOTHING = [
    pytest.param(
        "model/attention.py", '        """Attend from each', '        # why\n\n        """Attend',
        id="a comment and a docstring",
    ),
    pytest.param("measure/rows.py", "import gc\n", "import   gc\n\n", id="layout"),
    pytest.param("cli/verify.py", "SHOWN = 3", "SHOWN = 4", id="a command for people"),
    pytest.param("plan/code.py", "[:12]", "[:13]", id="hashes"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new"), NOTHING)
def test_what_decides_no_measurement_makes_none(
    package: tuple[Path, dict[str, str]], file: str, old: str, new: str
) -> None:
    assert not stale(package, file, old, new) & MEASURING


IMPORTED = """
import importlib, os, sys
sys.path.append(sys.argv[1])
for module in sys.argv[2:]:
    if not os.fork():
        importlib.import_module(module)
        print(*sys.modules, flush=True)
        os._exit(0)
    os.wait()
"""


def test_what_measures_reaches_all_modules_that_it_imports(tmp_path: Path) -> None:
    names = ("benchmark", "capture", "ceilings", "levers point")
    modules = [f"workflow_src.{STAGES[name]}" for name in names]
    (tmp_path / "imported.py").write_text(IMPORTED)
    status, said = served_stage(tmp_path, "imported", str(ROOT), *modules)
    assert status == 0, said
    for module, line in zip(modules, said.splitlines(), strict=True):
        imported = {each for each in line.split() if each.startswith("workflow_src.")}
        assert module in imported and imported <= {*code.reached(module)}, module


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import workflow_src.b\n", "b"),
        ("from workflow_src import b as other\n", "b"),
        ("from workflow_src.b import f  # why\n", "b"),
        ("from workflow_src import (\n    c,\n    b,\n)\n", "b c"),
        ("def f():\n    from . import b\n", "b"),
        ("from .c import b\n", "c"),
        ("run('-m', 'workflow_src.b')\n", "b"),
        ("import json, workflow_src.c\n", "c"),
    ],
)
def test_imports_and_programs_are_followed(tmp_path: Path, text: str, names: str) -> None:
    (tmp_path / "workflow_src").mkdir()
    for name in ("b", "c", "d", "__init__"):
        (tmp_path / "workflow_src" / f"{name}.py").write_text("")
    (tmp_path / "workflow_src" / "a.py").write_text(text)
    found = code.reached("workflow_src.a", tmp_path)
    assert found.keys() == {"workflow_src", *(f"workflow_src.{n}" for n in ["a", *names.split()])}


def test_every_rule_passes_the_hash_of_what_it_runs() -> None:
    """So a changed hash is a changed param, and no rule runs without one."""
    rules = "\n".join(path.read_text() for path in sorted((ROOT / "rules").glob("*.smk")))
    found = []
    for rule in re.split(r"^rule ", rules, flags=re.MULTILINE)[1:]:
        (runs,) = re.findall(r'"python -m (\S+?)[" ]', rule)
        (code,) = re.findall(r"code=dag\.code\((?:\"(.+)\"|[\w.]+)\)", rule)
        assert "--study" not in rule or 'study=dag.code("studies.{wildcards.study}.' in rule
        found.append((runs.removeprefix("workflow_src."), code or "{params.module}"))
    assert found and all(runs == code for runs, code in found), found
