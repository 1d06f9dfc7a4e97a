"""Every command by hand with nonsense: one sentence that names the argument, nothing written."""

import argparse
import importlib
import json
import os
import random
import re
import runpy
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pandas as pd
import pytest

from tests.captures.building import packed
from tests.published import run_of
from tests.report.written import BLANK, chapters
from tests.synthetic_tables import Sample, write_tables
from tests.test_fuzz import PLAN, RECORDED, RESULT, WHOLE_TRACE
from tests.workflow import ROOT
from workflow_src.common import arguments
from workflow_src.common.case import TABLES
from workflow_src.dag.dag import dag_of
from workflow_src.placing.families import RULES
from workflow_src.plan.config import load
from workflow_src.plan.suites import Plan, make_plan
from workflow_src.plan.write_plan import SETTINGS
from workflow_src.tables.capture_tables import main as write_captured

MEASURES = re.compile(
    r"measure\.(benchmark|capture|profiled_run)|\.measure$|nsys_summary|warmup\.cause"
)
"""The commands that measure when nothing is wrong with their arguments."""

IN_A_PROJECT = {"workflow_src.cli.status", "workflow_src.cli.check_model"}
"""Commands for a project's folder; tests/test_status.py and test_check_model.py run them in one."""

OF_NSYS = {"workflow_src.captures.export"}
"""Commands for which nothing that lies here is valid; tests/captures/test_report.py runs them."""

JUDGES = {"workflow_src.cli.verify"}
"""Commands that made-up tables don't satisfy; tests/test_laws.py runs them on others."""

ELSEWHERE = IN_A_PROJECT | JUDGES | OF_NSYS

FREE_TEXT = {"--asked", "--command", "--fold", "--log", "--others", "--step", "--tag"}
"""Arguments that any text is right for."""

FOR_STAGES_ONLY = {
    "workflow_src.common.supervisor",
    "workflow_src.common.obituary",
    "workflow_src.measure.clock_readings",
    "workflow_src.studies.ranks.rank",
    "workflow_src.studies.ranks.read_traces",
}
"""Programs that only stages start, with a command or a text of any kind, or a job that they write.
"""

SLEEPY = ROOT / "tests" / "data" / "captures" / "sleepy.sqlite.gz"
"""A capture that has steps."""

OF_CAPTURES = {
    ("workflow_src.capture_report.report", "--tables"),
    ("workflow_src.compare.compare_captures", "--a"),
    ("workflow_src.compare.compare_captures", "--b"),
}
"""Commands and their arguments that are the tables of a capture."""

PATHS = {
    arguments.existing_file: ("missing", "folder", "file/below", ""),
    arguments.any_path: ("missing", "folder", "file/below", ""),
    arguments.existing_folder: ("missing", "file", "file/below", "folder", ""),
    arguments.new_file: ("folder", "file/below", "file/below/it", ""),
    arguments.new_folder: ("file", "file/below", ""),
}
"""What is wrong for each type of path."""

CONTENTS = {
    "empty": b"",
    "binary": random.Random(0).randbytes(999),
    "cut.json": b'{"traceEvents": [{"ph": "X"',
    "list.json": b"[]",
    "object.json": b"{}",
    "number.json": b"3",
}
NUMBERS = ("positive_integer", "positive", "share")
"""Types of which "3" may be one."""

TEXTS = ("nonsense", "", "{", "[]", "{}", "null", "3", '"text"', "NaN", "[" * 5000, "\ud800")
WRONG_VALUES = (None, "nonsense", -1, 2.5, [], {}, [None], True, 10**30)


def commands() -> list[str]:
    """The modules that `python -m` runs."""
    files = sorted((ROOT / "workflow_src").rglob("*.py"))
    main = 'if __name__ == "__main__":'
    found = [
        ".".join(file.relative_to(ROOT).with_suffix("").parts)
        for file in files
        if main in file.read_text().splitlines()
    ]
    return [module for module in found if module not in FOR_STAGES_ONLY]


class Seen(Exception):
    """Carries the parser of a command, in place of parsing."""


def run(module: str, *given: str) -> None:
    with patch.object(sys, "argv", [module, *given]), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        runpy.run_module(module, run_name="__main__")


