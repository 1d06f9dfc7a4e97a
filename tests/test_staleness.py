"""After one edit, exactly the stages that depend on it are stale.

Rules pass the fingerprints of their stages as params, so comparing fingerprints is the check that
snakemake makes (`test_every_rule_passes_the_fingerprint_of_what_it_runs`).
"""

import re
from functools import cache
from pathlib import Path

import pytest

from tests.answers.chapters import OTHERS
from tests.package import (
    BENCHMARKS,
    MEASURING,
    STAGES,
    changed,
    changed_by,
    copy_package,
    edit,
    hash_of,
    move,
)
from tests.studies.chapters import WRITTEN
from tests.workflow import ROOT
from workflow_src.plan.code import Code
from workflow_src.plan.reader import Ref
from workflow_src.studies.study import STUDIES

TABLES_OF_STUDIES = {f"{study} table" for study in STUDIES}
CHAPTERS = {f"{study} section" for study in WRITTEN}
DRAWN = {f"answer {question}" for question in "acde"}
ANSWERS = {stage for stage in STAGES if stage.startswith("answer ")}
RUN_A_MODEL = {*BENCHMARKS, "capture"} | {
    f"{study} point"
    for study in (
        "profiler",
        "warmup",
        "precision",
        "accounting",
        "memory",
        "checkpointing",
        "ranks",
        "levers",
    )
}
RUN_THE_SOFTMAX = {*RUN_A_MODEL, "attention point", "fusion point"}


