"""What the plain point tells: its work by part, and the ceilings that predictions rest on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from workflow_src.common.case import Case
from workflow_src.common.units import NS_PER_MS, NS_PER_US
from workflow_src.model.flops import parameter_count
from workflow_src.placing.kernel_words import changes_type
from workflow_src.studies.levers.parts import KINDS, NOTHING, Part, Parts
from workflow_src.studies.levers.spread import MEASURED, between, relative
from workflow_src.studies.models import case_of
from workflow_src.studies.rows import busy_ns, calls
from workflow_src.studies.study import Point, Row

CORE = ("scores", "softmax", "values", "sdpa")
"""The ranges of attention's core."""

COPY_BYTES = 8
"""What a copy moves per float32 element: it reads and writes it."""

LEAST_PRICE = 0.1
"""Where walls of phases are too noisy to tell what the optimizer's launches take."""

GAP_US = 1.0
"""Between two kernels of a replayed CUDA graph, of points older than the ceiling that tells it."""


@dataclass(frozen=True)
class Known:
    """The plain variant of a case, measured.

    parts: its work; walls: the median wall time (ms) of each phase; between: how far off each may
    be for the luck of its processes, relative, with 95 %; luck: the same of a variant's, which may
    be fewer; bytes_per_ms: a copy's; product: ms of one product by type; pieces: attention's core
    and softmax in one block, by name, mode and pass; gap_us: between kernels of a replayed graph;
    us_per_call: of a launch in forward and backward, 0 on a CPU; chain: elementwise kernels in a
    row, on average; gated: the feed-forward layer's share of elementwise time; optimizer_price: of
    a launch in the optimizer, as a share of us_per_call, by which its launches are counted.
    """

    case: Case
    parts: Parts
    walls: dict[str, float]
    between: dict[str, float]
    luck: dict[str, float]
    bytes_per_ms: Part
    product: dict[str, float]
    pieces: dict[tuple[str, str, str], Part]
    us_per_call: float
    chain: float
    gated: float
    optimizer_price: float = 1.0
    gap_us: float = GAP_US

    @property
    def parameters(self) -> int:
        """The model's number of parameters."""
        return parameter_count(self.case)

    def moving(self, moved: float, calls: float, unsure: float) -> Part:
        """The work of moving so many bytes at a copy's rate."""
        ms = moved / self.bytes_per_ms.ms
        sure = (self.bytes_per_ms.sd / self.bytes_per_ms.ms) ** 2
        return Part(ms, ms * (sure + unsure**2) ** 0.5, calls)


class UnmeasuredError(Exception):
    """A phase or a ceiling of the plain point has no time; the message says which, and why."""


def _refuse_unmeasured(rows: Iterable[Row]) -> None:
    for row in rows:
        if row["measurement"] in ("phase", "ceiling") and row["status"] != "ok":
            kind = "plain" if row["measurement"] == "phase" else "ceiling"
            words = [kind, row.get("name"), row.get("phase"), "is", row["status"]]
            raise UnmeasuredError(f"the {' '.join(filter(None, words))}: {row['reason']}")


def known(point: Point, rows: Sequence[Row], case: Case) -> Known:
    """What the prepared rows of the plain point tell.

    Raises UnmeasuredError if a phase or a ceiling has no time.
    """
    _refuse_unmeasured(rows)
    phases = {row["phase"]: row for row in rows if row["measurement"] == "phase"}
    ceilings = {
        (row["name"], row.get("phase", "")): row for row in rows if row["measurement"] == "ceiling"
    }
    pieces = _pieces(ceilings)
    forward, both = phases["forward"]["activities"], phases["forward_backward"]["activities"]
    optimizer = [a for a in phases["train_step"]["activities"] if a["range"] == "optimizer"]
    parts = _forward(forward)
    parts |= _backward(both, forward, ceilings, case)
    copied = ceilings["copy", ""]
    rate = point["copy_elements"] * COPY_BYTES / copied["median_ms"]
    launching = ceilings["launching", "forward_backward"]["median_ms"]
    us = 1e3 * launching / max(1, calls(both)) if case.device == "cuda" else 0.0
    walls = {phase: row["median_ms"] for phase, row in phases.items()}
    others = point.get("other_processes", point["processes"])
    price = _optimizer_price(walls, calls(optimizer), us)
    parts |= {"optimizer": _part(optimizer).times(1, calls=price)}
    return Known(
        case=case,
        parts=parts,
        walls=walls,
        between={phase: between(row) for phase, row in phases.items()},
        luck={phase: between(row, others) for phase, row in phases.items()},
        bytes_per_ms=Part(rate, rate * relative(copied)),
        product={
            name.split()[1]: row["median_ms"]
            for (name, _), row in ceilings.items()
            if name.startswith("product")
        },
        pieces=pieces,
        us_per_call=us,
        optimizer_price=price,
        gap_us=_gap_us(ceilings.get(("gaps", ""))),
        **_chains(forward, case),
    )


