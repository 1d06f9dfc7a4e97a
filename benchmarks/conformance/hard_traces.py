"""Made-up traces in which something is lost, or misleads; and a large one."""

from benchmarks.conformance.scenario import BWD, FWD, OTHER, STEP, Range, Scenario, Work

LOSSES, CAUSES, LARGE = "losses", "causes that a capture doesn't hold", "size"


def losses() -> list[Scenario]:
    """Traces in which some work belongs to no range."""
    inside = [Work(150, 60, ("step", "fwd")), Work(500, 20, ("step",))]
    return [
        Scenario("no ranges at all", LOSSES, [], [Work(100, 60), Work(200, 40)]),
        Scenario(
            "work between steps",
            LOSSES,
            [STEP, FWD],
            [*inside, Work(1100, 30)],
        ),
        Scenario(
            "work launched before the capture",
            LOSSES,
            [STEP, FWD],
            [
                Work(None, 50, start=40, number=1),
                Work(150, 60, ("step", "fwd"), number=7),
                Work(500, 20, ("step",), number=8),
            ],
        ),
        Scenario("a launch missing in the middle", LOSSES, [STEP, FWD], [
            Work(150, 60, ("step", "fwd"), number=1),
            Work(None, 25, start=300, number=2),
            Work(500, 20, ("step",), number=3),
        ]),
    ]  # fmt: skip


def misleading() -> list[Scenario]:
    """Traces in which the cause of a launch is another one than the ranges at that time suggest.

    The truth is the cause, which the program's author knows and the capture doesn't hold.
    """
    steps = [STEP, FWD, BWD]
    forward = Work(150, 100, ("step", "fwd"))
    backward = [Work(510 + n * 10, 20, ("step", "bwd"), thread=OTHER) for n in range(10)]
    loads = [Range("load", 20 + n * 100, 80 + n * 100, 3) for n in range(9)]
    hook = Range("hook", 600, 640, OTHER)
    caught = Work(610, 40, ("step", "bwd", "hook"), thread=OTHER)
    trainers = [Range(name, 0, 900, thread) for name, thread in (("left", 1), ("right", 3))]
    return [
        Scenario(
            "a loader with more ranges than the main thread, and autograd",
            CAUSES,
            [*steps, *loads],
            [forward, *backward, Work(150, 30, ("load",), thread=3, stream=13)],
        ),
        Scenario(
            "a range of a hook on autograd's thread",
            CAUSES,
            [*steps, hook],
            [forward, *backward, caught],
        ),
        Scenario(
            "ranges of an unlisted library on autograd's thread",
            CAUSES,
            [*steps, Range("sort", 600, 640, OTHER, domain=6)],
            [forward, *backward, Work(610, 40, ("step", "bwd"), thread=OTHER)],
            {6: "some library"},
            ("some library",),
            torch=False,
        ),
        Scenario(
            "a loader without ranges",
            CAUSES,
            steps,
            [forward, Work(200, 60, thread=3, stream=13), Work(600, 60, thread=3, stream=13)],
        ),
        Scenario(
            "a helper that goes on after its range closed",
            CAUSES,
            steps,
            [forward, *(Work(350 + n * 50, 20, ("step", "fwd"), thread=4) for n in range(6))],
        ),
        Scenario(
            "two trainers in one process, each with an autograd thread",
            CAUSES,
            trainers,
            [
                Work(100, 50, ("left",)),
                Work(110, 50, ("right",), thread=3, stream=13),
                Work(500, 90, ("left",), thread=OTHER),
                Work(510, 90, ("right",), thread=4, stream=13),
            ],
        ),
    ]


def large(steps: int = 200, launches: int = 50) -> Scenario:
    """One trace large enough to see what time and memory each tool takes."""
    ranges, work = [], []
    for n in range(steps):
        at = n * 100_000
        ranges += [Range("step", at, at + 90_000), Range("fwd", at + 10, at + 40_000)]
        ranges.append(Range("bwd", at + 50_000, at + 85_000))
        for k in range(launches):
            work.append(Work(at + 100 + k * 500, 400, ("step", "fwd")))
            work.append(Work(at + 51_000 + k * 500, 450, ("step", "bwd"), thread=OTHER))
    return Scenario(f"{len(work):,} launches in {len(ranges)} ranges", LARGE, ranges, work)