@cache
def parser_of(module: str) -> argparse.ArgumentParser:
    """The command-line parser of a module."""

    def caught(parser: argparse.ArgumentParser, *_: object) -> None:
        raise Seen(parser)

    with patch.object(argparse.ArgumentParser, "parse_args", caught), pytest.raises(Seen) as seen:
        run(module)
    found: argparse.ArgumentParser = seen.value.args[0]
    return found


@dataclass(frozen=True)
class Form:
    """One way to call a command: the words that choose it, and its arguments."""

    words: tuple[str, ...]
    actions: tuple[argparse.Action, ...]


def forms(parser: argparse.ArgumentParser, words: tuple[str, ...] = ()) -> Iterator[Form]:
    """The forms of a command: one for each of its subcommands."""
    inner = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    for action in inner:
        for name, sub in action.choices.items():
            yield from forms(sub, (*words, name))
    if not inner:
        values = [a for a in parser._actions if a.nargs != 0]
        yield Form(words, tuple(values))


def name_of(action: argparse.Action) -> str:
    return action.option_strings[0] if action.option_strings else action.dest


def words_for(action: argparse.Action, value: str) -> list[str]:
    return [f"{action.option_strings[0]}={value}"] if action.option_strings else [value]


@cache
def plan_of(device: str) -> Plan:
    profiler = "nsys" if device == "cuda" else "torch"
    chosen = {"device": device, "profiler": profiler, "cluster": True, "cpu_threads": 1}
    return make_plan(load(ROOT / "config.yaml") | chosen, Path("nowhere"))


def point_of(module: str) -> str:
    """A point of the module's study, or of the ceilings, as JSON."""
    if module == "workflow_src.measure.ceilings":
        point = plan_of("cpu").ceilings_point()
        quick = {"buffer_mib": 1, "shapes": [[16, 8, 4]]}
        return json.dumps(point | {"sizes": point["sizes"] | quick})
    points = dag_of(plan_of("cpu")).studies.points(study_of(module))
    name = "module" if module.endswith("nsys_summary") else next(iter(points))
    return json.dumps(points[name])


def study_of(module: str) -> str:
    return module.split(".")[2]


def with_sizes(plan: str) -> str:
    """A plan whose cases have the sizes of their model, as each run's has."""
    rows = pd.read_csv(StringIO(plan))
    sizes = {"d_model": 64, "d_ff": 128, "layers": 2, "heads": 2, "vocabulary": 100, "seed": 0}
    return rows.assign(**{name: n for name, n in sizes.items() if name not in rows}).to_csv(
        index=False
    )


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Valid values by the arguments' names."""
    here = tmp_path_factory.mktemp("good")
    results = here / "results"
    for folder in ("tables", "answers", "figures", "cases/tiny-ctx16-fp32"):
        (results / folder).mkdir(parents=True)
    write_tables(results / "tables", Sample(), Sample(context=256))
    for table in TABLES:
        published = ROOT / "examples" / "h200" / "tables" / f"{table}.csv"
        (results / "cases" / "tiny-ctx16-fp32" / f"{table}.csv").write_text("phase\nforward\n")
        # The published run lacks the tables that were added since.
        if published.exists() and not (results / "tables" / f"{table}.csv").exists():
            (results / "tables" / f"{table}.csv").write_bytes(published.read_bytes())
    answered, *_ = chapters(here, Sample())
    write_captured(["--capture", str(SLEEPY), "--output", str(here / "captured")])
    files = {
        "c.kineto.json.gz": packed(WHOLE_TRACE),
        "b.json": json.dumps(RESULT).encode(),
        "plan.csv": PLAN.encode(),
        "report.md": b"# A report\n",
        "step.svg": BLANK.encode(),
        "results/appendix.md": b"# An appendix\n\n## Tables\n",
        "ceilings.json": b'{"point": {}, "environment": {}, "rows": []}',
        "compare.json": b'{"status": 0, "verdict": "Same.", "processes_needed": null}',
        "results/plan.csv": with_sizes(PLAN.replace(",cpu,", ",cuda,")).encode(),
    }
    for name, content in files.items():
        (here / name).write_bytes(content)
    return {
        "--tables": str(results / "tables"),
        "--chapters": str(answered),
        "--templates": str(ROOT / "report_templates"),
        "captured": str(here / "captured"),
        "--cases": str(results / "cases"),
        "--measured": str(results / "tables" / "environments.csv"),
        "--results": str(results),
        "--a": str(results),
        "--b": str(results),
        "--comparison": str(here / "compare.json"),
        "--export": str(ROOT / "tests/data/nsys/tiny-ctx64-fp32"),
        "--capture": str(here / "c.kineto.json.gz"),
        "--benchmark": str(here / "b.json"),
        "--families": str(RULES),
        "--plan": str(here / "plan.csv"),
        "--config": str(ROOT / "config.yaml"),
        "--report": str(here / "report.md"),
        **{f"--{kind}": str(here / kind) for kind in ("markdown", "html", "appendix")},
        "--timelines": str(here / "step.svg"),
        "--settings": json.dumps(dict(plan_of("cpu").settings)),
        "--case": json.dumps(plan_of("cpu").rows()[0]),
        "--case-name": "tiny-ctx16-fp32",
        "--command": "snakemake",
        "--context": "100",
        "source": str(RECORDED),
        "ceilings.json": str(here / "ceilings.json"),
        **{f"--{name}": "1" for name in ("parameters", "tokens", "devices", "mfu")},
        **{f"--{name}-gib": "1" for name in ("memory", "unpacked")},
        **{"--peak-tflops": "1", "--activation-gib": "0.5"},
    }


