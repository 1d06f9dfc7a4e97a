"""The columns that say what a result was measured on."""

SAME_EVERYWHERE = ("gpu", "cpu", "cpu_threads", "driver", "cuda", "torch", "profiler_version")
"""Where these differ, results were not measured in one place with one set of versions."""

PRIVATE = ("node", "device_name")
"""Columns that name a machine: kept with results, never published."""
