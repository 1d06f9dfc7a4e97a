"""What a phase multiplies a second, against a reference product and against the datasheet."""

import pandas as pd

from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.answers.times import PhaseTimes
from workflow_src.common.datasheets import peak_tflop_per_s
from workflow_src.common.thresholds import WORKING_FULLY
from workflow_src.common.units import FLOP_PER_TFLOP, MS_PER_S
from workflow_src.paper.value import Joined, Value, computed, ratio, rows_of, value

NOT_PRODUCTS = frozenset({"softmax"})
"""The components of work.csv that multiply no matrices."""

PASSES = {"forward": 1, "forward_backward": 3, "train_step": 3}
"""How many times forward's FLOPs each phase has: backward makes two products of each."""


def utilization(tables: Tables, times: PhaseTimes) -> Value | None:
    """FLOPs of the phase's matrix products / plain time / the ceiling of its precision.

    No utilization of the device: another product may be faster than the one that set the ceiling.
    None unless the device works for WORKING_FULLY of the plain time, which the host sets otherwise,
    or where the ceiling of this device wasn't measured.
    """
    working = times.working
    if working is None or working.number < WORKING_FULLY:
        return None
    ceiling = _ceiling(tables, times.case)
    rate = product_rate(tables, times)
    return ratio(rate, ceiling, "share", "FLOPs of products / plain time / ceiling")


def mfu(tables: Tables, times: PhaseTimes) -> Value | None:
    """Model FLOPs utilization: FLOPs of products / plain time / the datasheet's dense peak.

    As PaLM's authors define it (arXiv:2204.02311, appendix B), but with all of the T x T scores.
    None of a device without a datasheet here.
    """
    gpus = tables.of("environments", times.case.case).get("gpu", ())
    peak = peak_tflop_per_s(str(next(iter(gpus), "")), times.case.precision)
    rate = product_rate(tables, times)
    if rate is None or peak is None:
        return None
    return computed(rate.number / peak, "share", "FLOPs of products / plain time / peak", rate)


def mfu_by_factors(
    tables: Tables, times: PhaseTimes, products_share: Value | None
) -> Joined | Value | None:
    """MFU as the product of three shares, where all are known: "3.2 % = 34 % x 18 % x 53 %".

    Of plain time, that for which the device works; of device time, that of matrix products; of the
    datasheet's peak, the rate of the products in their own device time.
    """
    whole, working = mfu(tables, times), times.working
    if whole is None or working is None or not products_share or not products_share.number:
        return whole
    rate = computed(
        whole.number / (working.number * products_share.number),
        "share",
        "MFU / the other shares: FLOPs of products / their device time / peak",
        whole,
    )
    factors = Joined((working, products_share, rate), " x ")
    return Joined((whole, factors), " = ")


def product_rate(tables: Tables, times: PhaseTimes) -> Value | None:
    """The phase's FLOPs of matrix products a second of plain time, in TFLOP/s."""
    flops, plain = product_flops(tables, times), times.plain
    if flops is None or plain is None or not plain.number > 0:
        return None
    made = flops.number / (plain.number / MS_PER_S) / FLOP_PER_TFLOP
    return computed(made, "TFLOP/s", "FLOPs of products / plain time", flops, plain)


def product_flops(tables: Tables, times: PhaseTimes) -> Value | None:
    """The FLOPs of the phase's matrix products, by formula; None where work.csv has none."""
    work = tables.of("work", times.case.case)
    mine = work[~work["component"].isin(NOT_PRODUCTS)]
    if mine.empty:
        return None
    flops = PASSES[times.phase] * mine["flops"].sum()
    formula = "sum over products * 1 in forward, 3 with backward"
    return value(flops, "flops", rows_of("work", mine), formula=formula)


def _ceiling(tables: Tables, case: CaseKey) -> Value | None:
    """The most TFLOP/s that products of a case's precision reached on its device: a median."""
    ceilings = tables["ceilings"]
    if not {"precision", "is_ceiling", "median_tflop_per_s"} <= set(ceilings):
        return None
    compute = (ceilings["kind"] == "compute") & (ceilings["precision"] == case.precision)
    mine = ceilings[compute & (ceilings["is_ceiling"].astype(str) == "True")].head(1)
    if mine.empty or not _same_device(mine, tables.of("environments", case.case), case):
        return None
    rows = rows_of("ceilings", mine)
    return value(mine["median_tflop_per_s"].iloc[0], "TFLOP/s", rows, formula="median of samples")


def _same_device(ceiling: pd.DataFrame, environment: pd.DataFrame, case: CaseKey) -> bool:
    """Whether a ceiling was measured on a device like the case's."""
    name = "cpu" if case.on_cpu else "gpu"
    if name not in ceiling or name not in environment or environment.empty:
        return False
    return str(ceiling[name].iloc[0]) == str(environment[name].iloc[0])
