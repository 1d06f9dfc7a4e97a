"""The study `warmup`."""
