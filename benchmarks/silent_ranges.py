"""What the model's ranges cost when no profiler listens, relative to a forward pass."""

from workflow_src.common.case import Case
from workflow_src.common.summary import summarize
from workflow_src.measure.timing import time_steps
from workflow_src.measure.workload import Workload
from workflow_src.model.ranges import range_

CASE = Case("tiny", "tiny", 128, 512, 2, 4, 10000, 4, 64, "fp32", "naive", "adamw", "cpu")
RANGES_PER_FORWARD = 3 + CASE.layers * 10
CALLS = 10_000


def silent_ranges() -> None:
    """Enter and leave a range CALLS times."""
    for _ in range(CALLS):
        with range_("softmax"):
            pass


def main() -> None:
    """Print the cost of a silent range and its share of a forward pass."""
    ranges = summarize(time_steps(silent_ranges, lambda: None, 30))
    forward = summarize(time_steps(Workload(CASE).forward, lambda: None, 30))
    each_ns = ranges["median_ms"] * 1e6 / CALLS
    share = each_ns * RANGES_PER_FORWARD / (forward["median_ms"] * 1e6)
    low, high = ranges["p20_ms"] * 1e6 / CALLS, ranges["p80_ms"] * 1e6 / CALLS
    print(f"one silent range: {each_ns:.0f} ns ({low:.0f} to {high:.0f})")
    print(f"forward pass of {CASE.case}: {forward['median_ms']:.2f} ms")
    print(f"its {RANGES_PER_FORWARD} ranges: {share:.4%} of it")


if __name__ == "__main__":
    main()
