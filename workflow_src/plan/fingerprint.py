"""A short hash of what a stage's code does.

Snakemake reruns a job when a value in its params changes, but doesn't see the modules behind
`python -m`. Each rule therefore passes the fingerprint of its stage as a param, so that its outputs
become stale when the behavior of that stage changes, as far as static analysis can tell. The
fingerprint covers the main block of the stage's module, all definitions reachable from it, and the
import-time effects of their modules. The location of a definition and the unused contents of a
module don't matter. Where the analysis can't tell what is reached, the whole package counts.
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
"""Rounds of refinement: equal texts are told apart by references up to this depth."""


def reached(entry: Ref, code: Code) -> set[Ref]:
    """Everything reachable from `entry`, import-time effects of the modules included."""
    found: set[Ref] = set()
    imported: set[str] = set()
    waiting = [entry]
    while waiting:
        ref = waiting.pop()
        if ref in found:
            continue
        found.add(ref)
        waiting += code.references(ref)
        if ref != EVERYTHING and ref.module not in imported:
            fresh = code.imports_of(ref.module) - imported
            imported |= fresh
            waiting += [Ref("import", name) for name in fresh if code.effects(name)]
    return found


def _hash(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode(errors="surrogateescape")).hexdigest()


def digests(refs: Iterable[Ref], code: Code) -> dict[Ref, str]:
    """A hash of each ref, from its text and the hashes of what it refers to, not its location.

    Definitions may refer to each other in cycles, so hashes are refined in rounds
    (Weisfeiler & Leman 1968).
    """
    every, texts, last = list(refs), code.rounds[0], code.rounds[ROUNDS]
    # What a ref refers to is among the refs, so that one that is known is so after each round.
    new = [ref for ref in every if ref not in last]
    for ref in new:
        if ref not in texts:
            texts[ref] = _hash(*("" if isinstance(p, Ref) else p for p in code.parts(ref)))
    for number in range(1, ROUNDS + 1):
        before, after = code.rounds[number - 1], code.rounds[number]
        for ref in new:
            after[ref] = _hash(texts[ref], *[before[other] for other in code.references(ref)])
    return {ref: last[ref] for ref in every}


def combined(found: dict[Ref, str], entry: Ref) -> str:
    """One short hash of an entry and everything that it reaches."""
    return _hash(found[entry], *sorted(found.values()))[:12]


@cache
def fingerprint(module: str, root: Path = ROOT) -> str:
    """Twelve hex digits that change when the behavior of `python -m module` changes.

    Raises ModuleNotFoundError if the package has no such module.
    """
    code = code_under(root)
    if code.module(module) is None:
        raise ModuleNotFoundError(f"no module {module} in {PACKAGE}")
    entry = Ref("run", module)
    return combined(digests(reached(entry, code), code), entry)
