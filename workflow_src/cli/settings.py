"""Settings as snakemake's --config takes them, read by snakemake itself."""

from argparse import ArgumentTypeError, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import snakemake
from snakemake.utils import update_config

from workflow_src.plan.config import CONFIG, read_config

try:
    from snakemake.cli import parse_config
except ImportError:  # Snakemake 7 has it elsewhere, for the arguments of its command.

    def parse_config(entries: Sequence[str]) -> dict[str, Any]:
        """The values of settings given as KEY=VALUE, by key."""
        found: dict[str, Any] = snakemake.parse_config(Namespace(config=entries))
        return found


def setting(text: str) -> str:
    """A setting as KEY=VALUE."""
    try:
        parse_config([text])
    except (ValueError, AssertionError):
        message = f"{text!r} must be KEY=VALUE, as in suite=assignment"
        raise ArgumentTypeError(message) from None
    return text


def configured(given: Sequence[str], file: Path = CONFIG) -> dict[str, Any]:
    """The configuration of `file` with settings as snakemake's --config takes them.

    Raises ConfigError for a file that can't be read.
    """
    config = dict(read_config(file))
    update_config(config, parse_config(given))
    return config
