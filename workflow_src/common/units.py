"""Conversion factors between units."""

NS_PER_US = 1e3
NS_PER_MS = 1e6
MIB = 2**20
GIB = 2**30
MIB_PER_GIB = 1024
