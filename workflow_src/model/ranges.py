"""Ranges for whichever profiler listens, at almost no cost when none does."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import nvtx
from torch.profiler import record_function

RangeFactory = Callable[[str], AbstractContextManager[object]]

_SILENT: AbstractContextManager[object] = nullcontext()


def _silence(name: str) -> AbstractContextManager[object]:
    return _SILENT


_emit: RangeFactory = _silence


def range_(name: str) -> AbstractContextManager[object]:
    """Marks a range for the listening profiler; a name has no "/", which joins those in a path."""
    return _emit(name)


EMITTERS: dict[str | None, RangeFactory] = {
    None: _silence,
    "nsys": nvtx.annotate,
    "torch": record_function,
}
"""By profiler."""


def listening(profiler: str | None) -> AbstractContextManager[None]:
    """While inside, send ranges to `profiler`, one of EMITTERS."""
    return emitting(EMITTERS[profiler])


@contextmanager
def emitting(emit: RangeFactory) -> Iterator[None]:
    """While inside, `emit` makes each range, from its name."""
    global _emit
    before, _emit = _emit, emit
    try:
        yield
    finally:
        _emit = before
