"""What a stage's code does, as a short hash.

Snakemake reruns a job when a value in its params changes, and knows nothing of the modules behind
`python -m`. A rule that passes the fingerprint of its stage as a param is therefore stale exactly
when the behavior of that stage changes, as far as can be told from its code: the main block of its
module, all definitions that it can reach, and what importing their modules does. Where a definition
stands doesn't matter, nor what else the modules hold. Where the analysis can't tell what is
reached, all of the package counts.
"""

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from workflow_src.plan.code import Code, code_under
from workflow_src.plan.modules import PACKAGE
from workflow_src.plan.reader import EVERYTHING, Ref

ROOT = Path(__file__).resolve().parent.parent.parent

ROUNDS = 8
"""How deep two definitions of the same text are told apart by what they refer to."""


def reached(entry: Ref, code: Code) -> set[Ref]:
    """All that `entry` can reach; what importing the modules does is among it."""
    found: set[Ref] = set()
    imported: set[str] = set()
    waiting = [entry]
    while waiting:
        ref = waiting.pop()
        if ref in found:
            continue
        found.add(ref)
        waiting += [part for part in code.parts(ref) if isinstance(part, Ref)]
        if ref != EVERYTHING and ref.module not in imported:
            fresh = code.imports_of(ref.module) - imported
            imported |= fresh
            waiting += [Ref("import", name) for name in fresh if code.effects(name)]
    return found


def _hash(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def digests(refs: Iterable[Ref], code: Code) -> dict[Ref, str]:
    """A hash of each, by its text and by the hashes of what it refers to, but not by its place.

    Definitions may refer to each other in a circle, so that hashes are refined in rounds
    (Weisfeiler & Leman 1968).
    """
    parts = {ref: code.parts(ref) for ref in refs}
    texts = {r: _hash(*("" if isinstance(p, Ref) else p for p in parts[r])) for r in parts}
    others = {r: [p for p in parts[r] if isinstance(p, Ref)] for r in parts}
    found = texts
    for _ in range(ROUNDS):
        found = {r: _hash(texts[r], *(found[other] for other in others[r])) for r in parts}
    return found


def combined(found: dict[Ref, str], entry: Ref) -> str:
    """One short hash of an entry and all that it reaches."""
    return _hash(found[entry], *sorted(found.values()))[:12]


@cache
def fingerprint(module: str, root: Path = ROOT) -> str:
    """Twelve hex digits that change when what `python -m module` does changes.

    Raises ModuleNotFoundError where the package has no such module.
    """
    code = code_under(root)
    if code.module(module) is None:
        raise ModuleNotFoundError(f"no module {module} in {PACKAGE}")
    entry = Ref("run", module)
    return combined(digests(reached(entry, code), code), entry)
