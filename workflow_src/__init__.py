"""Where does a Transformer training step's time go, on this machine, and how do you know?"""

import sys
from types import TracebackType


def _say_interrupted(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print one sentence for Ctrl-C, and the traceback of anything else.

    Set here, because a stage may be interrupted during its imports, which take seconds. Python
    ends with SIGINT (status 130 in a shell) as it does without this.
    """
    if issubclass(kind, KeyboardInterrupt):
        print(
            "interrupted; run the same command again to go on, finished files are kept",
            file=sys.stderr,
        )
    else:
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _say_interrupted
