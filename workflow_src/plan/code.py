"""The code of this package as a graph: definitions, and what each of them refers to.

The parts of a definition are text and references to other code. Two definitions with equal parts
behave the same, wherever they are located. Comments, docstrings, layout, annotations and the names
of local variables are not among the parts (see reader).
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from workflow_src.plan.modules import (
    PACKAGE,
    Module,
    dotted,
    is_constant,
    is_import,
    plainly_decorated,
    read_module,
    source_of,
)
from workflow_src.plan.reader import EVERYTHING, Part, Reader, Ref

PURE_CALLS = frozenset(
    """
    bool dict dict.fromkeys enumerate float frozenset int len list map max min range set sorted str
    sum tuple type zip re.compile pathlib.Path functools.partial math.log math.sqrt
    dataclasses.field contextlib.nullcontext typing.TypeVar typing.NewType typing.cast
    """.split()  # noqa: SIM905
)
PURE_METHODS = frozenset(("split", "join", "with_name", "items", "keys", "values", "format"))
"""Calls that only make a value: code that doesn't use the value doesn't depend on them."""


class Code:
    """The package under a root folder; each module is read once, when first needed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._modules: dict[str, Module | None] = {}
        self._parts: dict[Ref, tuple[Part, ...]] = {}
        self._references: dict[Ref, tuple[Ref, ...]] = {}
        self._effects: dict[str, list[ast.stmt]] = {}
        self._imports: dict[str, set[str]] = {}
        self.rounds: defaultdict[int, dict[Ref, str]] = defaultdict(dict)
        """The hash of each ref after each round of fingerprint.digests, which all stages share."""

    def module(self, name: str) -> Module | None:
        """The module of that name; None if this package has none."""
        if name not in self._modules:
            path = source_of(name, self.root) if name.split(".")[0] == PACKAGE else None
            self._modules[name] = None if path is None else read_module(name, path)
        return self._modules[name]

    def resolve(self, module: str, name: str) -> Ref | str | None:
        """What `name` refers to at the top level of `module`.

        A definition or module of this package, the dotted name of something outside it, or None
        if the module doesn't bind the name.
        """
        here = self.module(module)
        if here is None:
            return f"{module}.{name}"
        if name in here.definitions:
            return Ref("definition", module, name)
        if here.imports.get(name) == (module, name):
            return None
        return self.imported(*here.imports[name]) if name in here.imports else None

    def imported(self, source: str, attribute: str) -> Ref | str:
        """What an import of `attribute` from `source`, or of `source` itself (""), refers to."""
        if attribute:
            return self.member(source, attribute)
        return Ref("module", source) if self.module(source) else source

    def member(self, module: str, name: str) -> Ref | str:
        """What `name` refers to as an attribute of `module`; all of `module` if unknown."""
        if self.module(f"{module}.{name}"):
            return Ref("module", f"{module}.{name}")
        return self.resolve(module, name) or Ref("module", module)

    def parts(self, ref: Ref) -> tuple[Part, ...]:
        """What a ref consists of: text and references to other code."""
        if ref not in self._parts:
            self._parts[ref] = self._everything() if ref == EVERYTHING else self._parts_of(ref)
        return self._parts[ref]

    def references(self, ref: Ref) -> tuple[Ref, ...]:
        """What a ref refers to, in order."""
        if ref not in self._references:
            parts = self.parts(ref)
            self._references[ref] = tuple(part for part in parts if isinstance(part, Ref))
        return self._references[ref]

    def _everything(self) -> tuple[str, ...]:
        files = sorted(p for p in (self.root / PACKAGE).rglob("*") if p.is_file())
        return tuple(p.read_bytes().hex() for p in files if "__pycache__" not in p.parts)

    def _parts_of(self, ref: Ref) -> tuple[Part, ...]:
        module = self.module(ref.module)
        assert module is not None, ref
        match ref.kind:
            case "file":
                return (_content(module.path.with_name(ref.name)),)
            case "module":
                names = sorted(module.definitions)
                return tuple(Ref("definition", ref.module, name) for name in names)
            case "run":
                return self._read(module, module.main)
            case "import":
                return self._read(module, self.effects(ref.module))
        return self._read(module, module.definitions[ref.name])

    def _read(self, module: Module, statements: Iterable[ast.stmt]) -> tuple[Part, ...]:
        reader = Reader(self, module)
        for node in statements:
            reader.read(node)
        return tuple(reader.parts)

    def imports_of(self, module: str) -> set[str]:
        """All modules of this package that importing `module` imports, itself included."""
        if module not in self._imports:
            self._imports[module] = self._imports_of(module)
        return self._imports[module]

    def _imports_of(self, module: str) -> set[str]:
        found: set[str] = set()
        waiting = [module]
        while waiting:
            name = waiting.pop()
            here = self.module(name)
            if here is None or name in found:
                continue
            found.add(name)
            parts = name.split(".")
            waiting += [".".join(parts[:n]) for n in range(1, len(parts))] + here.imported
        return found

    def effects(self, module: str) -> list[ast.stmt]:
        """The statements of a module that do more than bind names, and its imports, in order.

        Empty if importing the module has no other effect than binding names.
        """
        if module not in self._effects:
            here = self.module(module)
            found = [n for n in here.body if not self._only_binds(n, here)] if here else []
            self._effects[module] = [] if all(map(is_import, found)) else found
        return self._effects[module]

    def _only_binds(self, node: ast.stmt, module: Module) -> bool:
        """Whether a statement is known to do nothing but bind names."""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            defaults = (*node.args.defaults, *node.args.kw_defaults)
            return plainly_decorated(node, module) and self._calls_purely(defaults, module)
        if isinstance(node, ast.ClassDef):
            plain = plainly_decorated(node, module) and not node.keywords
            return plain and all(self._only_binds(inner, module) for inner in node.body)
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            return all(map(_is_name, targets)) and self._calls_purely([node.value], module)
        return is_constant(node) or isinstance(node, ast.Pass)

    def _calls_purely(self, values: Iterable[ast.expr | None], module: Module) -> bool:
        nodes = (inner for value in values if value is not None for inner in ast.walk(value))
        return all(self._is_pure(n.func, module) for n in nodes if isinstance(n, ast.Call))

    def _is_pure(self, function: ast.expr, module: Module) -> bool:
        """Whether calling a function is known to do nothing but make a value."""
        if dotted(function, module) in PURE_CALLS:
            return True
        if isinstance(function, ast.Attribute) and function.attr in PURE_METHODS:
            return True
        found = self.resolve(module.name, function.id) if isinstance(function, ast.Name) else None
        if not isinstance(found, Ref) or found.kind != "definition":
            return False
        owner = self.module(found.module)
        return owner is not None and _is_plain_class(owner.definitions[found.name], owner)


def _content(path: Path) -> str:
    """The content of a file as text, without the comments of C++ or CUDA."""
    content = path.read_bytes().decode(errors="surrogateescape")
    if path.suffix not in (".cu", ".cpp"):
        return content
    return " ".join(re.sub(r"//[^\n]*|/\*.*?\*/", "", content, flags=re.DOTALL).split())


def _is_name(node: ast.AST) -> bool:
    names = node.elts if isinstance(node, ast.Tuple) else [node]
    return all(isinstance(name, ast.Name) for name in names)


def _is_plain_class(statements: list[ast.stmt], module: Module) -> bool:
    """Whether a definition is a class whose construction runs no code of its own."""
    (node, *more) = statements
    if more or not isinstance(node, ast.ClassDef) or not plainly_decorated(node, module):
        return False
    methods = {inner.name for inner in node.body if isinstance(inner, ast.FunctionDef)}
    return not methods & {"__init__", "__new__", "__post_init__"} and not node.bases


@cache
def code_under(root: Path) -> Code:
    """The package under `root`, read once."""
    return Code(root)
