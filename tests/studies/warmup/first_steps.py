"""An export of first steps, made by hand."""

from pathlib import Path

from tests.simulated_gpu import MAIN, Recording

LAUNCH, WAIT = "cudaLaunchKernel", "cudaDeviceSynchronize"

OTHER = MAIN + 1
"""Another thread of the process, such as autograd's."""


def capture(folder: Path, steps: int = 4) -> Path:
    """An export with steps of 1,000 ns: a launch each, whose first takes longer, and a wait."""
    recording = Recording()
    now = 0
    for phase, kernel in (("forward", "k"), ("forward_backward", "l")):
        for number in range(steps):
            took = 600 if number == 0 else 10 + number
            recording.range(phase, now, now + 1_000)
            recording.range("forward", now + 50, now + 900)  # The model's own, inside the step.
            recording.kernel((now + 100, now + 100 + took), (now + 800, now + 850), kernel)
            recording.call(f"{WAIT}_v3020", now + 800, now + 900)
            number_of = recording.names["cudaLaunchKernel_v7000"]
            recording.calls.append((now + 90, now + 95, OTHER, None, number_of))
            now += 2_000
    return recording.write(folder) / "trace.sqlite"
