"""Validates config.yaml against its schema before anything is measured."""

import difflib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import jsonschema.validators
import yaml

SCHEMA = Path(__file__).with_name("config.schema.yaml")


Violation = Any
"""A jsonschema.ValidationError; Any, because its attributes depend on the schema."""


def _is_integer(checker: object, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


VALIDATOR = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)
"""JSON schema counts 2.0 as an integer; a number of steps is none."""

TYPES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "an integer",
    "null": "left out",
    "number": "a number",
    "object": "a mapping",
    "string": "text",
}
"""What the schema's types are called."""


class ConfigError(ValueError):
    """One sentence that names the key, the value and what is allowed."""

    def __init__(self, said: str) -> None:
        """Put the sentence on one line, whatever its keys and values contain."""
        super().__init__(" ".join(said.split()))


@cache
def schema() -> dict[str, Any]:
    """The JSON schema of config.yaml."""
    loaded: dict[str, Any] = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    return loaded


def one_of(key: str, value: object, allowed: Iterable[str]) -> str:
    """The message for a value that is not among those allowed, suggesting the closest one."""
    names = [str(name) for name in allowed]
    near = difflib.get_close_matches(str(value), names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"{key}: {value!r} is not one of {', '.join(names)}{hint}"


def _key(error: Violation) -> str:
    return ".".join(str(part) for part in error.absolute_path) or "config.yaml"


def _unknown_key(error: Violation) -> str:
    known = list(error.schema["properties"])
    extra = sorted(set(error.instance) - set(known), key=str)[0]
    return one_of(f"{_key(error)}: unknown key", extra, known)


def _expected(error: Violation) -> str:
    bound = error.validator_value
    match error.validator:
        case "type":
            kinds = [bound] if isinstance(bound, str) else bound
            return "must be " + " or ".join(map(TYPES.__getitem__, kinds)) + _how(error, kinds)
        case "minimum":
            return f"must be {bound} or more"
        case "maximum":
            return f"must be {bound} or less"
        case "maxLength":
            return f"must have {bound} characters or fewer"
        case "exclusiveMinimum":
            return f"must be more than {bound}"
        case "pattern":
            allowed: str = error.schema["description"]
            return f"must be made of {allowed}"
        case "minItems" | "minProperties":
            return "must not be empty"
        case "uniqueItems":
            return "must not repeat a value"
    return str(error.message)


def _how(error: Violation, kinds: Sequence[str]) -> str:
    """What to type for a value of another type, as far as that can be guessed."""
    key, value = _key(error), error.instance
    if "array" in kinds and isinstance(value, str):
        return f"; on the command line: --config '{key}=[{value}]'"
    return ""


def sentence(error: Violation) -> str:
    """The message for a schema violation, in one sentence."""
    match error.validator:
        case "additionalProperties":
            return _unknown_key(error)
        case "enum":
            return one_of(_key(error), error.instance, error.validator_value)
        case "required":
            missing = sorted(set(error.validator_value) - set(error.instance))[0]
            return f"{_key(error)}: the key {missing!r} is missing"
    return f"{_key(error)}: {error.instance!r} {_expected(error)}"


def with_defaults(value: Any, rules: Mapping[str, Any]) -> Any:
    """`value` with the schema's defaults filled in recursively; `value` itself is unchanged."""
    if not isinstance(value, Mapping):
        return value
    known: Mapping[str, Any] = rules.get("properties", {})
    filled = {name: rule["default"] for name, rule in known.items() if "default" in rule}
    others = rules.get("additionalProperties", {})
    inner = others if isinstance(others, Mapping) else {}
    return filled | {k: with_defaults(v, known.get(k, inner)) for k, v in value.items()}


def _unusable(value: Any, key: str = "config.yaml") -> Iterator[str]:
    """Messages for values that YAML allows and a JSON schema doesn't check."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if not isinstance(name, str):
                yield f"{key}: the key {name!r} must be text (put it in quotes)"
            yield from _unusable(inner, str(name) if key == "config.yaml" else f"{key}.{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from _unusable(inner, key)
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{key}: {value!r} must be a finite number"


def _contradictions(config: Mapping[str, Any]) -> Iterator[str]:
    if config["suite"] not in config["suites"]:
        yield one_of("suite", config["suite"], config["suites"])
    for name, suite in config["suites"].items():
        for size in suite["sizes"]:
            if size not in config["sizes"]:
                yield one_of(f"suites.{name}.sizes", size, config["sizes"])
    for name, size in config["sizes"].items():
        width, remainder = divmod(size["d_model"], size["heads"])
        if remainder:
            yield (
                f"sizes.{name}.heads: {size['heads']} must divide d_model, which is "
                f"{size['d_model']}"
            )
        elif width % 2:
            yield (
                f"sizes.{name}.heads: {size['heads']} gives heads of width {width}, which must "
                "be even for rotary position embedding"
            )


def _typed(value: Any, rules: Mapping[str, Any]) -> Any:
    """`value` with what the schema asks for in place of what Snakemake's --config makes of it.

    That passes on true, and numbers inside a mapping, as text, and a tag of digits as a number.
    """
    kinds = rules.get("type", ())
    if "string" in kinds and isinstance(value, int) and not isinstance(value, bool):
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
    return int(value) if "integer" in kinds and re.fullmatch(r"[+-]?[0-9]{1,30}", value) else value


def check(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with defaults filled in.

    Raises ConfigError for the first value that is not allowed.
    """
    try:
        problem = next(_unusable(raw), None)
    except RecursionError:
        problem = "config.yaml: a value must not contain itself"
    if problem is not None:
        raise ConfigError(problem)
    raw = _typed(raw, schema())
    errors = VALIDATOR(schema()).iter_errors(raw)
    first = min(errors, key=lambda error: list(map(str, error.absolute_path)), default=None)
    if first is not None:
        raise ConfigError(sentence(first))
    config: dict[str, Any] = with_defaults(raw, schema())
    for problem in _contradictions(config):
        raise ConfigError(problem)
    config["tag"] = config["tag"] or config["suite"]
    return config


class _UniqueKeys(yaml.SafeLoader):
    """YAML in which a mapping that names a key twice is an error: else the last one wins."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping. Raises yaml.YAMLError for a key that it names twice."""
        keys = [key.value for key, _ in node.value]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None and twice != "<<":
            raise yaml.YAMLError(f"the key {twice!r} is there twice")
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> Any:
    """The content of a YAML file. Raises ConfigError if it isn't YAML or names a key twice."""
    try:
        return yaml.load(path.read_text(encoding="utf-8"), _UniqueKeys)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"{path.name}: not readable as YAML ({reason})") from error


def load(path: Path) -> dict[str, Any]:
    """Read and check a YAML file. Raises ConfigError, also if it isn't a YAML mapping."""
    raw = read_yaml(path)
    if not isinstance(raw, Mapping):
        raise ConfigError(f"{path.name}: must be a mapping of keys to values, not {raw!r}")
    return check(raw)