@cache
def code_of(root: Path) -> Code:
    """The package as it was read before any edit."""
    return Code(root)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A copy of the package and its fingerprints. Tests must undo their edits."""
    root = copy_package(tmp_path_factory.mktemp("package"))
    runs = {stage: Ref("run", f"workflow_src.{name}") for stage, name in STAGES.items()}
    return root, {stage: hash_of(run, code_of(root)) for stage, run in runs.items()}


READ_BY = {"ops/gelu.cu": "ops/cuda.py", "plan/config.schema.yaml": "plan/config.py"}
"""The module that reads a file; a table lies beside the module of its name, which reads it."""


def stale(package: tuple[Path, dict[str, str]], file: str, old: str, new: str) -> set[str]:
    """The stages that an edit makes stale; the edit is undone afterwards."""
    root, before = package
    path = root / "workflow_src" / file
    text = path.read_text()
    try:
        edit(root, file, old, new)
        # What test_fingerprint.py shows to be the same as reading the whole package again.
        read_by = Path(READ_BY.get(file, file)).with_suffix("")
        module = ".".join(("workflow_src", *read_by.parts))
        return changed_by(module.removesuffix(".__init__"), code_of(root), before)
    finally:
        path.write_text(text)


POINTS_OF_CAPTURES = ("ranks point",)

BEHAVIOR = [
    pytest.param(
        "captures/sqlite_store.py", "ORDER BY at", "ORDER BY c0",
        {"case_tables", "findings", "timeline", *POINTS_OF_CAPTURES},
        id="SQL that reads an export",
    ),
    pytest.param(
        "captures/capture.py", '"launch_end_ns",', '"launch_end_ns", "end_ns",',
        {"case_tables", "findings", "export", "timeline", *POINTS_OF_CAPTURES},
        id="a column that a capture keeps",
    ),
    pytest.param(
        "common/nesting.py", 'side="right"', 'side="left"',
        {"case_tables", "findings", "timeline", *POINTS_OF_CAPTURES}, id="where work is placed",
    ),
    pytest.param(
        "placing/kernel_names.py", "MAX_LENGTH = 64", "MAX_LENGTH = 60",
        {"case_tables", "findings", "timeline", "ranks point"} | TABLES_OF_STUDIES,
        id="the length of displayed kernel names",
    ),
    pytest.param(
        "placing/families.csv", "gemm,(?i)nvjet", "copy,(?i)nvjet",
        {"case_tables", "findings", "timeline", "ranks point"} | TABLES_OF_STUDIES,
        id="a rule in families.csv",
    ),
    pytest.param(
        "model/memory_formulas.py", "gate = 8 * stream", "gate = 4 * stream",
        {"accounting table", "memory table"}, id="a formula of memory",
    ),
    pytest.param(
        "model/step_memory.py", "(26, 20) if half", "(26, 18) if half",
        {"accounting table", "memory table", "checkpointing table"}, id="a formula of a step",
    ),
    pytest.param(
        "captures/call_kinds.py", "Library|Module(?!Launch)|", "Library|",
        {"case_tables", "findings", "timeline", *POINTS_OF_CAPTURES},
        id="which CUDA calls load code",
    ),
    pytest.param(
        "captures/call_kinds.py", "|^cuLaunch", "",
        {"case_tables", "findings", "timeline", *POINTS_OF_CAPTURES},
        id="which CUDA calls launch work",
    ),
    pytest.param(
        "diagnosis/remedies/update.py", "PASSES_UNSURE = 0.15", "PASSES_UNSURE = 0.1",
        {"remedies"}, id="what a remedy is expected to do",
    ),
    pytest.param(
        "studies/levers/trial.py", "replay()\n", "replay()\n            replay()\n",
        {"levers point"}, id="how a remedy is tried",
    ),
    pytest.param(
        "common/operators.py", "SOFTMAX_FLOPS = 5", "SOFTMAX_FLOPS = 4",
        {"case_tables", "accounting table", "checkpointing table", "answer e"},
        id="a formula of FLOPs",
    ),
    pytest.param(
        "model/attention.py", "/ math.sqrt(d_head)", "/ d_head",
        {*RUN_A_MODEL, "attention point"}, id="the model's arithmetic",
    ),
    pytest.param(
        "model/adamw.py", "BETAS = (0.9, 0.999)", "BETAS = (0.9, 0.99)", RUN_A_MODEL,
        id="the optimizer",
    ),
    pytest.param(
        "ops/gelu.py", "0.044715 *", "0.0447 *", {"fusion point"}, id="a Triton kernel"
    ),
    pytest.param("ops/gelu.cu", "0.044715f", "0.0447f", {"fusion point"}, id="gelu.cu"),
    pytest.param(
        "ops/softmax.py", "1.4426950408889634", "1.442695", RUN_THE_SOFTMAX, id="a Triton softmax"
    ),
    pytest.param(
        "ops/softmax.py", "ROWS: tl.constexpr", "ROWS: int", RUN_THE_SOFTMAX,
        id="an annotation that Triton reads",
    ),
    pytest.param(
        "common/device_locks.py", "POLL_S = 0.2", "POLL_S = 0.3", MEASURING,
        id="how a device is locked",
    ),
    pytest.param(
        "measure/processes.py", "for _ in row[", "for _ in 2 * row[",
        {"benchmark in processes", *(f"{study} point" for study in STUDIES)},
        id="how several processes are merged",
    ),
    pytest.param(
        "measure/timing.py", "time.perf_counter_ns() - start", "time.time_ns() - start",
        MEASURING - {"capture", "memory point"}, id="how wall-clock time is taken",
    ),
    pytest.param(
        "measure/ceilings.py", "TIMES_L2 = 4", "TIMES_L2 = 5",
        {"ceilings", "fusion point"}, id="how ceilings are measured",
    ),
    pytest.param(
        "measure/l2.py", "BEYOND = 2", "BEYOND = 3",
        {"fusion point", "matmul point", "mlp point"},
        id="how the L2 cache is evaded",
    ),
    pytest.param(
        "tables/ceilings.py", "GAP = 0.5", "GAP = 0.4", {"ceilings table"},
        id="how samples on two levels are told",
    ),
    pytest.param(
        "common/ceilings.py", "return float(row[work] / ns * scale)",
        "return float(row[work] / ns / scale)",
        {"ceilings table", "fusion table", "checkpointing table"},
        id="the rate of a ceiling",
    ),
    pytest.param(
        "measure/activities.py", "calls[activity] += 1", "calls[activity] += 2",
        {
            f"{s} point"
            for s in (
                "profiler", "precision", "attention", "fusion", "matmul", "mlp", "accounting",
                "levers",
            )
        },
        id="how the studies count activities",
    ),
    pytest.param(
        "common/nsys_cli.py", '"--cpuctxsw=none"', '"--cpuctxsw=process-tree"',
        {"capture", "profiler point"}, id="how nsys captures",
    ),
    pytest.param(
        "common/nsys_cli.py", '    "cuda_api_sum",\n', "", {"export"}, id="a report of nsys stats"
    ),
    pytest.param(
        "common/summary.py", "[20, 50, 80]", "[25, 50, 75]",
        {"case_tables", "ceilings table"} | TABLES_OF_STUDIES,
        id="a summary of samples",
    ),
    pytest.param(
        "common/environment.py", '"gpu", "cpu",', '"gpu",',
        {"environment", "report", "ceilings table"} | TABLES_OF_STUDIES,
        id="what must be the same in all cases",
    ),
    pytest.param(
        "common/thresholds.py", "NEARLY_ALL_DEVICE = 0.95", "NEARLY_ALL_DEVICE = 0.9",
        {"report"}, id="the launch-bound threshold",
    ),
    pytest.param(
        "answers/forward_time/chapter.py", "CLEARLY_MORE = 0.5", "CLEARLY_MORE = 0.6",
        {"answer a"}, id="a threshold of one answer",
    ),
    pytest.param(
        "common/thresholds.py", "OUTSIDE_LIMIT = 0.001", "OUTSIDE_LIMIT = 0.01",
        {"report"}, id="a threshold of the table of checks",
    ),
    pytest.param(
        "answers/step_parts/figure.py", '"#332288"', '"#332289"', {"figure"},
        id="a color of a figure",
    ),
    pytest.param(
        "paper/drawing.py", '"#4477AA"', '"#4477AB"', DRAWN | CHAPTERS,
        id="a color of all figures",
    ),
    pytest.param(
        "paper/show.py", 'f"{percent:.1f} %"', 'f"{percent:.2f} %"',
        {f"answer {each}" for each in OTHERS} | {"figure", "report"},
        id="how a share is formatted",
    ),
    pytest.param(
        "studies/mlp/chapter.py", "OPERATORS_SHOWN = 256, 5", "OPERATORS_SHOWN = 256, 6",
        {"mlp section"}, id="what one study says",
    ),
    pytest.param("report/what_ran.py", "SHOWN = 4", "SHOWN = 5", {"report"},
                 id="the opening"),
    pytest.param(
        "plan/suites.py", "MOST_BLOCKS_IN_CAPTURE = 128", "MOST_BLOCKS_IN_CAPTURE = 64", {"plan"},
        id="how the plan is made: params decide what is measured",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "expected"), BEHAVIOR)
def test_an_edit_makes_stale_what_depends_on_it(
    package: tuple[Path, dict[str, str]], file: str, old: str, new: str, expected: set[str]
) -> None:
    assert stale(package, file, old, new) == expected


@pytest.mark.parametrize("study", STUDIES)
def test_editing_a_studys_measuring_makes_only_its_points_stale(
    package: tuple[Path, dict[str, str]], study: str
) -> None:
    file = f"studies/{study}/measure.py"
    text = (ROOT / "workflow_src" / file).read_text()
    (name,) = re.findall(r"^    main\((measure|tasks)", text, flags=re.MULTILINE)
    old, new = f"    main({name}", f"    main(lambda point: {name}(point)"
    assert stale(package, file, old, new) == {f"{study} point"}
    (signature,) = re.findall(rf"^def {name}\(.*\n", text, flags=re.MULTILINE)
    found = stale(package, file, signature, f"{signature}    print(point)\n")
    assert found == {f"{study} point"}


NOTHING = [
    pytest.param(
        "model/attention.py", '        """Attend from each', '        # why\n\n        """Attend',
        id="a comment and a docstring",
    ),
    pytest.param(
        "common/units.py", "GIB = 2**30", "GIB = 2**30\nTIB = 2**40",
        id="a new constant in a shared module",
    ),
    pytest.param(
        "common/thresholds.py", "LAUNCH", "import re\n\nWORD = re.compile('a')\nLAUNCH",
        id="a new computed constant and its import",
    ),
    pytest.param(
        "common/case.py", "def d_head(self) -> int:", "def d_head(self) -> 'int | float':",
        id="an annotation",
    ),
    pytest.param(
        "common/case.py", "    d_model: int\n", "    d_model: float\n",
        id="the annotation of a field",
    ),
    pytest.param("measure/oom.py", "import gc\n", "import gc\nimport os\n", id="an unused import"),
    pytest.param(
        "measure/oom.py", "from typing import Any\n",
        "from typing import Any\nfrom workflow_src.common.thresholds import NEARLY_ALL_DEVICE\n",
        id="an unused import of this package",
    ),
    pytest.param("ops/gelu.cu", "// ", "// So: ", id="a comment in gelu.cu"),
    pytest.param("measure/oom.py", "ran_out", "too_large", id="a renamed local variable"),
    pytest.param(
        "model/transformer.py", '"""A decoder-only', 'def unused() -> int:\n    return 1\n\n\n"""A',
        id="a function that nobody calls",
    ),
    pytest.param("cli/publish.py", '"VACUUM"', '"vacuum"', id="publishing"),
    pytest.param("dag/studies.py", "MINUTES = 30", "MINUTES = 40", id="what a job requests"),
    pytest.param("plan/fingerprint.py", "ROUNDS = 8", "ROUNDS = 9", id="fingerprints"),
    pytest.param(
        "plan/config.schema.yaml", "description: What to measure.", "description: Whatever.",
        id="the schema's description of a key",
    ),
    pytest.param(
        "plan/config.schema.yaml", "description: Measured steps", "description: Steps",
        id="the schema's description of another key",
    ),
]  # fmt: skip


