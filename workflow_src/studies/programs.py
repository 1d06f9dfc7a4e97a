"""Runs programs of their own for a point: fresh processes, and readers of captures.

A reader needs pandas, which measuring doesn't.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workflow_src.common.errors import StageError
from workflow_src.common.subprocesses import how_it_ended, run_tied


def command_of(module: str, arguments: Sequence[str], output: Path) -> list[str]:
    """The command that has `module` write into `output`."""
    return [sys.executable, "-m", module, *arguments, "--output", str(output)]


def written_by(module: str, arguments: Sequence[str], output: Path, name: str) -> Any:
    """What `python -m module` writes into `output` as JSON.

    Raises StageError, with the program's `name`, if it fails; its message has been printed.
    """
    ended = run_tied(command_of(module, arguments, output))
    if ended.returncode:
        raise StageError(f"{name} {how_it_ended(ended.returncode)}")
    return json.loads(output.read_text(encoding="utf-8"))
