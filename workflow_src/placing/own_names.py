"""A kernel's own name: what it is called, without what its source is called or its arguments are.

`void fbgemm_gpu::permute_2D_data_kernel<true, float>(int, fbgemm_gpu::Offsets)` is no product
because its project is called after one, nor does it compute in what it is handed. Arguments of
templates stay, without their namespaces: a general kernel such as `vectorized_elementwise_kernel`,
`reduce_kernel` or `device_kernel` is told by the functor that it is made for, and a product by the
types of its elements.

What a name tells is written as ordered rules, of which the first wins whose pattern is found in the
own name, or with `::` in the pattern in the one with namespaces; `why` says what a rule is for and
what it must come before.

Itanium's mangling, as far as names need it: an identifier follows its length, those of a nested
name follow each other (https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling).
"""

import re
from functools import cache
from pathlib import Path

import pandas as pd

from workflow_src.common.errors import StageError
from workflow_src.common.reading import reading

UNNAMED = re.compile(r"<unnamed>::|\(anonymous namespace\)::")
RETURN_TYPE = re.compile(r"^(?:void|std::enable_if<.*?>::type) +")
_CLONE = re.compile(r"(?:\.kd| \[clone [^\]]*\])+$")
_BRACKET = re.compile(r"[<>()]")
_NAMESPACE = re.compile(r"\b(?:[A-Za-z_]\w*::)+(?=\w)")
_MANGLED = re.compile(r"L[a-z]n?\d+E|DF\d+[b_]|Dv\d+_|S[0-9A-Z]*_|T\d*_|(\d+)")
"""Literals, built-in types and back references, whose digits are no lengths; and lengths."""

Rules = list[tuple[re.Pattern[str], bool, str]]
"""Pattern, whether it asks for namespaces, and what it tells."""


@cache
def read_rules(path: Path, tells: str) -> pd.DataFrame:
    """Ordered rules: a column of what each tells, pattern (a regular expression), and why.

    Raises StageError for a file that isn't one of rules.
    """
    expected = f"a table of rules with the columns {tells}, pattern and why"
    with reading(path, expected, "restore it, or correct that line", StageError):
        rules = pd.read_csv(path, dtype=str, keep_default_na=False)[[tells, "pattern", "why"]]
        for pattern in rules["pattern"]:
            re.compile(pattern)
    return rules


def compiled(rules: pd.DataFrame, tells: str) -> Rules:
    """Rules to be tried in order."""
    rows = zip(map(str, rules["pattern"]), map(str, rules[tells]), strict=True)
    return [(re.compile(pattern), "::" in pattern, told) for pattern, told in rows]


def first_match(name: str, rules: Rules) -> str | None:
    """What the first rule tells that a name matches; None if it matches none."""
    own, qualified = own_name(name), qualified_name(name)
    found = (told for rule, asks, told in rules if rule.search(qualified if asks else own))
    return next(found, None)


@cache
def own_name(name: str) -> str:
    """A name without return type, namespaces and parameters; arguments of templates stay."""
    return _NAMESPACE.sub("", qualified_name(name))


@cache
def qualified_name(name: str) -> str:
    """A name with its namespaces, but without return type and parameters."""
    plain = RETURN_TYPE.sub("", UNNAMED.sub("", _CLONE.sub("", name)))
    if plain.startswith("_Z"):
        return _demangled(plain)
    return plain[: _parameters(plain)]


def _parameters(name: str) -> int:
    """Where the list of parameters starts: at the first parenthesis outside of all brackets."""
    opened: list[str] = []
    for found in _BRACKET.finditer(name):
        bracket = found[0]
        if bracket == "(" and not opened and found.start():
            return found.start()
        if bracket in "<(":
            opened.append(bracket)
        elif opened and opened[-1] == {">": "<", ")": "("}[bracket]:
            opened.pop()
    return len(name)


def _demangled(name: str) -> str:
    """The identifiers of a mangled name as `a::b<c::d, e>`: types and literals are left out."""
    nested: list[str] = []
    at, end = 2, 0
    while found := _MANGLED.search(name, at):
        at = found.end()
        word = name[at : at + int(found[1] or 0)]
        if word.isidentifier():
            if found.start() == end:
                nested[-1] += f"::{word}"
            else:
                nested.append(word)
            at = end = at + len(word)
    first, *rest = nested or [name]
    return f"{first}<{', '.join(rest)}>" if rest else first
