"""What the levers study measures: a point per case and variant, the plain variant first."""

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from workflow_src.studies.models import models
from workflow_src.studies.study import Point, Row, Settings

PLAIN = "plain"


@dataclass(frozen=True)
class Variant:
    """A way to run a case: with which remedies, each of which sets one or two fields.

    name: its id; remedies: those it combines, in order. The other fields say what runs: attention
    and optimizer as in a case; the precision, "" for the case's own; bf16_weights: parameters kept
    in bfloat16, without autocast; graph: replayed as a CUDA graph; compiled: the model under
    torch.compile; batches: how many times the case's batch.
    """

    name: str = PLAIN
    remedies: tuple[str, ...] = ()
    attention: str = "naive"
    optimizer: str = "adamw"
    precision: str = ""
    bf16_weights: bool = False
    graph: bool = False
    compiled: bool = False
    batches: int = 1

    @classmethod
    def of(cls, point: Point) -> "Variant":
        """The variant in a point read from JSON."""
        names = {field.name for field in fields(cls)}
        given = {key: value for key, value in point["variant"].items() if key in names}
        return cls(**given | {"remedies": tuple(given["remedies"])})


REMEDIES: dict[str, dict[str, Any]] = {
    "fused_softmax": {"attention": "fused_softmax"},
    "triton_softmax": {"attention": "triton_softmax"},
    "sdpa": {"attention": "sdpa"},
    "foreach": {"optimizer": "foreach"},
    "fused": {"optimizer": "fused"},
    "bf16": {"precision": "bf16"},
    "bf16_weights": {"precision": "bf16", "bf16_weights": True},
    "graph": {"graph": True},
    "compile": {"compiled": True},
    "batch_x2": {"batches": 2},
}
"""What each remedy sets, alone or on top of others."""

STACK = {
    "cuda": ("bf16", "sdpa", "fused", "graph", "compile"),
    "cpu": ("bf16", "sdpa", "fused"),
}
"""The order in which remedies are put on top of each other: what pays most on a GPU first, but what
needs another one after it (a graph of the whole step needs the fused optimizer), and compiling
last. What changes training itself, weights in bf16 or another batch, is tried alone. A CPU has no
CUDA graphs, and compiles only the plain model: it takes longer than all the rest."""

FIRST = ("2.7B-ctx256-bf16", "medium-ctx256-bf16")
CASES = {
    "small": ("tiny-ctx32-fp32",),
    "full": (
        *FIRST,
        *(
            case
            for size in ("small", "medium", "2.7B")
            for context in (256, 1024)
            for precision in ("fp32", "bf16")
            if (case := f"{size}-ctx{context}-{precision}") not in FIRST
        ),
    ),
}
BATCH = 4
SCALES = {"small": {"warmup_steps": 1, "steps": 3}, "full": {"warmup_steps": 3, "steps": 8}}
PROCESSES = {"small": 1, "full": 3}
PLAIN_PROCESSES = {"small": 1, "full": 6}
"""Processes of the plain variant, which every saving rests on."""


def with_remedy(variant: Variant, remedy: str) -> Variant:
    """`variant` with one more remedy, named after it and what it is put on."""
    name = f"then_{remedy}" if variant.remedies else remedy
    return replace(variant, name=name, remedies=(*variant.remedies, remedy), **REMEDIES[remedy])


def remedies_for(precision: str) -> list[str]:
    """The remedies that change a case of this precision."""
    return [name for name in REMEDIES if not (name == "bf16" and precision == "bf16")]


def stack(precision: str, device: str) -> list[Variant]:
    """The plain variant, and each with one more remedy than the one before."""
    found = [Variant()]
    for remedy in STACK[device]:
        if remedy in remedies_for(precision):
            found.append(with_remedy(found[-1], remedy))
    return found


def variants(precision: str, device: str) -> list[Variant]:
    """All variants of a case: plain, each remedy alone, then the rest of the stack."""
    alone = [with_remedy(Variant(), remedy) for remedy in remedies_for(precision)]
    return [Variant(), *alone, *stack(precision, device)[2:]]


def parts_of(case: str) -> tuple[str, int, str]:
    """Size, context and precision in a case's id, such as 2.7B-ctx256-bf16."""
    size, context, precision = case.rsplit("-", 2)
    return size, int(context.removeprefix("ctx")), precision


def points(device: str, scale: str, settings: Settings) -> list[Row]:
    """A point per case (`levers_cases`, else the scale's) of a configured size, and variant."""
    found: list[Row] = []
    for case in settings["levers_cases"] or CASES[scale]:
        size, context, precision = parts_of(case)
        if size not in settings["sizes"]:
            continue
        about = models(settings, [size]) | {"case": case, "size": size, "context": context}
        about |= {"precision": precision, "batch": BATCH} | SCALES[scale]
        for variant in variants(precision, device):
            processes = PLAIN_PROCESSES if variant.name == PLAIN else PROCESSES
            made = asdict(variant) | {"remedies": list(variant.remedies)}
            often = {"processes": processes[scale], "variant": made}
            found.append({"point": f"{case}.{variant.name}"} | about | often)
    return found
