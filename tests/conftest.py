"""Fixtures shared by all tests."""

import os
import tempfile
from pathlib import Path

import pytest
from filelock import FileLock

from tests.skips import pytest_terminal_summary as pytest_terminal_summary
from tests.workflow import Project, make_project


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project whose smoke suite has completed; all workers of pytest-xdist share it."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "finished"
    with FileLock(shared.with_suffix(".lock")):
        if not (shared / "report.html").exists():
            shared.mkdir()
            make_project(shared).run()
    return Project(shared)


@pytest.fixture
def project(finished: Project, tmp_path: Path) -> Project:
    """A copy of the finished project."""
    return finished.copy(tmp_path)


@pytest.fixture
def own_locks(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give this test and its jobs device locks of their own."""
    folder = str(tmp_path_factory.mktemp("locks"))
    monkeypatch.setenv("TMPDIR", folder)
    monkeypatch.setattr(tempfile, "tempdir", folder)
