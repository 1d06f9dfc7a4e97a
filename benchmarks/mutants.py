"""Which of N small changes of this project's code do its tests find?

    python -m benchmarks.mutants --list --seed 1 --count 200 --output mutants.csv    # draw them
    python -m benchmarks.mutants --again mutants.csv --output found.csv --workers 16

Mutants are drawn by seed over rooms in proportion to their lines. A row of the CSV is one: a file,
a line of it before and after, in which a comparison is flipped or its boundary moved, a constant
changed, an operator swapped, `not` dropped, two arguments swapped, or a statement deleted. How each
is tried stands in trying.py. Where the code was changed since, a mutant is that of the same line,
in its file or, if the line is nowhere else, in another; what stands nowhere is "gone". A run that
was stopped goes on where it ended.
"""

import argparse
import ast
import random
import re
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pandas as pd

from benchmarks.trying import QUICK, Mutant, try_all

ROOT = Path(__file__).parent.parent
KEY = ["file", "line", "before", "after"]
TELLING = 25
"""Characters of a line that is known again in another file."""
SWAPPED = {
    "==": ("!=",), "!=": ("==",), "is": ("is not",), "is not": ("is",), "in": ("not in",),
    "not in": ("in",), "<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"),
    "+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",), "//": ("*",), "**": ("*",), ">>": ("<<",),
    "<<": (">>",), "&": ("|",), "|": ("&",), "and": ("or",), "or": ("and",),
}  # fmt: skip
OPERATOR = re.compile(r"not\s+in|is\s+not|and|or|in|is|\*\*|//|<<|>>|[=!<>]=|[-+*/<>&|]")

Change = tuple[int, int, int, int, bytes]
"""What is replaced: its first line (from 1) and column (bytes, from 0), its last ones; by what."""


def code_in(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes that decide what is done: neither annotations nor docstrings.

    Nor what stands in an f-string, whose place in a line Python 3.11 gets wrong.
    """
    yield node
    if isinstance(node, ast.JoinedStr):
        return
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            says = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            if isinstance(child, ast.AST) and name not in ("annotation", "returns") and not says:
                yield from code_in(child)


def end_of(node: ast.expr | ast.stmt) -> tuple[int, int]:
    """The last line of a node, and the column behind it."""
    return node.end_lineno or 0, node.end_col_offset or 0


def operators(parts: Sequence[ast.expr], lines: Sequence[bytes]) -> Iterator[Change]:
    """Other operators between operands."""
    for left, right in pairwise(parts):
        line, first = end_of(left)
        if line == right.lineno:
            between = lines[line - 1][first : right.col_offset].decode()
            if found := OPERATOR.search(between):
                for new in SWAPPED.get(found.group(), ()):
                    at = first + found.start(), first + found.end()
                    yield line, at[0], line, at[1], new.encode()


def changes(node: ast.AST, lines: Sequence[bytes]) -> Iterator[Change]:
    """What may stand for a node, or for a piece of it."""

    def text(first: ast.expr, last: ast.expr) -> bytes:
        return lines[first.lineno - 1][first.col_offset : last.end_col_offset]

    match node:
        case ast.Compare(left=left, comparators=others):
            yield from operators([left, *others], lines)
        case ast.BoolOp(values=values):
            yield from operators(values, lines)
        case ast.BinOp(left=left, right=right):
            yield from operators([left, right], lines)
        case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=operand):
            new = text(operand, operand)
            yield node.lineno, node.col_offset, *end_of(node), new
        case ast.Constant(value=bool() | int() | float() as value):
            other = not value if isinstance(value, bool) else value + 1
            yield node.lineno, node.col_offset, *end_of(node), repr(other).encode()
        case ast.Call(args=[first, second, *_]):
            between = lines[first.lineno - 1][first.end_col_offset : second.col_offset]
            new = text(second, second) + between + text(first, first)
            yield first.lineno, first.col_offset, *end_of(second), new
        case ast.Assign() | ast.AugAssign() | ast.Expr():
            yield node.lineno, node.col_offset, *end_of(node), b"pass"


def mutants_of(path: Path) -> list[tuple[str, int, str, str]]:
    """KEY of each mutant of a file, of what stands on one line."""
    data, found = path.read_bytes(), []
    lines = data.splitlines()
    for node in code_in(ast.parse(data)):
        for line, first, last_line, last, new in changes(node, lines):
            old = lines[line - 1]
            after = old[:first] + new + old[last:]
            if line == last_line and after != old:
                found.append((str(path.relative_to(ROOT)), line, old.decode(), after.decode()))
    return list(dict.fromkeys(found))


def drawn(seed: int, count: int, rooms: Sequence[str]) -> pd.DataFrame:
    """As many mutants, a row each with KEY, over rooms in proportion to their lines."""
    chance = random.Random(seed)
    files = [sorted((ROOT / "workflow_src" / room).rglob("*.py")) for room in rooms]
    lines = [sum(path.read_bytes().count(b"\n") for path in paths) for paths in files]
    number = Counter(chance.choices(range(len(rooms)), lines, k=count))
    found = []
    for room, paths in enumerate(files):
        known = [each for path in paths for each in mutants_of(path)]
        found += chance.sample(known, min(number[room], len(known)))
    return pd.DataFrame(found, columns=KEY)


def place(root: Path, file: str, line: int, before: str) -> tuple[str, int] | None:
    """The file and the line where the text of a line stands in a tree now, or None."""
    text = before.strip()
    paths = [root / file, *sorted(root.glob("workflow_src/**/*.py"))]
    at = [
        (path, n)
        for path in dict.fromkeys(paths)
        if path.is_file()
        for n, there in enumerate(path.read_text().splitlines(), 1)
        if there.strip() == text
    ]
    here = [n for path, n in at if path == root / file]
    if here:
        return file, min(here, key=lambda n: abs(n - line))
    if len(at) == 1 and len(text) >= TELLING:
        return str(at[0][0].relative_to(root)), at[0][1]
    return None


def main() -> None:
    """Draw mutants, or read them, try each, and print what became of them in each room."""
    rooms = sorted(path.parent.name for path in ROOT.glob("workflow_src/*/__init__.py"))
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--rooms", nargs="*", default=rooms, choices=rooms, metavar="ROOM")
    parser.add_argument("--again", type=Path, help="a CSV whose mutants are tried instead")
    parser.add_argument("--root", type=Path, default=ROOT, help="another checkout with its tests")
    parser.add_argument("--mark", default=QUICK, help="which tests try them, as pytest's -m")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--limit", type=float, default=300, help="seconds of tests for a mutant")
    parser.add_argument("--list", action="store_true", help="draw them, and try none")
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # A shell has what it starts in the background ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    drew = (
        pd.read_csv(given.again, keep_default_na=False)
        if given.again
        else drawn(given.seed, given.count, given.rooms)
    )
    if given.list:
        drew[KEY].to_csv(given.output, index=False)
        return
    root = given.root.resolve()
    mutants = [
        Mutant(file, line, before, after, place(root, file, line, before))
        for file, line, before, after in drew[KEY].itertuples(index=False, name=None)
    ]
    try_all(mutants, root, given.output, given.workers, given.limit, given.mark)
    found = pd.read_csv(given.output, keep_default_na=False)
    print(pd.crosstab(found["file"].str.split("/").str[1], found["result"], margins=True))


if __name__ == "__main__":
    main()
