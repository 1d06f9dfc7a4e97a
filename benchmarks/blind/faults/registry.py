"""The list of faults, and which kinds of models can have each."""

from collections.abc import Callable, Sequence

from benchmarks.blind.program import Program
from benchmarks.planted.loop import DEVICE

ON_CUDA = DEVICE.type == "cuda"

Place = Sequence[int]
"""The layers that a fault of layers is put into."""

Fault = Callable[[Program, Place, float], None]
"""Changes a program. The number: milliseconds that a fault of the host takes, so that it is seen
beside the program's own step."""

FAULTS: dict[str, Fault] = {}
"""By the key of the mechanism that names it (docs/findings.md)."""

_OF_KINDS: dict[str, tuple[str, ...]] = {}
"""The kinds of models that can have a fault, of those that not all can have."""


def fault(key: str, *kinds: str) -> Callable[[Fault], Fault]:
    """Put a function into FAULTS; kinds: of models that can have it, or none if all can."""

    def put(function: Fault) -> Fault:
        FAULTS[key] = function
        if kinds:
            _OF_KINDS[key] = kinds
        return function

    return put


def suits(key: str, kind: str) -> bool:
    """Whether a kind of model can have a fault."""
    return kind in _OF_KINDS.get(key, (kind,))
