"""The end of a process that ran brought code, which may leave threads that run on for ever."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

GRACE_S = 5.0
"""How long threads may take to end by themselves once the main one has: they may be writing."""


@contextmanager
def ended_without_threads(about: str) -> Iterator[None]:
    """End this process some seconds after its main thread, with its status, whatever still runs."""
    status = 0
    try:
        yield
    except BaseException as error:
        status = 0 if isinstance(error, SystemExit) and error.code in (None, 0) else 1
        raise
    finally:
        threading.Thread(target=_end, args=(about, status), daemon=True).start()


def _end(about: str, status: int) -> None:
    # Python waits for other threads with the main one ended, and for this one never.
    threading.main_thread().join()
    time.sleep(GRACE_S)
    main = threading.main_thread()
    left = [each.name for each in threading.enumerate() if not each.daemon and each is not main]
    print(f"{about}: ended, though its code left running: {', '.join(left)}", file=sys.stderr)
    sys.stdout.flush()
    os._exit(status)
