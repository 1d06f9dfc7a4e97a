"""How long `snakemake -n` of the default configuration takes, compared with an empty Snakefile."""

import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parent.parent
RUNS = 5


def dry_run_s(folder: Path, *target: str) -> float:
    """Seconds of one dry run in a folder."""
    start = time.perf_counter()
    command = ["snakemake", "-n", "--cores", "1", *target]
    subprocess.run(command, cwd=folder, capture_output=True, check=True)
    return time.perf_counter() - start


def main() -> None:
    """Run both in turn, RUNS times, and print medians, ranges and the ratio of the medians."""
    empty: list[float] = []
    ours: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "Snakefile").write_text("rule all:\n")
        for _ in range(RUNS + 1):
            empty.append(dry_run_s(Path(folder)))
            ours.append(dry_run_s(ROOT, "report.md"))
    for name, samples in (("empty Snakefile", empty[1:]), ("this workflow", ours[1:])):
        low, middle, high = min(samples), median(samples), max(samples)
        print(f"{name}: median {middle:.2f} s ({low:.2f} to {high:.2f}, {RUNS} runs)")
    print(f"ratio of medians: {median(ours[1:]) / median(empty[1:]):.2f}")


if __name__ == "__main__":
    main()
