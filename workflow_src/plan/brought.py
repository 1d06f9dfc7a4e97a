"""A brought function as its file tells it, without running it: what can be wrong, and a hash.

The function itself is called where it is measured; a dry run imports no torch.
"""

import ast
import csv
import json
import symtable
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
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

TENSORS = 3
"""What an attention is called with: q, k and v."""

FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """The file of a brought function, and the function's name in it."""

    file: Path
    function: str

    @property
    def name(self) -> str:
        """What its cases are called: the file, and the function unless that is `make`."""
        return self.file.stem + (f".{self.function}" if self.function != "make" else "")


def source(code: str, key: str = WORKLOAD) -> Source:
    """The file and the function that a setting, `key`, names.

    Raises ConfigError if there is no such file, or its name can't be part of a case's.
    """
    path, colon, function = code.rpartition(":")
    if not (colon and path.endswith(".py") and function.isidentifier()):
        raise _wrong(code, "must be file.py:function, such as my_model.py:make", key)
    file = Path(path)
    if not file.is_file():
        raise _wrong(code, f"there is no file {path}", key)
    if not WORD.fullmatch(file.stem):
        raise _wrong(code, "the file's name must be made of letters, digits, dots and _", key)
    return Source(file, function)


def _wrong(code: str, why: str, key: str = WORKLOAD) -> ConfigError:
    return ConfigError(f"{key}: {code!r}: {why}")


def checked(workload: str, axes: Mapping[str, Any]) -> Source:
    """The source of a workload whose function takes these axes, as far as its file tells.

    Raises ConfigError for a file that isn't Python, a function that isn't there, and for an axis
    that it doesn't take or an argument that it lacks.
    """
    found = source(workload)
    arguments = _arguments(workload, found, WORKLOAD)
    if arguments and (why := _signature_problem(arguments, axes)):
        raise _wrong(workload, why)
    return found


def attention_code(attention: str, key: str) -> str:
    """A hash of what the file of an attention of one's own does; `key` is the setting.

    Raises ConfigError as `checked` does, and for a function that doesn't take q, k and v.
    """
    found = source(attention, key)
    arguments = _arguments(attention, found, key)
    if arguments and not arguments.vararg:
        positional = len(arguments.posonlyargs) + len(arguments.args)
        if positional < TENSORS:
            why = f"the function takes {positional} arguments by position, and must take q, k and v"
            raise _wrong(attention, why, key)
    return code_of(found.file, key)


def _arguments(code: str, found: Source, key: str) -> ast.arguments | None:
    """The arguments of a function in its file; None if that binds its name to anything else.

    Raises ConfigError for a file that isn't Python, and a function that isn't there.
    """
    body = _tree(found.file, key).body
    for line, module in _relative_imports(body):
        raise _wrong(
            code,
            f"line {line} imports from {module!r}, relative to a package, but the file is run by "
            "itself; what lies beside it is imported without the dot",
            key,
        )
    named = [each for each in body if isinstance(each, FUNCTION) and each.name == found.function]
    if named:
        return named[-1].args
    text = found.file.read_text(encoding="utf-8")
    names = symtable.symtable(text, str(found.file), "exec").get_symbols()
    # What any statement binds, imports included.
    if found.function not in {name.get_name() for name in names if name.is_local()}:
        functions = [each.name for each in body if isinstance(each, FUNCTION)]
        raise ConfigError(one_of(f"{key}: function of {found.file}", found.function, functions))
    return None


def _relative_imports(body: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """The line and the module of each import relative to a package.

    Those that are tried, or that only a type checker runs, are left out.
    """
    for node in body:
        if isinstance(node, ast.ImportFrom) and node.level:
            yield node.lineno, "." * node.level + (node.module or "")
            continue
        for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        if not (for_types or isinstance(node, ast.Try)):
            yield from _relative_imports(list(ast.iter_child_nodes(node)))


def _tree(file: Path, key: str = WORKLOAD) -> ast.Module:
    try:
        return ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        said = getattr(error, "msg", None) or getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"{key}: {file}{line}: not readable as Python ({said})") from None


def _signature_problem(arguments: ast.arguments, axes: Mapping[str, Any]) -> str:
    """What is wrong with calling a function as `make(device, **axes)`; "" if nothing is.

    The axes AROUND are taken by the workflow where the function doesn't; a precision is always set.
    """
    positional = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    if not positional and not arguments.vararg:
        return "the function must take the device as its first argument"
    needed = positional[: len(positional) - len(arguments.defaults)][1:]
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    needed += [each.arg for each, default in pairs if default is None]
    by_name = [each.arg for each in arguments.args if each.arg in positional[1:]]
    by_name += [each.arg for each in arguments.kwonlyargs]
    missing = [name for name in needed if name not in axes and name != PRECISION]
    if missing:
        return f"the function needs {missing[0]!r}, which is none of the axes ({_listed(axes)})"
    unknown = [name for name in axes if name not in (*by_name, *AROUND)]
    if unknown and not arguments.kwarg:
        return f"the function doesn't take the axis {unknown[0]!r}; it takes {_listed(by_name)}"
    return ""


def _listed(names: Any) -> str:
    return ", ".join(names) or "none"


def code_of(file: Path, key: str = WORKLOAD) -> str:
    """A hash of what a file and all that it imports from beside it do, whatever comments they have.

    Raises ConfigError if one of them isn't Python.
    """
    for path in code_hash.reached(file.stem, file.parent).values():
        _tree(path, key)
    return code_hash.code_of(file.stem, file.parent)


def brought_cases(settings: Mapping[str, Any], device: str) -> tuple[Brought, ...]:
    """Every combination of the axes of a brought workload. Raises ConfigError for a value that
    can't be an axis's."""
    axes: Mapping[str, list[Any]] = settings["axes"]
    name = source(settings["workload"]).name
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


def require_own_results(workload: str, plan: Path) -> None:
    """Raise ConfigError if a tag's plan, `plan`, is of another file with the name of this one's.

    Their cases would have the same names, and one's results would be replaced by the other's.
    """
    file, rows = Path(workload.rpartition(":")[0]), list[dict[str, str]]()
    with suppress(OSError, UnicodeDecodeError, csv.Error):
        rows = list(csv.DictReader(plan.read_text(encoding="utf-8").splitlines()))
    for other in {Path((row.get("workload") or "").rpartition(":")[0]) for row in rows}:
        if other.stem == file.stem and other.resolve() != file.resolve():
            raise _wrong(
                workload,
                f"{plan.parent} holds results of {other}, whose cases have the same names; set "
                f"another tag, such as tag={file.resolve().parent.name}_{file.stem}, or remove "
                "that folder",
            )


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
    return Brought(
        case=brought_id(name, said, columns[PRECISION]),
        size=brought_name(name, others),
        device=device,
        workload=settings["workload"],
        axes=json.dumps(given),
        code=settings["code"],
        module_depth=settings["module_depth"],
        module_fold=settings["module_fold"],
        seed=settings["seed"],
        memory_limit_gib=settings["memory_limit_gib"],
        **columns,
    )
