"""The names of captures: their files', as short as tells them apart."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from workflow_src.common.errors import ConfigError

PERIODIC = re.compile(r"(.+?)\1{19,}$")
"""What ends in 20 times the same: Snakemake takes it for a recursion without an end."""

SUFFIXES = re.compile(r"(\.nsys-rep|\.sqlite|\.json|\.pt\.trace|\.trace|\.gz|_arwdir|_pqtdir)+\Z")
ENDS = (SUFFIXES, re.compile(r"\.gz\Z"), re.compile(r"(?!)"))
"""What a name leaves of its file's off, one instead of the other where that tells files apart."""


def names_of(paths: Sequence[str]) -> dict[str, str]:
    """The name of each capture's file; those that would have one name get longer ones together.

    Raises ConfigError if even their whole paths give one name.
    """
    length = {name_of(path): 0 for path in paths}
    longest = len(ENDS) * max((len(Path(path).parts) for path in paths), default=0) - 1
    while True:
        names = {path: name_of(path, length[name_of(path)]) for path in paths}
        times = Counter(names.values())
        alike = [path for path, name in names.items() if times[name] > 1]
        if not alike:
            return names
        for name in {name_of(path) for path in alike}:
            length[name] += 1
        if max(length.values()) > longest:
            first, second, *_ = (path for path in alike if names[path] == names[alike[0]])
            raise ConfigError(
                f"captures: {first} and {second} have one name, {names[first]}, and their tables "
                "would lie in one folder: rename one"
            )


def name_of(path: str, length: int = 0) -> str:
    """A capture's name: its file's, without suffixes and with letters that a path may have.

    A longer one keeps suffixes, or has the last folders before it, by turns.
    """
    folders, kept = divmod(length, len(ENDS))
    *above, file = Path(path).parts
    stem = ENDS[kept].sub("", file) or "capture"
    name = "-".join([*above[max(0, len(above) - folders) :], stem])
    name = re.sub(r"[^A-Za-z0-9._-]", "-", name).lstrip(".-") or "capture"
    return f"{name}-capture" if PERIODIC.search(name) else name
