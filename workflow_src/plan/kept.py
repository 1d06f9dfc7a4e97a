"""Fingerprints kept between runs of snakemake, for as long as no file of the package changes.

Reading all code took a quarter of a dry run's time (benchmarks/README.md); hashing it takes little.
"""

import hashlib
import json
import re
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from workflow_src.common.atomic_write import write_json
from workflow_src.plan.fingerprint import ROOT, fingerprint
from workflow_src.plan.modules import PACKAGE

KEPT = Path(".snakemake", "fingerprints.json")
"""Relative to the project's folder, in which snakemake runs."""

FINGERPRINT = re.compile("[0-9a-f]{12}")


@cache
def contents(root: Path = ROOT) -> str:
    """A hash of the names and contents of all files of the package, and of Python's version."""
    files = (path for path in (root / PACKAGE).rglob("*") if "__pycache__" not in path.parts)
    found = hashlib.sha256(sys.version.encode())
    for path in sorted(path for path in files if path.is_file()):
        content = path.read_bytes()
        found.update(f"{path.relative_to(root)}\0{len(content)}\0".encode() + content)
    return found.hexdigest()


def kept_fingerprint(module: str, kept: Path = KEPT, root: Path = ROOT) -> str:
    """As `fingerprint`, taken from `kept` if that holds it for just these files.

    A file that is missing, damaged or can't be written only costs time.
    """
    known = _read(kept, contents(root))
    if module not in known:
        known[module] = fingerprint(module, root)
        with suppress(OSError):
            write_json(kept, {"contents": contents(root), "fingerprints": known})
    return known[module]


def _read(kept: Path, key: str) -> dict[str, str]:
    with suppress(OSError, ValueError, LookupError, TypeError, RecursionError):
        held = json.loads(kept.read_text(encoding="utf-8"))
        found = dict(held["fingerprints"])
        if held["contents"] == key and all(map(FINGERPRINT.fullmatch, found.values())):
            return found
    return {}
