"""Answers to the profiling questions, a folder each, from the joined tables alone."""
