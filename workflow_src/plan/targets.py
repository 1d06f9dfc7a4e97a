"""Files of cases that snakemake is asked for and that no case of the run has.

Snakemake itself would end with a traceback, or say that no rule makes them.
"""

import re
from collections.abc import Iterable, Sequence

from workflow_src.common.errors import one_of

CASE_FILE = re.compile(
    r"results/(?P<tag>[^/]+)/(?:benchmark|capture|export|timelines|answers/case"
    r"|tables(?!/studies/)(?=/[^/]+/))/(?P<case>[^/]+)(?:/.*)?"
)
"""A path of a file, or of the folder, of one case."""

ENDING = re.compile(
    r"\.(?:json|md|svg|nsys-rep|kineto\.json\.gz|trace\.json\.gz|speedscope\.json)$"
)
"""What may follow a case's name, in which there may be dots, too."""


def unknown_case(words: Iterable[str], tag: str, cases: Sequence[str]) -> str:
    """What is wrong with the first of these words that is a file of an unknown case of a run.

    "" if there is none. Files of other runs are told apart elsewhere.
    """
    for word in words:
        found = CASE_FILE.fullmatch(word)
        if found and found["tag"] == tag:
            case = ENDING.sub("", found["case"])
            if case not in cases:
                return one_of(f"case of {tag}", case, cases)
    return ""
