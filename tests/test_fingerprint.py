"""What changes a fingerprint, in tiny packages; and that it covers all code that runs."""

import ast
import dis
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType

import pytest
from coverage import Coverage

from tests.package import STAGES, copy_package, hash_of, read_again
from tests.workflow import served_stage
from workflow_src.dag.start import make_dag
from workflow_src.plan.code import Code, code_under
from workflow_src.plan.config import load
from workflow_src.plan.fingerprint import ROOT, fingerprint, reached
from workflow_src.plan.reader import EVERYTHING, Ref

MAIN = "\nif __name__ == '__main__':\n    main()\n"
START = {
    "a.py": "from workflow_src.b import helper\ndef main():\n    helper(1)\n" + MAIN,
    "b.py": "LIMIT = 3\nOTHER = 4\ndef helper(x):\n    return min(x, LIMIT)\n",
}


def package(root: Path, files: dict[str, str]) -> str:
    """The fingerprint of `python -m workflow_src.a` after writing `files` into the package."""
    for name, text in files.items():
        path = root / "workflow_src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    code_under.cache_clear()
    fingerprint.cache_clear()
    return fingerprint("workflow_src.a", root=root)


def is_stale(root: Path, **changes: str) -> bool:
    """Whether replacing these modules of the START package makes `a` stale."""
    before = package(root, START)
    return before != package(root, {f"{name}.py": text for name, text in changes.items()})


@pytest.mark.parametrize(
    ("b", "stale"),
    [
        ("LIMIT = 3\nOTHER = 5\ndef helper(x):\n    return min(x, LIMIT)\n", False),
        ("LIMIT = 4\nOTHER = 4\ndef helper(x):\n    return min(x, LIMIT)\n", True),
        (
            "def helper(x: int) -> int:\n    '''Doc.'''\n    return min(x, LIMIT)\nLIMIT = 3\n",
            False,
        ),
        ("LIMIT = 3\ndef helper(x):\n    import json\n    return min(x, LIMIT)\n", True),
        ("LIMIT = 3\ndef helper(x=2):\n    return min(x, LIMIT)\n", True),
        ("LIMIT = 3\nLIMIT += 1\ndef helper(x):\n    return min(x, LIMIT)\n", True),
        (
            "LIMIT = 3\ndef min(x, y):\n    return x\ndef helper(x):\n    return min(x, LIMIT)\n",
            True,
        ),
    ],
)
def test_only_reached_definitions_count(tmp_path: Path, b: str, stale: bool) -> None:
    assert is_stale(tmp_path, b=b) == stale


def test_a_call_at_import_time_counts(tmp_path: Path) -> None:
    for line in (
        "import os\nos.umask(0)\n",
        "X = open('x')\n",
        "import os\nos.environ['x'] = ''\n",
    ):
        assert is_stale(tmp_path, b=START["b.py"] + line), line
    assert not is_stale(tmp_path, b="import re\n" + START["b.py"] + "X = re.compile('x')\n")


def test_an_unknown_decorator_counts_at_import_time(tmp_path: Path) -> None:
    register = "FOUND = []\ndef register(f):\n    FOUND.append(f)\n    return f\n"
    assert is_stale(tmp_path, b=START["b.py"] + register + "@register\ndef f():\n    pass\n")
    assert not is_stale(tmp_path, b=START["b.py"] + register + "def f():\n    pass\n")


def test_import_time_effects_of_an_imported_module_count(tmp_path: Path) -> None:
    used = "from workflow_src import c\n" + START["b.py"]
    before = package(tmp_path, {**START, "b.py": used, "c.py": "X = 1\n"})
    assert before == package(tmp_path, {"c.py": "X = 2\n"})
    assert before != package(tmp_path, {"c.py": "print(1)\n"})
    assert before != package(tmp_path, {"c.py": "X = 1\n", "__init__.py": "print(1)\n"})


def test_names_are_followed_through_modules_and_attributes(tmp_path: Path) -> None:
    a = "from workflow_src import b as other\ndef main():\n    other.helper(1)\n" + MAIN
    before = package(tmp_path, {**START, "a.py": a})
    assert before == package(tmp_path, {"b.py": START["b.py"] + "MORE = 1\n"})
    assert before != package(tmp_path, {"b.py": START["b.py"].replace("3", "4")})
    passed = a.replace("other.helper(1)", "vars(other)")
    before = package(tmp_path, {**START, "a.py": passed})
    assert before != package(tmp_path, {"b.py": START["b.py"] + "MORE = 1\n"})


def test_functions_of_the_same_name_are_distinguished(tmp_path: Path) -> None:
    """Both are reached; only the order in which main calls them differs."""
    a = "from workflow_src.b import f\nfrom workflow_src.c import f as g\n"
    a += "def main():\n    f(g(1))\n" + MAIN
    twins = {"b.py": "def f(x):\n    return x + 1\n", "c.py": "def f(x):\n    return x + 2\n"}
    before = package(tmp_path, {"a.py": a, **twins})
    assert before != package(tmp_path, {"a.py": a.replace("f(g(1))", "g(f(1))")})


