"""Ask profilers about traces whose truth is known, and write docs/conformance.md."""

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from benchmarks.conformance.page import page
from benchmarks.conformance.run import NOT_INSTALLED, results
from benchmarks.conformance.tools import HTA


def versions(installed: Path | None) -> dict[str, str]:
    """What was compared, when, and on what."""
    nsys = subprocess.run(["nsys", "--version"], capture_output=True, text=True, check=True)
    found = {
        d.metadata["Name"].lower(): d.version
        for d in metadata.distributions(path=[str(installed)] if installed else [])
    }
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "nsys": nsys.stdout.split("version")[-1].strip(),
        HTA: f"{found[HTA.lower()]}, with pandas {found['pandas']}" if found else NOT_INSTALLED,
        "this project": f"Python {platform.python_version()}, pandas {metadata.version('pandas')}",
        "machine": f"{os.cpu_count()} cores of {processor()}; no GPU is used",
    }


def processor() -> str:
    """The kind of processor."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or "an unknown processor"
    model = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return f"an {model[1]}" if model else "an unknown processor"


def main() -> None:
    """Run all tools on all traces, one after another."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True, help="the page to write")
    parser.add_argument("--tools", type=Path, help=f"folder that pip installed {HTA} into")
    given = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for result in results(Path(folder), given.tools):
            print(result.trace.name, result.trace.format, file=sys.stderr)
            found.append(result)
    given.output.write_text(page(found, versions(given.tools)), encoding="utf-8")


if __name__ == "__main__":
    main()
