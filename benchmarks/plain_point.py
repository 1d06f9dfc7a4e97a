"""What the plain points of remedies_blind tell: phases as steps to replay, and rates beside them.

They were recorded when the study levers measured both, before variants of the same cases were timed
beside the plain model.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from workflow_src.common.case import PHASES, Case
from workflow_src.common.summary import of_each_process
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.recording import Span
from workflow_src.diagnosis.remedies.predict import (
    GAP_NS,
    PlainStep,
    host_span,
    luck,
    solved,
)
from workflow_src.diagnosis.remedies.rates import (
    CAST_BYTES,
    About,
    Beside,
    Rates,
    around,
)
from workflow_src.diagnosis.remedies.steps import (
    BACKWARD,
    CORE,
    CORE_PRODUCT,
    ELEMENTWISE,
    FORWARD,
    OPTIMIZER,
    OTHER,
    PASSES,
    PRODUCT,
    SINGLE,
    SIZES,
    UPDATE,
    WORK,
    launched,
)
from workflow_src.model.flops import parameter_count
from workflow_src.placing.kernel_words import changes_type
from workflow_src.studies.models import case_of
from workflow_src.studies.study import Point, Row

COPY_BYTES = 8
"""What a copy moves per float32 element: it reads and writes it."""

PIECE_UNSURE = 0.1
"""Of a piece of attention's core, measured alone: its tensors were used just before."""

HOST_UNSURE = 0.25
"""Of the time to launch: operators differ in it, and so do processes."""

STREAM_CASTS = 4
"""Casts of the residual stream in a block and pass under autocast."""


CASTS_UNSURE = Span(0.6, 1.0, 1.4)
"""Of the bytes of casts."""

NO_PRODUCTS = pd.DataFrame(
    columns=["precision", "group", "direction", *SIZES, "flops_per_ms"], dtype="float64"
)


class UnmeasuredError(Exception):
    """A phase or a ceiling of the plain point has no time; the message says which, and why."""


def _refuse_unmeasured(rows: Sequence[Row]) -> None:
    for row in rows:
        if row["measurement"] in ("phase", "ceiling") and row["status"] != "ok":
            kind = "plain" if row["measurement"] == "phase" else "ceiling"
            words = [kind, row.get("name"), row.get("phase"), "is", row["status"]]
            raise UnmeasuredError(f"the {' '.join(filter(None, words))}: {row['reason']}")


