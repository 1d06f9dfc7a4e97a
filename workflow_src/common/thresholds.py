"""Limits that more than one room judges by, each with its reason."""

LAUNCH_BOUND_BELOW = 0.8
"""Work is called launch-bound where the device is busy for less than this share of its time.

The device of a step that is not launch-bound still idles a little, between kernels (about 1 us
each) and at the step's end. A fifth of the time is more than those gaps explain on any of the GPUs
that were measured, and it is what a user could win by launching faster.
"""
