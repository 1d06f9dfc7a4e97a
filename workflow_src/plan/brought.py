"""A brought function as its file tells it, without running it: what can be wrong, and a hash.

The function itself is called where it is measured; a dry run imports no torch.
"""

import ast
import inspect
import json
import symtable
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from workflow_src.common.case import BY_NAME, COUNTS, EXECUTIONS, OWN, Brought
from workflow_src.common.errors import ConfigError, one_of
from workflow_src.common.precisions import PRECISIONS
from workflow_src.plan import code as code_hash
from workflow_src.plan.case_ids import VALUE, WORD

PRECISION, WORKLOAD = "precision", "workload"
AROUND = {PRECISION: PRECISIONS, "execution": EXECUTIONS}
"""The axes that are set around a model where its function doesn't take them."""


def workload_code(workload: str, axes: Iterable[str]) -> str:
    """A hash of what the file of a workload does, and all that it imports from beside it.

    Raises ConfigError for a file or a function that isn't there, and if it can't be called as
    make(device, **axes). A function that takes no precision, or execution, need not.
    """
    return _code(workload, WORKLOAD, ["the device"], [*axes, PRECISION])


def attention_code(attention: str, key: str) -> str:
    """The same of an attention of one's own, which is named by `key` and called with q, k and v."""
    return _code(attention, key, ["q", "k", "v"], None)


def _code(where: str, key: str, first: Sequence[str], axes: Iterable[str] | None) -> str:
    """The hash, if the function takes the arguments `first` and, if there are any, the axes."""
    file, function = _source(where, key)
    if (signature := _signature(file, function, key)) is not None:
        takes = [*signature.parameters]
        named = [name for name in dict.fromkeys(axes or ()) if name in takes or name not in AROUND]
        bind = signature.bind_partial if axes is None else signature.bind
        try:
            bind(*first, **dict.fromkeys(named))
        except TypeError as error:
            said = f"called with {', '.join([*first, *named])}, the function: {error}"
            raise ConfigError(f"{key}: {where!r}: {said}; it takes {', '.join(takes)}") from None
    for path in code_hash.reached(file.stem, file.parent).values():
        _tree(path, key)
    return code_hash.code_of(file.stem, file.parent)


def _source(code: str, key: str) -> tuple[Path, str]:
    """The file and the function that a setting names."""
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


def _signature(file: Path, function: str, key: str) -> inspect.Signature | None:
    """The arguments of a function in its file; None if that binds its name to anything else."""
    functions = {e.name: e for e in _tree(file, key).body if isinstance(e, ast.FunctionDef)}
    if function not in functions:
        # What any statement binds, imports included.
        names = symtable.symtable(file.read_text(encoding="utf-8"), str(file), "exec").get_symbols()
        if function not in {name.get_name() for name in names if name.is_local()}:
            raise ConfigError(one_of(f"{key}: function of {file}", function, functions))
        return None
    given, any_value = functions[function].args, ast.Constant(None)
    for each in (each for each in ast.walk(given) if isinstance(each, ast.arg)):
        each.annotation = None
    given.defaults = [any_value for _ in given.defaults]
    given.kw_defaults = [each and any_value for each in given.kw_defaults]
    # Nothing of the file is run: what is left of it are the parameters' names.
    return inspect.signature(eval(f"lambda {ast.unparse(given)}: None"))


def _tree(file: Path, key: str) -> ast.Module:
    try:
        return ast.parse(file.read_text(encoding="utf-8"), str(file))
    except (OSError, SyntaxError, ValueError) as error:
        raise ConfigError(f"{key}: {file}: not readable as Python ({error})") from None


def brought_cases(settings: Mapping[str, Any]) -> list[Brought]:
    """Every combination of the axes of a brought workload. Raises ConfigError for a value that
    can't be an axis's."""
    axes: Mapping[str, list[Any]] = settings["axes"]
    for axis, values in axes.items():
        for value in values:
            _require_value(axis, value)
    combinations = product(*axes.values())
    return [_case(dict(zip(axes, values, strict=True)), settings) for values in combinations]


def _require_value(axis: str, value: Any) -> None:
    if axis in AROUND and value not in (allowed := AROUND[axis]):
        raise ConfigError(one_of(f"axes.{axis}", value, allowed))
    if axis in COUNTS and not (type(value) is int and value > 0):
        raise ConfigError(f"axes.{axis}: {value!r} must be an integer above 0")
    if not VALUE.fullmatch(str(value)):
        raise ConfigError(
            f"axes.{axis}: {value!r} must be made of letters, digits, dots, _, + and -: it is part "
            "of the names of files"
        )


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
