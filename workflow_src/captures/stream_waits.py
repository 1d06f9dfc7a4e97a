"""Which stream waited for which record of an event, as far as both profilers tell.

nsys tells both if it recorded events; Kineto of CUDA 13 tells the stream alone.
"""

import numpy as np
import pandas as pd

from workflow_src.captures.capture import STREAM_WAITS, UNKNOWN, empty, frame
from workflow_src.captures.exported import Exported
from workflow_src.captures.launches import Calls, launches
from workflow_src.common.intervals import Indices

SYNCHRONIZATIONS, RECORDS, CONTEXTS = (
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
    "TARGET_INFO_CUDA_CONTEXT_INFO",
)
STREAM_WAITS_FOR_EVENT = 2
"""In ENUM_CUPTI_SYNC_TYPE, as in CUpti_ActivitySynchronizationType."""

EVENT = ("globalPid", "eventId", "eventSyncId")
"""What a wait and the record that it waits for have in common."""

AT = ("contextId", "streamId", "correlationId")
CONTEXT = ("processId", "contextId")


def stream_waits(waits: pd.DataFrame, calls: Calls) -> pd.DataFrame:
    """A row per wait whose call and device are known, with STREAM_WAITS, in order of time.

    waits: process, device and stream; `number`: of the call that makes the stream wait, begun by
    `seen_ns`; the record's device, stream and number as record_device and so on, or UNKNOWN.
    """
    process, seen = (waits[name].to_numpy() for name in ("process", "seen_ns"))
    wait, record = (
        launches(process, waits[name].to_numpy(), seen, calls).start
        for name in ("number", "record_number")
    )
    found = waits.assign(wait_ns=wait, record_ns=record)
    of_record = [name for name in STREAM_WAITS if name.startswith("record")]
    found.loc[(record == UNKNOWN) | (record >= wait), of_record] = UNKNOWN
    found = found[(wait != UNKNOWN) & (found["device"] != UNKNOWN)]
    return frame(STREAM_WAITS, found.sort_values("wait_ns", ignore_index=True))


def nsys_waits(found: Exported, calls: Calls) -> pd.DataFrame:
    """The waits in an nsys export, with nsys's own numbers of processes.

    A wait's own deviceId is 0 whatever its device is: its context tells that.
    """
    needed = {SYNCHRONIZATIONS: (*AT, "syncType"), CONTEXTS: (*CONTEXT, "deviceId")}
    if not all(found.has_columns(table, *names) for table, names in needed.items()):
        return empty(STREAM_WAITS)
    waits = pd.DataFrame(found.integers(SYNCHRONIZATIONS, (*EVENT, *AT, "start", "syncType")))
    waits = waits[waits["syncType"] == STREAM_WAITS_FOR_EVENT]
    records = pd.DataFrame(columns=[*EVENT, *AT], dtype="int64")
    if found.has_columns(RECORDS, *EVENT, *AT):
        records = pd.DataFrame(found.integers(RECORDS, (*EVENT, *AT))).drop_duplicates(EVENT)
    contexts = pd.DataFrame(found.integers(CONTEXTS, (*CONTEXT, "deviceId")))
    device = contexts.drop_duplicates(CONTEXT, keep=False).set_index(list(CONTEXT))["deviceId"]
    both = waits.merge(records, "left", on=list(EVENT), suffixes=("", "_of")).fillna(UNKNOWN)
    process = both["globalPid"].to_numpy() >> 24
    columns: dict[str, Indices] = {"process": process, "seen_ns": both["start"].to_numpy()}
    for prefix, suffix in (("", ""), ("record_", "_of")):
        context, stream, number = (both[name + suffix].to_numpy(np.int64) for name in AT)
        places = device.reindex([process & 0xFFFFFF, context]).fillna(UNKNOWN)
        columns |= {f"{prefix}device": places.to_numpy(np.int64), f"{prefix}stream": stream}
        columns |= {f"{prefix}number": number}
    return stream_waits(pd.DataFrame(columns), calls)
