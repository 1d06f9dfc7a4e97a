"""The columns that describe the environment of a measurement."""

SAME_EVERYWHERE = ("gpu", "cpu", "cpu_threads", "driver", "cuda", "torch", "profiler_version")
"""Results that differ in one of these were measured on different hardware or versions."""

PRIVATE = ("node", "device_name")
"""Columns that identify a machine: kept with results, never published."""
