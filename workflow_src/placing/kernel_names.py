"""Readable short names of activities, and the precision that a kernel's name reveals.

How kernel names encode types, as far as is known:

- `nvjet_[smXX_]TAG_...` (CUDA 12.6 and later; Hopper, Blackwell): TAG is one letter per type of A,
  compute and D (`tst`), or of A, B, C, compute and D where they differ (`qqtst`). s fp32, t bf16,
  h fp16, d fp64, q fp8 e4m3, r fp8 e5m2, o fp4, b int8. libcublasLt holds the tags as strings and
  exports functions named after them (cublasLtTSTMatmul, cublasLtHSHMatmul). fp32 inputs were only
  ever seen as `sss_tf32`; an `sss` without the suffix yields "". The third letter describes the
  output (`hss`: fp16 in, fp32 out) and says nothing about the multiplication.
- `smXX_xmma_gemm_AB_CK_D`: types of A and B, of C and of the compute, of D;
  `f32f32_tf32f32_f32` is TF32, `f32f32_f32f32_f32` plain FP32.
- `s1688`, `s16816`: tensor-core instruction shapes with FP32 sums. With `bf16` or `f16` in the name
  that is the precision; `s1688` with no type takes FP32 data and multiplies in TF32 (CUTLASS's
  names).
- `s884`, `h884`, `hmma`: Volta's tensor cores, which take FP16 alone; `hcudnn` is FP16, too.
- `sgemm` without these (`ampere_sgemm`, `simt_sgemm`) and `scudnn`: FP32 on the ordinary cores;
  `d884`: FP64.
- `Cijk_Ailk_Bljk_BBS_BH_...` (Tensile, of rocBLAS and hipBLASLt): letters for the type of A and B
  (F8B8 if they differ), of the result and of the compute: B bf16, H fp16, S fp32, D fp64, F8 and B8
  fp8, I8 int8, C and Z complex; `S_MX` multiplies fp32 in xf32, AMD's TF32. `PostGSU`: a split-K
  reduction.
- `bmm_[output]_[A][B]_[accumulator]_...` and `fmhaSm100...Qkv[input]O[output]` (TensorRT-LLM).

Only a name itself and the arguments of its template tell (own_names.py). Names that don't:
split-K reductions and cuBLASLt epilogues (they hold the types of partial sums), Triton's, and
cuDNN's `..._f16_knob_...`, used for BF16 as well as for FP16.
`fmha_cutlassF_f32` counts as fp32: on compute capability 8.0 and later CUTLASS multiplies its FP32
data in three TF32 products (OpMultiplyAddFastF32), close to FP32's accuracy.
"""

import re

import pandas as pd

from workflow_src.placing.own_names import RETURN_TYPE, UNNAMED, own_name

MAX_LENGTH = 64

NO_KERNEL = ("Memcpy ", "Memset ")
"""Prefixes of the names of copies and sets in torch.profiler's traces."""

TENSILE = r"^(?:Custom_)?Cijk_\w{4}_\w{4}_"

_PRECISIONS = [
    (r"(?i)splitkreduce|split_k_reduce|ReduceSplitK|reduce_wgrad|PostGSU|globalKernel", ""),
    (r"^triton_|^fft2d|^_finalize_", ""),
    (TENSILE + "S_MX", "tf32"),
    (TENSILE + "[FB]8", "fp8"),
    (TENSILE + "B", "bf16"),
    (TENSILE + "H", "fp16"),
    (TENSILE + "D", "fp64"),
    (TENSILE + "S", "fp32"),
    ("Cijk_", ""),
    (r"nvjet_(sm\d+_)?[a-z]+_tf32", "tf32"),
    (r"nvjet_(sm\d+_)?t", "bf16"),
    (r"nvjet_(sm\d+_)?h", "fp16"),
    (r"nvjet_(sm\d+_)?[qr]", "fp8"),
    (r"nvjet_(sm\d+_)?ddd", "fp64"),
    (r"nvjet", ""),
    (r"(?i)xf4|e2m1|fp4", ""),
    (r"(?i)e4m3|e5m2|fp8(?!KVCache)|_f8_", "fp8"),
    (r"(?i)tf32", "tf32"),
    (r"(?i)bf16|bfloat16", "bf16"),
    (r"cudnn_generated", ""),
    (r"(?i)(?<![a-z])f16|fp16|half|(?<![a-z])h\d*(gemm|cudnn)|_f16f|[sh]884(?!\d)|hmma", "fp16"),
    (r"dgemm|d\d{3,5}gemm|f64|\bdouble\b", "fp64"),
    (r"s1688(?!\d)", "tf32"),
    (r"sgemm|scudnn|(?<![a-z])f32|_fp32_|\bfloat\b", "fp32"),
]
PRECISIONS = [(re.compile(pattern), precision) for pattern, precision in _PRECISIONS]
"""Ordered: the first pattern found in a name decides the precision ("" if unknown)."""

