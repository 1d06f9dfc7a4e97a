"""Checks values against a JSON schema; a violation is one sentence: key, value, what is allowed."""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

Schema = dict[str, Any]

Violation = Any
"""A jsonschema.ValidationError; Any, because its attributes depend on the schema."""

TEXT: Schema = {"type": "string", "minLength": 1}
POSITIVE: Schema = {"type": "integer", "minimum": 1, "maximum": 2**63 - 1}
NOT_NEGATIVE: Schema = POSITIVE | {"minimum": 0}
AMOUNT: Schema = {"type": "number", "minimum": 0, "maximum": 1e15}
YES_OR_NO: Schema = {"type": "boolean"}


def choice(names: Iterable[str]) -> Schema:
    """The schema of one of `names`."""
    return {"enum": list(names)}


def listed(items: Schema) -> Schema:
    """The schema of a list with at least one of `items`."""
    return {"type": "array", "items": items, "minItems": 1}


def mapping(required: Schema, optional: Schema | None = None) -> Schema:
    """The schema of a mapping with these keys; others are allowed and unchecked."""
    properties = required | (optional or {})
    return {"type": "object", "properties": properties, "required": list(required)}


def mapping_by(key: str, kinds: Mapping[str, Schema]) -> Schema:
    """The schema of a mapping whose `key` is the name of one of `kinds`, and which is of it."""
    conditions = [
        {"if": {"properties": {key: {"const": name}}}, "then": kind} for name, kind in kinds.items()
    ]
    return mapping({key: choice(kinds)}) | {"allOf": conditions}


def pattern_problem(text: str) -> str:
    """Why a text is no regular expression; "" if it is one."""
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        return f"is no regular expression: {error}"
    return ""


@cache
def _validator() -> Any:
    """The class of validators by which 2.0, unlike in JSON schema, is no integer.

    Of its formats, they know `regex` alone: what Python's re takes.
    """
    # Importing it takes a tenth of a second, which commands without a file to check save.
    from jsonschema import Draft202012Validator, ValidationError, validators

    def is_of(_: Any, form: str, value: Any, __: Any) -> Iterator[ValidationError]:
        problem = pattern_problem(value) if form == "regex" and isinstance(value, str) else ""
        if problem:
            yield ValidationError(problem)

    types = Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    )
    return validators.extend(Draft202012Validator, {"format": is_of}, type_checker=types)


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


def violation(value: Any, schema: Schema) -> Violation | None:
    """The first violation of `schema` in `value`, in the order of the keys; None without one."""
    errors = _validator()(schema).iter_errors(value)
    return min(errors, key=lambda error: list(map(str, error.absolute_path)), default=None)


SYNONYMS = {
    "gpu": "cuda",
    "float32": "fp32",
    "float16": "fp16",
    "half": "fp16",
    "bfloat16": "bf16",
}
"""What is often written for an allowed name that is spelled otherwise."""


def sentence(error: Violation, places: bool = True) -> str:
    """The message for a violation, in a list with its place, counted from 0, or without."""
    key = key_of(error, places)
    start = f"{key}: " if key else ""
    match error.validator:
        case "additionalProperties":
            known = list(error.schema["properties"])
            extra = sorted(set(error.instance) - set(known), key=str)[0]
            return one_of(f"{start}unknown key", extra, known)
        case "enum":
            return start + _not_among(error.instance, error.validator_value)
        case "required":
            missing = sorted(set(error.validator_value) - set(error.instance))[0]
            return f"{start}the key {missing!r} is missing"
    return f"{start}{error.instance!r} {_expected(error)}"


def key_of(error: Violation, places: bool = True) -> str:
    """Where the violation is, as keys and places joined by dots; "" for the value as a whole."""
    path = error.absolute_path
    return ".".join(str(part) for part in path if places or not isinstance(part, int))


def one_of(key: str, value: object, allowed: Iterable[str]) -> str:
    """The message for a value that is not among those allowed, suggesting the closest one."""
    return f"{key}: {_not_among(value, allowed)}"


def _not_among(value: object, allowed: Iterable[str]) -> str:
    names = [str(name) for name in allowed]
    meant = [name for name in [SYNONYMS.get(str(value).lower())] if name in names]
    near = meant or difflib.get_close_matches(str(value), names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"{value!r} is not one of {', '.join(names) or '(there is none)'}{hint}"


def _expected(error: Violation) -> str:
    bound = error.validator_value
    match error.validator:
        case "type":
            kinds = [bound] if isinstance(bound, str) else bound
            return "must be " + " or ".join(map(TYPES.__getitem__, kinds))
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
        case "minItems" | "minProperties" | "minLength":
            return "must not be empty"
        case "uniqueItems":
            return "must not repeat a value"
    return str(error.message)
