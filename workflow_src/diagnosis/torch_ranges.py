"""Where torch itself says what the host does: its own ranges, which don't count as a program's."""

from workflow_src.common.intervals import Union
from workflow_src.diagnosis.finding import Subject
from workflow_src.placing.updates import UPDATE

LOADER = "enumerate(DataLoader)#"
"""How torch names its range in which a batch is waited for."""


def in_loader(subject: Subject) -> Union:
    """When the loop's thread waits for a batch of a DataLoader."""
    return _named(subject, LOADER)


def in_update(subject: Subject) -> Union:
    """When the loop's thread is in an optimizer's step."""
    return _named(subject, UPDATE)


def _named(subject: Subject, beginning: str) -> Union:
    ranges = subject.attributed.capture.ranges
    own = (ranges["process"] == subject.process) & (ranges["thread"] == subject.loop_thread)
    own &= ranges["name"].str.startswith(beginning)
    return Union.of(*(ranges.loc[own, name].to_numpy() for name in ("start_ns", "end_ns")))
