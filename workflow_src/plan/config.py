"""Checks a configuration before anything is measured: one sentence for the first thing wrong."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from workflow_src.common.capture_names import PERIODIC
from workflow_src.common.case import ATTENTIONS, heads_problem, names_code
from workflow_src.common.errors import ConfigError, one_of
from workflow_src.plan.settings import Config, Size, Suite
from workflow_src.plan.strict_yaml import read_config

CONFIG = Path("config.yaml")

RESERVED = ("captures", "compare")
"""Folders of results/ that belong to no run."""

WORDS = {
    "greater_than_equal": "must be {ge} or more",
    "less_than_equal": "must be {le} or less",
    "greater_than": "must be more than {gt}",
    "finite_number": "must be a finite number",
    "string_too_long": "must have {max_length} characters or fewer",
    "too_short": "must not be empty",
    "string_too_short": "must not be empty",
    "int_type": "must be an integer",
    "int_from_float": "must be an integer",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "list_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
}
"""What the kinds of errors of pydantic are called."""


def check(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with defaults filled in.

    Raises ConfigError for the first value that is not allowed.
    """
    try:
        config = Config.model_validate(dict(raw)).model_dump()
    except ValidationError as error:
        raise ConfigError(_sentence(error)) from None
    except RecursionError:
        raise ConfigError("a value must not contain itself") from None
    for problem in _contradictions(config):
        raise ConfigError(problem)
    suite, workload = config["suites"][config["suite"]], config["workload"]
    if workload and config["axes"] is None:
        config["axes"] = suite["axes"] or {}
    own = workload and suite["axes"] is None
    usual = Path(workload.rpartition(":")[0] or workload).stem if own else config["suite"]
    config["tag"] = _usable_tag(config["tag"] or usual)
    return config


def _sentence(error: ValidationError) -> str:
    """The first error: key, value, what is allowed."""
    first = min(error.errors(include_url=False), key=lambda each: [str(p) for p in each["loc"]])
    kind, value, at = first["type"], first["input"], first["loc"]
    *path, last = [str(part) for part in at if not isinstance(part, int) and part != "[key]"]
    of_key = at[-1] == "[key]" or kind == "invalid_key"
    where = ".".join(path if of_key or kind in ("extra_forbidden", "missing") else [*path, last])
    start = f"{where}: " if where else ""
    if of_key and kind in ("string_type", "invalid_key"):
        key = value if at[-1] == "[key]" else at[-1]
        return f"{start}the key {key!r} must be text (put it in quotes)"
    if kind == "extra_forbidden":
        return one_of(f"{start}unknown key", last, _settings_at(path).model_fields)
    if kind == "missing":
        return f"{start}the key {last!r} is missing"
    if kind == "value_error":
        return f"{start}{first['ctx']['error']}"
    said = WORDS.get(kind, first["msg"]).format(**first.get("ctx", {}))
    setting = _settings_at(path).model_fields.get(last)
    said += " or left out" if setting and setting.default is None and "_type" in kind else ""
    typed = f"; on the command line: --config '{last}=[{value}]'"
    hint = typed if kind == "list_type" and isinstance(value, str) and not path else ""
    return f"{start}{value!r} {said}{hint}"


def _settings_at(path: list[str]) -> type[BaseModel]:
    places: dict[str, type[BaseModel]] = {"sizes": Size, "suites": Suite}
    return places.get(path[0], Config) if path else Config


def _contradictions(config: Mapping[str, Any]) -> Iterator[str]:
    """What no single value is wrong about."""
    sizes, suites, chosen = config["sizes"], config["suites"], config["suite"]
    if chosen not in suites:
        yield one_of("suite", chosen, suites)
    for name, suite in suites.items():
        for key in ("contexts", "sizes"):
            if suite["axes"] is None and suite[key] is None:
                yield f"suites.{name}: the key {key!r} is missing"
        for size in suite["sizes"] or ():
            if size not in sizes:
                yield one_of(f"suites.{name}.sizes", size, sizes)
        for attention in suite["attentions"]:
            if attention not in ATTENTIONS and not names_code(attention):
                known = (*ATTENTIONS, "file.py:function")
                yield one_of(f"suites.{name}.attentions", attention, known)
    if config["workload"] is None:
        given = {"axes": config["axes"], f"suites.{chosen}.axes": suites[chosen]["axes"]}
        for key in (key for key, axes in given.items() if axes is not None):
            yield f"{key}: needs a workload, such as --config workload=my_model.py:make"
    elif config["studies"]:
        yield (
            f"studies: {config['studies'][0]!r} measures this project's own model, and a workload "
            "is brought; allowed with one: none"
        )
    for case in config["levers_cases"]:
        if (size := case.rsplit("-", 2)[0]) not in sizes:
            yield one_of(f"levers_cases: size of {case!r}", size, sizes)
    for name, size in sizes.items():
        if problem := heads_problem(size["d_model"], size["heads"]):
            yield f"sizes.{name}.heads: {problem}"


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


def load(path: Path) -> dict[str, Any]:
    """Read and check a YAML file. Raises ConfigError, also if it isn't a YAML mapping."""
    return check(read_config(path))
