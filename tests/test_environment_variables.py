"""Variables that are set for a while are as before afterwards, whatever happened inside."""

import os
import subprocess
import sys

import pytest

from workflow_src.common.environment_variables import environment_variables

GIVEN, NEW = "A_VARIABLE_THAT_IS_SET", "A_VARIABLE_THAT_IS_NOT_SET"
SHOW = f"import os; print(os.environ[{GIVEN!r}], os.environ[{NEW!r}])"


@pytest.fixture(autouse=True)
def before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(GIVEN, "before")
    monkeypatch.delenv(NEW, raising=False)


def test_variables_are_set_for_programs_started_inside_and_restored() -> None:
    with environment_variables({GIVEN: "inside", NEW: "1"}):
        ran = subprocess.run([sys.executable, "-c", SHOW], capture_output=True, text=True)
    assert ran.stdout == "inside 1\n"
    assert os.environ[GIVEN] == "before"
    assert NEW not in os.environ


def test_they_are_restored_after_an_error_and_after_a_change_inside() -> None:
    with pytest.raises(ZeroDivisionError), environment_variables({GIVEN: "inside", NEW: "1"}):
        os.environ.pop(NEW)
        os.environ[GIVEN] = "changed"
        raise ZeroDivisionError
    assert os.environ[GIVEN] == "before"
    assert NEW not in os.environ
