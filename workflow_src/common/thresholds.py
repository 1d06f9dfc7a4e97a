"""Thresholds shared by several subpackages, each with its reason."""

LAUNCH_BOUND_BELOW = 0.8
"""Work is launch-bound if the device is busy for less than this share of its time.

A convention: a step that is not launch-bound has short gaps between kernels too, and launching
faster is worth a user's time only where it could gain a good part of it, a fifth or more.
"""

BUSY_LOAD = 1.5
"""Load average per core above which a CPU counts as busy with other work."""

HOST_CHANGED = 1.2
"""Ratio of two host speeds above which results that depend on the host are doubted."""

SLOWER_HOST = 1.1
"""Ratio of two host speeds above which results that depend on the host are told apart."""

MATCH_WITHIN = 0.10
"""Profiled and unprofiled times match if they differ by at most this share: beyond it a reader who
took one for the other would be misled, below it processes of one case differ among themselves."""

SPREAD_BEYOND = 2.0
"""Samples whose 80th percentile is over this many times their 20th say little of a step's time."""

REPLAY_AT_LEAST = 0.95
"""A replay of less than this share of its kernels' captured time didn't run those kernels: in 208
phases of this project's models on H100 and H200 it took 0.990 to 1.091 times as long as they."""

WORKING_FULLY = 0.9
"""A device that works for this share of a step or more sets the step's time: what is left is gaps
between kernels that no host could close."""

OUTSIDE_LIMIT = 0.001
"""The share of a capture's device time that may lie outside all ranges: more could change a share
in a table, which has two digits."""

SAME_SHARE_WITHIN = 0.01
"""Shares of device time that differ by at most this are the same: it is how well shares repeat, and
a part of a step that gains less isn't worth a reader's time."""

MOSTLY = 0.75
"""A headline says of several cases what holds in at least this share of them, and in how many."""
