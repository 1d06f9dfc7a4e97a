"""The study `memory`."""
