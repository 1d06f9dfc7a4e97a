"""Which record of an event each stream waited for, as both profilers tell."""

import pandas as pd

from workflow_src.captures.capture import STREAM_WAITS, UNKNOWN, empty, frame
from workflow_src.captures.exported import Exported
from workflow_src.captures.launches import Calls, launches

SYNCHRONIZATIONS, RECORDS, CONTEXTS = (
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
    "TARGET_INFO_CUDA_CONTEXT_INFO",
)
STREAM_WAITS_FOR_EVENT = 2
"""In ENUM_CUPTI_SYNC_TYPE, as in CUpti_ActivitySynchronizationType."""

EVENT = ("globalPid", "eventId", "eventSyncId")
"""What a wait and the record that it waits for have in common."""

COLUMNS = {
    SYNCHRONIZATIONS: (*EVENT, "contextId", "streamId", "correlationId", "start", "syncType"),
    RECORDS: (*EVENT, "contextId", "streamId", "correlationId"),
    CONTEXTS: ("processId", "contextId", "deviceId"),
}


def stream_waits(waits: pd.DataFrame, calls: Calls) -> pd.DataFrame:
    """A row per wait whose record is known, with STREAM_WAITS, in order of time.

    waits: process, device and stream; `number`: of the call that makes the stream wait, begun by
    `seen_ns`; the record's device, stream and number as record_device and so on.
    """
    process, seen = (waits[name].to_numpy() for name in ("process", "seen_ns"))
    found = waits.assign(
        **{
            moment: launches(process, waits[number].to_numpy(), seen, calls).start
            for moment, number in (("wait_ns", "number"), ("record_ns", "record_number"))
        }
    )
    known = (found["record_ns"] != UNKNOWN) & (found["record_ns"] < found["wait_ns"])
    return frame(STREAM_WAITS, found[known].sort_values("wait_ns", ignore_index=True))


def nsys_waits(found: Exported, calls: Calls) -> pd.DataFrame:
    """The waits in an nsys export, with nsys's own numbers of processes.

    A wait's own deviceId is 0 whatever its device is: its context tells that.
    """
    if not all(found.has_columns(table, *names) for table, names in COLUMNS.items()):
        return empty(STREAM_WAITS)
    waits, records, contexts = (
        pd.DataFrame(found.integers(table, names)) for table, names in COLUMNS.items()
    )
    waits = waits[waits["syncType"] == STREAM_WAITS_FOR_EVENT]
    both = waits.merge(records.drop_duplicates(EVENT), on=list(EVENT), suffixes=("", "_of"))
    both = both.assign(process=both["globalPid"].to_numpy() >> 24)
    device = contexts.drop_duplicates(["processId", "contextId"], keep=False)
    device = device.set_index(["processId", "contextId"])["deviceId"]
    places = {
        name: device.reindex([both["process"] & 0xFFFFFF, both[context]]).fillna(UNKNOWN)
        for name, context in (("device", "contextId"), ("record_device", "contextId_of"))
    }
    names = {"streamId": "stream", "streamId_of": "record_stream", "start": "seen_ns"}
    numbers = {"correlationId": "number", "correlationId_of": "record_number"}
    both = both.rename(columns=names | numbers)
    both = both.assign(**{name: column.to_numpy("int64") for name, column in places.items()})
    return stream_waits(both, calls)
