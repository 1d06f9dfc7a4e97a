"""The ids of cases: how one is put together, the pattern that all match, and their files."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workflow_src.common.case import AXES
from workflow_src.common.errors import one_of
from workflow_src.common.precisions import PRECISIONS

WORD = re.compile(r"[A-Za-z0-9_.]+")
"""What the name of a file in an id may be."""

VALUE = re.compile(r"[A-Za-z0-9_.+-]+")
"""What the value of a brought function's axis may be as text: 1e-05, -0.5 and gpt2-medium, too."""


def case_id(size: str, values: Mapping[str, Any]) -> str:
    """A short readable id; but for the main axes, those at their usual value are left out."""
    marks = (axis.marked(values[axis.name]) for axis in AXES)
    return "-".join([size, *filter(None, marks)])


def brought_name(name: str, axes: Mapping[str, Any]) -> str:
    """The name of a brought function with values of its axes."""
    return "-".join([name, *(f"{axis}={value}" for axis, value in axes.items())])


def brought_id(name: str, axes: Mapping[str, Any], precision: str) -> str:
    """The id of a case of a brought function, whose axes are given without the precision."""
    return f"{brought_name(name, axes)}-{precision}"


ALWAYS = "".join(f"-{axis.mark.format(WORD.pattern)}" for axis in AXES if axis.always)
OWN_PATTERN = rf"[A-Za-z0-9.]+(?:-[A-Za-z0-9.]+)*{ALWAYS}(?:-{WORD.pattern})*"
BROUGHT_PATTERN = rf"{WORD.pattern}-(?:[A-Za-z0-9_.=+-]*-)?(?:{'|'.join(PRECISIONS)})"
CASE_PATTERN = f"(?:{OWN_PATTERN}|{BROUGHT_PATTERN})"
"""What all ids match: the workflow's global wildcard constraint."""

CASE_FILE = re.compile(
    r"results/(?P<tag>[^/]+)/(?:benchmark|capture|export|timelines|answers/case"
    r"|tables(?!/studies/)(?=/[^/]+/))/(?P<case>[^/]+)(?:/.*)?"
)
"""A path of a file, or of the folder, of one case."""

ENDING = re.compile(r"\.(?:json|md|svg|nsys-rep|kineto\.json\.gz|trace\.json\.gz)$")
"""What may follow a case's name, in which there may be dots, too."""


def unknown_case(words: Iterable[str], tag: str, cases: Sequence[str]) -> str:
    """What is wrong with the first of these words that is a file of an unknown case of a run.

    "" if there is none. Snakemake itself would end with a traceback, or say that no rule makes it.
    Files of other runs are told apart elsewhere.
    """
    for word in words:
        found = CASE_FILE.fullmatch(word)
        if found and found["tag"] == tag:
            case = ENDING.sub("", found["case"])
            if case not in cases:
                return one_of(f"case of {tag}", case, cases)
    return ""
