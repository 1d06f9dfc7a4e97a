"""What is left of a range's name without its numbers: ranges that differ by these alone are alike.

A number is one in digits that doesn't begin a word ("Conv2d" has none), a hexadecimal one, a UUID,
or a list of numbers in brackets, as in emit_nvtx's "sizes = [[8, 16], []]".
"""

import re

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.common.intervals import Indices

ANY = "*"
"""Stands for a number in a shape."""

_NUMBER = re.compile(
    r"[\[(][\s\d,()\[\]]*[\])]"
    r"|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    r"|0x[0-9a-fA-F]+"
    r"|(?<![0-9A-Za-z])(?=[a-f]*\d)[0-9a-f]{8,}(?![0-9A-Za-z])"
    r"|\d+(?:\.\d+)*(?![A-Za-z\d])"
)

_CALL = re.compile(r"\b(?:seq|op_id) = \d")
"""In the names of emit_nvtx's ranges: a number that no other call has."""


def shape(name: str) -> str:
    """A name with ANY for each number: "step 3" and "step 4" are both "step *"."""
    return _NUMBER.sub(ANY, name)


def shapes(names: npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
    """The shape of each name."""
    code, distinct = pd.factorize(names)
    return np.array([shape(name) for name in distinct], dtype=object)[code]


def alike(names: npt.NDArray[np.object_]) -> Indices:
    """How many of these names differ from each one by numbers alone, itself included.

    Those that emit_nvtx numbers count as alike.
    """
    numbered = np.array([_CALL.search(name) is not None for name in names], dtype=bool)
    group, _ = pd.factorize(np.where(numbered, "", shapes(names)))
    return np.bincount(group)[group]