def test_a_program_that_is_started_counts(tmp_path: Path) -> None:
    a = "def main():\n    run('-m', 'workflow_src.b')\n" + MAIN
    program = "def main():\n    print(1)\n" + MAIN
    before = package(tmp_path, {"a.py": a, "b.py": program})
    assert before != package(tmp_path, {"b.py": program.replace("1", "2")})
    assert before == package(tmp_path, {"b.py": program + "def other():\n    pass\n"})


def test_a_file_beside_the_module_counts(tmp_path: Path) -> None:
    a = "from pathlib import Path\nS = Path(__file__).with_name('s.cu')\n"
    a += "def main():\n    print(S)\n" + MAIN
    before = package(tmp_path, {"a.py": a, "s.cu": "1"})
    assert before == package(tmp_path, {"t.cu": "1"})
    assert before != package(tmp_path, {"s.cu": "2"})


@pytest.mark.parametrize(
    "line",
    [
        "import importlib; importlib.import_module('workflow_src.' + x)",
        "from importlib import import_module; import_module(x)",
        "eval(x)",
        "open(f'workflow_src.{x}')",
        "open(__file__)",
        "from pathlib import Path; Path(__file__).with_name(x)",
    ],
)
def test_dynamic_code_makes_everything_count(tmp_path: Path, line: str) -> None:
    package(tmp_path, {**START, "b.py": f"def helper(x):\n    {line}\n", "c.py": "X = 1\n"})
    assert EVERYTHING in reached(Ref("run", "workflow_src.a"), Code(tmp_path))
    before = package(tmp_path, {})
    assert before != package(tmp_path, {"c.py": "X = 2\n"})


def test_mutual_recursion_is_handled(tmp_path: Path) -> None:
    b = "def helper(x):\n    return other(x)\ndef other(x):\n    return helper(x - 1)\n"
    before = package(tmp_path, {**START, "b.py": b})
    assert before != package(tmp_path, {"b.py": b.replace("- 1", "- 2")})


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("y = x\n    return y", "z = x\n    return z", True),
        ("y = x\n    return y", "y = x\n    return x", False),
        ("y = x\n    z = 1\n    return y", "z = x\n    y = 1\n    return z", True),
        ("y = x\n    z = 1\n    return y", "y = x\n    z = 1\n    return z", False),
        ("y = x\n    return lambda: y", "z = x\n    return lambda: z", True),
        ("global y\n    y = x", "global z\n    z = x", False),
        ("y = x\n    return locals()", "z = x\n    return locals()", False),
        ("y = x\n    return f'{y=}'", "z = x\n    return f'{z=}'", False),
        ("return [y for y in x]", "return [z for z in x]", True),
        ("with x as y:\n        return y", "with x as z:\n        return z", True),
        ("def y():\n        pass\n    return y", "def z():\n        pass\n    return z", False),
    ],
)
def test_renaming_a_local_variable_counts_only_where_it_is_visible(
    tmp_path: Path, old: str, new: str, same: bool
) -> None:
    def made(body: str) -> str:
        return package(tmp_path, {**START, "b.py": f"def helper(x):\n    {body}\n"})

    assert (made(old) == made(new)) == same


def test_an_unknown_module_is_an_error() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"no module workflow_src\.absent"):
        fingerprint("workflow_src.absent")


def test_no_stage_reaches_everything() -> None:
    """Otherwise any edit would make everything stale."""
    code = code_under(ROOT)
    for stage, module in STAGES.items():
        found = reached(Ref("run", f"workflow_src.{module}"), code)
        assert EVERYTHING not in found, stage
        assert not [ref for ref in found if ref.kind == "module"], stage


def test_no_class_runs_code_that_the_analysis_does_not_look_for() -> None:
    hooks = ("__init_subclass__", "__set_name__", "__getattr__")
    for path in (ROOT / "workflow_src").rglob("*.py"):
        names = {getattr(node, "name", "") for node in ast.walk(ast.parse(path.read_text()))}
        assert not names & set(hooks), path


# Nothing stale may count as up to date: everything that a real run executes must be covered.

CASE = dict(
    case="t", size="t", d_model=8, d_ff=16, layers=1, heads=2, vocabulary=10, batch=1, context=4,
    precision="fp32", attention="naive", optimizer="adamw", device="cpu",
)  # fmt: skip
ROW = CASE | {"warmup_steps": 1, "steps": 1, "capture_steps": 1, "profiler": "torch"}
ROW |= {"os_tracing": False, "processes": 1}


def precision_point() -> dict[str, object]:
    """Both small points of the study as one, with a step of each kind, in one thread."""
    chosen = {"device": "cpu", "study_scale": "small", "cpu_threads": 1}
    made = make_dag(load(ROOT / "config.yaml") | chosen)
    few = {"context": 16, "batch": 1, "warmup_steps": 1, "additions": 10}
    once = dict.fromkeys(("forward", "forward_backward", "scores"), 1)
    rounding, models = made.studies.points("precision").values()
    return rounding | models | few | {"steps": once}


