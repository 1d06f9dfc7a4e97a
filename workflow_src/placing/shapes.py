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


def shape(name: str) -> str:
    """A name with ANY for each number: "step 3" and "step 4" are both "step *"."""
    return _NUMBER.sub(ANY, name)


def shapes(names: npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
    """The shape of each name."""
    code, distinct = pd.factorize(names)
    return np.array([shape(name) for name in distinct], dtype=object)[code]


def with_shapes(names: npt.NDArray[np.object_]) -> tuple[npt.NDArray[np.object_], Indices]:
    """Distinct names, then those shapes that aren't among them; and the row of each one's shape."""
    alike = [shape(name) for name in names]
    row = {name: number for number, name in enumerate(dict.fromkeys([*names, *alike]))}
    shape_of = [row[each] for each in alike]
    more = range(len(names), len(row))
    return np.array(list(row), dtype=object), np.array([*shape_of, *more], dtype=np.int64)
