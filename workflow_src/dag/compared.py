"""Two compared runs, which need not be this one: what a comparison depends on."""

import hashlib
from pathlib import Path

from workflow_src.dag.wildcards import Wildcards

READ = ("tables/*.csv", "*.csv", "benchmark/*.json")
"""What a comparison reads of a run, or of a capture of another program."""


def compared_runs(wildcards: Wildcards) -> list[str]:
    """A hash of each of two compared runs: of its tables, its plan and its raw samples."""
    return [_content(Path(run)) for run in (wildcards.run_a, wildcards.run_b)]


def _content(run: Path) -> str:
    """A hash of all that a comparison reads of a run."""
    digest = hashlib.sha256()
    found = (path for part in READ for path in run.glob(part) if path.is_file())
    for path in sorted(found):
        digest.update(f"{path.name} {path.stat().st_size} ".encode() + path.read_bytes())
    return digest.hexdigest()[:16]