RUNS: dict[str, Callable[[], list[str]]] = {
    "benchmark": lambda: ["--case", json.dumps(ROW)],
    "capture": lambda: ["--case", json.dumps(ROW)],
    "precision point": lambda: ["--point", json.dumps(precision_point())],
}


def executed(folder: Path, stage: str) -> dict[str, set[int]]:
    """The lines of each module that a real run of a stage executes."""
    config = folder / "coverage.ini"
    config.write_text(
        f"[run]\nsource = {ROOT / 'workflow_src'}\nparallel = True\npatch = subprocess\n"
        f"data_file = {folder / 'data'}\nconcurrency = thread\n"
    )
    output = f"--output={folder / 'made.kineto.json.gz'}"
    command = (str(config), f"workflow_src.{STAGES[stage]}", *RUNS[stage](), output)
    status, said = served_stage(ROOT, "tests.under_coverage", *command)
    assert status == 0, said
    coverage = Coverage(data_file=str(folder / "data"), config_file=str(config))
    coverage.combine()
    data = coverage.get_data()
    return {
        str(Path(file).relative_to(ROOT / "workflow_src")): set(lines)
        for file in data.measured_files()
        if (lines := data.lines(file))
    }


def executed_by_stages(folder: Path) -> dict[str, dict[str, set[int]]]:
    """The lines of each module that real runs execute, by the stage that executes them."""
    found: dict[str, dict[str, set[int]]] = {}
    for stage in RUNS:
        (folder / stage).mkdir()
        for file, lines in executed(folder / stage, stage).items():
            found.setdefault(file, {})[stage] = lines
    return found


def functions_run(tree: ast.Module, lines: set[int]) -> Iterator[ast.FunctionDef]:
    """The functions and methods of a module with an executed line in their body."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            body = {n.lineno for stmt in node.body for n in ast.walk(stmt) if hasattr(n, "lineno")}
            # Importing executes the `def` line itself; an overload has no other line.
            if body & lines - {node.lineno}:
                yield node


def globals_of(source: str, functions: set[int]) -> set[str]:
    """The global names loaded by the functions at these lines, from their bytecode."""

    def codes(code: CodeType) -> Iterator[CodeType]:
        yield code
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                yield from codes(constant)

    return {
        str(instruction.argval)
        for code in codes(compile(source, "m", "exec"))
        if code.co_firstlineno in functions
        for instruction in dis.get_instructions(code)
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }


def mutants(source: str, lines: set[int]) -> Iterator[tuple[str, str]]:
    """Variants of a module: one executed function, or one constant it loads, is changed."""
    tree = ast.parse(source)
    ran = list(functions_run(tree, lines))
    if not ran:
        return
    for node in ran:
        node.body.append(ast.parse("0 == 0").body[0])
        yield node.name, ast.unparse(ast.fix_missing_locations(tree))
        node.body.pop()
    starts = {min([n.lineno, *(d.lineno for d in n.decorator_list)]) for n in ran}
    loaded = globals_of(source, starts)
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name, value = statement.targets[0].id, statement.value
            if name in loaded:
                statement.value = ast.Tuple([value, ast.Constant(0)], ast.Load())
                yield name, ast.unparse(ast.fix_missing_locations(tree))
                statement.value = value


def test_changing_any_executed_definition_changes_the_fingerprint(tmp_path: Path) -> None:
    root = copy_package(tmp_path / "copy")
    code = Code(root)
    entries = {stage: Ref("run", f"workflow_src.{STAGES[stage]}") for stage in RUNS}
    before = {stage: hash_of(entry, code) for stage, entry in entries.items()}
    assert before == {s: fingerprint(each.module, root=root) for s, each in entries.items()}
    found = {stage: reached(entry, code) for stage, entry in entries.items()}
    count, unseen = dict.fromkeys(RUNS, 0), []
    for file, ran in executed_by_stages(tmp_path).items():
        path = root / "workflow_src" / file
        source = path.read_text()
        module = ".".join(("workflow_src", *Path(file).with_suffix("").parts))
        module = module.removesuffix(".__init__")
        tried: dict[tuple[str, str], list[str]] = {}
        for stage, lines in ran.items():
            for each in mutants(source, lines):
                tried.setdefault(each, []).append(stage)
        for (name, mutant), stages in tried.items():
            path.write_text(mutant)
            again = read_again(code, module)
            for stage in stages:
                count[stage] += 1
                if count[stage] % 100 == 1:
                    same = hash_of(entries[stage], again) == hash_of(entries[stage], Code(root))
                    assert same, "reading all of it again says the same"
                # What is reached is hashed with its own parts, so this is enough for another hash.
                refs = [ref for ref in found[stage] if ref.module == module]
                if all(again.parts(ref) == code.parts(ref) for ref in refs):
                    unseen.append(f"{stage}: {file}: {name}")
        path.write_text(source)
    assert min(count.values()) > 30, count
    assert not unseen
