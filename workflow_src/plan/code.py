"""A short hash of code: of a stage of this project, or of a file that a user brings.

It covers the file, all that it imports or starts as a program below the same root, and data files
that these name beside them. docs/architecture.md says what for.
"""

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "workflow_src"

MEASURING = re.compile(
    rf"{PACKAGE}\.((measure|model|ops)(\.\w+)*|workload|common\.(case|precisions)"
    r"|studies\.(?!(study|join_points|facts)$)\w+(\.(?!analyze$|chapter$)\w+)?)"
)
"""What decides a measurement; all else starts, locks, checks, writes and reads it."""

IMPORT = re.compile(
    r"^[ \t]*from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]*)"
    rf"|^[ \t]*import[ \t]+([\w., \t]+)|[\"']({PACKAGE}\.[\w.]+)[\"']",
    re.M,
)
"""An import, or the name of a program."""

BESIDE = re.compile(r"\"([\w.-]+\.(?:csv|yaml))\"")
"""A data file that may lie beside the module that names it."""


@cache
def source_of(module: str, root: Path = ROOT) -> Path | None:
    """The file of a module below `root`, if any."""
    path = root.joinpath(*module.split("."))
    # A file that a user brings may have dots in its name.
    found = (path.with_suffix(".py"), path / "__init__.py", root / f"{module}.py")
    return next((file for file in found if file.is_file()), None)


def reached(module: str, root: Path = ROOT) -> dict[str, Path]:
    """A module, all that it imports or starts below `root`, and the packages around them."""
    found: dict[str, Path] = {}
    waiting = _within(module)
    while waiting:
        name = waiting.pop()
        if name not in found and (path := source_of(name, root)):
            found[name] = path
            for each in _named(path, name):
                waiting += _within(each)
    return found


def _within(name: str) -> list[str]:
    """A dotted name and those of all that it is in."""
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts) + 1)]


@cache
def _named(path: Path, module: str) -> tuple[str, ...]:
    """The modules, or names in them, that a file imports or starts."""
    # In a package's own file, the first dot of an import is that package.
    inside = [*module.split("."), *(["__init__"] if path.stem == "__init__" else [])]
    found: list[str] = []
    for source, names, modules, program in IMPORT.findall(path.read_text(encoding="utf-8")):
        below = source.lstrip(".")
        above = inside[: len(inside) - (len(source) - len(below))] if below != source else []
        taken = re.findall(r"(\w+)(?:[ \t]+as[ \t]+\w+)?", names)
        found += [".".join(filter(None, [*above, below, name])) for name in taken]
        found += [each.split()[0] for each in modules.split(",") if each.strip()]
        found += [program] if program else []
    return tuple(found)


def code_of(module: str, root: Path) -> str:
    """The hash of a module and its imports, without comments. Raises SyntaxError."""
    return _hash(f"{name}\0{_code(path)}" for name, path in sorted(reached(module, root).items()))


@cache
def stage(module: str, root: Path = ROOT) -> str:
    """The hash of a stage. Raises ModuleNotFoundError if there is none."""
    if not source_of(module, root):
        raise ModuleNotFoundError(f"no module {module} in {PACKAGE}")
    found = sorted(reached(module, root).items())
    if not MEASURING.fullmatch(module):
        return _hash(text for _, path in found for text in (path.read_text(), *_beside(path)))
    deciding = [path for name, path in found if MEASURING.fullmatch(name)]
    return _hash(text for path in deciding for text in (_code(path), *_beside(path)))


@cache
def _code(path: Path) -> str:
    """The code of a file, with neither docstrings nor layout."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            texts = [
                e for e in body if isinstance(e, ast.Expr) and isinstance(e.value, ast.Constant)
            ]
            node.body = [each for each in body if each not in texts]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _beside(path: Path) -> Iterator[str]:
    for name in BESIDE.findall(path.read_text(encoding="utf-8")):
        if (file := path.with_name(name)).is_file():
            yield file.read_text(encoding="utf-8")


def _hash(texts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode(errors="surrogateescape")).hexdigest()[:12]
