"""A scenario as a file: an SQLite export of nsys, or a trace of torch.profiler."""

from pathlib import Path
from typing import Any

from benchmarks.conformance.scenario import Bounds, Scenario
from tests.captures.building import Export, event, trace_file

COPY = {"copyKind": 1}
CATEGORIES = {"KERNEL": "kernel", "MEMCPY": "gpu_memcpy", "MEMSET": "gpu_memset"}
MICROSECOND = 1000


def write_nsys(scenario: Scenario, folder: Path) -> Path:
    """An export with the tables and columns that a real one has and the readers use."""
    export = Export(folder, f"{slug(scenario.name)}.sqlite")
    for number, name in scenario.domains.items():
        export.domain(number, name)
    for span in scenario.ranges:
        export.range(
            span.name, span.start, span.end, span.thread, span.process, span.domain,
            span.ended_on, span.registered,
        )  # fmt: skip
    # nsys records the thread that ended a range only where another one had begun it.
    export.sql("UPDATE NVTX_EVENTS SET endGlobalTid = NULL WHERE endGlobalTid = globalTid")
    called = set()
    names: dict[str, int] = {}
    for number, work in enumerate(scenario.work, start=1):
        number = number if work.number is None else work.number
        if work.at is not None and (work.process, number) not in called:
            export.call(work.at, number, work.thread, work.process)
            called.add((work.process, number))
        more: dict[str, Any] = {}
        if work.kind == "KERNEL":
            text = names.setdefault(work.name, 0) or export.string(work.name)
            names[work.name] = text
            more = {"demangledName": text, "shortName": text}
        elif work.kind == "MEMCPY":
            more = COPY
        elif work.kind == "GRAPH_TRACE":
            more = {"graphId": 1}
        export.work(
            None, work.length, work.kind, work.thread, work.process, number, work.device,
            work.stream, work.begins, **more,
        )  # fmt: skip
    return export.write()


def write_torch(scenario: Scenario, folder: Path) -> Path:
    """A trace as torch.profiler writes it, one unit of time being a microsecond."""
    events = [
        event("user_annotation", span.name, span.start, (span.end or 0) - span.start,
              pid=span.process, tid=span.thread)
        for span in scenario.ranges
    ]  # fmt: skip
    called = set()
    for number, work in enumerate(scenario.work, start=1):
        number = number if work.number is None else work.number
        arguments = {"correlation": number}
        if work.at is not None and (work.process, number) not in called:
            called.add((work.process, number))
            call = event("cuda_runtime", "cudaLaunchKernel", work.at, 1, args=arguments)
            events.append(call | {"pid": work.process, "tid": work.thread})
        about = {"device": work.device, "stream": work.stream} | arguments
        place = {"pid": work.device, "tid": work.stream, "args": about}
        events.append(event(CATEGORIES[work.kind], work.name, work.begins, work.length) | place)
    events += projections(scenario)
    return trace_file(folder, events, f"{slug(scenario.name)}.json")


def projections(scenario: Scenario) -> list[dict[str, Any]]:
    """A gpu_user_annotation for each range, as torch.profiler adds them.

    It spans what the range's own thread launched while it was the innermost one, on each stream.
    """
    found: dict[tuple[int, int], Bounds] = {}
    main = {span.name: span.thread for span in scenario.ranges}
    for work in scenario.work:
        if work.path and main[work.path[-1]] == work.thread:
            bounds = found.setdefault((work.device, work.stream), Bounds(scenario))
            bounds.add(work, {work.path[-1]})
    return [
        event("gpu_user_annotation", span.name, first, last - first, pid=device, tid=stream)
        for (device, stream), bounds in found.items()
        for span, (first, last) in bounds.found.items()
    ]


def slug(name: str) -> str:
    """A name as that of a file."""
    return "".join(letter if letter.isalnum() else "-" for letter in name)
