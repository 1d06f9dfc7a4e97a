"""Thresholds shared by several subpackages, each with its reason."""

LAUNCH_BOUND_BELOW = 0.8
"""Work is launch-bound if the device is busy for less than this share of its time.

Even in a step that is not launch-bound, the device idles briefly between kernels (about 1 us each)
and at the end. On all GPUs measured, those gaps add up to less than a fifth of the time. A fifth
is also what a user could gain by launching faster.
"""
