"""The cases of a brought function, and what its file tells; it is called where it is measured."""

import ast
import json
import re
from collections.abc import Iterable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from workflow_src.common.case import AROUND, BY_NAME, COUNTS, OWN, Brought
from workflow_src.common.errors import ConfigError, one_of
from workflow_src.plan.code import code_of

WORD = re.compile(r"[A-Za-z0-9_.]+")
"""A file's name in a case's id."""

VALUE = re.compile(r"[A-Za-z0-9_.+-]+")
"""The value of an axis as text: 1e-05, -0.5 and gpt2-medium, too."""

PRECISION, WORKLOAD = "precision", "workload"


def code_at(where: str, key: str = WORKLOAD, axes: Iterable[str] = ()) -> str:
    """A hash of what the file of a brought function does, and all that it imports from beside it.

    `key` is the setting that names it. Raises ConfigError for a file that isn't there, or isn't
    Python, a name that isn't in it, and an axis that a plain function doesn't take.
    """
    file, name = _source(where, key)
    try:
        text, made = file.read_text(encoding="utf-8"), code_of(file.stem, file.parent)
        functions = {e.name: e.args for e in ast.parse(text).body if isinstance(e, ast.FunctionDef)}
    except (OSError, SyntaxError, ValueError) as error:
        raise ConfigError(f"{key}: {file}: not readable as Python ({error})") from None
    if name not in text:
        raise ConfigError(one_of(f"{key}: function of {file}", name, functions))
    given = functions.get(name)
    if given and not given.kwarg:
        takes = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
        for axis in (axis for axis in axes if axis not in takes and axis not in AROUND):
            raise ConfigError(
                f"axes.{axis}: {where} takes no {axis!r}; it takes {', '.join(takes)}"
            )
    return made


def _source(code: str, key: str) -> tuple[Path, str]:
    path, colon, function = code.rpartition(":")
    wrong = ""
    if not (colon and path.endswith(".py") and function.isidentifier()):
        wrong = "must be file.py:function, such as my_model.py:make"
    elif not Path(path).is_file():
        wrong = f"there is no file {path}"
    elif not WORD.fullmatch(Path(path).stem):
        wrong = "the file's name must be made of letters, digits, dots and _"
    if wrong:
        raise ConfigError(f"{key}: {code!r}: {wrong}")
    return Path(path), function


def brought_cases(settings: Mapping[str, Any]) -> list[Brought]:
    """Every combination of the axes of a brought workload. Raises ConfigError for a value that
    can't be an axis's."""
    axes: Mapping[str, list[Any]] = settings["axes"]
    for axis, value in ((axis, value) for axis, values in axes.items() for value in values):
        if axis in AROUND and value not in (allowed := AROUND[axis]):
            raise ConfigError(one_of(f"axes.{axis}", value, allowed))
        if axis in COUNTS and not (type(value) is int and value > 0):
            raise ConfigError(f"axes.{axis}: {value!r} must be an integer above 0")
        if not VALUE.fullmatch(str(value)):
            raise ConfigError(
                f"axes.{axis}: {value!r} must be made of letters, digits, dots, _, + and -: it is "
                "part of the names of files"
            )
    combinations = product(*axes.values())
    return [_case(dict(zip(axes, values, strict=True)), settings) for values in combinations]


def _case(given: Mapping[str, Any], settings: Mapping[str, Any]) -> Brought:
    file, function = _source(settings["workload"], WORKLOAD)
    said = {axis: f"{axis}={value}" for axis, value in given.items() if axis != PRECISION}
    named = [file.stem + (f".{function}" if function != "make" else "")]
    own = {axis: 0 if axis in COUNTS else OWN for axis in BY_NAME} | {PRECISION: "fp32"}
    values = {axis: given.get(axis, own[axis]) for axis in own}
    columns: dict[str, Any] = {n: v if n in COUNTS else str(v) for n, v in values.items()}
    about = {
        "case": "-".join([*named, *said.values(), columns[PRECISION]]),
        "size": "-".join(named + [text for axis, text in said.items() if axis not in BY_NAME]),
        "axes": json.dumps(given),
    }
    return Brought.from_dict({**settings, **about, **columns})
