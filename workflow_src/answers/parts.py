"""A part of something, with its time."""

from dataclasses import dataclass

from workflow_src.paper.value import Value


@dataclass(frozen=True)
class Part:
    """A part of something: its device time per step, and a share; its maker says of what."""

    name: str
    ms: Value
    share: Value
