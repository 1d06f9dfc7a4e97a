"""Follow the checklists of docs/adding.md in a copy: what they list is enough."""

import json
import re

import pytest

from tests.workflow import Project

pytestmark = pytest.mark.workflow

QUESTION = '''"""How many kernels each case runs."""

from workflow_src.answers.facts import kernels, main
from workflow_src.paper.number import over
from workflow_src.paper.run import Run
from workflow_src.paper.written import Facts


def facts(run: Run) -> Facts:
    """What the tables say."""
    calls = over(kernels(run, "forward"), "case", "calls_per_step", unit="")
    return {"verdict": "counted", "every": calls.rename("calls").reset_index()}


if __name__ == "__main__":
    main("g", facts)
'''

WORDS = """
{% block title %}(g) Kernels{% endblock %}
{% block question %}how many?{% endblock %}
{% block headline %}Kernels were counted.{% endblock %}
{% block section %}{{ every | table("Calls", case="case", calls="calls") }}{% endblock %}
"""


def add_question(project: Project) -> None:
    folder = project.folder / "workflow_src" / "answers" / "kernel_count"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "chapter.py").write_text(QUESTION)
    template = project.folder / "report_templates" / "answers" / "kernel_count.j2"
    template.write_text(WORDS)
    row = '    "g": Question("kernel_count", "How many?", ("timings", "kernels", "captures")),\n}\n'
    old = re.search(r'    "f": Question\((?s:.*?)\n}\n', _text(project, "answers/questions.py"))
    assert old is not None
    project.edit(
        "workflow_src/answers/questions.py", old[0], old[0].removesuffix("}\n") + row
    )  # fmt: skip


def _text(project: Project, file: str) -> str:
    return (project.folder / "workflow_src" / file).read_text()


def test_adding_a_question_and_a_size(project: Project) -> None:
    """To a finished run, of which nothing is measured again."""
    add_question(project)
    micro = "  micro: {d_model: 16, d_ff: 32, layers: 1, heads: 2}"
    project.edit("config.yaml", "\nsizes:\n", f"\nsizes:\n{micro}\n")
    project.log.unlink()
    project.run()
    measured = [stage for stage in project.stages() if stage.endswith(("benchmark", "measure"))]
    assert measured == []
    report = (project.folder / "report.md").read_text()
    said = json.loads((project.folder / "results/smoke/answers/g.json").read_text())
    assert "## Kernels were counted." in report and "*(g) Kernels: how many?*" in report
    values = said["evidence"].values()
    assert values and all(each["value"] > 0 for each in values)
    for case in ("tiny-ctx16-fp32", "tiny-ctx32-fp32"):
        assert re.search(rf"^\| {case} \| [\d.]+ \|$", report, flags=re.MULTILINE)
    project.edit("config.yaml", "smoke:\n    sizes: [tiny]", "smoke:\n    sizes: [tiny, micro]")
    project.run("results/smoke/benchmark/micro-ctx16-fp32.json")
