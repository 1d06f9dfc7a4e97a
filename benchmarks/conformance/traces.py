"""The made-up traces: each shows one thing that captures of real programs have."""

from dataclasses import replace

from benchmarks.conformance.hard_traces import large, losses, misleading
from benchmarks.conformance.scenario import BWD, FWD, MAIN, OTHER, STEP, Range, Scenario, Work

NESTING, THREADS, RANGES = "nesting", "threads", "forms of ranges"
DEVICE = "device work"


def nested() -> list[Scenario]:
    """Traces about how ranges of one thread lie in each other."""
    in_fwd, in_step = Work(150, 300, ("step", "fwd")), Work(450, 40, ("step",))
    return [
        Scenario(
            "nested ranges",
            NESTING,
            [STEP, FWD, BWD],
            [in_fwd, in_step, Work(600, 500, ("step", "bwd"), start=1000)],
        ),
        Scenario(
            "three steps",
            NESTING,
            [Range("step", n * 1000, n * 1000 + 950) for n in range(3)]
            + [Range("fwd", n * 1000 + 10, n * 1000 + 500) for n in range(3)],
            [Work(n * 1000 + 20, 100 + n, ("step", "fwd")) for n in range(3)]
            + [Work(n * 1000 + 600, 50, ("step",)) for n in range(3)],
        ),
        Scenario(
            "same name at two depths",
            NESTING,
            [STEP, Range("block", 100, 800), Range("block", 200, 400)],
            [Work(120, 30, ("step", "block")), Work(250, 70, ("step", "block", "block"))],
        ),
        Scenario(
            "same name in two ranges",
            NESTING,
            [STEP, FWD, BWD, Range("gelu", 150, 250), Range("gelu", 600, 700)],
            [Work(160, 30, ("step", "fwd", "gelu")), Work(650, 60, ("step", "bwd", "gelu"))],
        ),
        Scenario(
            "zero-length range",
            NESTING,
            [STEP, Range("mark", 300, 300), FWD],
            [Work(290, 20, ("step", "fwd")), Work(310, 30, ("step", "fwd")), in_step],
        ),
        Scenario(
            "overlapping ranges",
            NESTING,
            [STEP, Range("load", 100, 400), Range("copy", 300, 600)],
            [
                Work(200, 10, ("step", "load")),
                Work(350, 20, ("step", "copy"), also=("load",)),
                Work(500, 40, ("step", "copy")),
            ],
        ),
        Scenario(
            "names with / and :",
            NESTING,
            [STEP, Range("layer/0:a", 100, 400)],
            [Work(150, 25, ("step", "layer/0:a")), Work(500, 75, ("step",))],
        ),
    ]


def threads() -> list[Scenario]:
    """Traces about the thread, or process, that launches."""
    backward = [Work(510 + n * 10, 30, ("step", "bwd"), thread=OTHER) for n in range(20)]
    forward = [Work(110 + n * 10, 15, ("step", "fwd")) for n in range(20)]
    return [
        Scenario("backward from autograd's thread", THREADS, [STEP, FWD, BWD], forward + backward),
        Scenario(
            "half of backward from each thread",
            THREADS,
            [STEP, FWD, BWD],
            [*forward, *backward[:10], Work(800, 300, ("step", "bwd"))],
        ),
        Scenario(
            "a loader thread with ranges",
            THREADS,
            [STEP, FWD, Range("load", 50, 300, OTHER), Range("load", 600, 700, OTHER)],
            [
                *forward,
                Work(200, 80, ("load",), thread=OTHER, stream=13),
                Work(650, 60, ("load",), thread=OTHER, stream=13),
            ],
        ),
        Scenario(
            "a loader between its ranges",
            THREADS,
            [STEP, FWD, BWD, Range("load", 50, 300, OTHER)],
            [
                *forward,
                Work(200, 80, ("load",), thread=OTHER, stream=13),
                Work(450, 40, thread=OTHER, stream=13),
            ],
        ),
        Scenario(
            "two processes, equal correlation ids",
            THREADS,
            [Range("train", 0, 500), Range("eval", 0, 500, 5, 5)],
            [
                Work(100, 70, ("train",), number=1),
                Work(120, 30, ("eval",), thread=5, process=5, device=1, number=1),
            ],
        ),
        Scenario(
            "a helper without ranges in each of two processes",
            THREADS,
            [Range("train", 0, 500), Range("eval", 0, 500, 5, 5)],
            [
                Work(100, 70, ("train",), thread=OTHER, number=1),
                Work(120, 30, ("eval",), thread=6, process=5, device=1, number=1),
            ],
            torch=False,
        ),
    ]