MOVED = {
    "workflow_src.common.devices": "workflow_src.common.machines",
    "workflow_src.measure.profiled_run": "workflow_src.measure.run_under_profiler",
    "workflow_src.model.attention": "workflow_src.layers.attention",
    "workflow_src.placing.kernel_names": "workflow_src.naming.kernels",
}


def move_loss(root: Path) -> None:
    """Move a definition to another module."""
    old = "from workflow_src.model.loss import cross_entropy\n"
    edit(root, "measure/workload.py", old, "from workflow_src.model.adamw import cross_entropy\n")
    loss = (root / "workflow_src" / "model" / "loss.py").read_text()
    adamw = root / "workflow_src" / "model" / "adamw.py"
    text = adamw.read_text().replace(
        "import torch\n", "import torch\nfrom torch.nn import functional\n", 1
    )
    adamw.write_text(text + loss[loss.index("def cross_entropy") :])


def test_edits_without_effect_and_renamed_or_moved_modules_make_nothing_stale(
    package: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    """All at once, each of which would show; then one by one, to name the edits that do."""
    root = copy_package(tmp_path)
    edits = {str(given.id): given.values for given in NOTHING}
    for file, old, new in edits.values():
        edit(root, file, old, new)
    move_loss(root)
    for old, new in MOVED.items():
        move(root, old, new)
    if changed(root, package[1]):
        alone = {name: stale(package, *values) for name, values in edits.items()}
        assert {name: found for name, found in alone.items() if found} == {}
        pytest.fail("together, or with what is moved, they make something stale")


def test_every_rule_passes_the_fingerprint_of_what_it_runs() -> None:
    """So a changed fingerprint is a changed param, and no rule runs without one."""
    rules = "\n".join(path.read_text() for path in sorted((ROOT / "rules").glob("*.smk")))
    found = []
    for rule in re.split(r"^rule ", rules, flags=re.MULTILINE)[1:]:
        (runs,) = re.findall(r'"python -m (\S+?)[" ]', rule)
        (code,) = re.findall(r"code=dag\.code\((?:\"(.+)\"|dag\.\w+\.\w*module)\)", rule)
        found.append((runs.removeprefix("workflow_src."), code or "{params.module}"))
    assert found and all(runs == code for runs, code in found), found
