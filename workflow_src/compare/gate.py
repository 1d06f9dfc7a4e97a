"""Exit with the verdict of a comparison: 0 same or faster, 1 slower, 2 usage, 3 can't tell."""

import functools
import json
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import ParamSpec

from workflow_src.common.arguments import Parser, existing_file
from workflow_src.common.errors import StageError, one_sentence
from workflow_src.common.reading import reading
from workflow_src.compare.verdict import SAME_STATUS, SLOWER_STATUS, UNKNOWN_STATUS, USAGE_STATUS

P = ParamSpec("P")

STATUSES = (SAME_STATUS, SLOWER_STATUS, UNKNOWN_STATUS)


def with_usage_status(main: Callable[P, None]) -> Callable[P, None]:
    """`main`, which ends with status 2 for whatever keeps it from a verdict.

    Other commands end with status 1, which would mean "slower" here. Even a bug's traceback does.
    """

    @functools.wraps(main)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            with one_sentence():
                main(*args, **kwargs)
        except SystemExit as end:
            if not isinstance(end.code, str):
                raise
            print(end.code, file=sys.stderr)
            sys.exit(USAGE_STATUS)
        except Exception:
            traceback.print_exc()
            sys.exit(USAGE_STATUS)

    return run


@with_usage_status
def main(arguments: Sequence[str] | None = None) -> None:
    """Print the verdict of a comparison that was made, and exit with its status."""
    parser = Parser(prog="workflow_src.compare.gate", description=__doc__)
    parser.add_argument(
        "--comparison", type=existing_file, required=True, help="compare.json of a comparison"
    )
    path = parser.parse_args(arguments).comparison
    with reading(path, "a comparison", "run make compare again", StageError):
        found = json.loads(path.read_text(encoding="utf-8"))
        status, said = found["status"], str(found["verdict"])
        if type(status) is not int or status not in STATUSES:
            raise ValueError(f"status {status!r} is none of {STATUSES}")
    print(said)
    if status:
        sys.exit(status)


if __name__ == "__main__":
    main()
