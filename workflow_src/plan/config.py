"""Validates config.yaml against its schema before anything is measured."""

import math
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from workflow_src.common.case import ATTENTIONS, AXES, heads_problem, names_code
from workflow_src.common.errors import StageError
from workflow_src.common.schema import Violation, key_of, sentence, violation
from workflow_src.common.schema import one_of as one_of

EXPONENT = "[eE][+-]?[0-9]{1,3}"
NUMBER = re.compile(rf"[+-]?[0-9]{{1,30}}(?:\.[0-9]{{1,30}}(?:{EXPONENT})?|{EXPONENT})")
"""A decimal number as text, which YAML takes 1e-5 for."""

CONFIG = Path("config.yaml")
SCHEMA = Path(__file__).with_name("config.schema.yaml")


RESERVED = ("captures", "compare")
"""Folders of results/ that belong to no run."""

PERIODIC = re.compile(r"(.+?)\1{19,}$")
"""What ends in 20 times the same: Snakemake takes it for a recursion without an end."""

PLAIN = re.compile(r"[+-]?(?:0|[1-9][0-9]*)|[^:_]*[.a-zA-Z][^:_]*")
"""Numbers as everybody reads them. To YAML 1.1, 010 is 8, 1:30 is 90 and 1_0 is 10."""


class ConfigError(StageError):
    """One sentence that names the key, the value and what is allowed."""

    def __init__(self, said: str) -> None:
        """Put the sentence on one line, whatever its keys and values contain."""
        super().__init__(" ".join(said.split()))


@cache
def schema() -> dict[str, Any]:
    """The JSON schema of config.yaml, in which the file describes the axes of suites alone."""
    # Each snakemake reads it: ten times as fast as by yaml's Python.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loaded: dict[str, Any] = yaml.load(SCHEMA.read_text(encoding="utf-8"), loader)
    suite = loaded["properties"]["suites"]["additionalProperties"]["properties"]
    for axis in AXES:
        suite[axis.plural] = axis.listed | suite[axis.plural]
    return loaded


def _what_to_type(error: Violation) -> str:
    """What to type for a value of another type, as far as that can be guessed."""
    kinds, value = error.validator_value, error.instance
    if len(error.absolute_path) > 1:
        return ""
    if error.validator == "type" and "array" in kinds and isinstance(value, str):
        return f"; on the command line: --config '{key_of(error)}=[{value}]'"
    return ""


def with_defaults(value: Any, rules: Mapping[str, Any]) -> Any:
    """`value` with the schema's defaults filled in recursively; `value` itself is unchanged."""
    if not isinstance(value, Mapping):
        return value
    known: Mapping[str, Any] = rules.get("properties", {})
    filled = {name: rule["default"] for name, rule in known.items() if "default" in rule}
    others = rules.get("additionalProperties", {})
    inner = others if isinstance(others, Mapping) else {}
    return filled | {k: with_defaults(v, known.get(k, inner)) for k, v in value.items()}


def _unusable(value: Any, key: str = "") -> Iterator[str]:
    """Messages for values that YAML allows and a JSON schema doesn't check."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if not isinstance(name, str):
                where = f"{key}: " if key else ""
                yield f"{where}the key {name!r} must be text (put it in quotes)"
            yield from _unusable(inner, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list):
        for inner in value:
            yield from _unusable(inner, key)
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{key}: {value!r} must be a finite number"


def _contradictions(config: Mapping[str, Any]) -> Iterator[str]:
    if config["suite"] not in config["suites"]:
        yield one_of("suite", config["suite"], config["suites"])
    for name, suite in config["suites"].items():
        for size in suite.get("sizes", ()):
            if size not in config["sizes"]:
                yield one_of(f"suites.{name}.sizes", size, config["sizes"])
        for attention in suite.get("attentions", ()):
            if attention not in ATTENTIONS and not names_code(attention):
                known = (*ATTENTIONS, "file.py:function")
                yield one_of(f"suites.{name}.attentions", attention, known)
    yield from _of_workload(config, config["suites"].get(config["suite"], {}))
    for case in config["levers_cases"]:
        size = case.rsplit("-", 2)[0]
        if size not in config["sizes"]:
            yield one_of(f"levers_cases: size of {case!r}", size, config["sizes"])
    for name, size in config["sizes"].items():
        problem = heads_problem(size["d_model"], size["heads"])
        if problem:
            yield f"sizes.{name}.heads: {problem}"


def _of_workload(config: Mapping[str, Any], suite: Mapping[str, Any]) -> Iterator[str]:
    """What contradicts that a workload is brought, or that none is."""
    if config["workload"] is None:
        given = {"axes": config["axes"], f"suites.{config['suite']}.axes": suite.get("axes")}
        for key in (key for key, axes in given.items() if axes is not None):
            yield f"{key}: needs a workload, such as --config workload=my_model.py:make"
    elif config["studies"]:
        yield (
            f"studies: {config['studies'][0]!r} measures this project's own model, and a workload "
            "is brought; allowed with one: none"
        )


def _typed(value: Any, rules: Mapping[str, Any]) -> Any:
    """`value` with what the schema asks for in place of what Snakemake's --config makes of it.

    That passes on true, null and numbers inside a mapping as text, and a tag of digits as a number.
    """
    kinds = rules.get("type", ())
    whole = isinstance(value, int) and not isinstance(value, bool)
    if whole and "string" in kinds and "integer" not in kinds:
        return str(value)
    if isinstance(value, Mapping):
        known, others = rules.get("properties", {}), rules.get("additionalProperties") or {}
        return {name: _typed(inner, known.get(name, others)) for name, inner in value.items()}
    if isinstance(value, list):
        return [_typed(inner, rules.get("items", {})) for inner in value]
    if not isinstance(value, str):
        return value
    if "boolean" in kinds and value in ("true", "false"):
        return value == "true"
    if "integer" in kinds and re.fullmatch(r"[+-]?[0-9]{1,30}", value):
        return int(value)
    if "null" in kinds and value == "null":
        return None
    decimal = "number" in kinds and NUMBER.fullmatch(value)
    return float(value) if decimal and math.isfinite(float(value)) else value


def check(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with defaults filled in.

    Raises ConfigError for the first value that is not allowed.
    """
    try:
        problem = next(_unusable(raw), None)
    except RecursionError:
        problem = "a value must not contain itself"
    if problem is not None:
        raise ConfigError(problem)
    raw = _typed(raw, schema())
    first = violation(raw, schema())
    if first is not None:
        raise ConfigError(sentence(first, places=False) + _what_to_type(first))
    config: dict[str, Any] = with_defaults(raw, schema())
    for problem in _contradictions(config):
        raise ConfigError(problem)
    suite = config["suites"][config["suite"]]
    if config["workload"]:
        config["axes"] = suite.get("axes", {}) if config["axes"] is None else config["axes"]
    own = config["workload"] and "axes" not in suite
    usual = _stem(config["workload"]) if own else config["suite"]
    config["tag"] = _usable_tag(config["tag"] or usual)
    return config


