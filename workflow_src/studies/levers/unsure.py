"""How unsure the rules of predictions are: relative, standard.

They come from what a rule leaves out, not from results.
"""

PASSES_UNSURE = 0.15
"""A kernel that moves known bytes seldom runs at a copy's rate exactly."""

PRODUCTS_UNSURE = 0.15
"""Products of other shapes gain more or less than the one measured."""

FUSION_UNSURE = 0.35
"""A compiler fuses more or less than whole chains, and its kernels are seldom at a copy's rate."""

COARSE = 0.2
"""Of a factor that was only counted from the model's tensors."""

STREAM_CASTS_UNSURE = 0.5
"""How many casts backward makes is not derived: twice forward's are assumed."""

GAP_UNSURE = 0.5
"""Relative uncertainty of the time between two kernels of a replayed CUDA graph, measured between
short ones of one kind: it hides behind the end of a longer one."""

BEYOND_UNSURE = 0.5
"""Of the time beyond work and launching, per share of the launches that change: nothing tells
whether it belongs to each of them, and changes as they do, or to the step, and stays."""

LAUNCHES_UNSURE = 0.25
"""The time to launch: operators differ in it, and so do processes."""
