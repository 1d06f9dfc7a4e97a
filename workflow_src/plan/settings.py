"""The settings of config.yaml."""

import math
import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
)

from workflow_src.common.arguments import pattern
from workflow_src.common.case import EXECUTIONS, OPTIMIZERS
from workflow_src.common.errors import not_among
from workflow_src.common.precisions import PRECISIONS

NUMBER = re.compile(r"[+-]?[0-9]{1,30}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?")
T = TypeVar("T")


def must(be: str, holds: Callable[[Any], object]) -> AfterValidator:
    """A value of which something holds; `be` says what."""

    def check(value: Any) -> Any:
        if not holds(value):
            raise ValueError(f"{value!r} must {be}")
        return value

    return AfterValidator(check)


def made_of(pattern: str, words: str) -> AfterValidator:
    """Text of these characters alone."""
    return must(f"be made of {words}", re.compile(pattern).fullmatch)


def among(names: Iterable[str]) -> AfterValidator:
    """One of some names."""

    def check(text: str) -> str:
        if text not in names:
            raise ValueError(not_among(text, names))
        return text

    return AfterValidator(check)


def _pattern(text: str) -> str:
    try:
        return pattern(text)
    except ArgumentTypeError as error:
        raise ValueError(str(error)) from None


def as_typed(value: Any) -> Any:
    """A value as typed: Snakemake's --config makes text of null, true and numbers."""
    if isinstance(value, Mapping):
        return {key: as_typed(each) for key, each in value.items()}
    if isinstance(value, list):
        return [as_typed(each) for each in value]
    if not isinstance(value, str):
        return value
    if number := NUMBER.fullmatch(value):
        whole = not (number[1] or number[2])
        return int(value) if whole else float(value) if math.isfinite(float(value)) else value
    return {"true": True, "false": False, "null": None}.get(value, value)


NAME = made_of(
    # Those belong to no run: they are folders of results/.
    r"(?!(captures|compare)$)[A-Za-z0-9][A-Za-z0-9._-]*",
    "letters, digits, dots, dashes and underscores, a letter or digit first, and not be captures "
    "or compare",
)
Name = Annotated[str, NAME]
SIZE = r"[A-Za-z0-9][A-Za-z0-9.]*(-[A-Za-z0-9.]+)*"
SizeName = Annotated[str, made_of(SIZE, "letters, digits and dots, and dashes between them")]
AXIS = made_of(r"[A-Za-z][A-Za-z0-9_]*", "letters, digits and underscores, a letter first")
LEVERS_CASE = made_of(
    rf"{SIZE}-ctx[1-9][0-9]{{0,6}}-(fp32|bf16)",
    "a size, a context and fp32 or bf16, such as medium-ctx256-bf16",
)
Text = Annotated[str, Field(min_length=1)]
Pattern = Annotated[str, AfterValidator(_pattern)]
Length = Annotated[int, Field(ge=1, le=2**24)]
Steps = Annotated[int, Field(ge=1, le=1_000_000)]
# 1, 1.0 and True are three values.
DISTINCT = must("not repeat a value", lambda all: len({(type(e), str(e)) for e in all}) == len(all))
Listed = Annotated[list[T], DISTINCT]
Many = Annotated[list[T], Field(min_length=1), DISTINCT]
SCALAR = must("be a number, truth or text", lambda each: isinstance(each, int | float | str | None))
Scalar = Annotated[Any, SCALAR, BeforeValidator(as_typed)]
LONG_ENOUGH = must("be 0 or from 3", lambda seconds: not 0 < seconds < 3)


class Checked(BaseModel):
    """Settings, of which only what the command line makes text, or a number, of is converted.

    There, a tag of digits is a number, and a number inside a mapping is text.
    """

    model_config = ConfigDict(
        strict=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )

    @field_validator("*", mode="wrap")
    @classmethod
    def typed(cls, value: Any, check: Any) -> Any:
        """A setting as it is, else as typed."""
        try:
            return check(value)
        except ValidationError as first:
            other = str(value) if type(value) is int else as_typed(value)
            if other == value:
                raise
            try:
                return check(other)
            except ValidationError as second:
                raise (first if type(value) is int else second) from None


class Size(Checked):
    """A model."""

    d_model: Annotated[int, Field(ge=1, le=2**20)]
    """Width of the residual stream."""
    d_ff: Annotated[int, Field(ge=1, le=2**20)]
    """Inner width of the feed-forward layer."""
    layers: Annotated[int, Field(ge=1, le=10_000)]
    """Number of blocks."""
    heads: Annotated[int, Field(ge=1, le=2**16)]
    """Attention heads; they split d_model evenly into heads of even width."""


class Suite(Checked):
    """Every combination of its axes."""

    sizes: Many[str]
    """Names from `sizes`."""
    contexts: Many[Length]
    """Context lengths in tokens."""
    batches: Many[Length] = [4]
    """Sequences per step."""
    precisions: Many[Annotated[str, among(PRECISIONS)]] = ["fp32"]
    """fp32 (TF32 off), tf32, bf16 and fp16 (autocast)."""
    attentions: Many[str] = ["naive"]
    """naive (softmax written out), fused_softmax (torch's), triton_softmax (this project's, on a
    CUDA device only), sdpa (torch's fused attention), or one of your own as file.py:function
    (docs/own_model.md)."""
    optimizers: Many[Annotated[str, among(OPTIMIZERS)]] = ["adamw"]
    """This project's own AdamW, or torch's foreach or fused AdamW."""
    executions: Many[Annotated[str, among(EXECUTIONS)]] = ["eager"]
    """eager, the model as it is written, or compiled, the whole of it under torch.compile."""


