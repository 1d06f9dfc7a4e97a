"""Recognizes exceptions of what can't run here, and finds the reason."""

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from workflow_src.common.errors import UnavailableError
from workflow_src.measure.compiling import WITHOUT

REFUSALS = ("No available kernel", "No viable backend", "No valid execution plan")
"""Parts of the messages of backends that reject an input."""


@contextmanager
def refusing() -> Iterator[None]:
    """Raise UnavailableError, with the reason, where a backend or a missing compiler refuses what
    runs inside. Other exceptions pass through, also torch.OutOfMemoryError."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            cause = getattr(error, "inner_exception", error)
            told = f"{type(cause).__name__}: {cause}"
            if not any(text in told for text in (*WITHOUT, *REFUSALS)):
                raise
            said = [str(warning.message) for warning in caught]
            raise UnavailableError(reason_of(str(cause), said)) from None


def reason_of(error: str, said: Sequence[str]) -> str:
    """The causes that torch warned of, without that other backends are disabled, as they are on
    purpose; else the error's first sentence."""
    lines = [re.sub(r"\s*\(Triggered internally.*", "", line, flags=re.S) for line in said]
    causes = [line for line in lines if "not used because" not in line and "disabled" not in line]
    short = dict.fromkeys(" ".join(line.split()) for line in causes)
    return "; ".join(short) or " ".join(error.split()).split(". ")[0]
