"""The table of one case: its three phases by all that the questions ask, for whoever runs it."""

from dataclasses import dataclass

import pandas as pd

from workflow_src.answers import case_kernels, utilization
from workflow_src.answers.change_first import cells
from workflow_src.answers.change_first.first import First, OfPhase, first_of_case
from workflow_src.answers.fits import with_gpu
from workflow_src.answers.forward_time.pairs import pairs
from workflow_src.answers.gemm_share.result import parts_of_case
from workflow_src.answers.kernels import captured, product_share
from workflow_src.answers.launch_bound import launch_bound
from workflow_src.answers.marks import CAPPED
from workflow_src.answers.other_kernels.result import components_of_case
from workflow_src.answers.rates import FLOPS, RATE, TOKENS, rates
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.answers.times import PhaseTimes
from workflow_src.common import words
from workflow_src.common.case import PHASES
from workflow_src.common.remedies import GRAPH
from workflow_src.common.thresholds import LEAST_SHARE_SHOWN
from workflow_src.paper.value import (
    Cell,
    Joined,
    Marked,
    Ranged,
    Value,
    cell_of,
    count,
    rows_of,
    spread,
)

FORWARD = PHASES[0]

PLAIN = "plain Python, ms: median (fastest to slowest process)"
PROFILED = "under the profiler, ms"
OVERHEAD = "under the profiler, in another process: longer than plain Python by; steps of each"
PAIRS = "under the profiler / plain Python, pairs of processes: median (least to most); pairs"
DEVICE = "device time, ms"
LAUNCHES = "launch-bound; device time per launch / limit, us; device time / plain Python"
REPLAYED = "replayed as a CUDA graph, ms"
IDLE = "idle under the profiler, ms: waits for a launch / between queued kernels / other"
CLOCK = (
    "SM clock in plain steps, MHz: median (least to most); power, W; readings with the clock capped"
)
MEMORY = "peak memory, GiB; GPU that holds it"
PRODUCTS = "matrix products' share of device time"
PARTS = "parts of device time, ms"
SPEED = "FLOPs of a step; TFLOP/s; tokens per second"
REFERENCE = "products' FLOPs over the time of all / a reference product's rate"
MFU = "model FLOPs utilization (MFU) = device works x products' share x products' rate / peak"
FIRST = "what to change first: it saves; best together"
"""The table's rows."""


@dataclass(frozen=True)
class CaseCard:
    """One case: a table with a column per phase, and the components of its forward pass.

    Rows without any value are left out, but for the plain times; a replay is in that of its remedy.
    `components` are the shares of forward's device time that are of LEAST_SHARE_SHOWN or more, most
    first; None if none was captured.
    `notes` say why cells are empty or doubtful: of a phase (in words), what, and the reason.
    """

    case: CaseKey
    title: str
    table: pd.DataFrame
    components: Cell
    notes: tuple[tuple[str, str], ...]


def case_card(tables: Tables, case: CaseKey, first: First | None = None) -> CaseCard:
    """The card of one case; `first` if it is known already."""
    phases = (first or first_of_case(tables, case)).phases
    columns = [_column(tables, case, phases[phase]) for phase in PHASES]
    rows = {name: [column[name] for column in columns] for name in columns[0]}
    lines = [[name, *found] for name, found in rows.items() if any(found) or name == PLAIN]
    lines += cells.by_remedy([phases[phase].savings for phase in PHASES])
    headings = [case.case, *(words.PHASES[phase] for phase in PHASES)]
    shares = sorted(components_of_case(tables, case), key=lambda each: -each.share.number)
    components = tuple(
        Joined((each.name, each.share), " ")
        for each in shares
        if each.share.number >= LEAST_SHARE_SHOWN
    )
    return CaseCard(
        case=case,
        title=case.case,
        table=pd.DataFrame(lines, columns=headings, dtype="object"),
        components=Joined(components, ", ") if components else None,
        notes=tuple(note for phase in PHASES for note in _notes(phases[phase].times)),
    )


