"""YAML in which no key is there twice, of which the last one would count."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from workflow_src.common.errors import ConfigError


class _Strict(yaml.SafeLoader):
    """YAML in which a key that is there twice is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping. Raises yaml.YAMLError for a key that it names twice."""
        keys = [key.value for key, _ in node.value]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None and twice != "<<":
            raise yaml.YAMLError(f"the key {twice!r} is there twice")
        return super().construct_mapping(node, deep)


def read_config(path: Path) -> Mapping[str, Any]:
    """The content of a configuration file.

    Raises ConfigError if it is missing, isn't YAML or no mapping, or names a key twice.
    """
    try:
        raw = yaml.load(path.read_text(encoding="utf-8"), _Strict)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # ValueError: text that isn't UTF-8, and timestamps such as 2026-99-99.
        raise ConfigError(f"{path}: not readable as YAML ({error})") from error
    if not isinstance(raw, Mapping):
        content = "empty" if raw is None else repr(raw)
        raise ConfigError(f"{path}: must be a mapping of keys to values, and is {content}")
    return raw