@dataclass(frozen=True)
class PlainPoint:
    """The prepared rows of a plain point: phases by name, ceilings by name and phase."""

    point: Point
    case: Case
    phases: Mapping[str, Row]
    ceilings: Mapping[tuple[str, str], Row]

    @classmethod
    def of(cls, point: Point, rows: Sequence[Row]) -> "PlainPoint":
        """Raises UnmeasuredError if a phase or a ceiling has no time."""
        _refuse_unmeasured(rows)
        phases = {row["phase"]: row for row in rows if row["measurement"] == "phase"}
        ceilings = {
            (row["name"], row.get("phase", "")): row
            for row in rows
            if row["measurement"] == "ceiling"
        }
        return cls(point, case_of(point, point["size"], point["precision"]), phases, ceilings)

    def steps(self) -> dict[str, PlainStep]:
        """Each phase, as it is replayed. Raises UnmeasuredError on a CPU."""
        if self.case.device != "cuda":
            raise UnmeasuredError("a CPU has no launches to replay")
        hosts: dict[str, Span] = {}
        found = {}
        for phase, last in zip(PHASES, PASSES, strict=True):
            about, row = self._about(phase), self.phases[phase]
            earlier = {name: host.usual for name, host in hosts.items()}
            solution = solved(about.step, row["median_ms"], earlier, last)
            usual = None if last == OPTIMIZER else self._usual_host
            timed = [self.phases[name] for name in PHASES[: PHASES.index(phase) + 1]][-2:]
            told = usual, [_ends_ms(each) for each in timed]
            hosts[last] = host_span(about.step, solution, earlier, last, *told)
            others = {name: Span(0.0, 0.0, 0.0) for name in PASSES} | hosts
            spread = luck(row["median_ms"], *_ends_ms(row))
            found[phase] = PlainStep(about, row["median_ms"], others, spread, self._graph_gap_ns)
        return found

    @cached_property
    def _usual_host(self) -> Span:
        """The host's time for a launch (ns) in forward and backward, of steps that only launch."""
        launching = self.ceilings["launching", "forward_backward"]["median_ms"]
        launches = self.phases["forward_backward"]["kernels"]
        return around(NS_PER_MS * launching / launches, HOST_UNSURE)

    @cached_property
    def _graph_gap_ns(self) -> Span:
        """Between the kernels of a replayed chain; it hides behind the end of a longer one."""
        chain = self.ceilings.get(("gaps", ""))
        if chain is None:
            return Span(0.0, GAP_NS / 3, GAP_NS)
        beyond_ns = NS_PER_MS * (chain["median_ms"] - chain["busy_ms"])
        gap_ns = min(GAP_NS, max(0.0, beyond_ns / max(1, chain["kernels"])))
        return Span(0.0, gap_ns / 2, gap_ns)

    def _about(self, phase: str) -> About:
        case = self.case
        step = launched(pd.DataFrame(list(self._work(phase)), columns=list(WORK)))
        return About(
            step, self._rates, case.precision, case.batch * case.context,
            parameter_count(case), beside=self._beside,
        )  # fmt: skip

    @cached_property
    def _rates(self) -> Rates:
        copied, case = self.ceilings["copy", ""], self.case
        flops = 2.0 * case.batch * case.context * case.d_model * case.d_ff
        products = {
            name.split()[1]: flops / row["median_ms"]
            for (name, _), row in self.ceilings.items()
            if name.startswith("product")
        }
        rate = self.point["copy_elements"] * COPY_BYTES / copied["median_ms"]
        return Rates(rate, products, NO_PRODUCTS)

    @cached_property
    def _beside(self) -> Beside:
        case, modes = self.case, {self.case.precision, "bf16"}
        now = {name: self._piece_ms("naive", case.precision, name) for name in (FORWARD, BACKWARD)}
        found: dict[tuple[str, str, str], Span] = {
            ("core", "bf16", name): around(self._piece_ms("naive", "bf16", name) / ms, PIECE_UNSURE)
            for name, ms in now.items()
        }
        found |= {
            ("attention_ms", mode, name): around(
                case.layers * self._piece_ms("sdpa", mode, name), PIECE_UNSURE
            )
            for mode in modes
            for name in now
        }
        weights = parameter_count(case) - case.vocabulary * case.d_model
        stream = STREAM_CASTS * case.layers * case.batch * case.context * case.d_model
        moved_bytes = CAST_BYTES * (weights + float(stream))
        moved = Span(*(moved_bytes * each for each in CASTS_UNSURE))
        return found | {("cast_bytes", "bf16", name): moved for name in now}

    def _piece_ms(self, piece: str, mode: str, name: str) -> float:
        """A piece of attention in one block and pass (ms)."""
        both, forward = (
            float(self.ceilings[f"{piece} {mode}", phase]["median_ms"])
            for phase in ("forward_backward", "forward")
        )
        return forward if name == FORWARD else max(both - forward, 1e-6)

    def _work(self, phase: str) -> Iterator[Row]:
        """Rows of WORK; autograd's thread has none of the model's ranges, so that of backward's
        work as much is attention's core as its piece takes alone, by kernel."""
        left = self._core_of_backward()
        for activity in self.phases[phase]["activities"]:
            name = _pass_of(activity["range"])
            if name != BACKWARD:
                yield self._row(activity, name, activity["range"], activity["calls"])
                continue
            core = min(left[activity["name"]], activity["calls"])
            left[activity["name"]] -= core
            leaf = "scores" if activity["family"] == "gemm" else "softmax"
            if core:
                yield self._row(activity, name, leaf, core)
            if core < activity["calls"]:
                yield self._row(activity, name, BACKWARD, activity["calls"] - core)

    def _core_of_backward(self) -> Counter[str]:
        """How often each kernel runs in attention's core in backward, in all blocks."""
        name = f"naive {self.case.precision}"
        found: Counter[str] = Counter()
        for phase, sign in (("forward_backward", 1), ("forward", -1)):
            for activity in self.ceilings[name, phase]["activities"]:
                found[activity["name"]] += sign * activity["calls"] * self.case.layers
        return Counter({each: count for each, count in found.items() if count > 0})

    def _row(self, activity: Row, name: str, leaf: str, count: int) -> Row:
        each_ms = activity["busy_ns"] / activity["calls"] / NS_PER_MS
        opened = {"norm": 2 * self.case.layers + 1, "embedding": 1, "head": 1, "loss": 1}
        instances = opened.get(leaf, self.case.layers)
        if leaf == BACKWARD:
            instances = CHAINS_OF_BACKWARD * self.case.layers
        return {
            "pass": name, "path": leaf, "leaf": leaf, "kind": _kind(activity, name, leaf),
            "launches": count, "device_ms": count * each_ms,
            "instances": instances, "m": 0, "n": 0, "k": 0, "matrices": 0,
        }  # fmt: skip


CHAINS_OF_BACKWARD = 6
"""Ranges of a block whose elementwise kernels backward runs outside of attention's core: two norms,
rotary positions, the gate, and sums of gradients."""


def _pass_of(name: str) -> str:
    if name == OPTIMIZER:
        return OPTIMIZER
    return BACKWARD if name in ("", BACKWARD) else FORWARD


def _kind(activity: Row, name: str, leaf: str) -> str:
    if name == OPTIMIZER:
        return UPDATE
    if activity["family"] == "gemm":
        return CORE_PRODUCT if leaf in CORE else PRODUCT
    is_cast = activity["family"] == "copy" and changes_type(activity["name"])
    other = activity["family"] in SINGLE or (is_cast and leaf not in CORE)
    return OTHER if other else ELEMENTWISE


def _ends_ms(row: Row) -> tuple[float, float]:
    """The medians of the fastest and the slowest process; of one, percentiles of its steps."""
    process = row.get("process", [0] * len(row["samples_ns"]))
    medians = [each["median_ms"] for each in of_each_process(row["samples_ns"], process)]
    if len(medians) > 1:
        return min(medians), max(medians)
    return row["p20_ms"], row["p80_ms"]
