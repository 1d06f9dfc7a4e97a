"""Training loops made by hand, whose host sets the pace: a call comes 60 us after the last one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.captures.building import Export
from workflow_src.placing.attributed import Attributed, attributed

US = 1000
STEPS = 5
GAP, COST, TAKES = 55, 5, 35
"""Microseconds: the host's own time before a call, the call's, and that of what it launches."""

HELD = 1000
"""Microseconds that the host doesn't run."""

PRODUCT, ACTIVATION, FUSED = "gemm", "vectorized_elementwise_kernel<Silu>", "multi_tensor_apply"
EMBEDDING = "indexSelect"
TO_DEVICE, TO_HOST = 1, 2
PAGEABLE, PINNED, ON_DEVICE = 0, 1, 2


class Program(Export):
    """An export that is written call by call; times are microseconds from its beginning.

    stretched: every so manieth call comes later by HELD; held: all that together.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.sql("INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (2, 'CUDA_MEMCPY_KIND_DTOH', '')")
        for table in ("MEMCPY", "MEMSET"):
            self.sql(f"ALTER TABLE CUPTI_ACTIVITY_KIND_{table} ADD COLUMN bytes INTEGER")
        self.now = self.freed = 0.0
        self.takes = float(TAKES)
        self.held, self.stretched = 0.0, 0

    @contextmanager
    def inside(self, name: str) -> Iterator[None]:
        began = self.now
        yield
        self.range(name, int(began * US), int(self.now * US))

    def call(  # type: ignore[override]
        self, name: str, cost: float = COST, thread: int = 1, until: float = 0.0
    ) -> int:
        """A call after the host's usual gap, which returns after `until`; its number."""
        self.calls += 1
        late = HELD if self.stretched and self.calls % self.stretched == 0 else 0
        self.held += late
        began = self.now + GAP + late
        self.now = max(began + cost, until)
        self.api(name, int(began * US), int(self.now * US), self.calls, thread)
        return self.calls

    def launch(
        self, kernel: str = PRODUCT, takes: float | None = None, thread: int = 1, cost: float = COST
    ) -> None:
        """A kernel, which starts 2 us after its launch has returned if the device is free."""
        number = self.call("cudaLaunchKernel_v7000", cost, thread)
        self._runs(number, "KERNEL", takes, demangledName=self.string(kernel))

    def fill(self) -> None:
        self._runs(self.call("cudaMemsetAsync_v3020"), "MEMSET", 1.0, bytes=4)

    def copy(
        self, kind: int, size: int, memory: int, takes: float = 1.0, waits: bool = True
    ) -> None:
        """A copy; a synchronization follows if the host waits for it."""
        ends = (memory, ON_DEVICE) if kind == TO_DEVICE else (ON_DEVICE, memory)
        places = dict(copyKind=kind, srcKind=ends[0], dstKind=ends[1], bytes=size)
        self._runs(self.call("cudaMemcpyAsync_v3020"), "MEMCPY", takes, **places)
        if waits:
            self.synchronize()

    def synchronize(self, name: str = "cudaStreamSynchronize_v3020") -> None:
        """The host waits until the device is free."""
        self.call(name, until=self.freed + 3)

    def _runs(self, number: int, kind: str, takes: float | None, **more: Any) -> None:
        length = self.takes if takes is None else takes
        start = max(self.now + 2, self.freed + 1)
        self.freed = start + length
        self.work(None, int(length * US), kind, number=number, start=int(start * US), **more)

    def forward(self) -> None:
        """A forward pass without ranges: 9 calls."""
        self.launch(EMBEDDING)
        for _ in range(4):
            self.launch(PRODUCT)
            self.launch(ACTIVATION)

    def attributed(self) -> Attributed:
        return attributed(self.read(), None)


Place = Callable[[Program, int], None]
"""What a fault does at a place of a step with a number."""


def nothing(program: Program, step: int) -> None:
    """What a loop without a fault does."""


def training_loop(
    folder: Path,
    takes: float = TAKES,
    steps: int = STEPS,
    stretched: int = 0,
    **faults: Place,
) -> Program:
    """Five steps of 27 calls: a forward pass of 9, a backward pass of 16, clip, and an optimizer.

    faults: what is done besides, by where: begin, data, block2, forward, backward, clip, update
    (instead of the optimizer's one launch), end; `every` before each call of forward.
    """
    program = Program(folder)
    program.takes, program.stretched = takes, stretched

    def at(place: str, step: int) -> None:
        faults.get(place, nothing)(program, step)

    for step in range(steps):
        with program.inside("step"):
            at("begin", step)
            with program.inside("data"):
                at("data", step)
            with program.inside("forward"):
                program.launch(EMBEDDING)
                for block in range(4):
                    with program.inside(f"block.{block}"):
                        program.launch(PRODUCT)
                        at("every", step)
                        if block == 2:
                            at("block2", step)
                        program.launch(ACTIVATION)
                at("forward", step)
            with program.inside("backward"):
                at("backward", step)
                for _ in range(8):
                    program.launch(f"{PRODUCT} backward", thread=2)
                    program.launch(f"{ACTIVATION} backward", thread=2)
            with program.inside("clip"):
                at("clip", step)
                program.launch(f"{FUSED} norm")
            with program.inside("optimizer"):
                faults.get("update", lambda program, _: program.launch(FUSED))(program, step)
            at("end", step)
    return program
