"""Where the runs are that the project publishes."""

from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"
H200, H100 = EXAMPLES / "h200", EXAMPLES / "h100"


def run_of(study: str) -> Path:
    """The published run that measured a study."""
    return H100 if study == "profiler" else H200