def forms() -> list[Scenario]:
    """Traces about how ranges are made, which only nsys records."""
    inside = [Work(150, 300, ("step", "fwd")), Work(600, 50, ("step",), start=900)]

    def form(name: str, inner: Range, **more: object) -> Scenario:
        return Scenario(name, RANGES, [STEP, inner], inside, torch=False, **more)  # type: ignore

    return [
        form("started and ended", Range("fwd", 100, 400, ended_on=MAIN)),
        form("ended on another thread", Range("fwd", 100, 400, ended_on=OTHER)),
        form("a named domain", Range("fwd", 100, 400, domain=3), domains={3: "trainer"}),
        form("a registered string", Range("fwd", 100, 400, registered=True)),
        Scenario(
            "a range that is never closed",
            RANGES,
            [Range("train", 0, None), FWD],
            [Work(150, 300, ("train", "fwd")), Work(600, 50, ("train",))],
            torch=False,
        ),
        Scenario(
            "NCCL's own ranges",
            RANGES,
            [STEP, BWD, Range("ncclAllReduce", 600, 640, OTHER, domain=4)],
            [
                Work(550, 100, ("step", "bwd"), thread=OTHER),
                Work(610, 80, ("step", "bwd"), thread=OTHER, name="ncclDevKernel_AllReduce"),
                Work(700, 60, ("step", "bwd"), thread=OTHER),
            ],
            {4: "NCCL"},
            ("NCCL",),
            torch=False,
        ),
    ]


def device() -> list[Scenario]:
    """Traces about what the device does, and when."""
    in_fwd = ("step", "fwd")
    return [
        Scenario(
            "copies and sets",
            DEVICE,
            [STEP, FWD],
            [
                Work(110, 40, in_fwd),
                Work(200, 200, in_fwd, "MEMCPY"),
                Work(300, 10, in_fwd, "MEMSET"),
                Work(500, 90, ("step",), "MEMCPY"),
            ],
        ),
        Scenario(
            "kernels that run after their range closed",
            DEVICE,
            [STEP, FWD, BWD],
            [Work(150, 700, in_fwd), Work(520, 400, ("step", "bwd"), start=1000)],
        ),
        Scenario(
            "kernels that overlap on two streams",
            DEVICE,
            [STEP, FWD, BWD],
            [
                Work(150, 500, in_fwd, start=200),
                Work(550, 500, ("step", "bwd"), start=560, stream=13),
            ],
        ),
        Scenario(
            "a CUDA graph as one activity",
            DEVICE,
            [STEP, Range("replay", 100, 400)],
            [
                Work(150, 900, ("step", "replay"), "GRAPH_TRACE"),
                Work(500, 50, ("step",), start=1100),
            ],
            torch=False,
        ),
        Scenario(
            "a CUDA graph, kernel by kernel",
            DEVICE,
            [STEP, Range("replay", 100, 400)],
            [Work(150, 100, ("step", "replay"), start=160 + 100 * n, number=1) for n in range(5)]
            + [Work(700, 50, ("step",), number=2)],
        ),
    ]


def queued(scenario: Scenario) -> Scenario:
    """The same where work waits for what was launched before it on its stream."""
    ends: dict[tuple[int, int], int] = {}
    waiting = []
    for work in sorted(scenario.work, key=lambda one: one.at or 0):
        stream = work.device, work.stream
        begins = max(work.begins, ends.get(stream, 0))
        ends[stream] = begins + work.length
        waiting.append(replace(work, start=begins))
    return replace(scenario, work=waiting)


def scenarios() -> list[Scenario]:
    """All made-up traces."""
    found = [*nested(), *threads(), *forms(), *device(), *losses(), *misleading(), large()]
    return [queued(scenario) for scenario in found]
