"""What can be changed in a recorded step before it is replayed: a closed list.

Rows are those of Recording.calls or Recording.work. All changes of one replay add up.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workflow_src.common.intervals import Indices

Factors = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DropGap:
    """The host's own time before some calls becomes at most keep_ns."""

    calls: Indices
    keep_ns: int = 0


@dataclass(frozen=True, eq=False)
class DropSynchronization:
    """Some calls that wait aren't made."""

    calls: Indices


@dataclass(frozen=True, eq=False)
class MakeAsynchronous:
    """Some calls, such as copies, return without waiting; their work stays."""

    calls: Indices


@dataclass(frozen=True, eq=False)
class DropCall:
    """Some calls, and the work that they launch, don't happen; the host's time before them stays."""

    calls: Indices


@dataclass(frozen=True, eq=False)
class ScaleWork:
    """Some device work takes `factor` (one, or one for each) of its time; 0 drops it."""

    work: Indices
    factor: float | Factors


@dataclass(frozen=True, eq=False)
class DropLaunches:
    """Some calls and the host's time before them vanish but for the first: a graph launches all.

    Their work stays and starts when the first call was made.
    """

    calls: Indices


@dataclass(frozen=True, eq=False)
class MergeLaunches:
    """Launches of a group become its first one, whose work then takes duration_ns: fusion.

    group: of each of `calls`, from 0; duration_ns: of each group, all its kernels together.
    """

    calls: Indices
    group: Indices
    duration_ns: Indices


@dataclass(frozen=True)
class ScaleHost:
    """All of the host's own time between calls, and the cost of calls, take so much of their time.

    With both as found by plain.py, the recorded step becomes the one without a profiler.
    """

    gaps: float = 1.0
    calls: float = 1.0


Change = (
    DropGap
    | DropSynchronization
    | MakeAsynchronous
    | DropCall
    | ScaleWork
    | DropLaunches
    | MergeLaunches
    | ScaleHost
)