class Config(Checked):
    """What to measure. Keys with a default may be left out of config.yaml."""

    suite: str = "quickstart"
    """The suite to run, one of the names under `suites`."""
    tag: Annotated[str, Field(max_length=100), NAME] | None = None
    """Results are stored under results/{tag}/. Left out, the suite's name."""
    workload: Text | None = None
    """A function that makes the model to measure in place of this project's own, as
    file.py:function (docs/own_model.md). The suite doesn't count then."""
    axes: dict[Annotated[str, AXIS], Many[Scalar]] = {}
    """What the workload's function is called with, lists of values by name."""
    module_depth: Annotated[int, Field(ge=0, le=1000)] = 4
    """How deep in a workload's model modules have ranges of their own in captures; 0 for none."""
    module_fold: Pattern = r"\.\d+"
    """A regular expression of what is left out of the names of modules, so that those of all layers
    are one: h.3 becomes h. Empty to leave names as they are."""
    device: Annotated[str, among(("auto", "cpu", "cuda"))] = "auto"
    """Where the model runs. auto selects cuda if there is a CUDA device."""
    cluster: bool = False
    """Measurements run on other machines than snakemake itself. Device and profiler must then be
    named; this machine is not searched for them."""
    profiler: Annotated[str, among(("auto", "nsys", "torch"))] = "auto"
    """nsys (Nsight Systems) or torch (torch.profiler). auto selects nsys if the device is cuda and
    nsys is installed, else torch."""
    cpu_threads: Annotated[int, Field(ge=1, le=4096)] | None = None
    """Threads that torch computes with where the device is cpu, whatever --cores is. Left out, all
    cores that this machine offers; chosen once per tag and recorded in plan.csv."""
    warmup_steps: Annotated[int, Field(ge=0, le=1_000_000)] = 5
    """Steps of each phase before anything is measured or captured."""
    steps: Steps = 10
    """Measured steps of each phase in the benchmark."""
    processes: Annotated[int, Field(ge=1, le=1000)] = 1
    """Fresh processes in which each benchmark runs, one after another: 3 or more for launch-bound
    cases, whose times differ from process to process."""
    energy_seconds: Annotated[float, Field(ge=0, le=3600), LONG_ENOUGH] = 0
    """For how long (s) each phase is repeated on a GPU to learn the energy of its step: 0, not at
    all, or 3 or more. With 3 its interval is about 3 % to each side, with 30 a tenth of that."""
    capture_steps: Steps = 3
    """Steps of each phase inside the profiler's capture window; fewer for models of more than 42
    layers, to keep a capture within 5 MB."""
    memory_limit_gib: Annotated[float, Field(gt=0)] | None = None
    """The most memory that a measurement may use, to find out what fits on a smaller machine: of
    the device, or on a CPU of what the process allocates after its start; there, left out, 95 % of
    what is available. More than there is, is refused."""
    mixed_environments: bool = False
    """Allow one table to mix rows from different GPUs, drivers or library versions."""
    allow_missing: bool = False
    """Make the report from the cases measured so far, and say which are missing."""
    studies: Listed[str] = []
    """Companion studies to run, each a section of the report (workflow_src/studies/study.py)."""
    captures: Listed[Text] = []
    """Captures of other programs, which are reported instead of a suite: files or patterns
    of nsys or torch.profiler (docs/captures.md). Traces of ranks of one job are one capture."""
    capture_fold: Pattern | None = r"\.\d+"
    """A regular expression of what is left out of the names of a capture's ranges, so that those of
    all layers are one: layers.3.mlp becomes layers.mlp. Empty to leave names as they are."""
    capture_domains: Listed[Annotated[str, made_of("[^,]+", "anything but commas")]] = []
    """The NVTX domains whose ranges count in a capture, all of them; `default` is the one without a
    name. Empty for all but libraries' own."""
    capture_step: str | None = None
    """The name of the ranges that are steps in a capture, after capture_fold; a * in it stands for
    a number. Left out, they are found by rules (docs/captures.md)."""
    capture_step_ms: Annotated[float, Field(gt=0, le=1e9)] | None = None
    """How long a step of the captures takes without a profiler (ms), as a trainer logs it. Then
    savings are those of the plain step, else of the profiled one."""
    capture_memory_gib: Annotated[float, Field(gt=0, le=1e6)] | None = None
    """The most memory that reading one capture may take (GiB). Left out, half of what is available
    when its reading begins."""
    study_scale: Annotated[str, among(("auto", "small", "full"))] = "auto"
    """How large the studies are: small takes minutes on two CPU cores, full is for a GPU. auto is
    full on cuda, else small."""
    levers_cases: Listed[Annotated[str, LEVERS_CASE]] = []
    """The cases in which the study levers tries remedies, each a size, a context and a precision.
    Left out, tiny-ctx32-fp32 at scale small, and at scale full small, medium and 2.7B at contexts
    256 and 1024 in fp32 and bf16."""
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    """Random seed of the weights and the tokens."""
    vocabulary: Annotated[int, Field(ge=2, le=2**24)] = 10000
    """Number of token ids in the vocabulary."""
    sizes: Annotated[dict[SizeName, Size], Field(min_length=1)]
    """Model sizes by name."""
    suites: Annotated[dict[Name, Suite], Field(min_length=1)]
    """Suites by name."""
