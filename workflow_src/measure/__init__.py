"""Everything that runs a workload: benchmark, capture, and how they time and probe memory."""
