"""What workers of pytest-xdist share: a server of stages (stage_server.py), and compiled code."""

import compileall
import os
import subprocess
from tempfile import TemporaryDirectory

import pytest

from tests.workflow import ROOT, SHARED, start_stage_server

_folder = TemporaryDirectory()
_servers: list["subprocess.Popen[str]"] = []


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the stages, whose copies take the bytecode along; start what workers will use."""
    if hasattr(session.config, "workerinput"):
        return
    compileall.compile_dir(ROOT / "workflow_src", quiet=2)
    workers = getattr(session.config.option, "numprocesses", None) or 0
    if workers > 1 and SHARED not in os.environ:
        os.environ[SHARED] = f"{_folder.name}/stages"
        _servers.append(start_stage_server(os.environ[SHARED]))


def pytest_unconfigure() -> None:
    """End the server: it ends with its input."""
    for server in _servers:
        server.communicate()
