"""Reads a statement as text and references to the other code that it depends on."""

import ast
import builtins
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from workflow_src.plan.modules import (
    PACKAGE,
    Module,
    dotted,
    imported_names,
    is_constant,
    plainly_decorated,
)


class Ref(NamedTuple):
    """Something that code depends on; a tuple, because it is hashed very often.

    kind: "definition" (`name` in `module`), "module" (all of it), "import" (its import-time
    effects), "run" (running it as a program), "file" (`name` beside it), "package" (all of this
    package, where the analysis can't tell more).
    """

    kind: str
    module: str = ""
    name: str = ""


EVERYTHING = Ref("package")

Part = str | Ref

DYNAMIC = {"eval", "exec", "globals", "__import__", "importlib.import_module", "runpy.run_module"}
"""Functions that can reach code by a name built at run time."""

BUILTINS = frozenset(dir(builtins))

BINDING = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.arg,
    ast.alias,
    ast.ExceptHandler,
    ast.Global,
    ast.Nonlocal,
    ast.MatchAs,
    ast.MatchStar,
    ast.MatchMapping,
)
"""Nodes that bind a name stored as a string, not as an ast.Name."""

FIELD_MARKS = ("ClassVar", "InitVar", "KW_ONLY")
"""Annotations that change how a dataclass treats a field."""


class Names(Protocol):
    """Resolves names; implemented by code.Code."""

    def module(self, name: str) -> Module | None:
        """The module of that name."""

    def resolve(self, module: str, name: str) -> Ref | str | None:
        """What `name` refers to at the top level of `module`."""

    def member(self, module: str, name: str) -> Ref | str:
        """What `name` refers to as an attribute of `module`."""

    def imported(self, source: str, attribute: str) -> Ref | str:
        """What an import refers to."""


