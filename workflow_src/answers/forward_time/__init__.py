"""(a) How long is the forward pass, and does the profiler agree with plain timing?"""
