"""Says what a measurement has done, a line for each phase, between its timed regions."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from workflow_src.common.units import NS_PER_MS
from workflow_src.measure.oom import Row

_OBSERVERS: list[Callable[[], object]] = []


@contextmanager
def observed(observe: Callable[[], object]) -> Iterator[None]:
    """Call `observe` after each line that is said inside."""
    _OBSERVERS.append(observe)
    try:
        yield
    finally:
        _OBSERVERS.remove(observe)


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)
    for observe in _OBSERVERS:
        observe()


def said(name: str, row: Row) -> Row:
    """`row`, after a line that says how `name` ended: its best time, or why it has none."""
    best = min(row.get("samples_ns") or [0]) / NS_PER_MS
    ended = f"{best:.3f} ms at best" if best else "done"
    if row["status"] != "ok":
        ended = f"{row['status']} ({row['reason']})"
    say(f"{name}: {ended}")
    return row