class Reader:
    """Converts statements of a module into parts: text and references."""

    def __init__(self, names: Names, module: Module) -> None:
        self.names, self.module = names, module
        self.parts: list[Part] = []
        self.local_imports: dict[str, tuple[str, str]] = {}
        self.local: dict[str, str] = {}
        self.in_function = False
        self.keep_annotations = False

    def read(self, node: Any) -> None:
        """Add the parts of a node; none for a bare constant, which has no effect."""
        if isinstance(node, list):
            self.parts.append("[")
            for item in node:
                self.read(item)
            self.parts.append("]")
        elif not isinstance(node, ast.AST):
            self.parts.append(repr(node))
        elif not is_constant(node):
            SPECIAL.get(type(node), Reader.fields)(self, node)

    def fields(self, node: Any, leaving_out: Iterable[str] = ()) -> None:
        """Add the type of a node and all its fields."""
        self.parts.append(type(node).__name__)
        for name in node._fields:
            value = getattr(node, name, None)
            # Python versions differ in the fields of a node; empty ones carry no information.
            if value is not None and value != [] and name != "kind" and name not in leaving_out:
                self.parts.append(name)
                self.read(value)

    def name(self, node: ast.Name) -> None:
        """Add what a name refers to: __name__ to running this module, __file__ to everything."""
        self.parts.append(type(node.ctx).__name__)
        if node.id == "__file__":
            self.parts.append(EVERYTHING)
        elif node.id == "__name__":
            self.parts.append(Ref("run", self.module.name))
        else:
            self.parts.append(self._meaning(node.id))

    def _meaning(self, name: str) -> Part:
        if name in self.local:
            return self.local[name]
        if name in self.local_imports:
            found = self.names.imported(*self.local_imports[name])
        else:
            found = self.names.resolve(self.module.name, name) or name
        return EVERYTHING if found in DYNAMIC else found

    def attribute(self, node: ast.Attribute) -> None:
        """Add an attribute; of a module of this package, what the attribute refers to."""
        owner = self._module_named(node.value)
        if owner is not None:
            self.parts.append(self.names.member(owner, node.attr))
            return
        if dotted(node, self.module) in DYNAMIC:
            self.parts.append(EVERYTHING)
        self.fields(node)

    def _module_named(self, node: ast.expr) -> str | None:
        """The module of this package that an expression refers to, or None."""
        found: Part = ""
        if isinstance(node, ast.Name):
            found = self._meaning(node.id)
        elif isinstance(node, ast.Attribute):
            owner = self._module_named(node.value)
            found = self.names.member(owner, node.attr) if owner is not None else ""
        return found.module if isinstance(found, Ref) and found.kind == "module" else None

    def constant(self, node: ast.Constant) -> None:
        """Add a constant; a string that names a module of this package counts as running it."""
        text = node.value if isinstance(node.value, str) else ""
        if text.startswith(f"{PACKAGE}.") and self.names.module(text):
            self.parts.append(Ref("run", text))
        else:
            self.parts.append(repr(node.value))

    def joined(self, node: ast.JoinedStr) -> None:
        """Add an f-string; if it builds names in this package, it may refer to any module."""
        texts = [value.value for value in node.values if isinstance(value, ast.Constant)]
        if any(f"{PACKAGE}." in str(text) for text in texts):
            self.parts.append(EVERYTHING)
        self.fields(node)

    def call(self, node: ast.Call) -> None:
        """Add a call; Path(__file__).with_name("x") refers to the file x beside the module."""
        named = isinstance(node.func, ast.Attribute) and node.func.attr == "with_name"
        if named and ast.unparse(node.func) == "Path(__file__).with_name":
            name = getattr(node.args[0], "value", None) if node.args else None
            if isinstance(name, str) and self.module.path.with_name(name).is_file():
                self.parts.append(Ref("file", self.module.name, name))
                return
        self.fields(node)

    def imports(self, node: ast.Import | ast.ImportFrom) -> None:
        """Record an import; names of this package are resolved where they are used."""
        bound = list(imported_names(node, self.module.name))
        self.local_imports |= {name: (source, attribute) for name, source, attribute in bound}
        if not any(self.names.module(source) for _, source, _ in bound):
            self.fields(node)

    def annotated(self, node: ast.AnnAssign) -> None:
        """Add an annotated assignment, with the annotation only where something may read it."""
        if self.keep_annotations or any(mark in ast.dump(node.annotation) for mark in FIELD_MARKS):
            self.fields(node)
        elif not self.in_function or node.value is not None:
            self.fields(node, ("annotation",))

    def argument(self, node: ast.arg) -> None:
        """Add a parameter, with its annotation only if a decorator may read it."""
        self.fields(node, () if self.keep_annotations else ("annotation",))

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Add a function; its local variables are numbered unless a decorator may read them."""
        outer = (self.local, self.in_function, self.keep_annotations)
        keep = self.keep_annotations or not plainly_decorated(node, self.module)
        if not self.in_function and not keep:
            names = local_variables(node, self.module)
            self.local = {name: f"local {number}" for number, name in enumerate(names)}
        self.in_function, self.keep_annotations = True, keep
        self.fields(node, () if keep else ("returns",))
        self.local, self.in_function, self.keep_annotations = outer

    def class_(self, node: ast.ClassDef) -> None:
        """Add a class; each method is read as a function with its own local variables."""
        outer = (self.in_function, self.keep_annotations)
        self.in_function, self.keep_annotations = False, not plainly_decorated(node, self.module)
        self.fields(node)
        self.in_function, self.keep_annotations = outer


SPECIAL: dict[type[ast.AST], Callable[[Reader, Any], None]] = {
    ast.Name: Reader.name,
    ast.Attribute: Reader.attribute,
    ast.Constant: Reader.constant,
    ast.JoinedStr: Reader.joined,
    ast.Call: Reader.call,
    ast.Import: Reader.imports,
    ast.ImportFrom: Reader.imports,
    ast.AnnAssign: Reader.annotated,
    ast.arg: Reader.argument,
    ast.FunctionDef: Reader.function,
    ast.AsyncFunctionDef: Reader.function,
    ast.ClassDef: Reader.class_,
}
"""Node types that are not simply read field by field."""


def local_variables(function: ast.AST, module: Module) -> list[str]:
    """A function's variables whose names are visible nowhere else, by first appearance.

    Excluded are parameters, which callers may name, names bound by an import, an exception
    handler, a match or a global statement, and names that are bound outside the function too.
    """
    stored: dict[str, None] = {}
    used: set[str] = set()
    seen: set[str] = set()
    for node in _nodes(function):
        if isinstance(node, ast.Name):
            used.add(node.id)
            if isinstance(node.ctx, ast.Store):
                stored[node.id] = None
        elif isinstance(node, BINDING):
            bound = (getattr(node, field, "") for field in ("arg", "name", "asname", "rest"))
            seen |= {str(name).split(".")[0] for name in bound}
            seen.update(getattr(node, "names", ()))
    if used & {"locals", "vars", "eval", "exec"}:
        return []
    outside = BUILTINS | module.imports.keys() | module.definitions.keys() | seen
    return [name for name in stored if name not in outside]


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all its descendants; ast.walk takes half as long again."""
    waiting = [node]
    while waiting:
        here = waiting.pop()
        yield here
        for name in here._fields:
            value = getattr(here, name, None)
            if isinstance(value, list):
                waiting += [item for item in value if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST):
                waiting.append(value)
