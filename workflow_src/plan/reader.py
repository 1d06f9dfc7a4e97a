"""Reads a statement as what it does: text, and references to what else it depends on."""

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
    """Something else that code depends on; a tuple, for it is hashed very often.

    kind: "definition" (`name` in `module`), "module" (all of it), "import" (what importing it
    does), "run" (it is run as a program), "file" (`name` beside it), "package" (all of this
    package: the analysis can't tell more).
    """

    kind: str
    module: str = ""
    name: str = ""


EVERYTHING = Ref("package")

Part = str | Ref

DYNAMIC = {"eval", "exec", "globals", "__import__", "importlib.import_module", "runpy.run_module"}
"""What can reach code by a name that is made while it runs."""

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
"""What binds a name that is not written as a variable."""

FIELD_MARKS = ("ClassVar", "InitVar", "KW_ONLY")
"""Annotations that make a dataclass treat a field in another way."""


class Names(Protocol):
    """Who knows what names mean: see code.Code."""

    def module(self, name: str) -> Module | None:
        """The module of that name."""

    def resolve(self, module: str, name: str) -> Ref | str | None:
        """What `name` means at the top of `module`."""

    def member(self, module: str, name: str) -> Ref | str:
        """What `name` means as an attribute of `module`."""

    def imported(self, source: str, attribute: str) -> Ref | str:
        """What an import means."""


class Reader:
    """Reads statements of a module into parts."""

    def __init__(self, names: Names, module: Module) -> None:
        self.names, self.module = names, module
        self.parts: list[Part] = []
        self.local_imports: dict[str, tuple[str, str]] = {}
        self.local: dict[str, str] = {}
        self.in_function = False
        self.keep_annotations = False

    def read(self, node: Any) -> None:
        """Add the parts of a node; nothing for what has no effect."""
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
            # Which fields there are differs between Python versions; empty ones say nothing.
            if value is not None and value != [] and name != "kind" and name not in leaving_out:
                self.parts.append(name)
                self.read(value)

    def name(self, node: ast.Name) -> None:
        """A name is what it means; __name__ is run, and what is found by __file__ can't be told."""
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
        """An attribute of a module of this package is what it is called there."""
        owner = self._module_named(node.value)
        if owner is not None:
            self.parts.append(self.names.member(owner, node.attr))
            return
        if dotted(node, self.module) in DYNAMIC:
            self.parts.append(EVERYTHING)
        self.fields(node)

    def _module_named(self, node: ast.expr) -> str | None:
        """The module of this package that an expression names."""
        found: Part = ""
        if isinstance(node, ast.Name):
            found = self._meaning(node.id)
        elif isinstance(node, ast.Attribute):
            owner = self._module_named(node.value)
            found = self.names.member(owner, node.attr) if owner is not None else ""
        return found.module if isinstance(found, Ref) and found.kind == "module" else None

    def constant(self, node: ast.Constant) -> None:
        """A text that names a module of this package runs it."""
        text = node.value if isinstance(node.value, str) else ""
        if text.startswith(f"{PACKAGE}.") and self.names.module(text):
            self.parts.append(Ref("run", text))
        else:
            self.parts.append(repr(node.value))

    def joined(self, node: ast.JoinedStr) -> None:
        """A text made while the program runs may name any module."""
        texts = [value.value for value in node.values if isinstance(value, ast.Constant)]
        if any(f"{PACKAGE}." in str(text) for text in texts):
            self.parts.append(EVERYTHING)
        self.fields(node)

    def call(self, node: ast.Call) -> None:
        """Path(__file__).with_name("x") is the file x beside the module, whatever it holds."""
        named = isinstance(node.func, ast.Attribute) and node.func.attr == "with_name"
        if named and ast.unparse(node.func) == "Path(__file__).with_name":
            name = ast.literal_eval(node.args[0])
            if self.module.path.with_name(name).is_file():
                self.parts.append(Ref("file", self.module.name, name))
                return
        self.fields(node)

    def imports(self, node: ast.Import | ast.ImportFrom) -> None:
        """Names of this package are looked up where they are used, whatever imports them."""
        bound = list(imported_names(node, self.module.name))
        self.local_imports |= {name: (source, attribute) for name, source, attribute in bound}
        if not any(self.names.module(source) for _, source, _ in bound):
            self.fields(node)

    def annotated(self, node: ast.AnnAssign) -> None:
        """An annotation does nothing, but in a class it may make a field."""
        if self.keep_annotations or any(mark in ast.dump(node.annotation) for mark in FIELD_MARKS):
            self.fields(node)
        elif not self.in_function or node.value is not None:
            self.fields(node, ("annotation",))

    def argument(self, node: ast.arg) -> None:
        """A parameter, whose annotation does nothing unless a decorator looks at it."""
        self.fields(node, () if self.keep_annotations else ("annotation",))

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """A function, its local variables numbered unless a decorator may look at them."""
        outer = (self.local, self.in_function, self.keep_annotations)
        keep = self.keep_annotations or not plainly_decorated(node, self.module)
        if not self.in_function and not keep:
            names = local_variables(node, self.module)
            self.local = {name: f"local {number}" for number, name in enumerate(names)}
        self.in_function, self.keep_annotations = True, keep
        self.fields(node, () if keep else ("returns",))
        self.local, self.in_function, self.keep_annotations = outer

    def class_(self, node: ast.ClassDef) -> None:
        """A class, whose methods are functions of their own."""
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
"""What is read in another way than by its fields."""


def local_variables(function: ast.AST, module: Module) -> list[str]:
    """A function's variables whose names nothing else can see, by first appearance.

    Parameters are called by name, and what is bound by an import, a handler, a match or a global
    statement keeps its name too, as do names that mean something outside the function.
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
    """A node and all below it; ast.walk takes twice as long."""
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
