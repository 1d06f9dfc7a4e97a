"""What a kernel is called: its own name, a readable short one, and the precision that it reveals.

The own name is without namespaces and the list of arguments: `void
fbgemm_gpu::permute_2D_data_kernel<true, float>(int, fbgemm_gpu::Offsets)` is no product because its
project is called after one. Arguments of templates stay: a general kernel such as
`vectorized_elementwise_kernel`, `reduce_kernel` or `device_kernel` is told by its functor, and a
product by the types of its elements.

Rules (`families.csv`, `precisions.csv`) are ordered: the first wins whose pattern is found in the
own name, or with `::` in the pattern in the one with namespaces.

In Itanium's mangling, an identifier follows its length, and those of a nested name follow each
other (https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling).
"""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pandas as pd

from workflow_src.common.csv_rows import csv_rows
from workflow_src.common.errors import StageError
from workflow_src.common.reading import reading

MAX_LENGTH = 64

NO_KERNEL = ("Memcpy ", "Memset ")
"""Begin the names of copies and sets in torch.profiler's traces."""

PRECISIONS = Path(__file__).with_name("precisions.csv")
MULTIPLYING = ("gemm", "convolution", "attention")

UNNAMED = re.compile(r"<unnamed>::|\(anonymous namespace\)::")
RETURN_TYPE = re.compile(r"^(?:void|std::enable_if<.*?>::type) +")
_CLONE = re.compile(r"(?:\.kd| \[clone [^\]]*\])+$")
_BRACKET = re.compile(r"[<>()]")
_NAMESPACE = re.compile(r"\b(?:[A-Za-z_]\w*::)+(?=\w)")
_MANGLED = re.compile(r"L[a-z]n?\d+E|DF\d+[b_]|Dv\d+_|S[0-9A-Z]*_|T\d*_|(\d+)")
"""Literals, built-in types and back references, whose digits are no lengths; and lengths."""

Rules = list[tuple[re.Pattern[str], bool, str]]
"""Pattern, whether it asks for namespaces, and what it tells."""

_FILLER = re.compile(
    r"(?<=^cudnn_)generated_fort_native_|_(?:stage\d+|warp(?:group)?size[\dx]+|tensor[\dx]+|ffma"
    r"|align[a-c]\d+|execute|segment_k_off|kernel__5x_cublas)(?![a-z\d])|(?<=_)tilesize(?=\d)"
)
"""Parts of cuDNN's names and of cuBLAS's sm*_xmma_gemm_* besides types, layouts, tile and split."""

_CUTLASS = re.compile(r"^(?:\w+::Kernel2?<(?:\w+::)*|_ZN7cutlass\d+Kernel2?I\d+)(\w+?)(?:>|EEv)")
_HOST = re.compile(r"elementwise|^reduce_kernel$|^multi_tensor_apply_kernel$")
_WRAPPER = re.compile(r"^([ab]?unary|unaryop|binary|gpu|\w*elementwise)$")
_OPERATION = re.compile(
    r"CUDAFunctor(?:OnSelf)?_(\w+)"
    r"|launch_(\w+?)(?:_scalar)?\("
    r"|(\w+?)_?(?:Functor|_functor|CUDAKernelImpl|Ops|_kernel)(?=_cuda|_impl|[<(,> ])"
)

_CAST = re.compile(r"\((?:int|bool|unsigned (?:int|long))\)|\bT\d+\b")
_WORDS = re.compile(r"(?:\w+::)*([A-Za-z_]\w*)|(\d+)u?l?")
"""nsys casts numbers and writes parameters as T1; torch.profiler writes 3ul."""


@cache
def read_rules(path: Path, tells: str) -> Rules:
    """The rules in a file, in order. Raises StageError for a file that has none."""
    expected = f"a table of rules with the columns {tells}, pattern and why"
    with reading(path, expected, "restore it, or correct that line", StageError):
        rows = [(row[tells], row["pattern"], row["why"]) for row in csv_rows(path)]
        return [(re.compile(pattern), "::" in pattern, told) for told, pattern, _ in rows]


def first_match(name: str, rules: Rules) -> str | None:
    """What the first rule tells that a name matches, if any."""
    qualified = qualified_name(name)
    own = _NAMESPACE.sub("", qualified)
    found = (told for rule, asks, told in rules if rule.search(qualified if asks else own))
    return next(found, None)


@cache
def qualified_name(name: str) -> str:
    """A name with its namespaces, but without return type and parameters."""
    plain = RETURN_TYPE.sub("", UNNAMED.sub("", _CLONE.sub("", name)))
    if plain.startswith("_Z"):
        return _demangled(plain)
    return plain[: _parameters(plain)]


