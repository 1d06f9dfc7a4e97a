"""One wrapper emits a range for whichever profiler listens, and next to nothing when none does."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

RangeFactory = Callable[[str], AbstractContextManager[object]]

_SILENT: AbstractContextManager[object] = nullcontext()


def _silence(name: str) -> AbstractContextManager[object]:
    return _SILENT


_emit: RangeFactory = _silence


def range_(name: str) -> AbstractContextManager[object]:
    """A context manager that marks a range called `name` for the listening profiler.

    Names hold no "/": a path joins the names of nested ranges with it.
    """
    return _emit(name)


def listen(profiler: str | None) -> None:
    """Send ranges to `profiler`: "nsys" (NVTX), "torch" (record_function), None (nowhere).

    Raises ValueError for any other name.
    """
    global _emit
    if profiler is None:
        _emit = _silence
    elif profiler == "nsys":
        import nvtx

        _emit = nvtx.annotate
    elif profiler == "torch":
        from torch.profiler import record_function

        _emit = record_function
    else:
        raise ValueError(f"profiler: {profiler!r} is not one of nsys, torch")
