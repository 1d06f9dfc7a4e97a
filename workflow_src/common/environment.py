"""The columns that describe the environment of a measurement."""

MEASURED_WITH = ("gpu", "cpu", "cpu_threads", "driver", "cuda", "torch")
"""What a study's rows were measured with; their profiler is torch's own."""

SAME_EVERYWHERE = (*MEASURED_WITH, "profiler_version")
"""Results that differ in one of these were measured on different hardware or versions."""

PRIVATE = ("node", "device_name")
"""Columns that identify a machine: kept with results, never published."""
