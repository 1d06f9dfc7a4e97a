"""What the study flash measures: attention at batch 1, PyTorch's and those that a suite brought."""

from workflow_src.common.case import short_name
from workflow_src.common.schema import AMOUNT, POSITIVE, TEXT, choice, listed, mapping
from workflow_src.studies.study import Row, Settings

EAGER = ("naive", "sdpa_flash", "sdpa_cudnn", "sdpa_efficient", "sdpa_math")
"""The implementations that need no compiling; sdpa_* are backends of PyTorch's own operator."""

COMPILED = ("compiled", "flex")
"""The written-out attention under torch.compile, and PyTorch's flex_attention."""

CONTEXTS = {
    ("cpu", "small"): [128, 256],
    ("cpu", "full"): [128, 256, 512, 1024, 2048],
    ("cuda", "small"): [128, 1024],
    ("cuda", "full"): [128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536],
}
HEAD_SIZES = {"small": [64], "full": [64, 128, 16, 32]}
"""The first is measured at every context, the others at every third, and none of these compiled."""

PRECISIONS = {"cpu": ["fp32"], "cuda": ["bf16", "fp32"]}

BUDGET_MS = {"small": 10.0, "full": 20.0}
"""Time for the samples of a phase at one shape."""

LIMIT_S = 3.0
"""An implementation isn't measured at contexts at which a phase would take longer than this."""

POINT = mapping(
    {
        "implementations": listed(TEXT),
        "precisions": listed(choice(("fp32", "bf16"))),
        "shapes": listed(mapping({"head_size": POSITIVE, "contexts": listed(POSITIVE)})),
        "batch": POSITIVE,
        "budget_ms": AMOUNT,
        "limit_s": AMOUNT,
    },
    {"code": TEXT},
)
"""The schema of a point."""


def points(device: str, scale: str, settings: Settings) -> list[Row]:
    """A point each for PyTorch's eager and compiled ones by precision, and for each brought one.

    The last have the hash of their code, so that an edit measures that point alone.
    """
    contexts, first = CONTEXTS[device, scale], HEAD_SIZES[scale][0]
    every: Row = {"batch": 1, "budget_ms": BUDGET_MS[scale], "limit_s": LIMIT_S}
    every["shapes"] = [
        {"head_size": size, "contexts": contexts if size == first else contexts[::3]}
        for size in HEAD_SIZES[scale]
    ]
    precisions = {"precisions": PRECISIONS[device]}
    found = [
        {"point": f"eager-{name}", "implementations": list(EAGER), "precisions": [name]} | every
        for name in PRECISIONS[device]
    ]
    for where, code in settings.get("attention_codes", {}).items():
        mine: Row = {"point": f"own-{short_name(where)}", "implementations": [where], "code": code}
        found.append(mine | precisions | every)
    if scale == "full":
        found += [every | _compiled(name, first, contexts) for name in PRECISIONS[device]]
    return found


def _compiled(precision: str, head_size: int, contexts: list[int]) -> Row:
    """What differs in a point of compiled attentions: a few contexts, as each is compiled anew."""
    few = contexts[6::3] or contexts[-1:]
    few = few[:1] if precision == "fp32" else few
    about: Row = {"point": f"compiled-{precision}", "implementations": list(COMPILED)}
    shapes = [{"head_size": head_size, "contexts": few}]
    return about | {"precisions": [precision], "shapes": shapes}
