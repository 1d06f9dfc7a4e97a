"""Exit with the verdict of a comparison: 0 same or faster, 1 slower, 2 usage, 3 can't tell."""

import json
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from workflow_src.common.arguments import Parser, existing_file
from workflow_src.common.errors import StageError, one_sentence
from workflow_src.common.reading import reading

SAME_STATUS, SLOWER_STATUS, USAGE_STATUS, UNKNOWN_STATUS = 0, 1, 2, 3

STATUSES = {
    "slower": SLOWER_STATUS,
    "longer": SLOWER_STATUS,
    "faster": SAME_STATUS,
    "shorter": SAME_STATUS,
    "same": SAME_STATUS,
    "same work": SAME_STATUS,
    "can't tell": UNKNOWN_STATUS,
    "lost": UNKNOWN_STATUS,
    "nothing": UNKNOWN_STATUS,
}
"""By verdict, on two runs (compare.py) or two captures (compare_captures.py)."""


@contextmanager
def usage_status() -> Iterator[None]:
    """End with status 2 for whatever keeps a comparison from its verdict, even a bug: other
    commands' status 1 would mean "slower" here."""
    try:
        with one_sentence():
            yield
    except SystemExit as end:
        print(end.code, file=sys.stderr)
        sys.exit(USAGE_STATUS)
    except Exception:
        traceback.print_exc()
        sys.exit(USAGE_STATUS)


def read_verdict(path: Path) -> tuple[int, str]:
    """The status and the text of a comparison's JSON. Raises StageError if it has none."""
    with reading(path, "a comparison", "run make compare again", StageError):
        found = json.loads(path.read_text(encoding="utf-8"))
        status, needed = found["status"], found["processes_needed"]
        allowed = sorted(set(STATUSES.values()))
        if type(status) is not int or status not in allowed:
            raise ValueError(f"status {status!r} is none of {allowed}")
        more = f"A verdict on all plain times takes {needed} processes of each case in each run."
        return status, "\n".join([str(found["headline"]), *([more] if needed else [])])


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a comparison's verdict, and exit with its status."""
    parser = Parser(prog="workflow_src.compare.gate", description=__doc__)
    parser.add_argument("--comparison", type=existing_file, required=True, help="compare.json")
    given = parser.parse_args(arguments)
    with usage_status():
        status, said = read_verdict(given.comparison)
        print(said)
    if status:
        sys.exit(status)


if __name__ == "__main__":
    main()
