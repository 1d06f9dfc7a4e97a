"""Thresholds shared by several subpackages, each with its reason."""

LAUNCH_BOUND_BELOW_NS = 30_000
"""Work is launch-bound if the device takes less than this per launch, where a run can't tell.

A host of 2022 to 2025 launches a kernel in about this: of a published run's forward passes on an
H100, 18 of 19 of longer kernels take as long under the profiler as without, and 0 of 21 of shorter.
"""

BUSY_LOAD = 1.5
"""Load average per core above which a CPU counts as busy with other work."""

THROTTLED_BEYOND = 0.0
"""Share of a phase's readings in which power limits the clock, above which its device counts as
throttled: any reading, each of 40 ms of steps."""

SHARED_BEYOND = 0
"""Processes of others on a device above which it counts as shared."""

HOST_CHANGED = 1.2
"""Ratio of host speeds above which results that depend on the host are doubted."""

SLOWER_HOST = 1.1
"""Ratio of host speeds above which they are told apart."""

MATCH_WITHIN = 0.10
"""Profiled and unprofiled times match if they differ by at most this share: beyond it a reader who
took one for the other would be misled, below it processes of one case differ among themselves."""

SPREAD_BEYOND = 2.0
"""Samples whose 80th percentile is over this many times their 20th say little of a step's time."""

REPLAY_AT_LEAST = 0.95
"""A replay of less than this share of its kernels' captured time didn't run those kernels: in 283
phases of the published runs on H100 and H200s it took 0.979 to 1.087 times as long as they."""

WORKING_FULLY = 0.9
"""A device that works for this share of a step sets its time: what is left is gaps between kernels
that no host could close."""

LOST_AT_MOST = 0.01
"""The share up to which what a capture lost, or what doesn't come out whole, changes no answer."""

OUTSIDE_LIMIT = 0.001
"""The share of device time that may lie outside all ranges: more could change a share in a table,
which has two digits."""

SHARES_REPEAT_WITHIN = 0.01
"""Shares of device time repeat within this."""

LEAST_SHARE_SHOWN = 0.01
"""A part of less than this share of device time in every column has no row in a table of medians:
what it gains isn't worth a reader's time."""

MOSTLY = 0.75
"""A headline says what holds in at least this share of cases, and in how many."""

REPLAYED_WITHIN = 0.02
"""A step is understood if its replay without changes is off by at most this share."""

FINDING_AT_LEAST = 0.03
"""The share of a step below which a saving isn't told."""

SMALLER_AT_LEAST = 0.001
"""The share of a step from which on what takes it is listed, whatever it saves: far below what two
runs differ by."""

FINDING_OF_ITS_OWN = 0.25
"""A finding that saves less than this share of its saving, beside those above it, is part of them.
"""

IDLES = 0.15
"""The share of a step from which on it is said first that a side is idle."""

UNNAMED = 0.1
"""Likewise of the host's time that is neither the usual launches nor a finding."""

SETS_THE_PACE = 0.9
"""The host, or a device, sets the pace if alone it takes at least this share of a step."""


RECORDED_BEYOND = 2.5
"""A recorded step of over this many times the plain one is mostly the profiler's: of 24 recorded
loops with known plain steps, 23 took 1.0 to 2.3 times as long, and one 6 times."""


def in_percent(limit: float) -> str:
    """A limit as words name it, "3 %"."""
    return f"{100 * limit:g} %"
