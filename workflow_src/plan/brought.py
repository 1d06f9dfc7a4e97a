"""A brought function as its file tells it, without running it: what can be wrong, and a hash.

The function itself is called where it is measured; a dry run imports no torch.
"""

import ast
import inspect
import json
import symtable
from collections import Counter
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

from workflow_src.common.case import BY_NAME, COUNTS, EXECUTIONS, OWN, Brought
from workflow_src.common.errors import ConfigError, one_of
from workflow_src.common.precisions import PRECISIONS
from workflow_src.plan import code as code_hash
from workflow_src.plan.case_ids import VALUE, WORD, brought_id, brought_name

PRECISION, WORKLOAD = "precision", "workload"
AROUND = {PRECISION: PRECISIONS, "execution": EXECUTIONS}
"""The axes that are set around a model where its function doesn't take them."""


def workload_code(workload: str, axes: Mapping[str, Any]) -> str:
    """A hash of what the file of a workload does, and all that it imports from beside it.

    Raises ConfigError for a file or a function that isn't there, and if it can't be called as
    make(device, **axes). A function that takes no precision, or execution, need not.
    """
    file, function = _source(workload, WORKLOAD)
    if (signature := _signature(file, function, WORKLOAD)) is not None:
        takes = list(signature.parameters)
        given = [name for name in {**axes, PRECISION: ()} if name in takes or name not in AROUND]
        try:
            signature.bind("device", **dict.fromkeys(given))
        except TypeError as error:
            named = ", ".join(["the device", *given])
            said = f"called with {named}, the function: {error}; it takes {', '.join(takes)}"
            raise ConfigError(f"{WORKLOAD}: {workload!r}: {said}") from None
    return _code_of(file, WORKLOAD)


def attention_code(attention: str, key: str) -> str:
    """The same of an attention of one's own, which is named by `key` and called with q, k and v."""
    file, function = _source(attention, key)
    if (signature := _signature(file, function, key)) is not None:
        try:
            signature.bind_partial("q", "k", "v")
        except TypeError as error:
            said = f"called with q, k and v, the function: {error}"
            raise ConfigError(f"{key}: {attention!r}: {said}") from None
    return _code_of(file, key)


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
    tree = _tree(file, key)
    functions = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}
    if function in functions:
        arguments = functions[function].args
        for each in ast.walk(arguments):
            if isinstance(each, ast.arg):
                each.annotation = None
        arguments.defaults = [ast.Constant(None) for _ in arguments.defaults]
        arguments.kw_defaults = [each and ast.Constant(None) for each in arguments.kw_defaults]
        return inspect.signature(eval(f"lambda {ast.unparse(arguments)}: ..."))
    text = file.read_text(encoding="utf-8")
    # What any statement binds, imports included.
    names = symtable.symtable(text, str(file), "exec").get_symbols()
    if function not in {name.get_name() for name in names if name.is_local()}:
        raise ConfigError(one_of(f"{key}: function of {file}", function, functions))
    return None


def _tree(file: Path, key: str) -> ast.Module:
    try:
        return ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        said = getattr(error, "msg", None) or getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"{key}: {file}{line}: not readable as Python ({said})") from None


def _code_of(file: Path, key: str) -> str:
    for path in code_hash.reached(file.stem, file.parent).values():
        _tree(path, key)
    return code_hash.code_of(file.stem, file.parent)


def brought_cases(settings: Mapping[str, Any], device: str) -> tuple[Brought, ...]:
    """Every combination of the axes of a brought workload. Raises ConfigError for a value that
    can't be an axis's."""
    axes: Mapping[str, list[Any]] = settings["axes"]
    file, function = _source(settings["workload"], WORKLOAD)
    name = file.stem + (f".{function}" if function != "make" else "")
    for axis, values in axes.items():
        for value in values:
            _require_value(axis, value)
    combinations = (dict(zip(axes, values, strict=True)) for values in product(*axes.values()))
    cases = tuple(_case(name, given, settings, device) for given in combinations)
    twice = [each for each, times in Counter(case.case for case in cases).items() if times > 1]
    if twice:
        raise ConfigError(
            f"axes: two cases would be called {twice[0]!r}; values must differ as text"
        )
    return cases


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


def _case(name: str, given: Mapping[str, Any], settings: Mapping[str, Any], device: str) -> Brought:
    said = {axis: value for axis, value in given.items() if axis != PRECISION}
    others = {axis: value for axis, value in said.items() if axis not in BY_NAME}
    own = {axis: 0 if axis in COUNTS else OWN for axis in BY_NAME} | {PRECISION: "fp32"}
    values = {axis: given.get(axis, own[axis]) for axis in own}
    columns: dict[str, Any] = {n: v if n in COUNTS else str(v) for n, v in values.items()}
    shared = ("workload", "code", "module_depth", "module_fold", "seed", "memory_limit_gib")
    return Brought(
        case=brought_id(name, said, columns[PRECISION]),
        size=brought_name(name, others),
        device=device,
        axes=json.dumps(given),
        **{key: settings[key] for key in shared},
        **columns,
    )
