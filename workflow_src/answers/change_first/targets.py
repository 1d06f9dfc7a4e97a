"""Why a remedy saves: the part of a plain step that it shortens, by its share of plain time."""

from workflow_src.answers.change_first.saving import Saving
from workflow_src.answers.gemm_share.change import OPTIMIZER, by_part
from workflow_src.answers.kernels import captured, device_ms, multiplies
from workflow_src.answers.tables import Tables
from workflow_src.answers.times import PhaseTimes
from workflow_src.common.case import OPTIMIZERS
from workflow_src.common.precisions import PRECISIONS
from workflow_src.common.remedies import GRAPH
from workflow_src.paper.value import Cell, Joined, complement, computed, ratio, total

IDLE, PRODUCTS, REST = "idle", "products", "rest"
"""The device's idle time, its matrix products, and all but these products."""


def target(tables: Tables, times: PhaseTimes, saving: Saving) -> Cell:
    """What a saving shortens with its share, "idle+optimizer 68 %"; None where that isn't known.

    A graph shortens what the device idles, an optimizer itself, a precision matrix products. Other
    remedies leave these, and shorten the kernels besides and all launches.
    """
    working = times.working
    if working is None:
        return None
    _, rows = captured(tables, times.case.case, times.phase)
    updates = by_part(rows).get(OPTIMIZER, rows.iloc[:0])
    products = ratio(device_ms(multiplies(rows)), times.plain, "share", "products / plain")
    of_plain = {
        IDLE: computed(max(0.0, 1 - working.number), "share", "1 - device / plain", working),
        OPTIMIZER: ratio(device_ms(updates), times.plain, "share", "optimizer / plain"),
        PRODUCTS: products,
        REST: complement(products, "1 - products / plain"),
    }
    parts = sorted({_part(each) for each in saving.remedies})
    share = total([of_plain[part] for part in parts])
    return Joined(("+".join(parts), share), " ") if share else None


def _part(remedy: str) -> str:
    if remedy in OPTIMIZERS:
        return OPTIMIZER
    return IDLE if remedy == GRAPH else PRODUCTS if remedy in PRECISIONS else REST
