"""What is known of a case's phase before any remedy, and how fast a run's machine is."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from workflow_src.diagnosis.remedies.steps import Launched


@dataclass(frozen=True)
class Rates:
    """How fast a machine is: bytes per ms of elementwise kernels, and FLOPs per ms of the reference
    product, by precision."""

    copy_bytes_per_ms: float
    product_flops_per_ms: dict[str, float]


def rates_of(ceilings: pd.DataFrame) -> Rates:
    """The rates of a run, from its ceilings.csv."""
    known = ceilings[ceilings["status"] == "ok"]
    copies = known[known["kind"] == "bandwidth"].set_index("name")["median_gb_per_s"]
    multiplied = known[known["kind"].isin(("compute", "sustained compute"))]
    best = multiplied.groupby("precision")["median_tflop_per_s"].max()
    rates = {str(name): float(rate) * 1e9 for name, rate in best.items()}
    return Rates(float(copies.get("copy", copies.max())) * 1e6, rates)


@dataclass(frozen=True, eq=False)
class About:
    """A phase of a case without remedies.

    plain_ms: what it takes; parameters: 0 or NaN if it isn't known; graph_gap_ns: between two
    kernels of a graph; host_ns: the host's time for a launch by pass.
    """

    step: Launched
    plain_ms: float
    rates: Rates
    precision: str
    parameters: float
    graph_gap_ns: float
    host_ns: Mapping[str, float] = field(default_factory=dict)
