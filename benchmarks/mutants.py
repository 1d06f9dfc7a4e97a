"""Which of N small changes of this project's code do its tests find?

    python -m benchmarks.mutants --seed 1 --count 200 --output mutants.csv
    python -m benchmarks.mutants --again mutants.csv --output others.csv    # the same, other tests

Mutants are drawn by seed over rooms in proportion to their lines. A row of the CSV is one: a file,
a line of it before and after, in which a comparison is flipped or its boundary moved, a constant
changed, an operator swapped, `not` dropped, two arguments swapped, or a statement deleted. Each is
tried in a copy of this folder, by the tests that import its module or a module that does
(--distance), or by those that --tests names for its room; those that fail without it don't count. A
run that was stopped goes on where it ended.
"""

import argparse
import ast
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parent.parent
NOT_COPIED = shutil.ignore_patterns(".*", "results", "__pycache__")
QUICK = "not workflow and not nsys and not browser and not slurm and not gpu and not snakemake7"
KEY = ["file", "line", "before", "after"]
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


@cache
def imported(path: Path) -> frozenset[Path]:
    """The files of this project that a file imports itself."""
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names += [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{each.name}" for each in node.names)]
    files = [ROOT / Path(*name.split(".")).with_suffix(".py") for name in names]
    return frozenset(file for file in files if file.is_file())


@cache
def tests_of(file: str, distance: int) -> tuple[str, ...]:
    """The test files from which that many imports or fewer lead to a file, the nearest first;
    imports of one test by another don't count."""
    found = []
    for test in sorted((ROOT / "tests").rglob("test_*.py")):
        steps, left = {test: 0}, [test]
        for path in left:
            for each in imported(path) - set(steps):
                further = steps[path] + (each.relative_to(ROOT).parts[0] != "tests")
                if further <= distance:
                    steps[each] = further
                    left.append(each)
        if ROOT / file in steps:
            found.append((steps[ROOT / file], str(test.relative_to(ROOT))))
    return tuple(name for _, name in sorted(found))


def failed_in(tests: Sequence[str], folder: Path, limit_s: float) -> str | None:
    """The file of the first test that fails in a folder, or None; what tests start ends with them.

    Raises TimeoutExpired. "" is no file: what all tests need fails.
    """
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", QUICK, "-p", "no:cacheprovider"]
    with tempfile.TemporaryFile("w+") as said:
        running = subprocess.Popen(
            [*command, *tests], cwd=folder, env=os.environ | {"PYTHONPATH": str(folder)},
            stdout=said, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            status = running.wait(limit_s)
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
                running.wait()
        said.seek(0)
        found = re.search(r"^(?:FAILED|ERROR) ([\w/]+\.py)", said.read(), re.MULTILINE)
    # 5: all of them were deselected.
    return None if status in (0, 5) else found[1] if found else ""


@cache
def sound(test: str, folder: Path, limit_s: float) -> bool:
    """Whether a test file passes without a mutant."""
    try:
        return failed_in([test], folder, limit_s) is None
    except subprocess.TimeoutExpired:
        return False


def result_of(mutant: pd.Series, tests: Sequence[str], folder: Path, limit_s: float) -> str:
    """What becomes of a mutant in a copy of the project: "killed" by a test that passes without it,
    "survived", "timed out", or "no tests". Raises SystemExit if its line is another one now."""
    path, left = folder / mutant["file"], list(tests)
    text = path.read_text()
    lines = text.splitlines()
    if lines[mutant["line"] - 1] != mutant["before"]:
        raise SystemExit(f"{mutant['file']}:{mutant['line']} was {mutant['before'].strip()!r}")
    lines[mutant["line"] - 1] = mutant["after"]
    while left:
        try:
            written(path, "\n".join(lines) + "\n")
            failed = failed_in(left, folder, limit_s)
        except subprocess.TimeoutExpired:
            return "timed out"
        finally:
            written(path, text)
        if failed is None:
            return "survived"
        if failed not in left or sound(failed, folder, limit_s):
            return "killed"
        left.remove(failed)
    return "no tests"


def written(path: Path, text: str) -> None:
    """Write a module, and drop its bytecode: Python would keep that of the same second."""
    path.write_text(text)
    for old in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
        old.unlink()


def run(mutants: pd.DataFrame, given: argparse.Namespace) -> None:
    """Try each mutant without a result, and write all after each."""
    named = dict(each.split("=", 1) for each in given.tests)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "project"
        shutil.copytree(ROOT, folder, ignore=NOT_COPIED)
        for n, mutant in mutants[mutants["result"] == ""].iterrows():
            began, mapped = time.monotonic(), named.get(Path(mutant["file"]).parts[1])
            tests = mapped.split(",") if mapped else tests_of(mutant["file"], given.distance)
            result = result_of(mutant, tests, folder, given.limit)
            mutants.loc[n, ["result", "seconds"]] = result, f"{time.monotonic() - began:.1f}"
            mutants.to_csv(given.output, index=False)
            where = f"{mutant['file']}:{mutant['line']}"
            print(f"{result}: {where}: {mutant['before'].strip()} -> {mutant['after'].strip()}")


def read(path: Path) -> pd.DataFrame:
    """Mutants as `run` writes them."""
    return pd.read_csv(path, keep_default_na=False, dtype={"result": str, "seconds": str})


def main() -> None:
    """Draw mutants, or read them, try each, and print how many were killed in each room."""
    rooms = sorted(path.parent.name for path in ROOT.glob("workflow_src/*/__init__.py"))
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--rooms", nargs="*", default=rooms, choices=rooms, metavar="ROOM")
    parser.add_argument("--again", type=Path, help="a CSV whose mutants are tried instead")
    parser.add_argument("--tests", nargs="*", default=[], metavar="ROOM=FILE,FILE")
    parser.add_argument("--distance", type=int, default=2, help="imports from a test to a module")
    parser.add_argument("--limit", type=float, default=300, help="seconds that a mutant may take")
    parser.add_argument("--list", action="store_true", help="draw them, and try none")
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    mutants = read(given.again) if given.again else drawn(given.seed, given.count, given.rooms)
    mutants = mutants[KEY].assign(result="", seconds="").set_index(KEY)
    if given.output.is_file():
        mutants.update(read(given.output).set_index(KEY))
    mutants = mutants.reset_index()
    mutants.to_csv(given.output, index=False)
    if not given.list:
        run(mutants, given)
    by_room = mutants["file"].str.split("/").str[1]
    print(pd.crosstab(by_room, mutants["result"], margins=True).to_string())


if __name__ == "__main__":
    main()
