"""Compare the tables of two captures of other programs: as Markdown, HTML, JSON and CSV.

The exit status only says whether the comparison was made; `python -m workflow_src.compare.gate`
exits with its verdict.
"""

from collections.abc import Mapping, Sequence

import pandas as pd

from workflow_src.compare.captures import (
    Captured,
    CapturesCompared,
    compare_captures,
    read_capture,
)
from workflow_src.compare.captures_headline import headline
from workflow_src.compare.gate import status_of
from workflow_src.compare.page import comparison_parser, shown, write
from workflow_src.paper.chapter import Chapter
from workflow_src.paper.show import Printer

Captures = tuple[Captured, Captured]


COMPARISON: Chapter[Captures, CapturesCompared] = Chapter(
    heading="# B compared with A",
    template="compare_captures",
    result=lambda captures: compare_captures(*captures),
    headline=headline,
    named={},
    words=shown,
)
"""The chapter that compares two captures; its page has all rows of its tables."""


def as_dict(result: CapturesCompared) -> Mapping[str, object]:
    """The verdict as plain values for strict JSON."""
    said = headline(result)
    return {
        "a": result.a,
        "b": result.b,
        "verdict": str(said.text(Printer())),
        "status": status_of(said.verdict),
        "processes_needed": None,
    }


def csvs(result: CapturesCompared) -> Mapping[str, pd.DataFrame]:
    """The complete tables, by file name."""
    return {
        "paths": result.paths,
        "kernels": result.kernels,
        "findings": result.steps.findings,
        "host": result.steps.host,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the comparison of two captures into a folder."""
    what = ("tables of the capture before", "tables of the capture after")
    parser = comparison_parser("workflow_src.compare.compare_captures", __doc__, *what)
    given = parser.parse_args(arguments)
    write(given, COMPARISON, read_capture, csvs, as_dict)


if __name__ == "__main__":
    main()
