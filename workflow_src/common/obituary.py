"""Say that a process was killed: one that ends otherwise writes a word to this one's input first.

python -m workflow_src.common.obituary WHAT
"""

import signal
import sys

from workflow_src.common.subprocesses import RAN_OUT


def main() -> None:
    """Wait until the input is closed, and print a sentence if nothing was written to it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if not sys.stdin.read():
        why = f"if nobody killed it, and its code doesn't call os._exit, {RAN_OUT}"
        print(f"{sys.argv[1]} was killed; {why}", file=sys.stderr)


if __name__ == "__main__":
    main()
