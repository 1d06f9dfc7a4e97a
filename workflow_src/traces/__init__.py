"""Adapters: each profiler's captures become one and the same Trace."""