def _parameters(name: str) -> int:
    opened = ""
    for found in _BRACKET.finditer(name):
        if found[0] == "(" and not opened and found.start():
            return found.start()
        if found[0] in "<(":
            opened += found[0]
        elif opened[-1:] + found[0] in ("<>", "()"):
            opened = opened[:-1]
    return len(name)


def _demangled(name: str) -> str:
    """The identifiers of a mangled name as `a::b<c::d, e>`, without types and literals."""
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


def short_names(names: pd.Series) -> pd.Series:
    """A readable form of each name, at most MAX_LENGTH long, no "|" or line breaks; same index.

    `void at::native::vectorized_elementwise_kernel<4, ...MulFunctor<float>...>(...)` becomes
    `vectorized_elementwise(mul)`; names without C++ signature stay.
    """
    return by_name(names, lambda name: _fit(_short(name)))


def by_name(names: pd.Series, text: Callable[[str], str]) -> pd.Series:
    """A text of each name, made once for each different one; same index."""
    return names.map({name: text(str(name)) for name in names.unique()}).astype(str)


def distinct_names(names: pd.Series) -> pd.Series:
    """Short names; those that several share with the first words, or else numbers, that not all of
    these hold: `vectorized_elementwise(add): BFloat16`, or if these are the same, with a number."""
    every = pd.Series(sorted(names.unique()), dtype=object)
    short = short_names(every)
    shared = {name: rows for name, rows in every.groupby(short) if len(rows) > 1}
    for name, rows in shared.items():
        short[rows.index] = _told_apart(str(name), rows.tolist())
    return names.map(dict(zip(every, short, strict=True))).astype(str)


def _told_apart(short: str, names: list[str]) -> list[str]:
    held = [_words(name) for name in names]
    common = set.intersection(*map(set, held))
    differing = [[word for word in mine if word not in common] for mine in held]
    for count in range(1, max(map(len, differing)) + 1):
        first = [", ".join(words[:count]) for words in differing]
        found = [_fit(f"{short}: {words}") if words else short for words in first]
        if len(set(found)) == len(found):
            return found
    return [f"{short} #{number}" for number, _ in enumerate(names, start=1)]


def _words(name: str) -> list[str]:
    found = dict.fromkeys(_WORDS.findall(_CAST.sub("", UNNAMED.sub("", name))))
    return [word for word, _ in found if word] + [number for _, number in found if number]


def _short(name: str) -> str:
    if name.startswith(NO_KERNEL):
        return name
    plain = RETURN_TYPE.sub("", UNNAMED.sub("", name))
    # Without filler, so that shortening keeps what tells a library's kernels apart.
    if "_xmma_gemm_" in plain or plain.startswith("cudnn_"):
        plain = _FILLER.sub("", plain)
    if wrapped := _CUTLASS.match(plain):
        return wrapped[1]
    path = re.split(r"[<(]", plain, maxsplit=1)[0].rstrip()
    return _function(path, plain[len(path) :]) if path else name


def _function(path: str, rest: str) -> str:
    if not rest:
        return path
    parts = path.split("::")
    base = "::".join(parts[-2:]) if parts[-1] == "kernel" else parts[-1]
    if base == "device_kernel":
        inner = re.search(r"FlashAttn\w+|Gemm\w+", rest)
        return inner[0] if inner else base
    if not _HOST.search(base):
        return base
    # The first functor in the template that is not just a wrapper around another.
    functors = ("".join(filter(None, match.groups())) for match in _OPERATION.finditer(rest))
    found = (word for word in map(str.lower, functors) if not _WRAPPER.match(word))
    standard = re.search(r"std::(plus|minus|multiplies|divides)\b", rest)
    operation = standard[1] if standard else next(found, "")
    return f"{base.removesuffix('_kernel')}({operation})" if operation else base


def _fit(name: str) -> str:
    line = " ".join(name.replace("|", "/").split())
    tail = 18
    return line if len(line) <= MAX_LENGTH else f"{line[: MAX_LENGTH - tail - 1]}…{line[-tail:]}"


def precision_ran(names: pd.Series, families: pd.Series) -> pd.Series:
    """fp32, tf32, bf16, fp16, fp8 or fp64 of each name that multiplies, if it tells; else "".
    `families` has the index of `names`."""
    rules = read_rules(PRECISIONS, "precision")
    precisions = by_name(names, lambda name: first_match(name, rules) or "")
    return precisions.where(families.isin(MULTIPLYING), "")
