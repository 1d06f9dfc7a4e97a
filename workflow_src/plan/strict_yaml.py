"""YAML in which nothing is read otherwise than it looks."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from workflow_src.common.errors import ConfigError

PLAIN = re.compile(r"[+-]?(?:0|[1-9][0-9]*)|[^:_]*[.a-zA-Z][^:_]*")
"""Numbers as everybody reads them. To YAML 1.1, 010 is 8, 1:30 is 90 and 1_0 is 10."""


class _Strict(yaml.SafeLoader):
    """YAML in which a key that is there twice is an error, or a value not read as it looks."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping. Raises yaml.YAMLError for a key that it names twice."""
        keys = [key.value for key, _ in node.value]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None and twice != "<<":
            raise yaml.YAMLError(f"the key {twice!r} is there twice")
        for key, value in node.value:
            for each in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                self._require_plain(key.value, each)
        return super().construct_mapping(node, deep)

    def _require_plain(self, key: str, node: yaml.Node) -> None:
        kind, allowed = node.tag.rpartition(":")[2], ""
        if kind in ("int", "float") and not PLAIN.fullmatch(node.value):
            allowed = "a number in digits without a 0 in front, a colon or an underscore"
        if kind == "bool" and node.value.lower() not in ("true", "false"):
            allowed = "true, false"
        if allowed:
            read = json.dumps(self.construct_object(node))
            raise ConfigError(
                f"{key}: YAML reads {node.value} as {read}; allowed: {allowed}, or text in quotes"
            )


def read_config(path: Path) -> Mapping[str, Any]:
    """The content of a configuration file.

    Raises ConfigError if it is missing, isn't YAML or no mapping, names a key twice, or has a
    number that isn't read as it looks.
    """
    try:
        raw = yaml.load(path.read_text(encoding="utf-8"), _Strict)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # ValueError: text that isn't UTF-8, and timestamps such as 2026-99-99.
        raise ConfigError(f"{path}: not readable as YAML ({error})") from error
    if not isinstance(raw, Mapping):
        content = "empty" if raw is None else repr(raw)
        raise ConfigError(f"{path}: must be a mapping of keys to values, and is {content}")
    return raw
