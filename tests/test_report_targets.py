"""report.md and report.html are those of the run that was asked for, whichever run made them last.

Run `again` is a copy of the finished run: its results are there, and Snakemake knows nothing of it.
"""

import os
import re
import shutil
import time
from pathlib import Path

import pytest

from tests.workflow import KILLED, SUITE, Project
from workflow_src.common.asked import asked_of, noted, without_note

OWN = ("--config", *SUITE)
AGAIN = (*OWN, "tag=again")
TEXTS = {"appendix": 1, "report": 1}
TARGETS = ("report.html", "all")


@pytest.fixture
def both(project: Project) -> Project:
    """A project with the results of two runs, and the first one's report."""
    results = project.folder / "results"
    shutil.copytree(results / "smoke", results / "again", copy_function=shutil.copy2)
    return project


def forget(project: Project) -> None:
    """Remove what Snakemake knows, as `make clean` does."""
    shutil.rmtree(project.folder / ".snakemake")


def runs(project: Project) -> set[str]:
    """The tags that report.md and report.html say they are of."""
    texts = [(project.folder / name).read_text() for name in ("report.md", "report.html")]
    named = r"results/(\w+)/(?:appendix|timelines)"
    return {tag for text in texts for tag in re.findall(named, text)}


@pytest.mark.workflow
def test_another_runs_report_is_stale_and_its_own_is_not(both: Project) -> None:
    """Also where Snakemake knows nothing, and whichever results are newer than the report."""
    assert both.stale(*AGAIN) == TEXTS
    assert both.stale(*OWN) == {}, "after that dry run, too"
    forget(both)
    for target in TARGETS:
        assert both.stale(target, *AGAIN) == TEXTS
        assert both.stale(target, *OWN) == {}
    now = time.time()
    for age, name in ((0, "again"), (10, "smoke")):
        for path in (both.folder / "results" / name).rglob("*"):
            os.utime(path, (now - age, now - age))
    for name in ("report.md", "report.html"):
        os.utime(both.folder / name, (now - 5, now - 5))
    assert both.stale(*AGAIN) == TEXTS
    assert both.stale(*OWN) == {}
    shutil.rmtree(both.folder / "results" / "again")
    assert both.stale(*AGAIN)["benchmark"] == 2


@pytest.mark.workflow
def test_runs_take_turns_and_the_second_time_nothing_is_done(both: Project) -> None:
    for words in (("report.html", *AGAIN), OWN):
        both.run(*words)
        assert runs(both) == {"again" if "tag=again" in words else "smoke"}
        assert both.stale(*words) == {}
    assert set(both.stages()[-4:]) == {"workflow_src.report.report"}
    killed = {"stage": "workflow_src.report.report", "kill": KILLED}
    both.run(*AGAIN, check=False, **killed)
    forget(both)
    both.run(*OWN)
    assert runs(both) == {"smoke"} and both.stale("all", *OWN) == {}


def test_a_note_is_told_from_the_text_and_taken_off_again(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    assert asked_of(path) == ""
    path.write_text(noted("# Title\n", "0123456789ab"))
    assert asked_of(path) == "0123456789ab"
    assert without_note(path.read_text()) == "# Title\n" == noted("# Title\n", "")
    for text in ("", "# Title\n", "<!-- asked: 0123456789ab -->\n\nmore\n"):
        path.write_text(text)
        assert asked_of(path) == "" and without_note(text) == text
    path.unlink()
    os.mkfifo(path)
    assert asked_of(path) == "", "without waiting for somebody to write to it"