def usable(key: str, name: str) -> str:
    """`name`. Raises ConfigError if Snakemake can't use it in a path."""
    if repeated := PERIODIC.search(name):
        raise ConfigError(
            f"{key}: {name!r} ends in {repeated[1]!r} 20 times or more, which Snakemake takes for "
            "an endless recursion; choose another name"
        )
    return name


def _usable_tag(tag: str) -> str:
    if tag in RESERVED:
        raise ConfigError(
            f"tag: {tag!r} is a folder of results/ that belongs to no run; allowed: other names, "
            f"such as --config tag={tag}-1"
        )
    return usable("tag", tag)


def _stem(workload: str) -> str:
    return Path(workload.rpartition(":")[0] or workload).stem


MOST_VALUES = 100_000
"""A configuration has some hundred."""


def _values(node: yaml.Node, known: dict[int, int]) -> int:
    """The values in a node; `known` has those of others, by id, and 0 for one that holds itself."""
    if id(node) not in known:
        known[id(node)] = 0
        pairs = node.value if isinstance(node, yaml.MappingNode) else ()
        inner = node.value if isinstance(node, yaml.SequenceNode) else [n for p in pairs for n in p]
        known[id(node)] = 1 + sum(_values(each, known) for each in inner)
    return known[id(node)]


class _Strict(yaml.SafeLoader):
    """YAML in which a key that is there twice is an error, or a value not read as it looks.

    So is what has too many values once each alias (*) is replaced by what it stands for.
    """

    def get_single_node(self) -> yaml.Node | None:
        """The document. Raises yaml.YAMLError for one of more than MOST_VALUES."""
        node: yaml.Node | None = super().get_single_node()
        if node is not None and _values(node, {}) > MOST_VALUES:
            raise yaml.YAMLError(f"its aliases stand for more than {MOST_VALUES:,} values")
        return node

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
        kind = node.tag.rpartition(":")[2]
        if kind in ("int", "float") and not PLAIN.fullmatch(node.value):
            raise ConfigError(
                f"{key}: YAML reads {node.value} as {self.construct_object(node)}; allowed: a "
                "number in digits without a 0 in front, a colon or an underscore, or text in quotes"
            )
        if kind == "bool" and node.value.lower() not in ("true", "false"):
            raise ConfigError(
                f"{key}: YAML reads {node.value} as {str(self.construct_object(node)).lower()}; "
                "allowed: true, false, or text in quotes"
            )


def read_yaml(path: Path) -> Any:
    """The content of a YAML file.

    Raises ConfigError if it is missing, isn't YAML, names a key twice, or has a number that isn't
    read as it looks.
    """
    try:
        return yaml.load(path.read_text(encoding="utf-8"), _Strict)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # ValueError: text that isn't UTF-8, and timestamps such as 2026-99-99.
        raise ConfigError(f"{path}: not readable as YAML ({error})") from error


def options(config: Mapping[str, Any], file: Path = CONFIG) -> list[str]:
    """The settings in which a run's configuration differs from `file`, as --config takes them.

    Raises ConfigError for a file that can't be read.
    """
    usual = read_yaml(file) or {}
    given = {key: value for key, value in config.items() if value != usual.get(key)}
    changed = _typed(given, schema())
    first = sorted(changed, key=lambda key: (key != "suite", key))
    return [f"{key}={_as_typed(changed[key])}" for key in first]


def _as_typed(value: Any) -> str:
    """A value as one types it on the command line."""
    if isinstance(value, str):
        return value
    flow = yaml.safe_dump(value, default_flow_style=True, width=math.inf, sort_keys=False)
    return str(flow).removesuffix("...\n").strip()


def read_config(path: Path) -> Mapping[str, Any]:
    """The content of a configuration file. Raises ConfigError, also if it isn't a mapping."""
    raw = read_yaml(path)
    if not isinstance(raw, Mapping):
        content = "empty" if raw is None else repr(raw)
        raise ConfigError(f"{path}: must be a mapping of keys to values, and is {content}")
    return raw


def load(path: Path) -> dict[str, Any]:
    """Read and check a YAML file. Raises ConfigError, also if it isn't a YAML mapping."""
    return check(read_config(path))
