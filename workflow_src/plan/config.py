"""Reads and checks a configuration: one sentence for the first thing that is wrong."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from workflow_src.common.case import ATTENTIONS, names_code
from workflow_src.common.errors import ConfigError, one_of
from workflow_src.plan.settings import Config, Size, Suite

CONFIG = Path("config.yaml")


def check(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with defaults. Raises ConfigError for the first value not allowed."""
    try:
        config = Config.model_validate(dict(raw)).model_dump()
    except ValidationError as error:
        raise ConfigError(_sentence(error)) from None
    for problem in _contradictions(config):
        raise ConfigError(problem)
    workload = config["workload"]
    usual = Path(workload.rpartition(":")[0]).stem if workload else config["suite"]
    return config | {"tag": config["tag"] or usual}


def _sentence(error: ValidationError) -> str:
    """The first error: key, value, what is allowed. A key that is missing may be one misspelled."""
    first = min(error.errors(include_url=False), key=lambda each: each["type"] == "missing")
    kind, value = first["type"], first["input"]
    # Without places in lists; a key that is a number has nothing before it.
    names = [part for part in first["loc"] if isinstance(part, str) and part != "[key]"]
    *path, last = names or map(str, first["loc"])
    where = ".".join([*path, last])
    if kind == "extra_forbidden":
        key = ": ".join([".".join(path), "unknown key"] if path else ["unknown key"])
        places: dict[str, type[BaseModel]] = {"sizes": Size, "suites": Suite}
        return one_of(key, last, places.get("".join(path[:1]), Config).model_fields)
    if kind == "missing":
        return f"{where}: this key is missing"
    if kind == "value_error":
        return f"{where}: {first['ctx']['error']}"
    of_list = kind == "list_type" and isinstance(value, str) and not path
    hint = f"; on the command line: --config '{last}=[{value}]'" if of_list else ""
    return f"{where}: {value!r}: {first['msg']}{hint}"


def _contradictions(config: Mapping[str, Any]) -> Iterator[str]:
    """What no single value is wrong about."""
    sizes, suites, chosen = config["sizes"], config["suites"], config["suite"]
    if chosen not in suites:
        yield one_of("suite", chosen, suites)
    for name, suite in suites.items():
        for size in (size for size in suite["sizes"] if size not in sizes):
            yield one_of(f"suites.{name}.sizes", size, sizes)
        for attention in suite["attentions"]:
            if attention not in ATTENTIONS and not names_code(attention):
                known = (*ATTENTIONS, "file.py:function")
                yield one_of(f"suites.{name}.attentions", attention, known)
    if config["axes"] and not config["workload"]:
        yield "axes: needs a workload, such as --config workload=my_model.py:make"
    if config["studies"] and config["workload"]:
        yield (
            f"studies: {config['studies'][0]!r} measures this project's own model, and a workload "
            "is brought; allowed with one: none"
        )
    for case in config["levers_cases"]:
        if (size := case.rsplit("-", 2)[0]) not in sizes:
            yield one_of(f"levers_cases: size of {case!r}", size, sizes)
    for name, size in sizes.items():
        width, remainder = divmod(size["d_model"], size["heads"])
        heads = f"sizes.{name}.heads: {size['heads']}"
        if remainder:
            yield f"{heads} must divide d_model, which is {size['d_model']}"
        elif width % 2:
            yield (
                f"{heads} gives heads of width {width}, which must be even for rotary position "
                "embedding"
            )


class _Strict(yaml.SafeLoader):
    """YAML in which a key that is there twice is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
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
