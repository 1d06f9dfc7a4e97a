"""Reads any capture: an export of nsys or traces of torch.profiler, compressed or not."""

from dataclasses import replace
from pathlib import Path

from workflow_src.captures import nsys
from workflow_src.captures.capture import UNKNOWN, Capture, Note, early
from workflow_src.captures.cards import card_of_trace
from workflow_src.captures.files import AGAIN, GIVE, database, is_sqlite
from workflow_src.captures.store import opened
from workflow_src.common.errors import ADVICE, TraceError
from workflow_src.common.reading import reading
from workflow_src.common.thresholds import LOST_AT_MOST
from workflow_src.common.units import NS_PER_US

APART_NS, FEW = 1_000_000, 10
"""Clocks are this far apart at most; and so few early activities say nothing of one."""


def read(path: Path) -> Capture:
    """The capture in a file. Raises TraceError, which names it, if it can't be read."""
    try:
        with reading(path, "a capture that can be read", f"{AGAIN}, or {GIVE}", TraceError):
            return on_hosts_clock(_read(path))
    except OSError as error:
        if error.errno in ADVICE:
            raise
        raise TraceError(f"{path}: it can't be read ({error.strerror}); {GIVE}") from error
    except TraceError as error:
        said = str(error)
        raise TraceError(said if said.startswith(str(path)) else f"{path}: {said}") from error


def _read(path: Path) -> Capture:
    if not path.exists():
        raise TraceError("there is no such file")
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "no file, as a pipe isn't"
        raise TraceError(f"it is {kind}; {GIVE}")
    if is_sqlite(path):
        with database(path) as plain, opened(plain) as store:
            found = nsys.read(store)
    else:
        # Imported for such a trace alone, as its reader of JSON takes a while to import.
        from workflow_src.captures import torch_profiler

        found = torch_profiler.read(path)
        found = replace(found, recording=replace(found.recording, card=card_of_trace(path)))
    if not len(found.ranges) and not len(found.work) and not found.recording.launches:
        raise TraceError(
            "it holds neither a range nor any work of a device; record some: "
            "nsys profile -t cuda,nvtx"
        )
    return found


def on_hosts_clock(capture: Capture) -> Capture:
    """A capture whose devices' times are later by what their clocks are ahead of the host's.

    No activity starts before its launch. In windows that follow each other (nsys
    --capture-range-end=repeat) nearly all of a window did on an H200, by up to 21 us.
    """
    work = capture.work
    if early(work) <= max(FEW, LOST_AT_MOST * len(work)):
        return capture
    launched = work[work["launch_ns"] != UNKNOWN]
    delay_ns = (launched["start_ns"] - launched["launch_ns"]).groupby(launched["device"])
    ahead_ns = -delay_ns.quantile(LOST_AT_MOST, interpolation="lower")
    moved_ns = work["device"].map(ahead_ns[ahead_ns.between(1, APART_NS)]).fillna(0).astype("int64")
    about = f"by {moved_ns.max() / NS_PER_US:.1f} us at most"
    note = Note("clocks", int((moved_ns > 0).sum()), about)
    times = {name: work[name] + moved_ns for name in ("start_ns", "end_ns")}
    return replace(capture, work=work.assign(**times), notes=(*capture.notes, note))
