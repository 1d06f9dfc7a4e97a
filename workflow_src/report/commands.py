"""The commands that a report names, with the settings of its run."""

import re
import shlex
from collections.abc import Iterable

from workflow_src.answers.comparable import AGAIN

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


def completed(text: str, tag: str, settings: Iterable[str]) -> str:
    """An answer's text with the run's tag and settings in its commands; it doesn't know them."""
    told = text.replace("results/{tag}/", f"results/{tag}/")
    added = options(settings)
    return re.sub(rf"`{re.escape(AGAIN)}[^`]*(?=`)", lambda found: found[0] + added, told)
