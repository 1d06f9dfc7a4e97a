"""What takes a case's device time, as cells of its table: kernels, products, parts of the model."""

from collections.abc import Iterable

from workflow_src.answers.change_first import cells
from workflow_src.answers.change_first.first import OfPhase
from workflow_src.answers.kernels import device_ms
from workflow_src.answers.other_kernels.passes import Pass, forward_pass
from workflow_src.answers.other_kernels.result import TRIED
from workflow_src.answers.softmax.result import FUSED, softmax_of_case
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.answers.top_kernel.top import BACKWARD, TopKernel, top_of_case
from workflow_src.common import words
from workflow_src.common.case import PHASES
from workflow_src.common.components import COMPONENTS
from workflow_src.paper.value import Cell, Joined

FORWARD, BOTH = PHASES[:2]
NORMS = COMPONENTS["norm"].name

TOP = "top single kernel: calls, share"
BESIDES = "most time besides matrix products: calls, share"
PRODUCT = "top matrix product: calls, share"
LARGEST = "largest component besides products, norms: ms, share; remedy saves"
SOFTMAX = "softmax / (QK^T + AV): ms, times; FLOPs; GB/s"
"""The rows."""


def cells_of(tables: Tables, case: CaseKey, found: OfPhase) -> dict[str, Cell]:
    """The cells of one phase by row; None where unknown, or where the row is of another phase."""
    phase = found.times.phase
    rows = (TOP, BESIDES, PRODUCT, LARGEST, SOFTMAX)
    return dict.fromkeys(rows) | _tops(tables, case, phase) | _parts(tables, case, found)


def _tops(tables: Tables, case: CaseKey, phase: str) -> dict[str, Cell]:
    """What leads a phase, and backward beside forward."""
    top = top_of_case(tables, case, phase)
    if top is None:
        return {}
    besides, product = top.besides, top.product
    said: dict[str, Cell] = {
        TOP: _kernel(top),
        BESIDES: _called(besides.what, besides.calls, besides.share) if besides else None,
        PRODUCT: _called(product.name, product.calls, product.share) if product else None,
    }
    if phase == FORWARD and (both := top_of_case(tables, case, BOTH)):
        other: Cell = Joined(("another", both.kernel.short_name), ", ")
        with_backward = "the same" if _same(both, top) else other
        said[TOP] = Joined((said[TOP], with_backward), "; with backward: ")
    if phase == BOTH:
        said[TOP] = Joined((said[TOP], _backwards(tables, case, top)), "; backward: ")
    return said


def _backwards(tables: Tables, case: CaseKey, both: TopKernel) -> Cell:
    """Backward's top kernel, without its name where it leads forward + backward, too."""
    top = top_of_case(tables, case, BACKWARD)
    if top is None:
        return None
    return Joined((top.calls, top.kernel.share), ", ") if _same(top, both) else _kernel(top)


def _kernel(top: TopKernel) -> Cell:
    """A top kernel: its short name, what it does, its calls and its share."""
    called = _called(top.kernel.what, top.calls, top.kernel.share)
    return Joined((top.kernel.short_name, called), ", ")


def _same(one: TopKernel, other: TopKernel) -> bool:
    return one.kernel.name == other.kernel.name


def _called(name: str, calls: Cell, share: Cell) -> Cell:
    return Joined((Joined((name, calls), ": "), share), ", ")


def _parts(tables: Tables, case: CaseKey, found: OfPhase) -> dict[str, Cell]:
    """Of the forward pass, parts of the model: the largest besides products, norms and softmax."""
    if found.times.phase != FORWARD:
        return {}
    whole = forward_pass(tables, case)
    return {
        LARGEST: _largest_and_norms(whole, found),
        SOFTMAX: _softmax(tables, case),
    }


def _largest_and_norms(whole: Pass, found: OfPhase) -> Cell:
    names = dict.fromkeys([*list(whole.by_component)[:1], NORMS])
    said = [part for name in names if (part := _part(whole, name, found))]
    return Joined(tuple(said), "; ") if said else None


def _part(whole: Pass, name: str, found: OfPhase) -> Cell:
    """What of a component isn't a product: ms, share, and its remedies with what each saves."""
    rows = whole.by_component.get(name)
    if rows is None:
        return None
    taken = Joined((f"{name}: ", device_ms(rows), ", ", whole.share(rows)), "")
    saved = tuple(_saved(TRIED.get(name, "").split(", "), found))
    return Joined((taken, " (", Joined(saved, " or "), ")"), "") if saved else taken


def _saved(remedies: Iterable[str], found: OfPhase) -> Iterable[Cell]:
    """What single remedies are known to save of the phase."""
    return (cells.share(saving) for each in remedies if (saving := found.by(each)))


def _softmax(tables: Tables, case: CaseKey) -> Cell:
    """Softmax against attention's products: their times, and both ratios; rates where known."""
    found = softmax_of_case(tables, case)
    if found.state == FUSED:
        return words.STATES[FUSED]
    if not found.time_ratio:
        return None
    ms = Joined((found.softmax_ms, found.products_ms), " / ")
    said = [Joined((ms, found.time_ratio), " = "), found.flop_ratio]
    if found.softmax_moved and found.moved:
        said.append(Joined((found.softmax_moved, found.moved), " / "))
    return Joined(tuple(said), "; ")
