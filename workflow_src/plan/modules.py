"""Parses a module of this package into imports, definitions, and its main block."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PACKAGE = "workflow_src"

HARMLESS_DECORATORS = {
    "property",
    "staticmethod",
    "classmethod",
    "functools.cache",
    "functools.cached_property",
    "contextlib.contextmanager",
    "dataclasses.dataclass",
    "typing.overload",
    "torch.no_grad",
    f"{PACKAGE}.common.errors.one_sentence",
}
"""Decorators that do nothing at import time and read no annotations except a field's."""

_OWN_SCOPE = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass
class Module:
    """The syntax of one module.

    imports: by bound name, the module and the attribute in it ("" if the name is a module);
    definitions: by name, the top-level statements that bind it; imported: the modules that it
    imports; body: what runs on import, without docstrings; main: what also runs when the module
    is run as a program.
    """

    name: str
    path: Path
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    definitions: dict[str, list[ast.stmt]] = field(default_factory=dict)
    imported: list[str] = field(default_factory=list)
    body: list[ast.stmt] = field(default_factory=list)
    main: list[ast.stmt] = field(default_factory=list)


def source_of(module: str, root: Path) -> Path | None:
    """The source file of a module of this package, or None if there is no such module."""
    path = root.joinpath(*module.split("."))
    candidates = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in candidates if file.is_file()), None)


def read_module(name: str, path: Path) -> Module:
    """The parsed module in a file. Raises SyntaxError."""
    module = Module(name, path)
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.If) and _tests(statement, "__name__ == '__main__'"):
            module.main += statement.body
        elif not is_constant(statement) and not _tests(statement, "TYPE_CHECKING"):
            module.body.append(statement)
            for bound, source, attribute in imported_names(statement, name):
                module.imports[bound] = (source, attribute)
                module.imported += [source, f"{source}.{attribute}"] if attribute else [source]
            for bound in bound_names(statement):
                module.definitions.setdefault(bound, []).append(statement)
    return module


def _tests(node: ast.stmt, condition: str) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith(condition)


def is_constant(node: Any) -> bool:
    """Whether a node is a docstring or another bare constant, which has no effect."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_import(node: ast.AST) -> bool:
    """Whether a node is an import statement of either form."""
    return isinstance(node, ast.Import | ast.ImportFrom)


def imported_names(node: ast.AST, module: str) -> Iterator[tuple[str, str, str]]:
    """What an import in `module` binds: tuples of name, module, attribute ("" for a module)."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            first = alias.name.split(".")[0]
            yield alias.asname or first, alias.name if alias.asname else first, ""
    elif isinstance(node, ast.ImportFrom):
        base = module.split(".")[: -node.level] if node.level else []
        source = ".".join([*base, *([node.module] if node.module else [])])
        for alias in node.names:
            yield alias.asname or alias.name, source, alias.name


def bound_names(node: ast.AST) -> list[str]:
    """The names that a top-level statement binds in its module, imports excluded."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return [node.id]
    inner = (child for child in ast.iter_child_nodes(node) if not isinstance(child, _OWN_SCOPE))
    return [name for child in inner for name in bound_names(child)]


def dotted(node: ast.AST, module: Module) -> str:
    """The dotted name that an expression refers to, imports resolved; "" if it is not a name."""
    if isinstance(node, ast.Call):
        return dotted(node.func, module)
    if isinstance(node, ast.Attribute):
        above = dotted(node.value, module)
        return f"{above}.{node.attr}" if above else ""
    if not isinstance(node, ast.Name):
        return ""
    source, attribute = module.imports.get(node.id, ("", node.id))
    return ".".join(filter(None, (source, attribute)))


def plainly_decorated(node: Any, module: Module) -> bool:
    """Whether all decorators of a function or class are known to be harmless."""
    return all(dotted(name, module) in HARMLESS_DECORATORS for name in node.decorator_list)
