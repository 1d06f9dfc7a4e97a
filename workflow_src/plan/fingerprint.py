"""What the code does, as a short hash: comments, docstrings and layout don't change it.

Snakemake reruns a job when a value in its params changes, and knows nothing of the modules
behind `python -m`. A rule that passes the fingerprint of its stage as a param is therefore
stale exactly when the behaviour of that stage, or of what it imports from this package, changes.
"""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = "workflow_src"
ROOT = Path(__file__).resolve().parent.parent.parent


def module_path(module: str, root: Path = ROOT) -> Path | None:
    """The source file of a module of this package, or None where there is none."""
    path = root.joinpath(*module.split("."))
    candidates = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in candidates if file.is_file()), None)


def imported_modules(tree: ast.AST) -> Iterator[str]:
    """Names of this package's modules that a syntax tree may import, anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] == PACKAGE)


def _is_docstring(node: Any) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def canonical(node: Any) -> Any:
    """A syntax tree as nested tuples, the same under Python 3.11 to 3.13.

    Empty fields are left out since their set differs between Python versions; statements that
    are a bare constant (docstrings) have no effect and are left out too.
    """
    if isinstance(node, ast.AST):
        kept = ((name, canonical(value)) for name, value in ast.iter_fields(node) if name != "kind")
        return (type(node).__name__, *((n, v) for n, v in kept if v not in (None, ())))
    if isinstance(node, list):
        return tuple(canonical(item) for item in node if not _is_docstring(item))
    return node if node is None else repr(node)


def closure(module: str, root: Path = ROOT) -> dict[str, ast.Module]:
    """The syntax trees of `module` and of every module of this package that it reaches."""
    trees: dict[str, ast.Module] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = module_path(name, root)
        if name in trees or path is None:
            continue
        trees[name] = ast.parse(path.read_text(encoding="utf-8"))
        waiting.extend(imported_modules(trees[name]))
    return trees


@cache
def fingerprint(*modules: str, root: Path = ROOT) -> str:
    """Twelve hex digits that change when the behaviour of the modules' code does.

    Raises ModuleNotFoundError where the package has no such module.
    """
    trees: dict[str, ast.Module] = {}
    for module in modules:
        if module_path(module, root) is None:
            raise ModuleNotFoundError(f"no module {module} in {PACKAGE}")
        trees |= closure(module, root)
    text = repr([(name, canonical(trees[name])) for name in sorted(trees)])
    return hashlib.sha256(text.encode()).hexdigest()[:12]
