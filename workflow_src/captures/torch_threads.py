"""What torch.profiler says of threads and streams: how threads are called, which forward a backward
is of, and which record of an event a stream waited for."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.captures.capture import FLOWS, THREADS, UNKNOWN, Threads, empty, frame, printable
from workflow_src.captures.event_columns import NOT_A_TIME, Known, integers, times
from workflow_src.captures.events import Event

NAME, FLOW = "thread_name", "fwdbwd"
"""The name of events that name a thread; the category of flows from an operator of forward to the
operator of backward that differentiates it."""

SYNCHRONIZATION, WAIT = "cuda_sync", "Stream Wait Event"
"""The category and name of a stream's waits, which Kineto writes if torch.profiler is told to
(enable_cuda_sync_events)."""

METADATA, BEGIN, END = "M", "s", "f"
"""Phases: of what is said of a thread, and where a flow begins and ends."""

TYING = (METADATA, BEGIN, END)


@dataclass(frozen=True)
class Ties:
    """The events of a trace that tell threads apart, collected list by list."""

    known: Known = field(default_factory=Known)
    names: list[pd.DataFrame] = field(default_factory=list)
    ends: list[pd.DataFrame] = field(default_factory=list)
    synced: list[pd.DataFrame] = field(default_factory=list)

    def add(self, events: Sequence[Event]) -> None:
        """Keep what is of use; nothing is kept that holds on to the text of the file."""
        named = [event for event in events if event.ph == METADATA and event.name == NAME]
        if named:
            names = [printable(event.args.name) for event in named]
            self.names.append(frame(THREADS, self._of(named) | {"name": names}))
        flows = [event for event in events if event.ph in (BEGIN, END) and event.cat == FLOW]
        if flows:
            self.ends.append(self._ends(flows))

    def add_waits(self, events: Sequence[Event]) -> None:
        """Keep the waits of streams among a device's synchronizations."""
        waits = [event for event in events if event.name == WAIT]
        if waits:
            self.synced.append(_waits(waits))

    @property
    def waits(self) -> pd.DataFrame:
        """The waits of streams, as captures.stream_waits takes them, but `process`."""
        waits = pd.concat([_waits([]), *self.synced], ignore_index=True)
        return waits[waits["seen_ns"] != NOT_A_TIME].reset_index(drop=True)

    @property
    def threads(self) -> Threads:
        """What they tell of threads."""
        names = pd.concat([empty(THREADS), *self.names], ignore_index=True)
        return Threads(names, self._flows())

    def _of(self, events: Sequence[Event]) -> dict[str, Any]:
        """The process and thread of events."""
        return {
            "process": self.known.identities([event.pid for event in events]),
            "thread": self.known.identities([event.tid for event in events]),
        }

    def _flows(self) -> pd.DataFrame:
        """The flows that have both ends in one process, with FLOWS."""
        ends = pd.concat([self._ends([]), *self.ends], ignore_index=True)
        ends = ends[(ends["number"] != UNKNOWN) & (ends["start_ns"] != NOT_A_TIME)]
        begins = ends.loc[ends["begins"], ["process", "number", "thread"]]
        begins = begins.drop_duplicates(["process", "number"])
        both = ends[~ends["begins"]].merge(
            begins.rename(columns={"thread": "forward_thread"}), on=["process", "number"]
        )
        return both[list(FLOWS)]

    def _ends(self, flows: Sequence[Event]) -> pd.DataFrame:
        """A row per beginning or end of a flow."""
        return pd.DataFrame(
            self._of(flows)
            | {
                "begins": np.array([event.ph == BEGIN for event in flows], dtype=bool),
                "number": integers([event.id for event in flows]),
                "start_ns": times([event.ts for event in flows]),
            }
        )


def _waits(events: Sequence[Event]) -> pd.DataFrame:
    """A row per wait of a stream. Its event is of the same device, as Kineto looks no further."""
    device = integers([event.args.device for event in events])
    return pd.DataFrame(
        {
            "device": device,
            "stream": integers([event.args.stream for event in events]),
            "number": integers([event.args.correlation for event in events]),
            "seen_ns": times([event.ts for event in events]),
            "record_device": device,
            "record_stream": integers([event.args.waits_on for event in events]),
            "record_number": integers([event.args.recorded_by for event in events]),
        }
    )
