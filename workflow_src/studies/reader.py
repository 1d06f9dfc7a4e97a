"""Runs a program that reads captures for a point: it needs pandas, which measuring doesn't."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workflow_src.common.errors import StageError
from workflow_src.common.subprocesses import how_it_ended, run_tied


def run_reader(module: str, arguments: Sequence[str], output: Path) -> Any:
    """What `python -m module` writes into `output` as JSON. Raises StageError if it fails."""
    ended = run_tied([sys.executable, "-m", module, *arguments, "--output", str(output)])
    if ended.returncode:
        raise StageError(f"the reader of the capture {how_it_ended(ended.returncode)}")
    return json.loads(output.read_text(encoding="utf-8"))
