"""Everything that runs a workload: benchmark, capture, timing and memory probes."""
