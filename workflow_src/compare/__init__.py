"""Compares the tables of two runs: what differs, by how much, and whether that can be told."""
