"""The commands that a report names, with the settings of its run."""

import shlex
from collections.abc import Iterable

STUDIES = "studies="


def options(settings: Iterable[str]) -> str:
    """What a command needs to have some settings: " --config suite=assignment"; "" for none."""
    given = list(settings)
    return f" --config {shlex.join(given)}" if given else ""


def without_studies(settings: Iterable[str]) -> list[str]:
    """The settings on which a measurement depends, whatever studies are chosen."""
    return [each for each in settings if not each.startswith(STUDIES)]


def with_studies(settings: Iterable[str], studies: Iterable[str]) -> list[str]:
    """The settings with these studies chosen."""
    return [*without_studies(settings), f"{STUDIES}[{', '.join(studies)}]"]