_CUDNN = re.compile(r"^cudnn_generated_fort_native_")
_XMMA = re.compile(
    r"_(?:tilesize(?=\d)|(?:stage\d+|warp(?:group)?size[\dx]+|tensor[\dx]+|ffma|align[a-c]\d+|execute"
    r"|segment_k_off|kernel__5x_cublas)(?![a-z\d]))"
)
"""Parts of cuBLAS's sm*_xmma_gemm_* names besides types, layouts, tile and split."""

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


def short_names(names: pd.Series) -> pd.Series:
    """A readable form of each name, up to 64 characters, no "|" or line breaks; same index.

    `void at::native::vectorized_elementwise_kernel<4, ...MulFunctor<float>...>(...)` becomes
    `vectorized_elementwise(mul)`. Names without C++ signature (nvjet_*, aten::*) are kept, but
    shortened in the middle if too long.
    """
    known = {name: _fit(_short(str(name))) for name in names.unique()}
    return names.map(known).astype(str)


def distinct_names(names: pd.Series) -> pd.Series:
    """Short names, with what tells them apart where several of these names share one; same index.

    That is the first words, or else numbers, that not all names of one short name hold:
    `vectorized_elementwise(add): BFloat16`. Where these are the same, names are numbered.
    """
    every = pd.Series(sorted(names.unique()), dtype=object)
    short = short_names(every)
    shared = {name: rows for name, rows in every.groupby(short) if len(rows) > 1}
    for name, rows in shared.items():
        short[rows.index] = _told_apart(str(name), rows.tolist())
    return names.map(dict(zip(every, short, strict=True))).astype(str)


def _told_apart(short: str, names: list[str]) -> list[str]:
    """A different form of the one short name of each of these names."""
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
    """The different words in a C++ name, without namespaces, and then its numbers."""
    found = _WORDS.findall(_CAST.sub("", UNNAMED.sub("", name)))
    words, numbers = zip(*found, strict=True) if found else ((), ())
    return list(filter(None, dict.fromkeys([*words, *numbers])))


def _short(name: str) -> str:
    if name.startswith(NO_KERNEL):
        return name
    plain = _library(RETURN_TYPE.sub("", UNNAMED.sub("", name)))
    wrapped = _CUTLASS.match(plain)
    if wrapped:
        return wrapped[1]
    path = re.split(r"[<(]", plain, maxsplit=1)[0].rstrip()
    return _function(path, plain[len(path) :]) if path else name


def _library(name: str) -> str:
    """`name` without filler, so that shortening keeps what tells a library's kernels apart."""
    if "_xmma_gemm_" in name:
        return _XMMA.sub(lambda part: "_" if part[0] == "_tilesize" else "", name)
    return _CUDNN.sub("cudnn_", name)


def _function(path: str, rest: str) -> str:
    """The function at the end of `path`, with the operation that its template, `rest`, names."""
    if not rest:
        return path
    parts = path.split("::")
    base = "::".join(parts[-2:]) if parts[-1] == "kernel" else parts[-1]
    if base == "device_kernel":
        inner = re.search(r"FlashAttn\w+|Gemm\w+", rest)
        return inner[0] if inner else base
    operation = _operation(rest) if _HOST.search(base) else ""
    return f"{base.removesuffix('_kernel')}({operation})" if operation else base


def _operation(rest: str) -> str:
    """The first functor in a template that is not just a wrapper around another, or ""."""
    standard = re.search(r"std::(plus|minus|multiplies|divides)\b", rest)
    if standard:
        return standard[1]
    found = ("".join(filter(None, match.groups())).lower() for match in _OPERATION.finditer(rest))
    return next((word for word in found if not _WRAPPER.match(word)), "")


def _fit(name: str) -> str:
    """`name` on one line without "|", shortened in the middle to at most MAX_LENGTH."""
    line = " ".join(name.replace("|", "/").split())
    tail = 18
    return line if len(line) <= MAX_LENGTH else f"{line[: MAX_LENGTH - tail - 1]}…{line[-tail:]}"


def precision_ran(names: pd.Series, families: pd.Series) -> pd.Series:
    """For each name that multiplies: fp32, tf32, bf16, fp16, fp8 or fp64; "" for all others.

    `families` has the index of `names`. Also empty if the name doesn't tell (see the module).
    """
    known = {name: _precision(str(name)) for name in names.unique()}
    precisions: pd.Series = names.map(known).astype(str)
    return precisions.where(families.isin(["gemm", "convolution", "attention"]), "")


def _precision(name: str) -> str:
    own = own_name(name)
    return next((precision for pattern, precision in PRECISIONS if pattern.search(own)), "")
