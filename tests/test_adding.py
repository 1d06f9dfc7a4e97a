"""Follow the checklists of docs/adding.md in a copy: what they list is enough."""

import json
import re

import pytest

from tests.workflow import ROOT, SUITE, Project

pytestmark = pytest.mark.workflow

QUESTION = {
    "result": '''"""How many kernels each case runs."""

from dataclasses import dataclass

import pandas as pd

from workflow_src.answers.answer import OpeningRow
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.paper.value import Value, rows_of, value


@dataclass(frozen=True)
class KernelCount:
    """The rows of each case."""

    every: pd.DataFrame
    opening: tuple[OpeningRow, ...] = ()


def result(tables: Tables) -> KernelCount:
    """Answer (g) from kernels and captures."""
    rows = [[case.case, _rows(tables, case)] for case in tables.cases]
    return KernelCount(pd.DataFrame(rows, columns=["case", "rows"], dtype="object"))


def _rows(tables: Tables, case: CaseKey) -> Value | None:
    mine = tables.of("kernels", case.case)
    return value(len(mine), "count", rows_of("kernels", mine))
''',
    "headline": '''"""(g) in a sentence."""

from enum import StrEnum

from workflow_src.answers.kernel_count.result import KernelCount
from workflow_src.paper.show import Headline


class Verdict(StrEnum):
    """The only verdict."""

    COUNTED = "Kernels were counted."


def headline(result: KernelCount) -> Headline:
    """The verdict on a result."""
    return Headline(Verdict.COUNTED, Verdict.COUNTED.value)
''',
    "answer": '''"""Answer (g): a command, see answers/stage.py."""

from workflow_src.answers import stage
from workflow_src.answers.kernel_count.headline import headline
from workflow_src.answers.kernel_count.result import result

if __name__ == "__main__":
    stage.main("g", result, headline)
''',
}

STUDY = {
    "measure": '''"""Measures an addition."""

from collections.abc import Iterator

import torch

from workflow_src.measure.timing import Call
from workflow_src.studies.study import Point
from workflow_src.studies.tasks import Task, main


def tasks(point: Point) -> Iterator[Task]:
    """One task."""

    def make() -> Call:
        x = torch.ones(point["elements"], device=point["device"])
        return lambda: x + x

    yield Task({"part": "only"}, make)


if __name__ == "__main__":
    main(tasks)
''',
    "analyze": '''"""Derives the time of an element."""

from workflow_src.studies import join_points
from workflow_src.studies.study import Point, Row


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """Rows with the time of an element."""
    return [row | {"each_ms": row["median_ms"] / point["elements"]} for row in rows]


if __name__ == "__main__":
    join_points.main(derive)
''',
    "chapter": '''"""What an addition takes."""

from workflow_src.paper.run import Run, first
from workflow_src.paper.written import Facts
from workflow_src.studies.facts import load, main


def facts(run: Run) -> Facts:
    """What the table says."""
    return {"verdict": "told", "row": first(load(run, "addition"))}


if __name__ == "__main__":
    main("addition", facts)
''',
}

POINTS = "- {point: only, elements: 10, warmup_steps: 1, steps: 3}\n"

TEMPLATE = """
{% block title %}An addition{% endblock %}
{% block question %}how long?{% endblock %}
{% block headline %}Each takes {{ row.median_ms }} ms.{% endblock %}
{% block section %}An addition by itself.{% endblock %}
"""


def add_question(project: Project) -> None:
    folder = project.folder / "workflow_src" / "answers" / "kernel_count"
    folder.mkdir()
    (folder / "__init__.py").touch()
    for name, text in QUESTION.items():
        (folder / f"{name}.py").write_text(text)
    template = project.folder / "report_templates" / "answers" / "kernel_count.md.j2"
    heading = "## ({{ question }}) {{ title }}\n\n**{{ headline | headline }}**"
    template.write_text(f"{heading}\n\n{{{{ result.every | table }}}}\n")
    row = '    "g": Question("kernel_count", "How many?", ("kernels", "captures")),\n}\n'
    old = re.search(r'    "f": Question\((?s:.*?)\n}\n', _text(project, "answers/questions.py"))
    assert old is not None
    project.edit(
        "workflow_src/answers/questions.py", old[0], old[0].removesuffix("}\n") + row
    )  # fmt: skip


def add_study(project: Project) -> None:
    folder = project.folder / "workflow_src" / "studies" / "addition"
    folder.mkdir()
    (folder / "__init__.py").touch()
    for name, text in STUDY.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "points.yaml").write_text(POINTS)
    template = project.folder / "report_templates" / "studies" / "addition.j2"
    template.write_text(TEMPLATE)
    project.edit("workflow_src/studies/study.py", '"levers",\n)', '"levers",\n    "addition",\n)')


def _text(project: Project, file: str) -> str:
    return (project.folder / "workflow_src" / file).read_text()


def test_adding_a_question_a_study_and_a_size(project: Project) -> None:
    """To a finished run, of which nothing is measured again."""
    add_question(project)
    add_study(project)
    micro = "  micro: {d_model: 16, d_ff: 32, layers: 1, heads: 2}"
    project.edit("config.yaml", "\nsizes:\n", f"\nsizes:\n{micro}\n")
    project.log.unlink()
    project.run("--config", *SUITE, "studies=[addition]")
    measured = [stage for stage in project.stages() if stage.endswith(("benchmark", "measure"))]
    assert measured == ["workflow_src.studies.addition.measure"]
    report = (project.folder / "report.md").read_text()
    values = json.loads((project.folder / "results/smoke/answers/g.json").read_text())["values"]
    assert "## (g) How many?" in report and "Kernels were counted." in report
    assert len(values) == 2 and all(each["value"] > 0 for each in values)
    for case, each in zip(("tiny-ctx16-fp32", "tiny-ctx32-fp32"), values, strict=True):
        assert re.search(rf"^\| {case} +\| +{each['value']} \|$", report, flags=re.MULTILINE)
    assert "### Each takes" in report and "An addition: how long?" in report
    project.edit("config.yaml", "smoke:\n    sizes: [tiny]", "smoke:\n    sizes: [tiny, micro]")
    project.run("results/smoke/benchmark/micro-ctx16-fp32.json")


def test_files_named_in_the_checklists_exist() -> None:
    text = (ROOT / "docs" / "adding.md").read_text()
    for name in re.findall(r"`((?:workflow_src|tests|report_templates)/[\w/.{}]+)`", text):
        assert "{" in name or "_g" in name or (ROOT / name).exists(), name