def _optimizer_price(walls: dict[str, float], launches: int, us: float) -> float:
    """What the host takes for a launch of the optimizer, as a share of `us`; at most 1.

    It is at most what the plain training step takes beyond forward + backward, per launch.
    """
    beyond_us = 1e3 * (walls["train_step"] - walls["forward_backward"])
    if not launches or not us:
        return 1.0
    return min(1.0, max(LEAST_PRICE, beyond_us / launches / us))


def _gap_us(chain: Row | None) -> float:
    """What a replayed chain of kernels takes beyond their own time, per kernel."""
    if chain is None:
        return GAP_US
    beyond_us = 1e3 * chain["median_ms"] - busy_ns(chain["activities"]) / NS_PER_US
    return float(max(0.0, beyond_us / max(1, calls(chain["activities"]))))


def kind_of(activity: Row) -> str:
    """The kind of an activity: core, products, casts or pointwise."""
    if activity["range"] in CORE:
        return "core"
    return _besides_core(activity)


def _besides_core(activity: Row) -> str:
    if activity["family"] in ("gemm", "attention"):
        return "products"
    casts = activity["family"] == "copy" and changes_type(activity["name"])
    return "casts" if casts else "pointwise"


def _part(activities: Iterable[Row]) -> Part:
    rows = list(activities)
    ms = busy_ns(rows) / NS_PER_MS
    return Part(ms, MEASURED * ms, calls(rows))


def _forward(activities: Sequence[Row]) -> Parts:
    return {f"forward {kind}": _part(a for a in activities if kind_of(a) == kind) for kind in KINDS}


def _backward(
    both: Sequence[Row], forward: Sequence[Row], ceilings: dict[tuple[str, str], Row], case: Case
) -> Parts:
    """Forward and backward without forward; of attention's core what it takes alone, by block.

    Autograd's thread has none of the model's ranges, so that backward can't be split by them.
    """
    name = f"naive {case.precision}"
    bare_both, bare = (
        ceilings[name, phase]["activities"] for phase in ("forward_backward", "forward")
    )
    parts: Parts = {}
    core = NOTHING
    for kind in KINDS[1:]:
        whole = _of_kind(both, kind).without(_of_kind(forward, kind))
        mine = _of_kind(bare_both, kind).without(_of_kind(bare, kind))
        mine = mine.times(case.layers, 0.1, case.layers)
        mine = Part(min(mine.ms, whole.ms), mine.sd, mine.calls)
        core += mine
        parts[f"backward {kind}"] = whole.without(mine)
    return parts | {"backward core": core}


def _of_kind(activities: Sequence[Row], kind: str) -> Part:
    return _part(a for a in activities if _besides_core(a) == kind)


def _pieces(ceilings: dict[tuple[str, str], Row]) -> dict[tuple[str, str, str], Part]:
    """Each piece's work in one block, by name, mode and pass."""
    found: dict[tuple[str, str, str], Part] = {}
    for name, phase in ceilings:
        if phase and name != "launching" and (name, "forward_backward") in ceilings:
            piece, mode = name.split()
            forward, both = (
                _piece(ceilings[name, each]) for each in ("forward", "forward_backward")
            )
            found[piece, mode, "forward"] = forward
            found[piece, mode, "backward"] = both.without(forward)
    return found


def _piece(row: Row) -> Part:
    return Part(row["median_ms"], row["median_ms"] * relative(row), calls(row["activities"]))


def _chains(forward: Sequence[Row], case: Case) -> dict[str, float]:
    """How many elementwise kernels run in a row, and the feed-forward layer's share of them."""
    opened = {"norm": 2 * case.layers + 1, "embedding": 1, "head": 1}
    mine = [a for a in forward if kind_of(a) == "pointwise" and a["family"] != "bookkeeping"]
    total = busy_ns(mine) or 1
    left = 0.0
    for name in {a["range"] for a in mine}:
        inside = [a for a in mine if a["range"] == name]
        length = max(1.0, calls(inside) / opened.get(name, case.layers))
        left += busy_ns(inside) / length
    gate = busy_ns([a for a in mine if a["range"] == "feed_forward"])
    return {"chain": max(1.0, total / left) if left else 1.0, "gated": gate / total}


def plain_case(point: Point) -> Case:
    """The plain case of a point."""
    return case_of(point, point["size"], point["precision"])
