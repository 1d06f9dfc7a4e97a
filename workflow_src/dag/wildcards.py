"""The wildcards of the rules, and a sentence for a value that none of them may have."""

from collections.abc import Iterable
from typing import Protocol

from workflow_src.common.errors import ConfigError, one_of


class Wildcards(Protocol):
    """Snakemake's wildcards; which ones exist depends on the rule."""

    tag: str
    case: str
    question: str
    front: str
    study: str
    point: str
    part: str
    capture: str
    run_a: str
    run_b: str


def known(key: str, value: str, allowed: Iterable[str]) -> str:
    """`value` if it is one of `allowed`. Raises ConfigError, which lists them, if not."""
    names = list(allowed)
    if value not in names:
        raise ConfigError(one_of(key, value, names))
    return value
