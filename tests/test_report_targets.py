"""report.md and report.html are those of the run that was asked for, whichever run made them last.

Run `again` is a copy of the finished run: its results are there, and Snakemake knows nothing of it.
"""

import re
import shutil

import pytest

from tests.workflow import KILLED, SUITE, Project

pytestmark = pytest.mark.workflow

OWN = ("--config", *SUITE)
AGAIN = (*OWN, "tag=again")


@pytest.fixture
def both(project: Project) -> Project:
    """A project with the results of two runs, and the first one's report."""
    results = project.folder / "results"
    shutil.copytree(results / "smoke", results / "again", copy_function=shutil.copy2)
    return project


def runs(project: Project) -> set[str]:
    """The tags that report.md and report.html say they are of."""
    texts = [(project.folder / name).read_text() for name in ("report.md", "report.html")]
    named = r"results/(\w+)/(?:appendix|timelines)"
    return {tag for text in texts for tag in re.findall(named, text)}


def test_runs_take_turns_and_the_second_time_nothing_is_done(both: Project) -> None:
    assert both.stale("all", *AGAIN) == {"report": 1}
    assert both.stale("all", *OWN) == {}, "after that dry run, too"
    both.run("report.html", *AGAIN)
    assert runs(both) == {"again"} and both.stale("report.html", *AGAIN) == {}
    both.run(*OWN)
    assert runs(both) == {"smoke"}
    assert set(both.stages()[-2:]) == {"workflow_src.report.report"}
    both.run(*AGAIN, check=False, stage="workflow_src.report.report", kill=KILLED)
    both.run(*OWN)
    assert runs(both) == {"smoke"} and both.stale("all", *OWN) == {}
    shutil.rmtree(both.folder / "results" / "again")
    assert both.stale(*AGAIN)["benchmark"] == 2
