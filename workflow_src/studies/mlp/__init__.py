"""The study `mlp`."""
