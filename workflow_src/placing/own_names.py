"""A kernel's own name: what it is called, without what its source is called or its arguments are.

`void fbgemm_gpu::permute_2D_data_kernel<true, float>(int, fbgemm_gpu::Offsets)` is no product
because its project is called after one, nor does it compute in what it is handed. Arguments of
templates stay, without their namespaces: a general kernel such as `vectorized_elementwise_kernel`,
`reduce_kernel` or `device_kernel` is told by the functor that it is made for, and a product by the
types of its elements.

Itanium's mangling, as far as names need it: an identifier follows its length, those of a nested
name follow each other (https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling).
"""

import re
from collections.abc import Iterator
from functools import cache

UNNAMED = re.compile(r"<unnamed>::|\(anonymous namespace\)::")
RETURN_TYPE = re.compile(r"^(?:void|std::enable_if<.*?>::type) +")
_CLONE = re.compile(r"(?:\.kd| \[clone [^\]]*\])+$")
_BRACKET = re.compile(r"[<>()]")
_NAMESPACE = re.compile(r"\b(?:[A-Za-z_]\w*::)+(?=\w)")
_MANGLED = re.compile(r"L[a-z]n?\d+E|DF\d+[b_]|Dv\d+_|S[0-9A-Z]*_|T\d*_|(\d+)")
"""Literals, built-in types and back references, whose digits are no lengths; and lengths."""


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
    first, *rest = _nested(name) or [name]
    return f"{first}<{', '.join(rest)}>" if rest else first


def _nested(name: str) -> list[str]:
    """The nested names in a mangled name, each as `a::b`."""
    found: list[str] = []
    end = -1
    for start, stop in _identifiers(name):
        word = name[start:stop]
        length = len(str(stop - start))
        if found and start - length == end:
            found[-1] += f"::{word}"
        else:
            found.append(word)
        end = stop
    return found


def _identifiers(name: str) -> Iterator[tuple[int, int]]:
    """Where each identifier in a mangled name starts and stops."""
    at = 2
    while found := _MANGLED.search(name, at):
        at = found.end()
        stop = at + int(found[1]) if found[1] else at
        if name[at:stop].isidentifier():
            yield at, stop
            at = stop
