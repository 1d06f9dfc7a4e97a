"""The profiler study: what a profiler costs, by pairs of processes with and without it."""