@dataclass(frozen=True)
class Place:
    """A folder with nonsense, and valid values for what isn't under test."""

    folder: Path
    good: dict[str, str]

    def valid(self, module: str, action: argparse.Action) -> str:
        """A valid value; for an argument that this file doesn't know, one that exists."""
        name = name_of(action)
        if action.choices:
            return str(next(iter(action.choices)))
        if action.type in (arguments.new_file, arguments.new_folder):
            return str(self.folder / "new" / name.strip("-"))
        if name == "--point":
            return point_of(module)
        if (module, name) in OF_CAPTURES:
            return self.good["captured"]
        if (module, name) == ("workflow_src.cli.capture_timeline", "--capture"):
            return str(SLEEPY)
        if name == "--measured" and module == "workflow_src.tables.ceilings":
            return self.good["ceilings.json"]
        if name == "--plain":
            return self.study_point(module, "*.plain.json")
        if name == "--points":
            return self.study_point(module)
        if name == "--tables" and module.startswith("workflow_src.studies."):
            name = study_of(module)
            return str(run_of(name) / "tables" / "studies" / f"{name}.csv")
        if name == "--cases" and action.type is None:
            return "tiny-ctx16-fp32"
        unknown = {arguments.existing_file: "empty", arguments.existing_folder: "folder"}
        return self.good.get(name) or str(self.folder / unknown.get(action.type, "empty"))

    def study_point(self, module: str, which: str = "*.json") -> str:
        study = study_of(module)
        published = run_of(study) / "studies" / study
        return str(next(iter(sorted(published.glob(which)))))

    def command(self, module: str, form: Form, wrong: argparse.Action, value: str) -> list[str]:
        """The words of a call in which one argument is wrong."""
        given = list(form.words)
        for action in form.actions:
            if action is wrong:
                given += words_for(action, value)
            elif action.required or name_of(action) in self.good:
                given += words_for(action, self.valid(module, action))
        return given

    def nonsense(self, action: argparse.Action) -> Iterator[str]:
        """What an argument must refuse."""
        kind = action.type
        if name_of(action) in FREE_TEXT:
            return
        if kind not in PATHS:
            number = getattr(kind, "__name__", "") in NUMBERS
            yield from (text for text in TEXTS if not (number and text == "3"))
            return
        # An empty folder has nothing to read, but it can be written into.
        into = kind is arguments.existing_folder and name_of(action) == "--output"
        wrong = [text for text in PATHS[kind] if not (into and text == "folder")]
        yield from (str(self.folder / text) if text else "" for text in wrong)
        if kind in (arguments.existing_file, arguments.any_path):
            yield from (str(self.folder / name) for name in CONTENTS)

    def files(self) -> dict[str, bytes]:
        return {str(p): p.read_bytes() for p in self.folder.rglob("*") if p.is_file()}


