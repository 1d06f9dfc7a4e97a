"""The names of captures: their files', as short as tells them apart."""

import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from workflow_src.common.errors import ConfigError

SUFFIXES = re.compile(r"(\.nsys-rep|\.sqlite|\.json|\.pt\.trace|\.trace|\.gz)+\Z")
ENDS = (SUFFIXES, re.compile(r"\.gz\Z"), re.compile(r"(?!)"))
"""What a name leaves of its file's off, one instead of the other where that tells files apart."""


def names_of(paths: Sequence[str]) -> dict[str, str]:
    """The name of each capture's file; those that would have one name get longer ones.

    First with the folders in which they differ, then with suffixes. Raises ConfigError if even
    those give one name.
    """
    names = {path: name_of(Path(path).name) for path in paths}
    folders = [Path(path).absolute().parent for path in paths]
    for ends in ENDS:
        times = Counter(names.values())
        for path in (path for path, name in names.items() if times[name] > 1):
            names[path] = name_of(os.path.relpath(path, os.path.commonpath(folders)), ends)
    first = {name: path for path, name in reversed(names.items())}
    for second, name in names.items():
        if first[name] != second:
            raise ConfigError(
                f"captures: {first[name]} and {second} have one name, {name}, and their tables "
                "would lie in one folder: rename one"
            )
    return names


def name_of(path: str, ends: re.Pattern[str] = SUFFIXES) -> str:
    """A capture's name: its path without `ends`, of letters that the name of a folder may have."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", ends.sub("", path)).lstrip(".-") or "capture"
