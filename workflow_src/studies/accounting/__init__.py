"""The study `accounting`."""