@pytest.fixture
def place(tmp_path: Path, good: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Place:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("text\n")
    for name, content in CONTENTS.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    return Place(tmp_path, good)


def ended(
    module: str, given: list[str], capsys: pytest.CaptureFixture[str]
) -> tuple[object, list[str]]:
    """The exit status of a command, and the lines it ended with on stderr."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as caught:
        run(module, *given)
    status, said = caught.value.code, capsys.readouterr().err
    if isinstance(status, str):
        status, said = 1, said + status + "\n"
    return status, said.splitlines()


def refused(
    place: Place, module: str, given: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> str:
    """The sentence that a command refuses its arguments with; it writes nothing."""
    before = place.files()
    status, said = ended(module, given, capsys)
    assert status not in (0, None), given
    assert len(said) == 1 and "Traceback" not in said[0], (given, said)
    assert named in said[0], (given, said)
    assert place.files() == before, given
    return said[0]


def to_run(action: argparse.Action, values: Iterator[str]) -> Iterator[str]:
    """The first value that the argument's type refuses, and all that it lets pass.

    argparse says of each refusal the same, with the type's sentence.
    """
    seen = False
    for value in values:
        try:
            (action.type or str)(value)  # type: ignore[operator]
        except argparse.ArgumentTypeError as error:
            assert "\n" not in str(error)
            if seen:
                continue
            seen = True
        yield value


@pytest.mark.parametrize("module", commands())
def test_nonsense_gets_one_sentence_that_names_the_argument(
    module: str, place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    for form in forms(parser_of(module)):
        for action in form.actions:
            for value in to_run(action, place.nonsense(action)):
                given = place.command(module, form, action, value)
                said = refused(place, module, given, "", capsys)
                assert name_of(action) in said or (value and value in said), (given, said)


@pytest.mark.parametrize("module", commands())
def test_missing_and_unknown_arguments_get_one_sentence(
    module: str, place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    for form in forms(parser_of(module)):
        refused(place, module, [*form.words, "--nonsense"], "", capsys)
        if any(action.required for action in form.actions):
            refused(place, module, list(form.words), "", capsys)


def changes(value: Any) -> Iterator[tuple[str, Any]]:
    """`value` with each key left out, and with each value replaced by others.

    Objects by name, such as sizes, are alike: of these only the first.
    """
    by_name = all(isinstance(inner, dict) for inner in value.values())
    for key, inner in islice(value.items(), 1 if by_name else None):
        yield key, {k: v for k, v in value.items() if k != key}
        for wrong in WRONG_VALUES:
            if wrong != inner:
                yield key, value | {key: wrong}
        if isinstance(inner, dict):
            yield from ((key, value | {key: changed}) for _, changed in changes(inner))
        if isinstance(inner, list) and inner:
            yield from ((key, value | {key: [*inner, wrong]}) for wrong in (None, "nonsense", -1))


JSON = ("--case", "--point", "--settings")


@pytest.mark.parametrize("module", commands())
def test_wrong_json_names_the_key(module: str, place: Place) -> None:
    """Whatever is accepted nevertheless is of the right types."""
    for action in parser_of(module)._actions:
        if name_of(action) not in JSON:
            continue
        own = Path(ROOT, *module.split(".")).with_name("points.yaml").is_file()
        if own or module == "workflow_src.studies.levers.measure":
            continue  # Its points are written by this project alone.
        whole = json.loads(place.valid(module, action))
        unused = whole.keys() - SETTINGS["properties"] if name_of(action) == "--settings" else set()
        for key, changed in changes(whole):
            try:
                accepted = action.type(json.dumps(changed))  # type: ignore[operator]
            except argparse.ArgumentTypeError as error:
                assert key.removesuffix("s") in str(error) and "\n" not in str(error)
            else:
                right = key in unused or fits(key, whole, accepted)
                assert right, (key, accepted.get(key))


LEFT_OUT = {
    "seed",
    "ceilings",
    "memory_limit_gib",
    "cpu_threads",
    "execution",
    "attention_codes",
} | {*("steps", "capture_steps", "warmup_steps", "processes", "profiler", "os_tracing")}
"""Keys that some command can do without."""

EMPTY = {"measured", "profiled", "profiled_contexts"}
"""Keys of lists that may be empty."""


def fits(key: str, whole: dict[str, Any], accepted: dict[str, Any]) -> bool:
    """Whether `accepted` may have what it has for a key, `whole` being right."""
    if key not in accepted:
        return key in LEFT_OUT
    value = accepted[key]
    if key == "memory_limit_gib":
        return value is None or value == 2.5
    nested = isinstance(value, dict) and isinstance(next(iter(whole[key].values())), dict)
    if key in ("sizes", "suites") and nested:
        return all(alike(next(iter(whole[key].values())), size) for size in value.values())
    return (key in EMPTY and value == []) or alike(whole[key], value)


def alike(good: Any, accepted: Any) -> bool:
    """Whether an accepted value has the types, and the keys, of a good one."""
    if isinstance(good, dict) and isinstance(accepted, dict):
        return all(key in accepted and alike(good[key], accepted[key]) for key in good)
    if isinstance(good, list) and isinstance(accepted, list):
        return all(alike(good[0], each) for each in accepted)
    if isinstance(good, float):
        return isinstance(accepted, int | float) and not isinstance(accepted, bool)
    return type(good) is type(accepted)


@pytest.mark.parametrize(
    ("module", "changes", "said"),
    [
        ("measure.benchmark", {"heads": 3}, "heads: 3 must divide d_model"),
        ("measure.benchmark", {"precision": "fp8"}, "precision: 'fp8' is not one of fp32, tf32,"),
        ("measure.benchmark", {"steps": float("inf")}, "Infinity is not a finite number"),
        ("plan.write_plan", {"suite": "quick"}, "suite: 'quick' is not one of quickstart,"),
        ("plan.write_plan", {"cpu_threads": None}, "cpu_threads: None must be a number"),
    ],
)
def test_wrong_values_are_told_apart(
    module: str, changes: dict[str, Any], said: str, place: Place
) -> None:
    name = f"workflow_src.{module}"
    action = next(a for a in parser_of(name)._actions if name_of(a) in JSON)
    value = json.dumps(json.loads(place.valid(name, action)) | changes)
    with pytest.raises(argparse.ArgumentTypeError) as caught:
        action.type(value)  # type: ignore[operator]
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "module",
    [m for m in commands() if m not in ELSEWHERE and not MEASURES.search(m)],
)
def test_what_is_valid_here_is_accepted(
    module: str, place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else the sentences above could be about something else."""
    for form in forms(parser_of(module)):
        run(module, *place.command(module, form, argparse.Action([], "none"), ""))
    assert "Traceback" not in capsys.readouterr().err, "nor does it only say what failed"


def stage(module: str, *given: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", f"workflow_src.{module}", *given]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("module", "given", "said"),
    [
        ("plan.write_plan", ["--settings", "x", "--output", "o"], "--settings: 'x' is not JSON"),
        (
            "answers.top_kernel.chapter",
            ["--tables", "missing"],
            "--tables: there is no file 'missing'",
        ),
    ],
)
def test_a_process_of_its_own_says_the_same(
    module: str, given: list[str], said: str, tmp_path: Path
) -> None:
    ended = stage(module, *given, folder=tmp_path)
    assert ended.returncode == 2 and said in ended.stderr and ended.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_bug_still_has_a_traceback(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the code of a stage, a missing file or key is a bug, not the user's input."""
    figures = importlib.import_module("workflow_src.answers.figures")
    with pytest.raises(KeyError), patch.object(figures, "read", side_effect=KeyError):
        words = ["--tables", place.good["--tables"], "--figure", "step_parts"]
        monkeypatch.setattr(sys, "argv", ["stage", *words, "--output", "o.svg"])
        figures.main()


def test_an_export_replaces_no_folder_of_another_kind(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--capture", place.good["--capture"], "--output", str(place.folder)]
    assert "would be replaced" in refused(
        place, "workflow_src.captures.export_case", given, str(place.folder), capsys
    )


def test_an_interrupted_stage_says_that_running_again_goes_on() -> None:
    """Even during its imports: it is the package that says so, which is imported first."""
    code = "import workflow_src, time; print('ready', flush=True); time.sleep(600)"
    command = [sys.executable, "-c", code]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert said == "interrupted; run the same command again to go on, finished files are kept\n"
    assert process.returncode == -signal.SIGINT, "which a shell reports as 130"
