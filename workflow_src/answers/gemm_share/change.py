"""The parts of a step, by the range that launched its kernels."""

import pandas as pd

FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"
ELSEWHERE = "elsewhere"
PARTS = (FORWARD, "loss", BACKWARD, OPTIMIZER, ELSEWHERE)
"""The parts of a step in their order: ranges right below it, and what was launched in none."""


def by_part(step: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The rows of kernels.csv of a step by part, without parts that launched nothing."""
    parts = pd.Series([part_of(str(path)) for path in step["path"]], step.index, dtype="object")
    return {name: mine for name in PARTS if len(mine := step[parts == name])}


def part_of(path: str) -> str:
    """The part of a step that a range's path lies in."""
    below = path.split("/")[1:2]
    return below[0] if below and below[0] in PARTS else ELSEWHERE
