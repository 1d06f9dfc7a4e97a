"""The parts of one case's step, for its card."""

import pandas as pd

from workflow_src.answers.gemm_share.change import BACKWARD, by_part
from workflow_src.answers.kernels import captured, device_ms, product_share
from workflow_src.answers.parts import Part
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.common.case import PHASES


def parts_of_case(tables: Tables, case: CaseKey, phase: str = PHASES[-1]) -> tuple[Part, ...]:
    """The parts of a step that take time, in their order, with the share of matrix products.

    None unless backward has a range of its own.
    """
    _, rows = captured(tables, case.case, phase)
    groups = by_part(rows)
    found = groups.items() if BACKWARD in groups else ()
    return tuple(part for name, mine in found for part in _part(name, mine))


def _part(name: str, rows: pd.DataFrame) -> list[Part]:
    ms, share = device_ms(rows), product_share(rows)
    return [Part(name, ms, share)] if ms and ms.number and share else []
