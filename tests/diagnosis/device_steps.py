"""Exports of three steps that the device sets the pace of, from lists of their kernels."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from tests.captures.building import Export
from workflow_src.diagnosis.finding import Finding
from workflow_src.diagnosis.mechanisms import KINDS
from workflow_src.diagnosis.replay import replay
from workflow_src.diagnosis.step import recorded
from workflow_src.diagnosis.subject import Subject
from workflow_src.placing.attributed import attributed

US = 1000
STEPS = 3
FILL = (
    "",
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>",
    500,
)
"""Each step begins and ends with such a kernel, so that the device always lags behind."""

Savings = dict[str, float]
Kernel = tuple[str, str, float]
"""The path of a kernel below its step, "" for none, its name, and its length (us)."""


HOPPER = ("NVIDIA H200", 9, 0)


class DeviceSteps(Export):
    """Launches that follow each other by 2 us, kernels without a gap, a wait at each step's end.

    Another thread launches what is in backward.
    """

    def __init__(self, folder: Path, card: tuple[str, int, int] | None = HOPPER) -> None:
        super().__init__(folder)
        self.sql("CREATE TABLE TARGET_INFO_GPU (name TEXT, computeMajor INT, computeMinor INT)")
        if card:
            self.sql("INSERT INTO TARGET_INFO_GPU VALUES (?, ?, ?)", *card)

    def steps(self, kernels: Sequence[Kernel], in_one_call: bool = False) -> "DeviceSteps":
        """Fill the export; in_one_call: as graphs do, a call launches all kernels of a path."""
        at = 0
        for _ in range(STEPS):
            begin, free = at, at
            for path, rows in groupby([FILL, *kernels, FILL], key=lambda kernel: kernel[0]):
                first = at
                thread = 2 if path.startswith("backward") else 1
                for _, name, length in rows:
                    begins = at == first or not in_one_call
                    start = max(free, at + 2 * US)
                    free = self._launched(at, start, name, length, begins, thread)
                    at += 2 * US
                for name in filter(None, path.split("/")):
                    self.range(name, first, at)
            self.api("cudaDeviceSynchronize", at, free + US, self.calls)
            self.range("step", begin, free + US)
            at = free + 2 * US
        return self

    def _launched(
        self, at: int, start: int, name: str, length: float, begins: bool, thread: int
    ) -> int:
        """Launch a kernel, by a call of its own if it begins one; when it ends."""
        number = self.calls + begins
        named = self.string(name)
        self.work(None, int(length * US), number=number, start=start, demangledName=named)
        self.calls = number
        if begins:
            self.api("cudaLaunchKernel_v7000", at, at + US, number, thread)
        return start + int(length * US)


def subject(export: Export, process: int = 1) -> Subject:
    capture = attributed(export.read(), None)
    return Subject(capture, recorded(capture, process))


def savings(folder: Path, key: str, kernels: Sequence[Kernel], graph: bool = False) -> Savings:
    """What steps of some kernels save (us) without each place of a mechanism, by place."""
    return savings_of(key, subject(DeviceSteps(folder).steps(kernels, graph)))


def savings_of(key: str, of: Subject) -> Savings:
    """What a step saves (us) without each place of a mechanism, by place."""
    return {
        each.where: round((of.check.replayed_ns - replay(of.recording, each.edits).step_ns) / US, 3)
        for each in found(key, of)
    }


def found(key: str, of: Subject) -> list[Finding]:
    """The places of a mechanism, with the times of all steps; by its function, if it has one."""
    named = {"elementwise_chain": "elementwise_chains", "attention_written_out": "attention"}
    finds = [find for find in KINDS if find.__name__ == named.get(key, key)] or KINDS
    return [each for find in finds for each in find(of) if each.key == key]