def _column(tables: Tables, case: CaseKey, found: OfPhase) -> dict[str, Cell]:
    """The cells of one phase by row."""
    times, phase = found.times, found.times.phase
    _, rows = captured(tables, case.case, phase)
    return {
        PLAIN: _capped(times, Ranged(times.plain_told, times.fastest, times.slowest))
        if times.plain
        else _state(times),
        PROFILED: times.profiled,
        OVERHEAD: _overhead(tables, times),
        PAIRS: _pairs(tables, times) if phase == FORWARD else None,
        DEVICE: times.busy,
        LAUNCHES: launch_bound(tables, times),
        REPLAYED: _replayed(found),
        IDLE: _idle(times),
        CLOCK: Joined((times.clock, times.power, times.capped), "; ") if times.clock else None,
        MEMORY: with_gpu(times.peak_memory),
        PRODUCTS: product_share(rows),
        **case_kernels.cells_of(tables, case, found),
        PARTS: _parts(tables, case, phase),
        **_speed(times, rates(tables, times)),
        REFERENCE: utilization.utilization(tables, times),
        MFU: utilization.mfu_by_factors(tables, times, product_share(rows)),
        FIRST: _first(found),
    }


def _capped(times: PhaseTimes, cell: Cell) -> Cell:
    """A cell of plain steps, marked where power limited the clock during them."""
    return Marked(cell, CAPPED) if times.power_limited else cell


def _speed(times: PhaseTimes, rows: dict[str, Cell]) -> dict[str, Cell]:
    """What a phase works on and how fast, with its FLOPs and both rates in one cell."""
    together = tuple(rows.pop(name) for name in (FLOPS, RATE, TOKENS))
    return rows | {SPEED: _capped(times, Joined(together, "; ")) if any(together) else None}


def _state(times: PhaseTimes) -> Cell:
    return words.STATES[times.state] if times.state != "ok" else None


def _overhead(tables: Tables, times: PhaseTimes) -> Cell:
    """By what share a captured step is longer than a plain one, and how many of each there are.

    The two are of different processes at different minutes.
    """
    if times.longer is None:
        return None
    captured_steps = tables.of("ranges", times.case.case, times.phase)
    whole = captured_steps[captured_steps["path"] == times.phase]
    timed = cell_of(
        tables.of("timings", times.case.case, times.phase), "timings", "samples", "count"
    )
    steps = Value(len(whole), "count", (rows_of("ranges", whole),), "captured steps")
    return Joined((times.longer, Joined((steps, timed), " and ")), "; ")


def _pairs(tables: Tables, times: PhaseTimes) -> Cell:
    """The same by pairs of processes of the study profiler; None where it didn't pair the case."""
    found = pairs(tables, times.case.case)
    return Joined((spread(found), count(found, "pairs")), "; ") if found else None


def _replayed(found: OfPhase) -> Cell:
    """The replay's time where no saving of it was measured, or why there is none."""
    known = any(
        each.remedies == (GRAPH,) and each.measured and not each.known.studied
        for each in found.savings
    )
    return None if known else found.times.replayed or _replay_state(found.times)


def _replay_state(times: PhaseTimes) -> Cell:
    return words.STATES[times.replay_state] if times.replay_state not in ("", "ok") else None


def _idle(times: PhaseTimes) -> Cell:
    idle = times.idle
    return Joined((idle.launch, idle.queued, idle.other), " / ") if idle else None


def _parts(tables: Tables, case: CaseKey, phase: str) -> Cell:
    found = parts_of_case(tables, case, phase) if phase != FORWARD else ()
    return Joined(tuple(Joined((p.name, p.ms), " ") for p in found), ", ") if found else None


def _first(found: OfPhase) -> Cell:
    """What comes first, and the best combination."""
    if not found.savings:
        return None
    first = cells.first(found.choice) or cells.nothing(found.savings)
    together = cells.best(found.choice)
    return Joined((first, together), "; ") if together else first


def _notes(times: PhaseTimes) -> list[tuple[str, str]]:
    """What is said below the table of one phase."""
    phase = words.PHASES[times.phase]
    found = []
    if times.state not in ("ok", "not_measured"):
        found.append((phase, times.reason))
    if times.replay_state not in ("", "ok"):
        found.append((f"{phase} as a CUDA graph", times.replay_reason))
    if times.doubt:
        found.append((f"{phase}, plain against profiled", times.doubt.value))
    return [(about, why) for about, why in found if why]
